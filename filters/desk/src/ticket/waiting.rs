//! The list of questions that wait for a person, with a bound for all and one for each caller.

use serde_json::Value;

use super::{NotOpened, State, Ticket, Tickets};
use frontdesk_base::text::hex;
use frontdesk_caller::Caller;
use frontdesk_state::{Change, Committed, Expect, NotKept, Put};

/// The key of the list's record.
const LIST: &str = "t:desk";
/// Maximum questions that wait for a person.
pub const MOST_WAITING: usize = 1000;
/// Maximum of one caller.
const MOST_OF_ONE: usize = 20;
/// Maximum of all callers without a proven identity.
const MOST_OF_STRANGERS: usize = 500;
/// Marks the entries of unproven callers.
const STRANGER: char = '~';
/// How often a conflicting change of the list is retried.
const TRIES: usize = 8;

impl Tickets<'_> {
    /// Creates the ticket and adds it to the list, in one commit.
    pub(super) async fn list(&self, id: &str, holder: &str, ticket: Change) -> Result<(), NotOpened> {
        for _ in 0..TRIES {
            let found = self.records.get(LIST).await.map_err(NotOpened::NotKept)?;
            let expect = found.as_ref().map_or(Expect::Absent, |record| Expect::Version(record.version));
            let mut ids = found.map(|record| ids(&record.value)).unwrap_or_default();
            let shares = [Some(Share::One(holder)), holder.starts_with(STRANGER).then_some(Share::Strangers)];
            // Check the caller's own share first: when it is full, the others need not be read.
            for share in shares.into_iter().flatten().chain([Share::All]) {
                if share.is_full(&ids) {
                    ids = self.still_waiting(ids, share).await.map_err(NotOpened::NotKept)?;
                }
                if share.is_full(&ids) {
                    return Err(NotOpened::TooMany);
                }
            }
            ids.push(format!("{id} {holder}"));
            let put = Put::Value(Value::from(ids).to_string().into(), self.lasts * 2);
            let list = Change { key: LIST.to_owned(), expect, put };
            match self.records.commit(&[ticket.clone(), list]).await.map_err(NotOpened::NotKept)? {
                Committed::Done(_) => return Ok(()),
                Committed::Conflict(..) => {}
            }
        }
        Err(NotOpened::Contended)
    }

    /// The list without those entries of a share that no longer wait.
    async fn still_waiting(&self, ids: Vec<String>, share: Share<'_>) -> Result<Vec<String>, NotKept> {
        let mut waiting = Vec::with_capacity(ids.len());
        for entry in ids {
            let waits = |ticket: Ticket| ticket.state == State::Waiting;
            if !share.has(&entry) || self.find(id_of(&entry)).await?.is_some_and(waits) {
                waiting.push(entry);
            }
        }
        Ok(waiting)
    }

    /// All stored questions to a person, oldest first.
    pub async fn asked(&self) -> Result<Vec<Ticket>, NotKept> {
        let Some(list) = self.records.get(LIST).await? else { return Ok(Vec::new()) };
        let mut tickets = Vec::new();
        for entry in ids(&list.value) {
            tickets.extend(self.find(id_of(&entry)).await?);
        }
        Ok(tickets)
    }
}

/// A part of the list with its own bound.
#[derive(Debug, Clone, Copy)]
enum Share<'a> {
    One(&'a str),
    Strangers,
    All,
}

impl Share<'_> {
    fn has(self, entry: &str) -> bool {
        match self {
            Self::One(holder) => entry.split_once(' ').is_some_and(|(_, asked)| asked == holder),
            Self::Strangers => entry.contains(STRANGER),
            Self::All => true,
        }
    }

    fn is_full(self, ids: &[String]) -> bool {
        let most = match self {
            Self::One(_) => MOST_OF_ONE,
            Self::Strangers => MOST_OF_STRANGERS,
            Self::All => MOST_WAITING,
        };
        ids.len() >= most && ids.iter().filter(|entry| self.has(entry)).count() >= most
    }
}

/// The share that a caller's entries count against. A claimed agent name gives no share of its own.
pub(super) fn share(caller: &Caller) -> String {
    let subject = hex(&caller.counted_as().bytes());
    if caller.subject.is_some() { subject } else { format!("{STRANGER}{subject}") }
}

/// The id in an entry; an entry is an id and the share of its caller.
fn id_of(entry: &str) -> &str {
    entry.split(' ').next().unwrap_or_default()
}

fn ids(list: &[u8]) -> Vec<String> {
    serde_json::from_slice::<Value>(list)
        .ok()
        .and_then(|value| Some(value.as_array()?.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect()))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::Compiled;
    use std::collections::HashMap;
    use std::{
        sync::atomic::{AtomicUsize, Ordering},
        time::Duration,
    };

    use async_trait::async_trait;
    use bytes::Bytes;
    use serde_json::json;

    use super::*;
    use crate::testing::{Around, declared};
    use frontdesk_state::{
        Record, Records,
        testing::{Shelf, run},
    };

    /// An in-memory store that counts lookups and can simulate faster writers.
    #[derive(Default)]
    struct Counting {
        shelf: Shelf,
        gets: AtomicUsize,
        is_contended: bool,
    }

    #[async_trait]
    impl Records for Counting {
        async fn get(&self, key: &str) -> Result<Option<Record>, NotKept> {
            self.gets.fetch_add(1, Ordering::Relaxed);
            self.shelf.get(key).await
        }

        async fn commit(&self, changes: &[Change]) -> Result<Committed, NotKept> {
            if self.is_contended { Ok(Committed::Conflict(0, None)) } else { self.shelf.commit(changes).await }
        }
    }

    fn ask(records: &Counting, id: usize, holder: &str) -> Result<(), NotOpened> {
        let around = Around::default();
        let compiled = Compiled::new(&declared(""), &HashMap::new());
        let lasts = Duration::from_secs(60);
        let tickets = Tickets { records, holders: &around, lasts, compiled: &compiled, harness: None };
        let id = format!("{id:032x}");
        let ticket = json!({ "state": "waiting", "until": crate::records::seconds() + 60 }).to_string();
        let put = Put::Value(Bytes::from(ticket), lasts);
        let ticket = Change { key: super::super::key(&id), expect: Expect::Absent, put };
        run(tickets.list(&id, holder, ticket))
    }

    #[test]
    fn one_whose_share_is_full_costs_no_look_at_all_the_others() {
        let records = Counting::default();
        for id in 0..200 {
            ask(&records, id, &format!("other{}", id / MOST_OF_ONE)).unwrap();
        }
        for id in 200..220 {
            ask(&records, id, "mine").unwrap();
        }
        records.gets.store(0, Ordering::Relaxed);
        assert_eq!(ask(&records, 220, "mine"), Err(NotOpened::TooMany));
        assert_eq!(records.gets.load(Ordering::Relaxed), 1 + MOST_OF_ONE);
        records.shelf.kept.lock().remove(&super::super::key(&format!("{:032x}", 205)));
        assert_eq!(ask(&records, 221, "mine"), Ok(()));
        assert_eq!(ask(&records, 222, "somebody else"), Ok(()));
    }

    #[test]
    fn a_list_that_others_change_all_the_time_is_no_full_one() {
        let records = Counting { is_contended: true, ..Counting::default() };
        let refusal = ask(&records, 0, "mine").unwrap_err().refusal();
        assert_eq!((refusal.reason, refusal.retry_after), ("store_busy", Some(1)));
    }
}
