//! The counter operations of one transaction: each one reads, decides and writes.
//!
//! A decision is complete before its first write, so operations need no savepoints. If there are too many counters, the
//! expired ones go first, then the least recently used.

use std::time::Duration;

use frontdesk_state::{Amount, Level, Limit, Settlement, TOGETHER, Taken, Window};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::{fresh, millis};

/// How many are removed at a time, so that no caller waits long.
pub const SWEPT: i64 = 1000;
/// The precision of the last use in milliseconds. A coarse value saves index writes.
const TOUCH: u64 = 1000;

/// A counter as found, if its window has not ended.
struct Count {
    used: i64,
    period: i64,
    ends: i64,
    /// The stored time of the last use is too old to be precise.
    outdated: bool,
}

/// The work of one batch, at one moment.
pub struct Turn<'a> {
    pub transaction: &'a Transaction<'a>,
    pub now: i64,
    /// The most counters.
    pub most: i64,
    /// The present number of counters.
    pub held: i64,
    /// Whether it may correct what it finds.
    pub may_write: bool,
    /// Whether it found something to correct.
    pub must_write: bool,
}

impl Turn<'_> {
    /// Takes from all limits or from none. More than [`TOGETHER`] limits are a caller's mistake and are refused.
    pub fn take(&mut self, limits: &[Limit], amount: Amount) -> rusqlite::Result<Taken> {
        if limits.len() > TOGETHER {
            return Ok(Taken { granted: None, levels: [Level::default(); TOGETHER] });
        }
        let mut found: [Option<Count>; TOGETHER] = Default::default();
        let mut granted = amount.wanted;
        for (limit, found) in limits.iter().zip(&mut found) {
            *found = self.find(limit.key.bits(), limit.window)?;
            let used = found.as_ref().map_or(0, |count| count.used.unsigned_abs());
            granted = granted.min(most(limit).saturating_sub(used));
        }
        let granted = (granted >= amount.least).then_some(granted);
        let charge = granted.unwrap_or(0) as i64;
        let mut levels = [Level::default(); TOGETHER];
        // Existing counters first: a new one may evict the least recently used, but none of these.
        for ((limit, found), level) in limits.iter().zip(&mut found).zip(&mut levels) {
            let Some(count) = found else { continue };
            if amount.wanted > 0 {
                self.charge(limit, count, charge)?;
            }
            *level = self.level(count);
        }
        for ((limit, found), level) in limits.iter().zip(&found).zip(&mut levels) {
            if found.is_none() {
                *level = match charge {
                    0 => Level { resets_in: limit.window.length(), ..Level::default() },
                    _ => self.begin(limit, charge)?,
                };
            }
        }
        Ok(Taken { granted, levels })
    }

    /// Finds a counter. A window ends no later than its present length from now, wherever the clock has been and
    /// whatever its length was before. A correction is written at once, whatever the operation decides; otherwise
    /// steady requests would postpone it forever.
    fn find(&mut self, key: u128, window: Window) -> rusqlite::Result<Option<Count>> {
        let (latest, key) = (self.now + millis(window.length()), key.to_be_bytes());
        let mut select =
            self.transaction.prepare_cached("SELECT used, period, ends, touched FROM counts WHERE key = ?1")?;
        let found = select.query_row([key], |row| {
            let outdated = self.now.abs_diff(row.get(3)?) >= TOUCH;
            Ok(Count { used: row.get(0)?, period: row.get(1)?, ends: row.get(2)?, outdated })
        });
        let Some(mut count) = found.optional()?.filter(|count| count.ends > self.now) else { return Ok(None) };
        if count.ends > latest {
            (count.ends, count.outdated) = (latest, false);
            if self.may_write {
                let correct = "UPDATE counts SET ends = ?2, touched = ?3 WHERE key = ?1";
                self.transaction.prepare_cached(correct)?.execute(params![key, latest, self.now])?;
            }
            self.must_write = true;
        }
        Ok(Some(count))
    }

    fn level(&self, count: &Count) -> Level {
        Level {
            used: count.used.unsigned_abs(),
            resets_in: Duration::from_millis((count.ends - self.now).unsigned_abs()),
            period: count.period.unsigned_abs(),
        }
    }

    /// Charges a counter. A charge of nothing still counts as use: a client that keeps asking in vain must not get its
    /// counter evicted.
    fn charge(&self, limit: &Limit, count: &mut Count, by: i64) -> rusqlite::Result<()> {
        let key = limit.key.bits().to_be_bytes();
        count.used += by;
        if by > 0 && matches!(limit.window, Window::Idle(_)) {
            count.ends = self.now + millis(limit.window.length());
            count.outdated = true;
        }
        if count.outdated || self.held >= self.most {
            let whole = "UPDATE counts SET used = ?2, ends = ?3, touched = ?4 WHERE key = ?1";
            self.transaction.prepare_cached(whole)?.execute(params![key, count.used, count.ends, self.now])?;
        } else if by > 0 {
            let mut update = self.transaction.prepare_cached("UPDATE counts SET used = ?2 WHERE key = ?1")?;
            update.execute(params![key, count.used])?;
        }
        Ok(())
    }

    fn begin(&mut self, limit: &Limit, used: i64) -> rusqlite::Result<Level> {
        let ends = self.now + millis(limit.window.length());
        let count = Count { used, period: (fresh() >> 1).max(1) as i64, ends, outdated: false };
        let (now, key) = (self.now, limit.key.bits().to_be_bytes());
        let values = params![key, count.used, count.period, count.ends, now];
        // An expired counter with this key is in the way of the new one.
        let renew = "UPDATE counts SET used = ?2, period = ?3, ends = ?4, touched = ?5 WHERE key = ?1";
        if self.transaction.prepare_cached(renew)?.execute(values)? == 0 {
            if self.held >= self.most && self.drop_expired()? == 0 {
                self.drop_stalest()?;
            }
            self.transaction.prepare_cached("INSERT INTO counts VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(values)?;
            self.held += 1;
        }
        Ok(self.level(&count))
    }

    /// Evicts a few at once, because more will follow.
    fn drop_stalest(&mut self) -> rusqlite::Result<()> {
        let spare = (self.most / 64).clamp(0, 63);
        let stalest = "DELETE FROM counts WHERE key IN (SELECT key FROM counts ORDER BY touched LIMIT ?1)";
        let dropped = self.transaction.prepare_cached(stalest)?.execute([self.held - self.most + 1 + spare])?;
        self.held -= dropped as i64;
        Ok(())
    }

    /// Removes at most [`SWEPT`] counters and returns the number.
    pub fn drop_expired(&mut self) -> rusqlite::Result<i64> {
        let expired =
            "DELETE FROM counts WHERE key IN (SELECT key FROM counts WHERE ends <= ?1 ORDER BY ends LIMIT ?2)";
        let dropped = self.transaction.prepare_cached(expired)?.execute([self.now, SWEPT])? as i64;
        self.held -= dropped;
        Ok(dropped)
    }

    /// Settles reservations. This counts as use of a session and renews it.
    pub fn settle(&mut self, settlements: &[Settlement]) -> rusqlite::Result<()> {
        for settlement in settlements {
            let Some(count) = self.find(settlement.key.bits(), settlement.window)? else { continue };
            if count.period.unsigned_abs() != settlement.period {
                continue;
            }
            let ends = match settlement.window {
                Window::Fixed(_) => count.ends,
                Window::Idle(length) => self.now + millis(length),
            };
            let used = count.used.saturating_add(settlement.by).max(0);
            let key = settlement.key.bits().to_be_bytes();
            if count.outdated {
                let whole = "UPDATE counts SET used = ?2, ends = ?3, touched = ?4 WHERE key = ?1";
                self.transaction.prepare_cached(whole)?.execute(params![key, used, ends, self.now])?;
            } else {
                let update = "UPDATE counts SET used = ?2, ends = ?3 WHERE key = ?1";
                self.transaction.prepare_cached(update)?.execute(params![key, used, ends])?;
            }
        }
        Ok(())
    }
}

/// The limit's maximum, as far as the database can count.
fn most(limit: &Limit) -> u64 {
    limit.most.min(i64::MAX.unsigned_abs())
}
