//! The table `[token_budget]`: an estimate is reserved before an answer is made, and settled when it is known what it
//! took (decision 7).
//!
//! What is reserved bounds the answer, so calls that run at once cannot spend more than there is, on any store.

use std::time::Duration;

use super::{fields::whole_seconds, policy::Near};
use crate::{
    caller::Caller,
    fault::{Fault, Refusal, Scope},
    site::{Budget, Sessions, Span, TokenBudget},
    state::{Amount, Away, Class, Counters, Key, Limit, Settlement, Subject, Window},
};

/// The least tokens of an answer that is worth giving.
pub const LEAST: u64 = 16;

/// The budgets that were declared.
#[derive(Debug, Clone)]
pub struct Budgets {
    declared: TokenBudget,
    /// How long a session lives without being used.
    idle: Duration,
}

/// Tokens that one answer may take, until they are settled.
#[derive(Debug, Clone, Copy)]
#[must_use = "what is reserved stays charged until it is settled"]
pub struct Reserved {
    /// At most so many tokens, the question's among them.
    pub tokens: u64,
    /// At most so many of them for the answer.
    pub answer: u64,
    limits: [Limit; 2],
    settlements: [Settlement; 2],
    /// What was almost used up before; for the operator.
    pub(crate) near: Option<Near>,
}

/// Why nothing was reserved.
#[derive(Debug)]
pub enum NotReserved {
    /// A budget is used up, or never had as much.
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
        counters: &dyn Counters,
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
        let taken = counters.take(&limits, amount).await?;
        let Some(tokens) = taken.granted else {
            let spent =
                |(limit, level): (&Limit, &crate::state::Level)| limit.most < level.used.saturating_add(amount.least);
            let [of_session, of_day] = [0, 1].map(|n| spent((&limits[n], &taken.levels[n])));
            // Nothing helps a session before its day is over.
            let speaks = usize::from(of_day || !of_session);
            let resets_in = whole_seconds(taken.levels[speaks].resets_in).max(1);
            return Err(NotReserved::Exhausted(Box::new(exhausted(limits[speaks].window, resets_in))));
        };
        let settlements = [0, 1].map(|n: usize| Settlement {
            key: limits[n].key,
            window: limits[n].window,
            period: taken.levels[n].period,
            by: 0,
        });
        let near = [("session tokens", self.own(caller).count), ("daily tokens", self.declared.daily.count)];
        let near = near.into_iter().zip(&taken.levels).filter_map(|((policy, most), level)| {
            // What is reserved is not spent yet.
            Near::of(Near { policy, used: level.used.saturating_sub(tokens), most, resets_in: level.resets_in })
        });
        let near = near.min_by_key(|near| u64::from(near.most).saturating_sub(near.used));
        Ok(Reserved { tokens, answer: tokens - asked, limits, settlements, near })
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

impl Reserved {
    /// Reserves so many tokens more, all or none of them; whether they could be had.
    pub async fn grow(&mut self, counters: &dyn Counters, more: u64) -> bool {
        let taken = counters.take(&self.limits, Amount { wanted: more, least: more }).await;
        let granted = taken.is_ok_and(|taken| taken.granted.is_some());
        if granted {
            self.tokens += more;
            self.answer += more;
        }
        granted
    }

    /// Charges what was spent after it was settled.
    pub async fn charge(self, counters: &dyn Counters, spent: u64) -> Result<(), Away> {
        Self { tokens: 0, ..self }.settle(counters, spent).await
    }

