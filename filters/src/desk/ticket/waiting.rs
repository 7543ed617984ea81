//! The list of what waits for a person: so many questions in all, and so many of one caller.

use serde_json::Value;

use super::{NotOpened, State, Ticket, Tickets};
use crate::{
    caller::Caller,
    state::{Change, Committed, Expect, NotKept, Put},
    text::hex,
};

/// Where the list is of what waits for a person.
const LIST: &str = "t:desk";
/// Questions that wait for a person at a time.
pub const MOST_WAITING: usize = 1000;
/// Of them, questions of one caller.
const MOST_OF_ONE: usize = 20;
/// Of them, questions of those who proved nothing.
const MOST_OF_STRANGERS: usize = 500;
/// Marks whose they are.
const STRANGER: char = '~';
/// How often a list is tried to be changed that others change too.
const TRIES: usize = 8;

impl Tickets<'_> {
    /// Makes the ticket and puts it on the list, in one step.
    pub(super) async fn list(&self, id: &str, holder: &str, ticket: Change) -> Result<(), NotOpened> {
        for _ in 0..TRIES {
            let found = self.records.get(LIST).await.map_err(NotOpened::NotKept)?;
            let expect = found.as_ref().map_or(Expect::Absent, |record| Expect::Version(record.version));
            let mut ids = found.map(|record| ids(&record.value)).unwrap_or_default();
            let too_many = |ids: &[String]| {
                let strangers = ids.iter().filter(|entry| entry.contains(STRANGER)).count();
                ids.len() >= MOST_WAITING
                    || ids.iter().filter(|entry| entry.ends_with(holder)).count() >= MOST_OF_ONE
                    || holder.starts_with(STRANGER) && strangers >= MOST_OF_STRANGERS
            };
            if too_many(&ids) {
                ids = self.still_waiting(ids).await.map_err(NotOpened::NotKept)?;
            }
            if too_many(&ids) {
                return Err(NotOpened::TooMany);
            }
            ids.push(format!("{id} {holder}"));
            let put = Put::Value(Value::from(ids).to_string().into(), self.lasts * 2);
            let list = Change { key: LIST.to_owned(), expect, put };
            match self.records.commit(&[ticket.clone(), list]).await.map_err(NotOpened::NotKept)? {
                Committed::Done(_) => return Ok(()),
                Committed::Conflict(..) => {}
            }
        }
        Err(NotOpened::TooMany)
    }

    async fn still_waiting(&self, ids: Vec<String>) -> Result<Vec<String>, NotKept> {
        let mut waiting = Vec::with_capacity(ids.len());
        for entry in ids {
            if self.find(id_of(&entry)).await?.is_some_and(|ticket| ticket.state == State::Waiting) {
                waiting.push(entry);
            }
        }
        Ok(waiting)
    }

    /// Every question that a person was asked and that is still kept, the oldest first.
    pub async fn asked(&self) -> Result<Vec<Ticket>, NotKept> {
        let Some(list) = self.records.get(LIST).await? else { return Ok(Vec::new()) };
        let mut tickets = Vec::new();
        for entry in ids(&list.value) {
            tickets.extend(self.find(id_of(&entry)).await?);
        }
        Ok(tickets)
    }
}

/// Whose share of the list it is: whoever says to be another agent has no other.
pub(super) fn share(caller: &Caller) -> String {
    let whoever = hex(&caller.whoever().bytes());
    if caller.subject.is_some() { whoever } else { format!("{STRANGER}{whoever}") }
}

/// An entry of the list is an id and who asked.
fn id_of(entry: &str) -> &str {
    entry.split(' ').next().unwrap_or_default()
}

fn ids(list: &[u8]) -> Vec<String> {
    serde_json::from_slice::<Value>(list)
        .ok()
        .and_then(|value| Some(value.as_array()?.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect()))
        .unwrap_or_default()
}
