//! The table `[rate_limits]`: which limits apply to which caller.
//!
//! An unproven caller is counted by address, and a claimed name can only add a limit. A proven caller has counts of
//! its own (docs/decisions/0017-proven-callers.md). Several limits may apply at once; the tightest is reported.

use std::{sync::Arc, time::Duration};

use http::HeaderValue;

use super::{guesses::Guesses, whole_seconds};
use crate::{Agent, Caller};
use frontdesk_base::fault::{Fault, Refusal, Scope};
use frontdesk_config::{Rate, RateLimits, Settings};
use frontdesk_state::{Amount, Away, Class, Counters, Key, Level, Limit, Settlement, Subject, TOGETHER, Taken, Window};

/// The percentage of a limit at which the operator is notified.
const NEAR: u64 = 80;

/// A limit that is almost or completely used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Near {
    /// Its name in `RateLimit`, or the budget's name.
    pub policy: &'static str,
    /// Requests or tokens used in this window, and the maximum.
    pub used: u64,
    pub most: u32,
    pub resets_in: Duration,
}

impl Near {
    /// The limit, if it is close to its maximum.
    pub(super) fn of(standing: Self) -> Option<Self> {
        let near = standing.used.saturating_mul(100) >= u64::from(standing.most) * NEAR;
        near.then_some(standing)
    }
}

/// A declared limit, prepared.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Its name in `RateLimit` and in metrics.
    pub name: &'static str,
    class: Class,
    pub most: u32,
    pub window: Duration,
    pub(super) told: Told,
}

/// The constant headers of a policy.
#[derive(Debug, Clone)]
pub(super) struct Told {
    pub(super) most: HeaderValue,
    pub(super) window: HeaderValue,
    /// Its member of `RateLimit-Policy`.
    pub(super) declared: HeaderValue,
}

impl Policy {
    fn new(name: &'static str, class: Class, rate: Rate) -> Self {
        let window = rate.span.length().unwrap_or(Duration::from_secs(60));
        let seconds = window.as_secs();
        let declared = HeaderValue::try_from(format!("\"{name}\";q={};w={seconds}", rate.count));
        let told = Told {
            most: rate.count.into(),
            window: seconds.into(),
            // A fixed name and two numbers always form a valid value.
            declared: declared.unwrap_or_else(|_| HeaderValue::from_static("")),
        };
        Self { name, class, most: rate.count, window, told }
    }

    fn limit(&self, subject: Subject) -> Limit {
        let key = Key::new(self.class, subject);
        Limit { key, most: self.most.into(), window: Window::Fixed(self.window) }
    }
}

/// What a request counts as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// A call of an agent endpoint; `action`: one that changes something.
    Call { action: bool },
    /// A published document for agents, or a message that calls nothing.
    Content,
    /// A request that passes to the site.
    Site,
}

/// The declared limits.
#[derive(Debug, Clone)]
pub struct Policies {
    anonymous: Policy,
    /// Invalid credentials, as many as anonymous calls.
    wrong: Policy,
    guesses: Arc<Guesses>,
    authenticated: Policy,
    actions: Policy,
    content: Policy,
    per_agent: Option<Policy>,
    site: Option<Policy>,
    /// Replaces `authenticated`, by the API key's index in the declaration.
    own: Vec<Option<Policy>>,
}

impl Policies {
    /// Prepares the declared limits.
    pub fn new(settings: &Settings) -> Self {
        let RateLimits { anonymous, authenticated, actions, content, per_agent, site } = settings.rate_limits.clone();
        let own = |key: &frontdesk_config::ApiKey| {
            key.rate_limit.map(|rate| Policy::new("authenticated", Class::Authenticated, rate))
        };
        Self {
            anonymous: Policy::new("anonymous", Class::Anonymous, anonymous),
            wrong: Policy::new("wrong-credentials", Class::Guesses, anonymous),
            guesses: Arc::default(),
            authenticated: Policy::new("authenticated", Class::Authenticated, authenticated),
            actions: Policy::new("actions", Class::Actions, actions),
            content: Policy::new("content", Class::Content, content),
            per_agent: per_agent.map(|rate| Policy::new("per-agent", Class::PerAgent, rate)),
            site: site.map(|rate| Policy::new("site", Class::Site, rate)),
            own: settings.auth.api_keys.iter().map(own).collect(),
        }
    }