    /// Gives back what was not spent, or charges what was spent beside it.
    pub async fn settle(mut self, counters: &dyn Counters, spent: u64) -> Result<(), Away> {
        let by = i64::try_from(spent).unwrap_or(i64::MAX).saturating_sub_unsigned(self.tokens);
        for settlement in &mut self.settlements {
            settlement.by = by;
        }
        counters.settle(&self.settlements).await
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

/// A session has to be begun anew, a day to be waited for (AHP §11.4 and the notes' C18, C21).
fn exhausted(window: Window, resets_in: u64) -> Refusal {
    let refusal = Refusal::from(Fault::RateLimited);
    match window {
        Window::Idle(_) => Refusal {
            reason: "session_tokens",
            scope: Some(Scope::SessionTokens),
            never: true,
            retry_after: Some(resets_in),
            ..refusal.saying("The token budget of this session is used up. Begin a new session.")
        },
        Window::Fixed(_) => Refusal {
            reason: "daily_tokens",
            scope: Some(Scope::Ip),
            retry_after: Some(resets_in),
            ..refusal.saying("Today's token budget is used up. Wait as long as Retry-After says.")
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::state::testing::{Home, run};

    fn budgets() -> Budgets {
        let budget = |count, span| Budget { count, span };
        let declared = TokenBudget {
            anonymous: budget(500, Span::Session),
            authenticated: budget(2000, Span::Session),
            daily: budget(800, Span::Day),
            max_response: 300,
        };
        Budgets::new(
            &declared,
            &Sessions {
                max_turns: 10,
                idle: Duration::from_secs(600),
                max_body: 8192,
                results: Duration::from_secs(3600),
                allow_http_callbacks: false,
            },
        )
    }

    fn somebody() -> Caller {
        Caller::at("192.0.2.1".parse().unwrap())
    }

    async fn reserve(home: &Home, session: &str, asked: u64, answer: u64) -> Result<Reserved, NotReserved> {
        budgets().reserve(home, &somebody(), session, (asked, answer, 50)).await
    }

    fn refusal(result: Result<Reserved, NotReserved>) -> Refusal {
        match result {
            Err(NotReserved::Exhausted(refusal)) => *refusal,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_ceiling_is_the_callers_under_ours() {
        assert_eq!([None, Some(100), Some(5000), Some(0)].map(|asked| budgets().ceiling(asked)), [300, 100, 300, 1]);
    }

    #[test]
    fn what_was_not_spent_is_given_back() {
        run(async {
            let home = Home::new();
            let reserved = reserve(&home, "s", 100, 300).await.unwrap();
            assert_eq!((reserved.tokens, reserved.answer), (400, 300));
            assert!(reserved.near.is_none(), "what is reserved is not spent");
            // Somebody else in the same session gets what is left, which is a short answer.
            let beside = reserve(&home, "s", 10, 300).await.unwrap();
            assert_eq!((beside.tokens, beside.answer), (100, 90));
            assert_eq!(refusal(reserve(&home, "s", 1, 300).await).scope, Some(Scope::SessionTokens));
            beside.settle(&home, 20).await.unwrap();
            reserved.settle(&home, 400).await.unwrap();
            let last = reserve(&home, "s", 0, 300).await.unwrap();
            assert_eq!(last.answer, 80);
            assert_eq!(last.near.map(|near| (near.policy, near.used, near.most)), Some(("session tokens", 420, 500)));
        });
    }

    #[test]
    fn what_no_budget_ever_holds_is_too_large() {
        run(async {
            let home = Home::new();
            for asked in [451, 5000, u64::MAX] {
                let large = refusal(reserve(&home, "s", asked, 300).await);
                assert_eq!((large.fault, large.retry_after, large.scope), (Fault::TooLarge, None, None));
                assert!(large.detail.contains("a session has 500 here"), "{}", large.detail);
            }
            assert_eq!(reserve(&home, "s", 450, 300).await.unwrap().answer, 50);
        });
    }

    #[test]
    fn a_session_is_not_worth_waiting_for_and_a_day_is() {
        run(async {
            let home = Home::new();
            for _ in 0..2 {
                let _ = reserve(&home, "a", 0, 250).await.unwrap();
            }
            let session = refusal(reserve(&home, "a", 0, 250).await);
            assert_eq!((session.scope, session.told_retry_after()), (Some(Scope::SessionTokens), None));
            assert_eq!(session.retry_after, Some(600));
            let _ = reserve(&home, "b", 0, 300).await.unwrap();
            let day = refusal(reserve(&home, "c", 0, 300).await);
            assert_eq!(
                (day.scope, day.told_retry_after(), day.reason),
                (Some(Scope::Ip), Some(86_400), "daily_tokens")
            );
            home.away.store(true, Ordering::Relaxed);
            assert!(matches!(reserve(&home, "d", 0, 1).await, Err(NotReserved::Away)));
        });
    }
}
