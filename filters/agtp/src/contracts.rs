//! Stores contracts (AGTP-API §10.1.4) with the other records, so that they survive a reload and all replicas share
//! them. While the store is unavailable there are no contracts, and no call is made under one.
//!
//! Each contract is a record. Lists beside it name the contracts of one caller, all contracts, and those in the
//! manifest; one commit changes a contract with its lists, and the lists are bounded. An ended contract is kept for
//! its full duration again, so that its agent learns that it ended. A sweep removes it for good.

mod list;
#[cfg(test)]
mod tests;

use std::time::Duration;

use bytes::Bytes;
pub(super) use list::Entry;
use list::List;

use super::{
    compare_and_set::{TRIES, busy, step_aside},
    contract::{Bound, Contract, Ending},
    response::AgtpError,
};
use frontdesk_desk::{
    Desk,
    records::{is_id, seconds},
};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Records};

/// Maximum contracts.
pub(super) const MOST: usize = 1000;
/// Maximum of one caller, whatever Agent-IDs it claims.
pub(super) const MOST_OF_ONE: usize = 100;
/// Maximum in the manifest.
pub(super) const MOST_PUBLIC: usize = 100;
/// Maximum bytes of a contract.
const LONGEST: usize = 64 * 1024;
/// Minimum time for which an ended contract is kept.
const ENDED: Duration = Duration::from_secs(60);

const ALL: &str = "n:all";
const PUBLIC: &str = "n:public";

/// The contracts in a store.
pub(super) struct Contracts<'a> {
    records: &'a dyn Records,
    /// Maximum duration of a contract.
    ttl: Duration,
}

/// Why a contract was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotMade {
    /// The caller has its maximum number of contracts.
    TooManyOfOne,
    TooMany,
    TooLong,
    /// Every attempt lost against concurrent changes.
    Busy,
    NotKept(NotKept),
}

impl From<NotKept> for NotMade {
    fn from(why: NotKept) -> Self {
        Self::NotKept(why)
    }
}

impl<'a> Contracts<'a> {
    /// The contracts of a desk.
    pub(super) fn of(desk: &Desk<'a>) -> Self {
        Self { records: desk.records, ttl: desk.compiled.settings.agtp.policies.rcns.contract_ttl }
    }

    #[cfg(test)]
    pub(super) fn in_records(records: &'a dyn Records, ttl: Duration) -> Self {
        Self { records, ttl }
    }

    /// Stores a new contract; `public`: in the manifest too. Where there is no room, it replaces one of the same
    /// caller that was made on another connection, since that connection may be closed.
    ///
    /// # Errors
    ///
    /// There is no room, or it cannot be stored.
    pub(super) async fn keep(&self, contract: &Contract, public: bool) -> Result<(), NotMade> {
        let value = written(contract)?;
        if value.len() > LONGEST {
            return Err(NotMade::TooLong);
        }
        let Contract { agent, origin, bound, method, path, .. } = contract;
        let mark = bound.mark();
        let more = format!("{agent} {} {mark} {method} {path}", origin.word());
        for _ in 0..TRIES {
            let now = seconds();
            let mut mine = List::read(self.records, list_of(&contract.holder), now).await?;
            let mut all = List::read(self.records, ALL.to_owned(), now).await?;
            let mut changes = Vec::with_capacity(5);
            if (mine.lines.len() >= MOST_OF_ONE || all.lines.len() >= MOST)
                && let Some(id) = mine.gives_way(agent, &mark)
            {
                mine.drop(&id);
                all.drop(&id);
                changes.push(Change { key: key(&id), expect: Expect::Anything, put: Put::Nothing });
            }
            if mine.lines.len() >= MOST_OF_ONE {
                return Err(NotMade::TooManyOfOne);
            }
            if all.lines.len() >= MOST {
                return Err(NotMade::TooMany);
            }
            mine.add(contract, &more);
            all.add(contract, "");
            let put = Put::Value(value.clone(), self.kept_for(contract, now));
            changes.push(Change { key: key(&contract.id), expect: Expect::Absent, put });
            changes.extend([mine.change(now), all.change(now)]);
            if public {
                let mut public = List::read(self.records, PUBLIC.to_owned(), now).await?;
                if public.lines.len() >= MOST_PUBLIC {
                    return Err(NotMade::TooMany);
                }
                public.add(contract, "");
                changes.push(public.change(now));
            }
            if let Committed::Done(_) = self.records.commit(&changes).await? {
                return Ok(());
            }
            step_aside().await;
        }
        Err(NotMade::Busy)
    }