    /// Remembers the guesses that were made under other limits: a new configuration is no new start for an address that guesses.
    pub fn keep_guesses(&mut self, before: &Self) {
        self.guesses = Arc::clone(&before.guesses);
    }

    /// Whether what passes to the site is counted.
    pub fn counts_site(&self) -> bool {
        self.site.is_some()
    }

    /// The limits that hold for a caller.
    pub fn held(&self, counted: Counted, caller: &Caller) -> Held<'_> {
        let mut held = Held::default();
        let address = || Subject::address(caller.address);
        // Each request counts once: a proven caller by identity, any other by address.
        let (subject, scope) = match caller.subject {
            Some(subject) => (subject, Scope::Agent),
            None => (address(), Scope::Ip),
        };
        match counted {
            Counted::Site => {
                if let Some(site) = &self.site {
                    held.add(site, address(), Scope::Ip);
                }
            }
            Counted::Content => held.add(&self.content, subject, scope),
            Counted::Call { action } => {
                let own = caller.key.and_then(|index| self.own.get(index)?.as_ref());
                let main = match caller.subject {
                    Some(_) => own.unwrap_or(&self.authenticated),
                    None => &self.anonymous,
                };
                held.add(main, subject, scope);
                if action {
                    held.add(&self.actions, subject, scope);
                }
                if let (Some(policy), Some(agent)) = (&self.per_agent, &caller.agent) {
                    held.add(policy, agent.subject(subject), Scope::Agent);
                }
            }
        }
        held
    }

    /// The limits that depend on the question: on actions, and on an agent name that the head did not contain.
    pub fn held_beside(&self, action: bool, agent: Option<&str>, caller: &Caller) -> Held<'_> {
        let mut held = Held::default();
        let (subject, scope) = match caller.subject {
            Some(subject) => (subject, Scope::Agent),
            None => (Subject::address(caller.address), Scope::Ip),
        };
        if action {
            held.add(&self.actions, subject, scope);
        }
        // A signature takes precedence over a claimed name.
        let claimed = agent.and_then(Agent::claimed).filter(|_| !caller.agent.as_ref().is_some_and(|a| a.verified));
        if let (Some(policy), Some(agent)) = (&self.per_agent, claimed)
            && caller.agent.as_ref().is_none_or(|known| known.name != agent.name)
        {
            held.add(policy, agent.subject(subject), Scope::Agent);
        }
        held
    }

    /// The limit for a missing credential, by address.
    pub fn held_for_nothing(&self, caller: &Caller) -> Held<'_> {
        let mut held = Held::default();
        held.add(&self.anonymous, Subject::address(caller.address), Scope::Ip);
        held
    }

    /// The limit for an invalid credential, by address. `now` in seconds since 1970.
    pub fn held_for_wrong(&self, caller: &Caller, now: u64) -> Held<'_> {
        self.guesses.remember(Subject::address(caller.address), now + self.wrong.window.as_secs() + 1);
        self.wrong_of(caller)
    }

    /// Whether what was presented on a page, and is no key of ours, was not presented there before from this address.
    pub fn is_new_guess(&self, caller: &Caller, presented: &[u8]) -> bool {
        self.guesses.is_new(Subject::address(caller.address), presented)
    }

    /// Where an address stands with credentials that are not valid, if it presented too many. A caller that guesses must learn
    /// nothing then: a key that is right is refused like the others.
    pub async fn guessing(&self, counters: &dyn Counters, caller: &Caller, now: u64) -> Option<(Held<'_>, Taken)> {
        if !self.guesses.may_have_failed(Subject::address(caller.address), now) {
            return None;
        }
        let held = self.wrong_of(caller);
        // If the counters are unavailable, the next limit reports it.
        let taken = held.take(counters, Amount::NOTHING).await.ok()?;
        (taken.levels[0].used >= u64::from(self.wrong.most)).then_some((held, taken))
    }

    fn wrong_of(&self, caller: &Caller) -> Held<'_> {
        let mut held = Held::default();
        held.add(&self.wrong, Subject::address(caller.address), Scope::Ip);
        held
    }
}

