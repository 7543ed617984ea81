//! HANDOFF.lock: a session is writing, or died while writing (§3.1).

use std::{collections::BTreeSet, time::SystemTime};

use serde_json::{Value, json};

use super::{
    date,
    directory::{Directory, Unread},
};
use frontdesk_base::strict;

/// The file's name.
pub(super) const LOCK: &str = "HANDOFF.lock";
/// Maximum bytes that are read.
const MOST: usize = 16 << 10;
/// Seconds after which a lock is stale; AAHP sets no limit.
const STALE: u64 = 15 * 60;
/// Seconds by which the writer's clock may be ahead.
const SKEW: i64 = 60;

/// A lock, as far as it could be read. An unreadable one locks all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lock {
    pub(super) agent: Option<String>,
    /// As written in the file.
    started: Option<String>,
    /// Age in seconds.
    pub(super) age: u64,
    /// The files being written; `None`: unknown, so possibly all.
    updating: Option<BTreeSet<String>>,
    /// What is wrong with the lock, for the operator.
    pub(super) wrong: Option<String>,
}

impl Lock {
    /// Reads the lock. Whatever exists under its name counts as a lock.
    ///
    /// # Errors
    ///
    /// It cannot be determined whether there is one.
    pub(super) fn look(directory: &dyn Directory, now: SystemTime) -> Result<Option<Self>, Unread> {
        let stamp = match directory.stamp(LOCK) {
            Ok(stamp) => stamp,
            Err(Unread::Missing) => return Ok(None),
            Err(why) => return Err(why),
        };
        let there = date::seconds(stamp.changed.max(stamp.modified));
        let lock = match directory.read(LOCK, MOST) {
            Ok((bytes, _)) => Self::read(&bytes, there, date::seconds(now)),
            // It was deleted meanwhile; the caller looks again.
            Err(Unread::Missing) => return Ok(None),
            Err(why) => Self { wrong: Some(why.to_string()), ..Self::unreadable(there, date::seconds(now)) },
        };
        Ok(Some(lock))
    }

    fn unreadable(there: i64, now: i64) -> Self {
        let age = u64::try_from(now - there).unwrap_or(0);
        Self { agent: None, started: None, age, updating: None, wrong: None }
    }

    fn read(bytes: &[u8], there: i64, now: i64) -> Self {
        let Ok(lock) = strict::read(bytes).map(|value| value.as_object().cloned().unwrap_or_default()) else {
            return Self { wrong: Some("is not JSON".into()), ..Self::unreadable(there, now) };
        };
        let text = |name: &str| lock.get(name).and_then(Value::as_str).map(str::to_owned);
        let started = text("started");
        // A date in the future would never become stale.
        let since = started.as_deref().and_then(date::moment).filter(|since| *since <= now + SKEW);
        let names = lock.get("updating").and_then(Value::as_array);
        let updating = names.and_then(|names| names.iter().map(|name| name.as_str().map(str::to_owned)).collect());
        let wrong = (text("agent").is_none() || since.is_none() || updating.is_none())
            .then(|| "does not say who, since when and what (agent, started, updating)".to_owned());
        let age = u64::try_from(now - since.unwrap_or(there)).unwrap_or(0);
        Self { agent: text("agent"), started, age, updating, wrong }
    }

    /// Whether its writer must be presumed dead.
    pub(super) fn is_stale(&self) -> bool {
        self.age >= STALE
    }

    /// Whether the lock covers a file.
    pub(super) fn covers(&self, name: &str) -> bool {
        self.updating.as_ref().is_none_or(|names| names.contains(name))
    }

    /// The lock as the index shows it.
    pub(super) fn json(&self) -> Value {
        json!({ "agent": self.agent, "started": self.started, "age_s": self.age, "updating": self.updating })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Lock {
        // An hour after it was created.
        Lock::read(text.as_bytes(), 1_772_114_400, 1_772_118_000)
    }

    #[test]
    fn a_lock_says_who_since_when_and_what() {
        let lock = read(r#"{"agent":"a","started":"2026-02-26T14:50:00Z","updating":["STATUS.md"]}"#);
        assert_eq!((lock.agent.as_deref(), lock.age, lock.is_stale(), &lock.wrong), (Some("a"), 600, false, &None));
        assert!(lock.covers("STATUS.md") && !lock.covers("LOG.md"));
        assert!(read(r#"{"agent":"a","started":"2026-02-26T14:45:00Z","updating":[]}"#).is_stale());
    }

    #[test]
    fn one_that_cannot_be_read_locks_everything() {
        for text in
            ["", "{", "[]", "{}", r#"{"agent":1,"updating":[1]}"#, r#"{"agent":"a","started":"soon","updating":"x"}"#]
        {
            let lock = read(text);
            assert!(lock.wrong.is_some() && lock.covers("STATUS.md"), "{text}");
            assert_eq!(lock.age, 3600, "{text}: as old as its file");
        }
        let ahead = read(r#"{"agent":"a","started":"2126-02-26T14:50:00Z","updating":[]}"#);
        assert!(ahead.is_stale() && ahead.wrong.is_some());
    }
}
