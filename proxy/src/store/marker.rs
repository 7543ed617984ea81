//! Whether the store still has what it was given: a record of our own that is there from the first time on.
//!
//! If it is missing, or another's, the store has come back without what was promised: it was emptied, began anew without
//! its files, or evicts what it should keep. Nobody can mend that; but the operator is told, and so are people who are asked to
//! confirm something.

use std::time::Duration;

use frontdesk_filters::state::{Change, Committed, Expect, Put, Record, Records, wall_seconds};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::fresh;

/// Where it is among the records.
pub const KEY: &str = "k:store";
/// As good as for ever.
const KEPT: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// For how long people are told.
const TOLD: u64 = 24 * 3600;

/// What is known of the marker in a store.
#[derive(Default)]
pub struct Marker(Mutex<Known>);

#[derive(Default)]
struct Known {
    id: Option<String>,
    lost_at: Option<u64>,
    losses: u64,
}

impl Marker {
    /// How often the store was found to have lost what it held, since this process began.
    pub fn losses(&self) -> u64 {
        self.0.lock().losses
    }

    /// When that was last, in seconds since 1970, if it is no more than a day ago.
    pub fn lost_at(&self) -> Option<u64> {
        self.0.lock().lost_at.filter(|at| wall_seconds().saturating_sub(*at) < TOLD)
    }

    /// Looks whether it is there and the one that was there before; puts one where there is none.
    pub async fn look(&self, records: &dyn Records) {
        // Once more where somebody else has just put one.
        for _ in 0..2 {
            match records.get(KEY).await {
                Ok(Some(record)) => return self.found(records, &record),
                Ok(None) => {
                    let is_lost = self.0.lock().id.is_some();
                    let (id, now) = (format!("{:016x}", fresh()), wall_seconds());
                    let value = json!({ "id": id, "since": now, "lost_at": is_lost.then_some(now) }).to_string();
                    let put = Put::Value(value.into(), KEPT);
                    match records.commit(&[Change { key: KEY.into(), expect: Expect::Absent, put }]).await {
                        Ok(Committed::Done(_)) => {
                            return self.is_now(records, id, is_lost.then_some(now));
                        }
                        Ok(Committed::Conflict(..)) => {}
                        // It is looked at again, as whatever is there then.
                        Err(_) => return,
                    }
                }
                Err(_) => return,
            }
        }
    }

    fn found(&self, records: &dyn Records, record: &Record) {
        let value: Value = serde_json::from_slice(&record.value).unwrap_or_default();
        let id = value["id"].as_str().unwrap_or_default().to_owned();
        self.is_now(records, id, value["lost_at"].as_u64());
    }

    fn is_now(&self, records: &dyn Records, id: String, lost_at: Option<u64>) {
        let mut known = self.0.lock();
        let is_another = known.id.as_ref().is_some_and(|before| *before != id);
        (known.id, known.lost_at) = (Some(id), lost_at);
        if is_another {
            known.lost_at = lost_at.or_else(|| Some(wall_seconds()));
            known.losses += 1;
            drop(known);
            // The secret of confirmations among it: those that were used before are not good a second time.
            records.forget_lasting();
            tracing::error!(
                "the store has lost what it held: idempotency keys, used confirmations, sessions and tickets are \
                 forgotten, and an action that is repeated from before acts again; look why it came back empty \
                 (persistence, eviction, FLUSHALL), and at the site for actions that were made twice"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::memory::Memory;

    fn emptied() -> Change {
        Change { key: KEY.into(), expect: Expect::Anything, put: Put::Nothing }
    }

    #[tokio::test]
    async fn a_store_that_was_emptied_is_noticed_once_by_everyone() {
        let store = Memory::new(16, 1 << 20);
        let (one, other) = (Marker::default(), Marker::default());
        for marker in [&one, &other, &one, &other] {
            marker.look(&store).await;
            assert_eq!((marker.losses(), marker.lost_at()), (0, None));
        }
        store.commit(&[emptied()]).await.unwrap();
        for marker in [&one, &other, &one, &other] {
            marker.look(&store).await;
            assert_eq!(marker.losses(), 1);
            assert!(marker.lost_at().unwrap().abs_diff(wall_seconds()) < 5);
        }
        // Who comes after tells people too, and has noticed nothing itself.
        let later = Marker::default();
        later.look(&store).await;
        assert!(later.losses() == 0 && later.lost_at().is_some());
    }
}
