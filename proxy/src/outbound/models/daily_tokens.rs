//! How many tokens a model may read and write in a day.

use parking_lot::Mutex;

/// The tokens of a day.
#[derive(Debug, Default)]
pub(super) struct Budget(Mutex<Spent>);

#[derive(Debug, Default, Clone, Copy)]
struct Spent {
    day: u64,
    tokens: u64,
}

/// Tokens that were taken for a request, and the day.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    day: u64,
    tokens: u64,
}

impl Budget {
    /// Takes what a request costs at most; `None` where that is more than is left of the day.
    pub(super) fn take(&self, tokens: u64, most: u64, day: u64) -> Option<Taken> {
        let mut spent = self.0.lock();
        if spent.day != day {
            *spent = Spent { day, tokens: 0 };
        }
        let after = spent.tokens.checked_add(tokens).filter(|after| *after <= most)?;
        spent.tokens = after;
        Some(Taken { day, tokens })
    }

    /// Says what the request cost.
    pub(super) fn settle(&self, taken: Taken, cost: u64) {
        let mut spent = self.0.lock();
        if spent.day == taken.day {
            spent.tokens = spent.tokens.saturating_sub(taken.tokens).saturating_add(cost);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_has_so_many_tokens_and_the_next_as_many_again() {
        let budget = Budget::default();
        let first = budget.take(60, 100, 1).unwrap();
        assert!(budget.take(60, 100, 1).is_none(), "two at once could exceed the day");
        budget.settle(first, 30);
        let second = budget.take(60, 100, 1).unwrap();
        budget.settle(second, 70);
        assert!(budget.take(1, 100, 1).is_none());
        assert!(budget.take(100, 100, 2).is_some());
        budget.settle(second, 0);
        assert!(budget.take(1, 100, 2).is_none(), "what is settled late belongs to its own day");
    }
}
