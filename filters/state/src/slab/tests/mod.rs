//! The slab's guarantees, one by one.

mod kinds;
mod model;
mod threads;
mod windows;

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use super::*;
use crate::{Class, Subject};

const SECOND: Duration = Duration::from_secs(1);
const MILLI: Duration = Duration::from_millis(1);
const NANO: Duration = Duration::from_nanos(1);

fn key(n: u32) -> Key {
    key_of(Class::Actions, n)
}

fn key_of(class: Class, n: u32) -> Key {
    Key::new(class, Subject::address(IpAddr::V4(Ipv4Addr::from_bits(n))))
}

/// Slots for counters of this kind.
fn slots(slab: &Slab, kind: Kind) -> usize {
    let first = kind as usize * SHARDS;
    slab.shards[first..first + SHARDS].iter().map(|shard| shard.0.lock().size()).sum()
}

fn fixed(n: u32, most: u64) -> Limit {
    Limit { key: key(n), most, window: Window::Fixed(SECOND) }
}

fn idle(n: u32, most: u64) -> Limit {
    Limit { key: key(n), most, window: Window::Idle(SECOND) }
}

fn some(wanted: u64, least: u64) -> Amount {
    Amount { wanted, least }
}

fn used(slab: &Slab, limit: Limit, now: Duration) -> u64 {
    slab.take(&[limit], Amount::NOTHING, now).levels[0].used
}

#[test]
fn a_fixed_window_ends_a_length_after_its_first_use() {
    let slab = Slab::new(10);
    let limit = fixed(1, 2);
    let start = 5 * SECOND;
    let first = slab.take(&[limit], Amount::ONE, start);
    assert_eq!((first.granted, first.levels[0].used, first.levels[0].resets_in), (Some(1), 1, SECOND));
    let second = slab.take(&[limit], Amount::ONE, start + SECOND / 2);
    assert_eq!((second.granted, second.levels[0].used, second.levels[0].resets_in), (Some(1), 2, SECOND / 2));
    let last = slab.take(&[limit], Amount::ONE, start + SECOND - NANO);
    assert_eq!((last.granted, last.levels[0].used, last.levels[0].resets_in), (None, 2, NANO));
    let next = slab.take(&[limit], Amount::ONE, start + SECOND);
    assert_eq!((next.granted, next.levels[0].used, next.levels[0].resets_in), (Some(1), 1, SECOND));
    assert_ne!(next.levels[0].period, first.levels[0].period);
    assert_eq!(slab.tracked(), 1);
}

#[test]
fn a_session_ends_a_length_after_its_last_use() {
    let slab = Slab::new(10);
    let limit = idle(1, 3);
    let mut now = SECOND;
    for n in 1..=3 {
        let taken = slab.take(&[limit], Amount::ONE, now);
        assert_eq!((taken.levels[0].used, taken.levels[0].resets_in), (n, SECOND));
        now += SECOND - MILLI;
    }
    // Neither a refusal nor a read renews it.
    assert_eq!(slab.take(&[limit], Amount::ONE, now).granted, None);
    assert_eq!(slab.take(&[limit], Amount::NOTHING, now).levels[0].resets_in, MILLI);
    assert_eq!(used(&slab, limit, now + MILLI), 0);
}

#[test]
fn settling_renews_a_session_but_does_not_revive_it() {
    let slab = Slab::new(10);
    let limit = idle(1, 100);
    let period = slab.take(&[limit], some(10, 1), Duration::ZERO).levels[0].period;
    let settlement = Settlement { key: limit.key, window: limit.window, period, by: 5 };
    slab.settle(&[settlement], SECOND - MILLI);
    assert_eq!(used(&slab, limit, SECOND), 15);
    assert_eq!(used(&slab, limit, 2 * SECOND - 2 * MILLI), 15);
    slab.settle(&[settlement], 2 * SECOND - MILLI);
    assert_eq!(used(&slab, limit, 2 * SECOND - MILLI), 0);
}

