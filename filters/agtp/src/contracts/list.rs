//! The lists of contracts: one line each, oldest first.

use crate::contract::{Contract, is_of_a_connection};
use frontdesk_state::{Change, Expect, NotKept, Put, Records, keep_past};

/// One line of a caller's list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) agent: String,
    pub(crate) origin: String,
    /// What tells it from those of other sessions.
    pub(crate) mark: String,
    pub(crate) method: String,
    pub(crate) path: String,
}

impl Entry {
    pub(super) fn read(line: &str) -> Option<Self> {
        let mut words = line.splitn(7, ' ').map(str::to_owned);
        let (id, _) = (words.next()?, words.next()?);
        let (agent, origin, mark) = (words.next()?, words.next()?, words.next()?);
        Some(Self { id, agent, origin, mark, method: words.next()?, path: words.next()? })
    }
}

/// A list as it was read: one line per contract, `{id} {until} {more}`.
pub(super) struct List {
    key: String,
    pub(super) expect: Expect,
    pub(super) lines: Vec<String>,
}

impl List {
    /// Reads a list, without expired contracts.
    pub(super) async fn read(records: &dyn Records, key: String, now: u64) -> Result<Self, NotKept> {
        let record = records.get(&key).await?;
        let expect = record.as_ref().map_or(Expect::Absent, |record| Expect::Version(record.version));
        let text = record.as_ref().and_then(|record| std::str::from_utf8(&record.value).ok()).unwrap_or_default();
        let lines = text.lines().filter(|line| until(line) > now).map(str::to_owned).collect();
        Ok(Self { key, expect, lines })
    }

    /// Adds a contract with more text.
    pub(super) fn add(&mut self, contract: &Contract, more: &str) {
        self.lines.push(format!("{} {} {more}", contract.id, contract.until));
    }

    /// The ids, oldest first.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(|line| id(line))
    }

    /// Removes a contract.
    pub(super) fn drop(&mut self, id: &str) {
        self.lines.retain(|line| self::id(line) != id);
    }

    /// The oldest contract of another connection than `mark`'s, those of the same agent first.
    pub(super) fn gives_way(&self, agent: &str, mark: &str) -> Option<String> {
        let of_another = |entry: &Entry| is_of_a_connection(&entry.mark) && entry.mark != mark;
        let mut there: Vec<Entry> = self.lines.iter().filter_map(|line| Entry::read(line)).filter(of_another).collect();
        there.sort_by_key(|entry| entry.agent != agent);
        there.into_iter().next().map(|entry| entry.id)
    }

    /// The change that stores the list until its last contract expires, clock skew included.
    pub(super) fn change(self, now: u64) -> Change {
        let last = self.lines.iter().map(|line| until(line)).max();
        let put = match last {
            Some(last) => Put::Value(self.lines.join("\n").into(), keep_past(last, now)),
            None => Put::Nothing,
        };
        Change { key: self.key, expect: self.expect, put }
    }
}

fn id(line: &str) -> &str {
    line.split(' ').next().unwrap_or_default()
}

fn until(line: &str) -> u64 {
    line.split(' ').nth(1).and_then(|until| until.parse().ok()).unwrap_or(0)
}
