//! A count belongs to its window, however a new configuration or a renewal changes the window's end.

use super::*;

const DAY: Window = Window::Fixed(Duration::from_secs(86_400));
const MINUTE: Duration = Duration::from_secs(60);

fn settled(limit: Limit, taken: &Taken, by: i64) -> [Settlement; 1] {
    [Settlement { key: limit.key, window: limit.window, period: taken.levels[0].period, by }]
}

#[test]
fn a_shorter_window_ends_the_sooner() {
    let slab = Slab::new(10);
    let before = Limit { window: DAY, ..fixed(1, 1) };
    let taken = slab.take(&[before], Amount::ONE, SECOND);
    let after = Limit { window: Window::Fixed(MINUTE), ..before };
    for now in [10, 40, 69] {
        let refused = slab.take(&[after], Amount::ONE, now * SECOND);
        // Counted from the first refusal: it does not slide with the next.
        assert_eq!((refused.granted, refused.levels[0].resets_in), (None, (70 - now) * SECOND));
        assert_eq!(refused.levels[0].period, taken.levels[0].period);
    }
    let next = slab.take(&[after], Amount::ONE, 70 * SECOND);
    assert_eq!((next.granted, next.levels[0].used, next.levels[0].resets_in), (Some(1), 1, MINUTE));
    slab.settle(&settled(before, &taken, -1), 70 * SECOND);
    assert_eq!(used(&slab, after, 70 * SECOND), 1, "of the window before");
}

#[test]
fn looks_and_grants_shorten_a_window_as_well() {
    for amount in [Amount::NOTHING, Amount::ONE] {
        let slab = Slab::new(10);
        let before = Limit { window: DAY, ..fixed(1, 9) };
        slab.take(&[before], Amount::ONE, SECOND);
        let after = Limit { window: Window::Fixed(MINUTE), ..before };
        assert_eq!(slab.take(&[after], amount, 10 * SECOND).levels[0].resets_in, MINUTE);
        assert_eq!(slab.take(&[before], amount, 20 * SECOND).levels[0].resets_in, 50 * SECOND, "and longer never");
    }
}

#[test]
fn a_shortened_window_is_still_settled() {
    let slab = Slab::new(10);
    let before = Limit { window: DAY, ..fixed(1, 100) };
    let taken = slab.take(&[before], some(50, 1), SECOND);
    let after = Limit { window: Window::Fixed(MINUTE), ..before };
    slab.take(&[after], Amount::ONE, 2 * SECOND);
    slab.settle(&settled(before, &taken, -20), 3 * SECOND);
    let look = slab.take(&[after], Amount::NOTHING, 3 * SECOND);
    assert_eq!((look.levels[0].used, look.levels[0].resets_in), (31, 59 * SECOND));
}

#[test]
fn a_session_is_shortened_by_a_refusal_too() {
    let slab = Slab::new(10);
    let before = Limit { window: Window::Idle(60 * MINUTE), ..idle(1, 1) };
    slab.take(&[before], Amount::ONE, SECOND);
    let after = Limit { window: Window::Idle(MINUTE), ..before };
    assert_eq!(slab.take(&[after], Amount::ONE, 10 * SECOND).levels[0].resets_in, MINUTE);
    assert_eq!(slab.take(&[after], Amount::ONE, 50 * SECOND).granted, None);
    assert_eq!(slab.take(&[after], Amount::ONE, 70 * SECOND).granted, Some(1));
}

#[test]
fn a_late_settlement_does_not_pay_for_the_next_session() {
    let slab = Slab::new(10);
    let limit = idle(1, 100);
    let first = slab.take(&[limit], some(100, 100), Duration::ZERO);
    let second = slab.take(&[limit], some(100, 100), SECOND);
    assert_eq!(second.granted, Some(100));
    slab.settle(&settled(limit, &first, -100), SECOND);
    assert_eq!(slab.take(&[limit], some(100, 1), SECOND).granted, None);
    slab.settle(&settled(limit, &second, -30), SECOND);
    assert_eq!(slab.take(&[limit], some(100, 1), SECOND).granted, Some(30));
}

#[test]
fn renewal_does_not_change_which_session_it_is() {
    let slab = Slab::new(10);
    let limit = idle(1, 100);
    let first = slab.take(&[limit], some(10, 10), Duration::ZERO);
    for n in 1..5 {
        let again = slab.take(&[limit], Amount::ONE, n * SECOND / 2);
        assert_eq!(again.levels[0].period, first.levels[0].period);
    }
    slab.settle(&settled(limit, &first, -10), 2 * SECOND);
    assert_eq!(used(&slab, limit, 2 * SECOND), 4);
}

#[test]
fn a_count_that_was_driven_out_comes_back_as_another() {
    let slab = Slab::new(1);
    let limit = idle(0, 100);
    let first = slab.take(&[limit], some(100, 100), SECOND);
    for n in 1..20_000 {
        slab.take(&[idle(n, 1)], Amount::ONE, SECOND);
    }
    assert_eq!(slab.take(&[limit], some(100, 100), SECOND).granted, Some(100), "else this proves nothing");
    slab.settle(&settled(limit, &first, -100), SECOND);
    assert_eq!(used(&slab, limit, SECOND), 100);
}

#[test]
fn a_window_begun_between_two_milliseconds_lasts_its_whole_length() {
    let slab = Slab::new(10);
    let start = SECOND + 300 * NANO;
    let taken = slab.take(&[fixed(1, 1)], Amount::ONE, start);
    assert_eq!(taken.levels[0].resets_in, SECOND, "the shorter window is reported");
    assert_eq!(slab.take(&[fixed(1, 1)], Amount::ONE, start + SECOND - NANO).granted, None);
    assert_eq!(slab.take(&[fixed(1, 1)], Amount::ONE, start + SECOND + SECOND / 1000).granted, Some(1));
}

#[test]
fn windows_are_numbered_beside_their_ends() {
    let mut table = Table::new(1);
    for _ in 0..(1 << 24) - 1 {
        table.begin();
    }
    let slot = Slot { hash: 7, end: LATEST, window: (1 << 24) - 1, used: u32::MAX };
    table.put(3, slot);
    assert_eq!(table.get(3), slot);
    assert_eq!(table.begin(), 1, "never 0, which is the period of what nobody counted");
}
