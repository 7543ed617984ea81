//! What becomes of counts within a transaction: each operation is a read, a decision and a write.
//!
//! A decision is complete before anything is written for it, so operations need no savepoints of their own. When there
//! are too many counts the expired go, then those that nobody has touched for longest.

use std::time::Duration;

use frontdesk_filters::state::{Amount, Level, Limit, Settlement, TOGETHER, Taken, Window};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::store::{fresh, millis};

/// How many go at a time, so that nobody waits long for it.
pub const SWEPT: i64 = 1000;
/// How exactly it is known when a count was last touched; less exactly saves writing an index each time.
const TOUCH: u64 = 1000;

/// A count as it was found, if its window has not ended.
struct Count {
    used: i64,
    period: i64,
    ends: i64,
    /// When it was last touched is no longer true enough in the file.
    outdated: bool,
}

/// One batch's work, at one moment.
pub struct Turn<'a> {
    pub transaction: &'a Transaction<'a>,
    pub now: i64,
    /// How many counts there may be.
    pub most: i64,
    /// How many there are.
    pub held: i64,
    /// Whether what is found may be corrected.
    pub may_write: bool,
    /// Whether there was something to correct.
    pub must_write: bool,
}

impl Turn<'_> {
    /// More than [`TOGETHER`] limits are a mistake of the caller and refused.
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
        // Those that are there first: what is begun after may put the stalest out, but not one of these.
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

    /// A window never ends later than its present length from now, wherever the clock has been and however long it was
    /// to be when it began. That is written down at once, whatever becomes of the operation, or it would be put off
    /// for as long as somebody asks.
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

    /// Charged nothing, it is touched all the same: who keeps asking in vain must not become the stalest, or it would
    /// be rid of its count.
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
        // One whose window has ended is in the way of its successor.
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

    /// A few more than one, for it will not be the last.
    fn drop_stalest(&mut self) -> rusqlite::Result<()> {
        let spare = (self.most / 64).clamp(0, 63);
        let stalest = "DELETE FROM counts WHERE key IN (SELECT key FROM counts ORDER BY touched LIMIT ?1)";
        let dropped = self.transaction.prepare_cached(stalest)?.execute([self.held - self.most + 1 + spare])?;
        self.held -= dropped as i64;
        Ok(())
    }

    /// At most [`SWEPT`] of them; how many.
    pub fn drop_expired(&mut self) -> rusqlite::Result<i64> {
        let expired =
            "DELETE FROM counts WHERE key IN (SELECT key FROM counts WHERE ends <= ?1 ORDER BY ends LIMIT ?2)";
        let dropped = self.transaction.prepare_cached(expired)?.execute([self.now, SWEPT])? as i64;
        self.held -= dropped;
        Ok(dropped)
    }

    /// Settling is a use of a session, which is renewed.
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

/// What the limit allows, as far as the database can count.
fn most(limit: &Limit) -> u64 {
    limit.most.min(i64::MAX.unsigned_abs())
}
