//! The table `[token_budget]`: an estimate is reserved before an answer is made, and settled at the actual cost
//! (docs/decisions/0007-token-budgets.md).
//!
//! The reservation bounds the answer, so concurrent calls cannot spend more than the budget, on any store.

mod reserved;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::reserved::{Purse, Reserved, UnderWay};
use super::{policy::Near, whole_seconds};
use crate::Caller;
use frontdesk_base::fault::{Fault, Refusal, Scope};
use frontdesk_config::{Budget, Sessions, Span, TokenBudget};
use frontdesk_state::{Amount, Away, Class, Counters, Key, Level, Limit, Subject, TOGETHER, Window};

/// The minimum useful length of an answer, in tokens.
pub const LEAST: u64 = 16;

/// The declared budgets.
#[derive(Debug, Clone)]
pub struct Budgets {
    declared: TokenBudget,
    /// How long an unused session lives.
    idle: Duration,
}

/// Why nothing was reserved.
#[derive(Debug)]
pub enum NotReserved {
    /// A budget is spent or reserved, or is too small.
    Exhausted(Box<Refusal>),
    /// The counters are unavailable.
    Away,
}

impl From<Away> for NotReserved {
    fn from(_: Away) -> Self {
        Self::Away
    }
}

impl Budgets {
    /// Prepares the declared budgets.
    pub fn new(declared: &TokenBudget, sessions: &Sessions) -> Self {
        Self { declared: declared.clone(), idle: sessions.idle }
    }

    /// Maximum tokens of an answer: the client's limit, but at most the declared one (AHP §11.4).
    pub fn ceiling(&self, max_tokens: Option<u64>) -> u64 {
        max_tokens.unwrap_or(u64::MAX).clamp(1, self.declared.max_response)
    }

    /// Reserves tokens for a question of `asked` tokens and its answer. The answer's share may be cut to what is left,
    /// but not below `least`.
    pub async fn reserve(
        &self,
        (counters, under_way): (&dyn Counters, &UnderWay),
        caller: &Caller,
        session: &str,
        (asked, answer, least): (u64, u64, u64),
    ) -> Result<Reserved, NotReserved> {
        let limits = self.limits(caller, session);
        let amount = Amount { wanted: asked.saturating_add(answer), least: asked.saturating_add(least.min(answer)) };
        if let Some(limit) = limits.iter().find(|limit| limit.most < amount.least) {
            // A new session or another day would have no more.
            return Err(NotReserved::Exhausted(Box::new(too_large(amount.least, limit))));
        }
        // Held before it is taken, so that concurrent requests see it as reserved and not as spent.
        let mut hold = under_way.hold(&limits, amount.wanted);
        let taken = counters.take(&limits, amount).await?;
        let Some(tokens) = taken.granted else {
            drop(hold);
            return Err(NotReserved::Exhausted(Box::new(refusal(&limits, &taken.levels, amount.least, under_way))));
        };
        hold.resize(tokens);
        let near = [("session tokens", self.own(caller).count), ("daily tokens", self.declared.daily.count)];
        let near = near.into_iter().zip(limits).zip(taken.levels).filter_map(|(((policy, most), limit), level)| {
            // Reserved tokens are not spent yet.
            let used = level.used.saturating_sub(under_way.of(limit.key));
            Near::of(Near { policy, used, most, resets_in: level.resets_in })
        });
        let near = near.min_by_key(|near| u64::from(near.most).saturating_sub(near.used));
        Ok(Reserved::new(Purse::of(limits, &taken), hold, (tokens, asked), near))
    }

    /// The budget of a caller.
    fn own(&self, caller: &Caller) -> Budget {
        if caller.subject.is_some() { self.declared.authenticated } else { self.declared.anonymous }
    }

    /// The limits per session, and per day and address.
    fn limits(&self, caller: &Caller, session: &str) -> [Limit; 2] {
        let own = self.own(caller);
        let of_session = Subject::named(&[b"session", session.as_bytes()]);
        let whose = caller.subject.unwrap_or_else(|| Subject::address(caller.address));
        [
            self.limit(own, Class::Session, if own.span == Span::Session { of_session } else { whose }),
            self.limit(
                self.declared.daily,
                Class::Daily,
                if self.declared.daily.span == Span::Session { of_session } else { Subject::address(caller.address) },
            ),
        ]
    }

    fn limit(&self, budget: Budget, class: Class, subject: Subject) -> Limit {
        let window = budget.span.length().map_or(Window::Idle(self.idle), Window::Fixed);
        Limit { key: Key::new(class, subject), most: budget.count.into(), window }
    }
}

/// The request exceeds the whole budget: a smaller one helps, waiting does not.
fn too_large(least: u64, limit: &Limit) -> Refusal {
    let whole = if matches!(limit.window, Window::Idle(_)) { "a session" } else { "a whole period" };
    let detail = format!(
        "The question and a short answer take some {least} tokens, and {whole} has {} here. Send a smaller input, or \
         present a credential that has a larger budget.",
        limit.most
    );
    Refusal { reason: "larger_than_budget", ..Refusal::from(Fault::TooLarge).saying(detail) }
}

/// The refusal where less than `least` was left.
fn refusal(limits: &[Limit; 2], levels: &[Level; TOGETHER], least: u64, under_way: &UnderWay) -> Refusal {
    let lacks = |used: u64, limit: &Limit| limit.most < used.saturating_add(least);
    let spent = |n: usize| lacks(levels[n].used.saturating_sub(under_way.of(limits[n].key)), &limits[n]);
    // Once the day's budget is spent, a new session does not help.
    if let Some(n) = [1, 0].into_iter().find(|n| spent(*n)) {
        return exhausted(limits[n].window, whole_seconds(levels[n].resets_in).max(1));
    }
    reserved(limits[usize::from(!lacks(levels[0].used, &limits[0]))].window)
}

/// The refusal, with the scope that belongs to the window (AHP §11.4).
fn of(window: Window, reason: &'static str) -> Refusal {
    let scope = if matches!(window, Window::Idle(_)) { Scope::SessionTokens } else { Scope::Ip };
    Refusal { reason, scope: Some(scope), ..Fault::RateLimited.into() }
}

/// A session has to be begun anew; a day has to pass.
fn exhausted(window: Window, resets_in: u64) -> Refusal {
    let (reason, never, detail) = match window {
        Window::Idle(_) => {
            ("session_tokens", true, "The token budget of this session is used up. Begin a new session.")
        }
        Window::Fixed(_) => {
            ("daily_tokens", false, "Today's token budget is used up. Wait as long as Retry-After says.")
        }
    };
    Refusal { never, retry_after: Some(resets_in), ..of(window, reason).saying(detail) }
}

/// The tokens are reserved and may be free again after another answer.
fn reserved(window: Window) -> Refusal {
    let detail = "What is left of the token budget is reserved for answers that are under way. Nothing was done; try \
                  again in a moment, or with fewer questions at a time.";
    Refusal { retry_after: Some(1), ..of(window, "tokens_reserved").saying(detail) }
}