#[test]
fn all_limits_are_charged_or_none() {
    let slab = Slab::new(10);
    let limits = [fixed(1, 10), idle(2, 10), fixed(3, 4), fixed(4, 10)];
    let taken = slab.take(&limits, some(6, 5), Duration::ZERO);
    assert_eq!(taken.granted, None);
    assert_eq!(taken.levels.map(|level| level.used), [0; 4]);
    assert_eq!(taken.levels.map(|level| level.resets_in), [SECOND; 4]);
    assert_eq!(slab.tracked(), 0, "a refusal begins no window");

    let taken = slab.take(&limits, some(6, 3), SECOND);
    assert_eq!(taken.granted, Some(4), "what is left of the least");
    assert_eq!(taken.levels.map(|level| level.used), [4; 4]);
    assert_eq!(slab.take(&limits, some(6, 1), SECOND).granted, None);
    assert_eq!(slab.take(&limits[..2], some(7, 6), SECOND).granted, Some(6));
    assert_eq!(slab.take(&limits, Amount::NOTHING, SECOND).levels.map(|level| level.used), [10, 10, 4, 4]);
}

#[test]
fn nothing_taken_changes_nothing() {
    let slab = Slab::new(10);
    assert_eq!(slab.take(&[], some(7, 7), SECOND).granted, Some(7));
    let full = fixed(1, 0);
    assert_eq!(slab.take(&[full], Amount::NOTHING, SECOND).granted, Some(0));
    assert_eq!(slab.take(&[full, fixed(2, 9)], some(1, 0), SECOND).granted, Some(0));
    assert_eq!(slab.tracked(), 0);
}

#[test]
fn a_settlement_finds_its_own_window_only() {
    let slab = Slab::new(10);
    let limit = fixed(1, 100);
    let by = |period, by| Settlement { key: limit.key, window: limit.window, period, by };
    let period = slab.take(&[limit], some(10, 1), Duration::ZERO).levels[0].period;
    slab.settle(&[by(period, -4)], SECOND / 2);
    assert_eq!(used(&slab, limit, SECOND / 2), 6);
    slab.settle(&[by(period, -40)], SECOND / 2);
    assert_eq!(used(&slab, limit, SECOND / 2), 0, "never below zero");
    slab.settle(&[by(period, i64::MAX)], SECOND / 2);
    let full = slab.take(&[limit], Amount::ONE, SECOND / 2);
    assert_eq!((full.granted, full.levels[0].used), (None, u64::from(u32::MAX)));
    slab.settle(&[by(period, i64::MIN)], SECOND);
    let next = slab.take(&[limit], some(10, 1), SECOND).levels[0].period;
    slab.settle(&[by(period, -1)], SECOND);
    assert_eq!(used(&slab, limit, SECOND), 10, "the window of the settlement is over");
    slab.settle(&[by(next, -1), Settlement { key: key(2), ..by(next, 1) }], SECOND);
    assert_eq!(used(&slab, limit, SECOND), 9);
    assert_eq!(slab.tracked(), 1, "settling begins no window");
}

#[test]
fn a_new_configuration_changes_the_most_at_once_and_a_longer_length_from_the_next_window() {
    let slab = Slab::new(10);
    let before = fixed(1, 10);
    slab.take(&[before], some(5, 5), Duration::ZERO);
    let after = Limit { most: 3, window: Window::Fixed(10 * SECOND), ..before };
    let taken = slab.take(&[after], Amount::ONE, SECOND / 2);
    assert_eq!((taken.granted, taken.levels[0].used, taken.levels[0].resets_in), (None, 5, SECOND / 2));
    let more = Limit { most: 20, ..after };
    assert_eq!(slab.take(&[more], some(20, 1), SECOND / 2).granted, Some(15));
    let taken = slab.take(&[after], Amount::ONE, SECOND);
    assert_eq!((taken.granted, taken.levels[0].used, taken.levels[0].resets_in), (Some(1), 1, 10 * SECOND));
}

