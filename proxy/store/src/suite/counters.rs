//! Tests of the counters in every backend.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use frontdesk_state::{Amount, Settlement};

use super::{Place, amount, fixed, idle, in_every_home, pause, settle, take, used};

in_every_home!(
    a_fixed_window_ends_whatever_happens_in_between,
    a_session_ends_after_its_last_use,
    all_limits_are_charged_or_none,
    what_is_left_is_granted_if_it_is_enough,
    a_look_changes_nothing,
    what_was_taken_is_corrected,
    a_window_that_has_ended_is_not_corrected,
    settlements_of_several_keys_find_their_counts,
    a_budget_is_never_overrun,
    a_limit_admits_exactly_as_many,
    a_shorter_window_ends_the_sooner,
);

async fn a_fixed_window_ends_whatever_happens_in_between(place: &Place) {
    let limit = fixed("fixed", 3, 1500);
    let first = take(place, &[limit], Amount::ONE).await;
    assert_eq!((first.granted, first.levels[0].used), (Some(1), 1));
    assert!(first.levels[0].resets_in <= limit.window.length());
    pause(200).await;
    for n in 2..=3 {
        let taken = take(place, &[limit], Amount::ONE).await;
        assert_eq!((taken.granted, taken.levels[0].used), (Some(1), n));
        assert_eq!(taken.levels[0].period, first.levels[0].period);
        assert!(taken.levels[0].resets_in.as_millis() <= 1310, "{:?}", taken.levels[0].resets_in);
    }
    let refused = take(place, &[limit], Amount::ONE).await;
    assert_eq!((refused.granted, refused.levels[0].used), (None, 3));
    pause(refused.levels[0].resets_in.as_millis() as u64 + 20).await;
    let next = take(place, &[limit], Amount::ONE).await;
    assert_eq!((next.granted, next.levels[0].used), (Some(1), 1));
    assert_ne!(next.levels[0].period, first.levels[0].period);
}

async fn a_session_ends_after_its_last_use(place: &Place) {
    let limit = idle("idle", 10, 1600);
    take(place, &[limit], Amount::ONE).await;
    pause(900).await;
    let taken = take(place, &[limit], Amount::ONE).await;
    assert_eq!(taken.levels[0].used, 2);
    pause(900).await;
    // A settlement counts as use.
    settle(place, limit, &taken, 3).await;
    pause(900).await;
    let look = take(place, &[limit], Amount::NOTHING).await;
    assert_eq!(look.levels[0].used, 5);
    // A read and a refusal do not count as use.
    assert_eq!(take(place, &[limit], amount(9, 9)).await.granted, None);
    pause(look.levels[0].resets_in.as_millis() as u64 + 20).await;
    assert_eq!(take(place, &[limit], Amount::ONE).await.levels[0].used, 1);
}

/// As when a configuration swap shortens the window.
async fn a_shorter_window_ends_the_sooner(place: &Place) {
    const LENGTH: u64 = 900;
    let limits = |length| [fixed("asked", 3, length), fixed("looked at", 3, length), idle("session", 3, length)];
    for limit in limits(3_600_000) {
        take(place, &[limit], amount(3, 3)).await;
    }
    let [asked, looked_at, session] = limits(LENGTH);
    let began = Instant::now();
    let first = take(place, &[asked], Amount::ONE).await.levels[0];
    take(place, &[session], Amount::ONE).await;
    assert!(first.used == 3 && first.resets_in <= asked.window.length(), "{first:?}");
    assert_eq!(used(place, looked_at).await, 3);
    // Backends count in milliseconds.
    let latest = began.elapsed() + Duration::from_millis(LENGTH + 5);
    // Repeated requests and reads do not postpone that.
    while began.elapsed() < Duration::from_millis(LENGTH * 2 / 3) {
        pause(50).await;
        let before = began.elapsed();
        let levels = [
            take(place, &[asked], Amount::ONE).await.levels[0],
            take(place, &[looked_at], Amount::NOTHING).await.levels[0],
            take(place, &[session], amount(2, 1)).await.levels[0],
        ];
        for level in levels {
            assert!(level.used == 0 || level.resets_in + before <= latest, "{level:?}");
        }
    }
    pause(LENGTH).await;
    assert_eq!(take(place, &[asked], Amount::ONE).await.granted, Some(1));
    assert_eq!(used(place, looked_at).await, 0);
    assert_eq!(take(place, &[session], Amount::ONE).await.granted, Some(1));
}

async fn all_limits_are_charged_or_none(place: &Place) {
    let (wide, narrow) = (fixed("wide", 5, 60_000), fixed("narrow", 2, 60_000));
    let refused = take(place, &[wide, narrow], amount(3, 3)).await;
    assert_eq!(refused.granted, None);
    assert_eq!((used(place, wide).await, used(place, narrow).await), (0, 0));
    let granted = take(place, &[wide, narrow], amount(2, 2)).await;
    assert_eq!((granted.granted, granted.levels[0].used, granted.levels[1].used), (Some(2), 2, 2));
    let refused = take(place, &[wide, narrow], Amount::ONE).await;
    assert_eq!((refused.granted, refused.levels[0].used, refused.levels[1].used), (None, 2, 2));
    assert_eq!(used(place, wide).await, 2);
}

