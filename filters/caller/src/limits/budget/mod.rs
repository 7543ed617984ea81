//! The table `[token_budget]`: an estimate is reserved before an answer is made, and settled when it is known what it
//! took (decision 7).
//!
//! What is reserved bounds the answer, so calls that run at once cannot spend more than there is, on any store.

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

/// The least tokens of an answer that is worth giving.
pub const LEAST: u64 = 16;

/// The budgets that were declared.
#[derive(Debug, Clone)]
pub struct Budgets {
    declared: TokenBudget,
    /// How long a session lives without being used.
    idle: Duration,
}

/// Why nothing was reserved.
#[derive(Debug)]
pub enum NotReserved {
    /// A budget is used up or reserved, or never had as much.
    Exhausted(Box<Refusal>),
    /// Nobody can say what is left.
    Away,
}

impl From<Away> for NotReserved {
    fn from(_: Away) -> Self {
        Self::Away
    }
}

impl Budgets {
    /// Prepares what was declared.
    pub fn new(declared: &TokenBudget, sessions: &Sessions) -> Self {
        Self { declared: declared.clone(), idle: sessions.idle }
    }

    /// The tokens that an answer may have at most: what the caller asked for, under the declared ceiling (AHP §11.4).
    pub fn ceiling(&self, max_tokens: Option<u64>) -> u64 {
        max_tokens.unwrap_or(u64::MAX).clamp(1, self.declared.max_response)
    }

    /// Reserves what a question of `asked` tokens and its answer may take. An answer may be cut to what is left, but not
    /// below `least` tokens.
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
            // Neither another session nor another day has more.
            return Err(NotReserved::Exhausted(Box::new(too_large(amount.least, limit))));
        }
        // Before it is taken, so that whoever finds it taken finds it here.
        let mut hold = under_way.hold(&limits, amount.wanted);
        let taken = counters.take(&limits, amount).await?;
        let Some(tokens) = taken.granted else {
            drop(hold);
            return Err(NotReserved::Exhausted(Box::new(refusal(&limits, &taken.levels, amount.least, under_way))));
        };
        hold.resize(tokens);
        let near = [("session tokens", self.own(caller).count), ("daily tokens", self.declared.daily.count)];
        let near = near.into_iter().zip(limits).zip(taken.levels).filter_map(|(((policy, most), limit), level)| {
            // What is reserved is not spent yet, here or by others.
            let used = level.used.saturating_sub(under_way.of(limit.key));
            Near::of(Near { policy, used, most, resets_in: level.resets_in })
        });
        let near = near.min_by_key(|near| u64::from(near.most).saturating_sub(near.used));
        Ok(Reserved::new(Purse::of(limits, &taken), hold, (tokens, asked), near))
    }

    /// What a caller's own budget is.
    fn own(&self, caller: &Caller) -> Budget {
        if caller.subject.is_some() { self.declared.authenticated } else { self.declared.anonymous }
    }

    /// Per session, and per day and address.
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

/// What is asked takes more than there ever is: waiting does not help, less does.
fn too_large(least: u64, limit: &Limit) -> Refusal {
    let whole = if matches!(limit.window, Window::Idle(_)) { "a session" } else { "a whole period" };
    let detail = format!(
        "The question and a short answer take some {least} tokens, and {whole} has {} here. Send a smaller input, or \
         present a credential that has a larger budget.",
        limit.most
    );
    Refusal { reason: "larger_than_budget", ..Refusal::from(Fault::TooLarge).saying(detail) }
}

/// Why less than `least` was left.
fn refusal(limits: &[Limit; 2], levels: &[Level; TOGETHER], least: u64, under_way: &UnderWay) -> Refusal {
    let lacks = |used: u64, limit: &Limit| limit.most < used.saturating_add(least);
    let spent = |n: usize| lacks(levels[n].used.saturating_sub(under_way.of(limits[n].key)), &limits[n]);
    // Nothing helps a session before its day is over.
    if let Some(n) = [1, 0].into_iter().find(|n| spent(*n)) {
        return exhausted(limits[n].window, whole_seconds(levels[n].resets_in).max(1));
    }
    reserved(limits[usize::from(!lacks(levels[0].used, &limits[0]))].window)
}

/// Whose budget it is that is told of, by the window it lasts for (AHP §11.4 and the notes' C18, C21).
fn of(window: Window, reason: &'static str) -> Refusal {
    let scope = if matches!(window, Window::Idle(_)) { Scope::SessionTokens } else { Scope::Ip };
    Refusal { reason, scope: Some(scope), ..Fault::RateLimited.into() }
}

/// A session has to be begun anew, a day to be waited for.
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

/// What is left may be left again as soon as somebody else is answered.
fn reserved(window: Window) -> Refusal {
    let detail = "What is left of the token budget is reserved for answers that are under way. Nothing was done; try \
                  again in a moment, or with fewer questions at a time.";
    Refusal { retry_after: Some(1), ..of(window, "tokens_reserved").saying(detail) }
}
