//! The list of a person's agents, in the store. It names links; a link that is gone is no longer in it when it is read.

use frontdesk_caller::link::{Consent, EndedClients, LinkId, lasts};
use frontdesk_desk::records::fingerprint;
use frontdesk_state::{Change, Expect, NotKept, Put, Records};
use serde_json::{Value, json};

/// Agents of a person, and links of a person with one agent. The oldest one ends for one more.
pub(crate) const MOST_OF_PERSON: usize = 50;
pub(crate) const MOST_OF_CLIENT: usize = 5;

/// A link in the list.
#[derive(Debug, Clone)]
pub(crate) struct Listed {
    pub(crate) id: LinkId,
    pub(crate) client: String,
    pub(crate) agent: String,
    pub(crate) verified: bool,
    pub(crate) capabilities: Vec<Consent>,
    pub(crate) created: u64,
    pub(crate) until: u64,
}

/// A person's list, as it was read.
pub(crate) struct List {
    key: String,
    version: Option<u64>,
    pub(crate) links: Vec<Listed>,
}

impl List {
    /// Reads a person's list at the site of this issuer.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub(crate) async fn of(records: &dyn Records, issuer: &str, person: &str) -> Result<Self, NotKept> {
        let key = format!("oauth:person:{}", fingerprint(&[b"links of", issuer.as_bytes(), person.as_bytes()]));
        let found = records.get(&key).await?;
        let version = found.as_ref().map(|record| record.version);
        let value: Value = found.and_then(|record| serde_json::from_slice(&record.value).ok()).unwrap_or_default();
        let all: Vec<Listed> = value.as_array().into_iter().flatten().filter_map(read).collect();
        let places: Vec<String> = all.iter().map(|listed| listed.id.place()).collect();
        let there = records.get_all(&places.iter().map(String::as_str).collect::<Vec<_>>()).await?;
        let ended = EndedClients::read(records).await?;
        let links = all
            .into_iter()
            .zip(there)
            .filter_map(|(listed, link)| link.map(|_| listed))
            .filter(|listed| !ended.have(&listed.client, listed.created))
            .collect();
        Ok(Self { key, version, links })
    }

    /// Adds a link, and gives those that end for it.
    pub(crate) fn add(&mut self, link: Listed) -> Vec<LinkId> {
        let mut ended = Vec::new();
        let mut end_first = |links: &mut Vec<Listed>, of: &dyn Fn(&Listed) -> bool, most: usize| {
            while links.iter().filter(|listed| of(listed)).count() >= most {
                let Some(first) = links.iter().position(of) else { break };
                ended.push(links.remove(first).id);
            }
        };
        end_first(&mut self.links, &|listed| listed.client == link.client, MOST_OF_CLIENT);
        end_first(&mut self.links, &|_| true, MOST_OF_PERSON);
        self.links.push(link);
        ended
    }

    /// The change that stores it, unless it was changed meanwhile.
    pub(crate) fn change(&self, now: u64) -> Change {
        let written: Vec<Value> = self.links.iter().map(written).collect();
        let until = self.links.iter().map(|listed| listed.until).max().unwrap_or(now);
        let put = match written.is_empty() {
            true => Put::Nothing,
            false => Put::Value(Value::from(written).to_string().into(), lasts(until, now)),
        };
        let expect = self.version.map_or(Expect::Absent, Expect::Version);
        Change { key: self.key.clone(), expect, put }
    }

    /// When each was used last, in seconds since 1970.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub(crate) async fn last_uses(&self, records: &dyn Records) -> Result<Vec<Option<u64>>, NotKept> {
        let noted: Vec<String> = self.links.iter().map(|listed| listed.id.noted()).collect();
        let found = records.get_all(&noted.iter().map(String::as_str).collect::<Vec<_>>()).await?;
        Ok(found.into_iter().map(|used| std::str::from_utf8(&used?.value).ok()?.parse().ok()).collect())
    }
}

fn read(value: &Value) -> Option<Listed> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    Some(Listed {
        id: LinkId::read(value["id"].as_str()?)?,
        client: text("client")?,
        agent: text("agent")?,
        verified: value["verified"] == true,
        capabilities: Consent::read_all(&value["capabilities"])?,
        created: value["created"].as_u64()?,
        until: value["until"].as_u64()?,
    })
}

fn written(listed: &Listed) -> Value {
    let capabilities: Vec<Value> = listed.capabilities.iter().map(Consent::json).collect();
    json!({
        "id": listed.id.written(), "client": listed.client, "agent": listed.agent, "verified": listed.verified,
        "capabilities": capabilities, "created": listed.created, "until": listed.until,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(client: &str, created: u64) -> Listed {
        Listed {
            id: LinkId::new().unwrap(),
            client: client.into(),
            agent: client.into(),
            verified: false,
            capabilities: Vec::new(),
            created,
            until: 1000,
        }
    }

    #[test]
    fn the_oldest_ends_for_one_more() {
        let mut list = List { key: "k".into(), version: None, links: Vec::new() };
        let mut ended = 0;
        for n in 0..MOST_OF_CLIENT + 2 {
            ended += list.add(listed("one", n as u64)).len();
        }
        assert_eq!((list.links.len(), ended, list.links[0].created), (MOST_OF_CLIENT, 2, 2));
        for n in 0..MOST_OF_PERSON + 3 {
            list.add(listed(&format!("client {n}"), 100));
        }
        assert_eq!(list.links.len(), MOST_OF_PERSON);
        assert!(list.links.iter().all(|listed| listed.client != "one"));
    }
}
