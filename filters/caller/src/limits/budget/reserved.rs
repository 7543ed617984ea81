//! Reservations, until they are settled. The store counts them as spent. Only this process knows that they are not,
//! which decides whether another request is told to retry in a moment or tomorrow.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;

use super::super::policy::Near;
use frontdesk_state::{Amount, Away, Counters, Key, Limit, Settlement, Taken};

/// The tokens that answers in progress have reserved, in this process. Other processes' reservations count as spent.
#[derive(Debug, Clone, Default)]
pub struct UnderWay(Arc<Mutex<HashMap<Key, u64>>>);

impl UnderWay {
    /// Holds this many tokens of both counts until it is dropped.
    pub(super) fn hold(&self, limits: &[Limit; 2], tokens: u64) -> Hold {
        let mut hold = Hold { under_way: self.clone(), keys: limits.map(|limit| limit.key), tokens: 0 };
        hold.resize(tokens);
        hold
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.lock().is_empty()
    }

    /// The reserved part of a count.
    pub(super) fn of(&self, key: Key) -> u64 {
        self.0.lock().get(&key).copied().unwrap_or(0)
    }
}

/// One answer's part of the reservations.
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

/// The source of tokens: a session's budget and a day's.
#[derive(Debug, Clone, Copy)]
pub struct Purse {
    limits: [Limit; 2],
    settlements: [Settlement; 2],
}

impl Purse {
    /// The counts and windows that tokens were taken from.
    pub(super) fn of(limits: [Limit; 2], taken: &Taken) -> Self {
        let settlement = |n: usize| {
            let Limit { key, window, .. } = limits[n];
            Settlement { key, window, period: taken.levels[n].period, by: 0 }
        };
        Self { limits, settlements: [settlement(0), settlement(1)] }
    }

    /// Takes this many tokens, all or none; whether it succeeded.
    pub async fn take(&self, counters: &dyn Counters, tokens: u64) -> bool {
        let taken = counters.take(&self.limits, Amount { wanted: tokens, least: tokens }).await;
        taken.is_ok_and(|taken| taken.granted.is_some())
    }

    /// Charges the spent tokens, whatever is left.
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

/// The reserved tokens of one answer, until they are settled.
#[derive(Debug)]
#[must_use = "what is reserved stays charged until it is settled"]
pub struct Reserved {
    /// Maximum tokens, the question's included.
    tokens: u64,
    /// Maximum tokens of the answer.
    pub answer: u64,
    /// What was almost used up before; for the operator.
    pub near: Option<Near>,
    /// For what is spent when this is settled.
    pub purse: Purse,
    hold: Hold,
}

impl Reserved {
    /// A reservation that was taken from a purse, the question's tokens included.
    pub(super) fn new(purse: Purse, hold: Hold, (tokens, asked): (u64, u64), near: Option<Near>) -> Self {
        Self { tokens, answer: tokens - asked, near, purse, hold }
    }

    /// Reserves this many more tokens, all or none; whether it succeeded.
    pub async fn grow(&mut self, counters: &dyn Counters, more: u64) -> bool {
        let granted = self.purse.take(counters, more).await;
        if granted {
            self.tokens += more;
            self.answer += more;
            self.hold.resize(self.tokens);
        }
        granted
    }

    /// Refunds unspent tokens, or charges those beyond the reservation.
    pub async fn settle(self, counters: &dyn Counters, spent: u64) -> Result<(), Away> {
        let by = i64::try_from(spent).unwrap_or(i64::MAX).saturating_sub_unsigned(self.tokens);
        // Held until the store has settled it, so that it never counts as spent before.
        self.purse.correct(counters, by).await
    }
}