async fn what_is_left_is_granted_if_it_is_enough(place: &Place) {
    let limits = [fixed("a", 10, 60_000), fixed("b", 8, 60_000), fixed("c", 100, 60_000), idle("d", 9, 60_000)];
    assert_eq!(take(place, &limits, amount(5, 1)).await.granted, Some(5));
    let taken = take(place, &limits, amount(5, 3)).await;
    assert_eq!(taken.granted, Some(3));
    assert_eq!(taken.levels.map(|level| level.used), [8; 4]);
    assert_eq!(take(place, &limits, amount(5, 1)).await.granted, None);
    assert_eq!(take(place, &limits, amount(5, 0)).await.granted, Some(0));
    assert_eq!(used(place, limits[2]).await, 8);
}

async fn a_look_changes_nothing(place: &Place) {
    let limit = fixed("look", 1, 60_000);
    let look = take(place, &[limit], Amount::NOTHING).await;
    assert_eq!((look.granted, look.levels[0].used), (Some(0), 0));
    assert_eq!(look.levels[0].resets_in, limit.window.length());
    // A refusal does not start a window either.
    assert_eq!(take(place, &[limit], amount(2, 2)).await.granted, None);
    assert_eq!(take(place, &[limit], Amount::NOTHING).await.levels[0].resets_in, limit.window.length());
    take(place, &[limit], Amount::ONE).await;
    pause(20).await;
    let look = take(place, &[limit], Amount::NOTHING).await;
    assert_eq!((look.granted, look.levels[0].used), (Some(0), 1));
    assert!(look.levels[0].resets_in < limit.window.length());
}

async fn what_was_taken_is_corrected(place: &Place) {
    let limit = fixed("settle", 100, 60_000);
    let taken = take(place, &[limit], amount(10, 10)).await;
    settle(place, limit, &taken, -4).await;
    assert_eq!(used(place, limit).await, 6);
    settle(place, limit, &taken, 1000).await;
    let look = take(place, &[limit], Amount::NOTHING).await;
    assert_eq!((look.granted, look.levels[0].used), (Some(0), 1006));
    settle(place, limit, &taken, -5000).await;
    assert_eq!(used(place, limit).await, 0);
    assert_eq!(take(place, &[limit], amount(100, 100)).await.granted, Some(100));
}

async fn a_window_that_has_ended_is_not_corrected(place: &Place) {
    let limit = fixed("ended", 100, 400);
    let old = take(place, &[limit], amount(50, 50)).await;
    pause(450).await;
    // Nothing was counted, so no window starts.
    settle(place, limit, &old, 7).await;
    assert_eq!(used(place, limit).await, 0);
    let limit = fixed("ended", 100, 60_000);
    let new = take(place, &[limit], amount(5, 5)).await;
    settle(place, limit, &old, -50).await;
    assert_eq!(used(place, limit).await, 5);
    settle(place, limit, &new, -1).await;
    assert_eq!(used(place, limit).await, 4);
}

async fn settlements_of_several_keys_find_their_counts(place: &Place) {
    let limits: Vec<_> = (0..10).map(|n| fixed(&format!("several {n}"), 100, 60_000)).collect();
    let mut settlements = Vec::new();
    for limit in &limits {
        let period = take(place, &[*limit], amount(10, 10)).await.levels[0].period;
        settlements.push(Settlement { key: limit.key, window: limit.window, period, by: settlements.len() as i64 });
    }
    place.counters.settle(&settlements).await.unwrap();
    place.counters.settle(&[]).await.unwrap();
    for (n, limit) in limits.iter().enumerate() {
        assert_eq!(used(place, *limit).await, 10 + n as u64);
    }
}

async fn a_budget_is_never_overrun(place: &Place) {
    const BUDGET: u64 = 5_000;
    let spent = Arc::new(AtomicU64::new(0));
    let tasks: Vec<_> = (0..64u64)
        .map(|task| {
            let (store, spent) = (place.store.clone(), spent.clone());
            tokio::spawn(async move {
                let limit = fixed("budget", BUDGET, 600_000);
                for turn in 0..10 {
                    let taken = take(&store, &[limit], amount(40, 1)).await;
                    let Some(granted) = taken.granted else { continue };
                    let really = (task * 7 + turn * 13) % (granted + 1);
                    tokio::task::yield_now().await;
                    let sum = spent.fetch_add(really, Ordering::SeqCst) + really;
                    assert!(sum <= BUDGET, "{sum}");
                    settle(&store, limit, &taken, really as i64 - granted as i64).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(used(place, fixed("budget", BUDGET, 600_000)).await, spent.load(Ordering::SeqCst));
}

async fn a_limit_admits_exactly_as_many(place: &Place) {
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let store = place.store.clone();
            tokio::spawn(async move {
                let limits = [fixed("each", 100, 600_000), fixed("all", 1000, 600_000)];
                let mut granted = 0;
                for _ in 0..5 {
                    granted += take(&store, &limits, Amount::ONE).await.granted.unwrap_or(0);
                }
                granted
            })
        })
        .collect();
    let mut granted = 0;
    for task in tasks {
        granted += task.await.unwrap();
    }
    assert_eq!(granted, 100);
    assert_eq!(used(place, fixed("all", 1000, 600_000)).await, 100);
}