/// The limits that apply to one request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Held<'a> {
    policies: [Option<(&'a Policy, Scope)>; TOGETHER],
    limits: [Option<Limit>; TOGETHER],
    len: usize,
}

impl<'a> Held<'a> {
    fn add(&mut self, policy: &'a Policy, subject: Subject, scope: Scope) {
        if let (Some(place), Some(limit)) = (self.policies.get_mut(self.len), self.limits.get_mut(self.len)) {
            *place = Some((policy, scope));
            *limit = Some(policy.limit(subject));
            self.len += 1;
        }
    }

    /// As the store takes them: an array and the number of limits in it.
    pub fn limits(&self) -> ([Limit; TOGETHER], usize) {
        const NOTHING: Limit = Limit { key: Key::NONE, most: 0, window: Window::Fixed(Duration::ZERO) };
        (self.limits.map(|limit| limit.unwrap_or(NOTHING)), self.len)
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes this amount from all limits, or from none.
    pub async fn take(&self, counters: &dyn Counters, amount: Amount) -> Result<Taken, Away> {
        let (limits, len) = self.limits();
        counters.take(&limits[..len], amount).await
    }

    /// Refunds one request to each limit, if its window is still known.
    pub async fn give_back(&self, counters: &dyn Counters) {
        let Ok(seen) = self.take(counters, Amount::NOTHING).await else { return };
        let limits = self.limits.iter().flatten().zip(&seen.levels).filter(|(_, level)| level.is_counted());
        let settlements: Vec<Settlement> = limits
            .map(|(limit, level)| Settlement { key: limit.key, window: limit.window, period: level.period, by: -1 })
            .collect();
        // If that fails the request stays counted, which is the stricter side.
        let _ = counters.settle(&settlements).await;
    }

    /// Each policy with its state.
    pub(super) fn standing(&self, taken: &'a Taken) -> impl Iterator<Item = Standing<'a>> {
        let policies = self.policies.into_iter().flatten();
        policies.zip(&taken.levels).map(|((policy, scope), level)| Standing { policy, scope, level })
    }

    /// The reported limit, if it is almost or completely used up.
    pub fn near(&self, taken: &Taken) -> Option<Near> {
        let tightest = self.tightest(taken).filter(|tightest| tightest.level.is_counted())?;
        let Policy { name, most, .. } = *tightest.policy;
        Near::of(Near { policy: name, used: tightest.level.used, most, resets_in: tightest.level.resets_in })
    }

    /// The refusal for an exceeded limit.
    pub fn exceeded(&self, taken: &Taken) -> Refusal {
        let refusal = Refusal::from(Fault::RateLimited);
        let Some(tightest) = self.tightest(taken) else { return refusal };
        let (policy, seconds) = (tightest.policy, tightest.seconds());
        let window = policy.window.as_secs();
        let detail = format!("More than {} requests in {window} seconds. Try again in {seconds} seconds.", policy.most);
        let (scope, violated) = (Some(tightest.scope), Some(policy.name));
        Refusal { scope, violated, retry_after: Some(seconds), ..refusal.saying(detail) }
    }

    /// The reported limit: of the exhausted ones the longest to wait for, else the one with the least left.
    pub(crate) fn tightest(&self, taken: &'a Taken) -> Option<Standing<'a>> {
        self.standing(taken).min_by_key(|s| (s.remaining(), std::cmp::Reverse(s.level.resets_in)))
    }
}

/// A policy with its state.
pub struct Standing<'a> {
    pub policy: &'a Policy,
    pub scope: Scope,
    pub(super) level: &'a Level,
}

impl Standing<'_> {
    /// Requests left in the window.
    pub(super) fn remaining(&self) -> u64 {
        u64::from(self.policy.most).saturating_sub(self.level.used)
    }

    /// Seconds until the window ends, rounded up; at least one.
    pub fn seconds(&self) -> u64 {
        whole_seconds(self.level.resets_in).max(1)
    }
}
