//! Budgets with in-memory counters: reservations, refunds, refusals and reports.

use std::sync::atomic::Ordering;

use super::*;
use frontdesk_state::testing::{Home, run};

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
    budgets().reserve((home, &UnderWay::default()), &somebody(), session, (asked, answer, 50)).await
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
        assert_eq!(reserved.answer, 300);
        assert!(reserved.near.is_none(), "what is reserved is not spent");
        // Another request in the same session gets the rest, which is a short answer.
        let beside = reserve(&home, "s", 10, 300).await.unwrap();
        assert_eq!(beside.answer, 90);
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
        assert_eq!((day.scope, day.told_retry_after(), day.reason), (Some(Scope::Ip), Some(86_400), "daily_tokens"));
        home.away.store(true, Ordering::Relaxed);
        assert!(matches!(reserve(&home, "d", 0, 1).await, Err(NotReserved::Away)));
    });
}

#[test]
fn what_is_only_reserved_is_worth_a_moments_wait() {
    run(async {
        let (home, budgets, under_way) = (Home::new(), budgets(), UnderWay::default());
        let reserve = |session, answer| {
            let (counts, budgets) = ((&home as _, &under_way), &budgets);
            async move { budgets.reserve(counts, &somebody(), session, (0, answer, 50)).await }
        };
        let told = |refused| {
            let refusal = refusal(refused);
            (refusal.reason, refusal.scope, refusal.told_retry_after())
        };
        let first = reserve("a", 300).await.unwrap();
        let second = reserve("a", 200).await.unwrap();
        assert_eq!(told(reserve("a", 50).await), ("tokens_reserved", Some(Scope::SessionTokens), Some(1)));
        // A mere reservation does not make a budget almost used up.
        let beside = reserve("b", 300).await.unwrap();
        assert!(beside.near.is_none());
        assert_eq!(told(reserve("c", 50).await), ("tokens_reserved", Some(Scope::Ip), Some(1)), "the day's, of 800");
        beside.settle(&home, 0).await.unwrap();
        first.settle(&home, 300).await.unwrap();
        assert_eq!(told(reserve("a", 50).await), ("tokens_reserved", Some(Scope::SessionTokens), Some(1)));
        second.settle(&home, 200).await.unwrap();
        assert_eq!(told(reserve("a", 50).await), ("session_tokens", Some(Scope::SessionTokens), None));
        // An abandoned answer stays charged, and is no longer in progress.
        drop(reserve("b", 300).await.unwrap());
        assert_eq!(told(reserve("d", 50).await).0, "daily_tokens");
        assert!(under_way.is_empty(), "what has ended is not kept");
    });
}

#[test]
fn a_purse_is_charged_after_what_was_reserved_is_settled() {
    run(async {
        let (home, budgets, under_way) = (Home::new(), budgets(), UnderWay::default());
        let mut reserved = budgets.reserve((&home, &under_way), &somebody(), "s", (0, 100, 50)).await.unwrap();
        assert!(reserved.grow(&home, 350).await && !reserved.grow(&home, 51).await);
        assert_eq!(reserved.answer, 450);
        let purse = reserved.purse;
        reserved.settle(&home, 0).await.unwrap();
        assert!(purse.take(&home, 400).await && !purse.take(&home, 101).await);
        purse.charge(&home, 60).await.unwrap();
        let left = budgets.reserve((&home, &under_way), &somebody(), "s", (0, 1, 1)).await.unwrap();
        let near = left.near.expect("nearly used up");
        assert_eq!((near.policy, near.used, near.most), ("session tokens", 460, 500));
    });
}
