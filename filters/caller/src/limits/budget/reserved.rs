//! What is reserved, until it is settled. The store has it charged; that it is not spent yet is only known here, and
//! decides what somebody is told who comes meanwhile: to come again in a moment, and not tomorrow.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::super::policy::Near;
use frontdesk_state::{Amount, Away, Counters, Key, Limit, Settlement, Taken};

/// What answers under way have reserved of each count, in this process: what another's have is told of as spent.
#[derive(Debug, Clone, Default)]
pub struct UnderWay(Arc<Mutex<HashMap<Key, u64>>>);

impl UnderWay {
    /// Holds so many tokens of both counts, until it is dropped.
    pub(super) fn hold(&self, limits: &[Limit; 2], tokens: u64) -> Hold {
        let mut hold = Hold { under_way: self.clone(), keys: limits.map(|limit| limit.key), tokens: 0 };
        hold.resize(tokens);
        hold
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// How much of a count is only reserved.
    pub(super) fn of(&self, key: Key) -> u64 {
        self.0.lock().get(&key).copied().unwrap_or(0)
    }
}

/// The part that one answer has of what is under way.
#[derive(Debug)]
pub(super) struct Hold {
    under_way: UnderWay,
    keys: [Key; 2],
    tokens: u64,
}

impl Hold {
    pub(super) fn resize(&mut self, tokens: u64) {
        let mut held = self.under_way.0.lock();
        for key in self.keys {
            let others = held.get(&key).map_or(0, |all| all.saturating_sub(self.tokens));
            match others.saturating_add(tokens) {
                0 => held.remove(&key),
                all => held.insert(key, all),
            };
        }
        self.tokens = tokens;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.resize(0);
    }
}

/// What tokens are taken from: a session's budget, and a day's.
#[derive(Debug, Clone, Copy)]
pub struct Purse {
    limits: [Limit; 2],
    settlements: [Settlement; 2],
}

impl Purse {
    /// The counts that something was taken from, in the windows that it was taken in.
    pub(super) fn of(limits: [Limit; 2], taken: &Taken) -> Self {
        let settlement = |n: usize| {
            let Limit { key, window, .. } = limits[n];
            Settlement { key, window, period: taken.levels[n].period, by: 0 }
        };
        Self { limits, settlements: [settlement(0), settlement(1)] }
    }

    /// Takes so many tokens, all or none of them; whether they could be had.
    pub async fn take(&self, counters: &dyn Counters, tokens: u64) -> bool {
        let taken = counters.take(&self.limits, Amount { wanted: tokens, least: tokens }).await;
        taken.is_ok_and(|taken| taken.granted.is_some())
    }

    /// Charges what was spent, whatever there is.
    pub async fn charge(self, counters: &dyn Counters, spent: u64) -> Result<(), Away> {
        self.correct(counters, i64::try_from(spent).unwrap_or(i64::MAX)).await
    }

    async fn correct(mut self, counters: &dyn Counters, by: i64) -> Result<(), Away> {
        for settlement in &mut self.settlements {
            settlement.by = by;
        }
        counters.settle(&self.settlements).await
    }
}

/// Tokens that one answer may take, until they are settled.
#[derive(Debug)]
#[must_use = "what is reserved stays charged until it is settled"]
pub struct Reserved {
    /// At most so many tokens, the question's among them.
    tokens: u64,
    /// At most so many of them for the answer.
    pub answer: u64,
    /// What was almost used up before; for the operator.
    pub near: Option<Near>,
    /// For what is spent when this is settled.
    pub purse: Purse,
    hold: Hold,
}

impl Reserved {
    /// What was taken of a purse, the question's tokens among it.
    pub(super) fn new(purse: Purse, hold: Hold, (tokens, asked): (u64, u64), near: Option<Near>) -> Self {
        Self { tokens, answer: tokens - asked, near, purse, hold }
    }

    /// Reserves so many tokens more, all or none of them; whether they could be had.
    pub async fn grow(&mut self, counters: &dyn Counters, more: u64) -> bool {
        let granted = self.purse.take(counters, more).await;
        if granted {
            self.tokens += more;
            self.answer += more;
            self.hold.resize(self.tokens);
        }
        granted
    }

    /// Gives back what was not spent, or charges what was spent beside it.
    pub async fn settle(self, counters: &dyn Counters, spent: u64) -> Result<(), Away> {
        let by = i64::try_from(spent).unwrap_or(i64::MAX).saturating_sub_unsigned(self.tokens);
        // It is held until the store has it, so that what is only reserved is never told of as spent.
        self.purse.correct(counters, by).await
    }
}