#[test]
fn what_is_too_much_to_count_is_too_much() {
    let slab = Slab::new(10);
    let limit = Limit { key: key(1), most: u64::MAX, window: Window::Fixed(Duration::MAX) };
    assert_eq!(slab.take(&[limit], some(u64::MAX, 1), Duration::MAX / 2).granted, Some(u32::MAX.into()));
    assert_eq!(slab.take(&[limit], Amount::ONE, Duration::ZERO).granted, None);
    let never = Limit { window: Window::Fixed(Duration::ZERO), ..fixed(2, 1) };
    assert_eq!(slab.take(&[never], Amount::ONE, SECOND).granted, Some(1));
    assert_eq!(slab.take(&[never], Amount::ONE, SECOND).granted, Some(1), "a window of no length is over at once");
}

#[test]
fn as_many_keys_as_it_was_made_for_are_kept() {
    for capacity in [1, 64, 1000, 100_000] {
        let slab = Slab::new(capacity);
        for n in 0..capacity as u32 {
            slab.take(&[fixed(n, 1)], Amount::ONE, SECOND);
        }
        let kept = (0..capacity as u32).filter(|n| used(&slab, fixed(*n, 1), SECOND) == 1).count();
        assert!(kept >= capacity - capacity / 10_000, "{kept} of {capacity}");
        assert_eq!(slab.tracked(), kept);
    }
}

#[test]
fn a_flood_takes_no_more_room_and_spares_who_is_in_use() {
    let capacity = 10_000;
    let slab = Slab::new(capacity);
    let regular = fixed(u32::MAX, u64::MAX);
    let refused = fixed(u32::MAX - 1, 1);
    slab.take(&[refused], Amount::ONE, SECOND);
    for n in 0..10 * capacity as u32 {
        slab.take(&[fixed(n, 1)], Amount::ONE, SECOND);
        if n % 100 == 0 {
            assert_eq!(slab.take(&[regular], Amount::ONE, SECOND).levels[0].used, u64::from(n / 100 + 1));
            assert_eq!(slab.take(&[refused], Amount::ONE, SECOND).granted, None);
        }
    }
    let slots = slots(&slab, Kind::Rate);
    assert!((capacity..2 * capacity).contains(&slots), "{slots} slots");
    assert_eq!(slab.tracked(), slots, "all of them were needed");
    let newest = (9 * capacity as u32..10 * capacity as u32).filter(|n| used(&slab, fixed(*n, 1), SECOND) == 1);
    assert!(newest.count() > capacity * 8 / 10, "the stalest go first");
}

#[test]
fn ended_windows_make_room_before_live_ones() {
    let slab = Slab::new(1);
    let slots = slots(&slab, Kind::Rate) as u32;
    let stay = |n| Limit { window: Window::Fixed(60 * SECOND), ..fixed(n, 1) };
    // An eighth of the capacity, first and so the least recently used; then many windows that end.
    let kept: Vec<u32> =
        (0..slots / 8).filter(|n| slab.take(&[stay(*n)], Amount::ONE, SECOND).granted.is_some()).collect();
    let held = |now| kept.iter().filter(|n| used(&slab, stay(**n), now) == 1).count();
    let before = held(SECOND);
    assert_eq!(before, kept.len());
    for second in 2..50 {
        for n in 0..slots / 4 {
            slab.take(&[fixed(slots * second + n, 1)], Amount::ONE, second * SECOND);
        }
    }
    assert!(held(50 * SECOND) > kept.len() * 9 / 10, "{} of {}", held(50 * SECOND), kept.len());
}

#[test]
fn the_keys_of_one_request_do_not_drive_each_other_out() {
    let slab = Slab::new(1);
    for n in 0..20_000 {
        let limits = [4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3].map(|n| fixed(n, 1));
        assert_eq!(slab.take(&limits, Amount::ONE, SECOND).granted, Some(1));
        assert_eq!(slab.take(&limits, Amount::NOTHING, SECOND).levels.map(|level| level.used), [1; 4]);
    }
}