    /// An existing contract that can serve in place of this draft.
    pub(super) async fn like(&self, drafted: &Contract) -> Result<Option<Contract>, NotKept> {
        let mark = drafted.bound.mark();
        for entry in self.entries(&drafted.holder).await?.iter().rev() {
            let about = (&*entry.agent, &*entry.origin, &*entry.mark, &*entry.method, &*entry.path);
            if about == (&*drafted.agent, drafted.origin.word(), &*mark, &*drafted.method, &*drafted.path) {
                let found = self.find(&entry.id).await?;
                return Ok(found.filter(|contract| contract.replaces(drafted, seconds())));
            }
        }
        Ok(None)
    }

    /// A contract, ended or not.
    pub(super) async fn find(&self, id: &str) -> Result<Option<Contract>, NotKept> {
        Ok(self.record(id).await?.map(|(contract, _)| contract))
    }

    /// The current contracts of a caller.
    pub(super) async fn entries(&self, share: &str) -> Result<Vec<Entry>, NotKept> {
        let list = List::read(self.records, list_of(share), seconds()).await?;
        Ok(list.lines.iter().filter_map(|line| Entry::read(line)).collect())
    }

    /// All current contracts.
    pub(super) async fn all(&self) -> Result<Vec<Contract>, NotKept> {
        self.those(&List::read(self.records, ALL.to_owned(), seconds()).await?).await
    }

    /// The contracts in the manifest, with the version of their list (0 where there is none); `None` where the version
    /// equals `known`.
    pub(super) async fn public(&self, known: Option<u64>) -> Result<Option<(u64, Vec<Contract>)>, NotKept> {
        let list = List::read(self.records, PUBLIC.to_owned(), seconds()).await?;
        let version = match list.expect {
            Expect::Version(version) => version,
            _ => 0,
        };
        if known == Some(version) {
            return Ok(None);
        }
        Ok(Some((version, self.those(&list).await?)))
    }

    /// Ends a contract; `None`: deletes it. Returns whether it existed.
    pub(super) async fn end(&self, id: &str, how: Option<Ending>) -> Result<bool, AgtpError> {
        for _ in 0..TRIES {
            let now = seconds();
            let Some((mut contract, version)) = self.record(id).await? else { return Ok(false) };
            if contract.is_over(now) {
                return Ok(false);
            }
            let put = match how {
                None => Put::Nothing,
                Some(how) => {
                    contract.ended = Some(how);
                    Put::Value(written(&contract).map_err(|_| NotKept::Away)?, self.kept_for(&contract, now))
                }
            };
            let mut changes = vec![Change { key: key(id), expect: Expect::Version(version), put }];
            let mut lists = vec![list_of(&contract.holder), ALL.to_owned()];
            if contract.bound == Bound::Anybody {
                lists.push(PUBLIC.to_owned());
            }
            for list in lists {
                let mut list = List::read(self.records, list, now).await?;
                if list.ids().any(|other| other == id) {
                    list.drop(id);
                    changes.push(list.change(now));
                }
            }
            if let Committed::Done(_) = self.records.commit(&changes).await? {
                return Ok(true);
            }
            step_aside().await;
        }
        Err(busy())
    }

    async fn those(&self, list: &List) -> Result<Vec<Contract>, NotKept> {
        let (mut contracts, now) = (Vec::with_capacity(list.lines.len()), seconds());
        for id in list.ids() {
            contracts.extend(self.find(id).await?.filter(|contract| !contract.is_over(now)));
        }
        Ok(contracts)
    }

    async fn record(&self, id: &str) -> Result<Option<(Contract, u64)>, NotKept> {
        if !is_id(id) {
            return Ok(None);
        }
        let Some(record) = self.records.get(&key(id)).await? else { return Ok(None) };
        Ok(serde_json::from_slice(&record.value).ok().map(|contract| (contract, record.version)))
    }

    /// Its duration, twice: after it has ended, its agent can still learn that it did.
    fn kept_for(&self, contract: &Contract, now: u64) -> Duration {
        Duration::from_secs(contract.until.saturating_sub(now)) + self.ttl.max(ENDED)
    }
}

fn written(contract: &Contract) -> Result<Bytes, NotMade> {
    serde_json::to_vec(contract).map(Bytes::from).map_err(|_| NotMade::TooLong)
}

fn key(id: &str) -> String {
    format!("n:{id}")
}

fn list_of(share: &str) -> String {
    format!("n:of:{share}")
}
