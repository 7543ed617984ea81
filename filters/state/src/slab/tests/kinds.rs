//! No flood of one kind evicts another.

use super::*;

const CLASSES: [Class; 9] = [
    Class::Anonymous,
    Class::Authenticated,
    Class::Actions,
    Class::Content,
    Class::PerAgent,
    Class::Site,
    Class::Session,
    Class::Daily,
    Class::Nonce,
];

fn of(class: Class, n: u32) -> Limit {
    Limit { key: key_of(class, n), ..fixed(n, 1) }
}

#[test]
fn every_class_is_of_the_kind_that_its_loss_is() {
    let kinds = CLASSES.map(|class| key_of(class, u32::MAX).kind());
    assert_eq!(kinds[..6], [Kind::Rate; 6]);
    assert_eq!(kinds[6..], [Kind::Budget, Kind::Budget, Kind::Once]);
    for (n, kind) in KINDS.into_iter().enumerate() {
        assert_eq!(kind as usize, n, "shards are found by it");
    }
}

/// Whether an exhausted counter that no one touches survives while many others come.
fn stays(class: Class, flood: &[Class]) -> bool {
    const CAPACITY: u32 = 1000;
    let slab = Slab::new(CAPACITY as usize);
    let held = slab.take(&[of(class, u32::MAX)], Amount::ONE, SECOND);
    assert_eq!(held.granted, Some(1));
    for n in 0..10 * CAPACITY {
        flood.iter().for_each(|other| _ = slab.take(&[of(*other, n)], Amount::ONE, SECOND));
    }
    slab.take(&[of(class, u32::MAX)], Amount::ONE, SECOND).granted.is_none()
}

#[test]
fn a_flood_of_addresses_drives_out_no_budget_and_no_nonce() {
    for class in [Class::Session, Class::Daily, Class::Nonce] {
        assert!(stays(class, &CLASSES[..6]), "{class:?}");
    }
    assert!(stays(Class::Nonce, &CLASSES[..8]));
    assert!(stays(Class::Daily, &[Class::Nonce]));
    assert!(!stays(Class::Anonymous, &[Class::Anonymous]), "else this proves nothing");
    assert!(!stays(Class::Nonce, &[Class::Nonce]), "all are bounded");
}

#[test]
fn a_quarter_as_many_budgets_and_nonces_are_kept_as_rates() {
    for capacity in [1, 1000, 100_000u32] {
        let slab = Slab::new(capacity as usize);
        let all = || {
            let quarters = [Class::Daily, Class::Nonce].map(|class| (class, capacity.div_ceil(4)));
            [(Class::Actions, capacity)].into_iter().chain(quarters)
        };
        let counts: Vec<_> = all().flat_map(|(class, keys)| (0..keys).map(move |n| of(class, n))).collect();
        counts.iter().for_each(|limit| _ = slab.take(&[*limit], Amount::ONE, SECOND));
        let kept = counts.iter().filter(|limit| used(&slab, **limit, SECOND) == 1).count();
        assert!(kept >= counts.len() - counts.len() / 10_000, "{kept} of {}", counts.len());
        let [rates, budgets, nonces] = KINDS.map(|kind| slots(&slab, kind));
        assert_eq!(budgets, nonces);
        assert!(budgets <= rates / 4 + 3 * SHARDS * WAYS, "{budgets} beside {rates}");
    }
}

#[test]
fn kinds_are_taken_together_or_not_at_all() {
    let slab = Slab::new(10);
    let [rate, day, nonce] = [of(Class::Anonymous, 1), of(Class::Daily, 1), of(Class::Nonce, 1)];
    let taken = slab.take(&[nonce, rate, day], Amount::ONE, SECOND);
    assert_eq!((taken.granted, taken.levels.map(|level| level.used)), (Some(1), [1, 1, 1, 0]));
    let rate = Limit { most: 9, ..rate };
    assert_eq!(slab.take(&[rate, nonce], Amount::ONE, SECOND).granted, None);
    assert_eq!(used(&slab, rate, SECOND), 1);
    let settlements = [(rate, taken.levels[1]), (day, taken.levels[2])].map(|(limit, level)| Settlement {
        key: limit.key,
        window: limit.window,
        period: level.period,
        by: -1,
    });
    slab.settle(&settlements, SECOND);
    let looked = slab.take(&[day, rate, nonce], Amount::NOTHING, SECOND);
    assert_eq!(looked.levels.map(|level| level.used), [0, 0, 1, 0]);
    assert_eq!(slab.tracked(), 3);
}
