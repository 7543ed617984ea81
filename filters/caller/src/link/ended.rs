//! Agents whose links the operator has ended: all that a person allowed before a moment. One record names them, because
//! the store cannot list the links of an agent.

use std::{collections::BTreeMap, time::Duration};

use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Record, Records};

/// The key of the record.
const PLACE: &str = "oauth:ended";
/// How long an agent is remembered: longer than the longest duration of a configuration, a year.
const KEPT: Duration = Duration::from_secs(400 * 24 * 3600);
/// Agents that are remembered.
const MOST: usize = 1000;
/// How often a change is tried again that another one came before.
const TRIES: usize = 8;

/// The agents, and the moments up to which their links have ended, in seconds since 1970.
#[derive(Debug, Default)]
pub struct EndedClients(BTreeMap<String, u64>);

impl EndedClients {
    pub(super) const PLACE: &str = PLACE;

    /// Reads them from the record.
    pub(super) fn of(record: Option<&Record>) -> Self {
        Self(record.and_then(|record| serde_json::from_slice(&record.value).ok()).unwrap_or_default())
    }

    /// Reads them.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub async fn read(records: &dyn Records) -> Result<Self, NotKept> {
        Ok(Self::of(records.get(PLACE).await?.as_ref()))
    }

    /// Whether what a person allowed an agent at a moment has ended.
    pub fn have(&self, client: &str, allowed: u64) -> bool {
        self.0.get(client).is_some_and(|ended| allowed <= *ended)
    }
}

/// Ends all links of an agent that people have allowed up to now. `false`: too many agents are remembered.
///
/// # Errors
///
/// The store is unavailable.
pub async fn end_all_of(records: &dyn Records, client: &str) -> Result<bool, NotKept> {
    for _ in 0..TRIES {
        let found = records.get(PLACE).await?;
        let (mut ended, now) = (EndedClients::of(found.as_ref()).0, records.now());
        ended.retain(|_, at| *at + KEPT.as_secs() > now);
        ended.insert(client.to_owned(), now);
        if ended.len() > MOST {
            return Ok(false);
        }
        let value = serde_json::to_vec(&ended).map_err(|_| NotKept::Away)?;
        let expect = found.map_or(Expect::Absent, |record| Expect::Version(record.version));
        let change = Change { key: PLACE.to_owned(), expect, put: Put::Value(value.into(), KEPT) };
        if let Committed::Done(_) = records.commit_safely(&[change]).await? {
            return Ok(true);
        }
    }
    Err(NotKept::Away)
}

#[cfg(test)]
mod tests {
    use frontdesk_state::testing::{Shelf, run};

    use super::*;

    #[test]
    fn so_many_agents_are_remembered() {
        let shelf = Shelf::default();
        let now = shelf.now();
        let before: BTreeMap<String, u64> = (1..MOST).map(|n| (format!("client {n}"), now - 1)).collect();
        let put = Put::Value(serde_json::to_vec(&before).unwrap().into(), KEPT);
        run(shelf.commit(&[Change { key: PLACE.to_owned(), expect: Expect::Absent, put }])).unwrap();
        assert!(run(end_all_of(&shelf, "client 0")).unwrap());
        assert!(!run(end_all_of(&shelf, "one more")).unwrap());
        assert!(run(end_all_of(&shelf, "client 7")).unwrap(), "again");
        let ended = run(EndedClients::read(&shelf)).unwrap();
        assert!(ended.have("client 7", now) && !ended.have("client 7", now + 3600));
        assert!(!ended.have("client 6", now) && !ended.have("one more", now));
    }
}
