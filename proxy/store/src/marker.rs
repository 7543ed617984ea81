//! Detects that the store has lost its data, by a record of our own that stays there.
//!
//! If the record is missing or different, the store has come back without its records: an operator flushed it, it
//! restarted without its files, or it evicts keys that it should keep. Frontdesk cannot restore them. It warns the
//! operator, and people who are asked to confirm a call.

use std::time::Duration;

use frontdesk_state::{Change, Committed, Expect, Put, Record, Records, wall_seconds};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::fresh;

/// The key of the record.
pub const KEY: &str = "k:store";
/// The record's lifetime: as good as forever.
const KEPT: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// How long people get the warning, in seconds.
const TOLD: u64 = 24 * 3600;

/// The known state of the record in a store.
#[derive(Default)]
pub struct Marker(Mutex<Known>);

#[derive(Default)]
struct Known {
    id: Option<String>,
    lost_at: Option<u64>,
    losses: u64,
}

impl Marker {
    /// How often the store was found to have lost its data since this process started.
    pub fn losses(&self) -> u64 {
        self.0.lock().losses
    }

    /// The time of the last loss in seconds since 1970, if it is at most a day ago.
    pub fn lost_at(&self) -> Option<u64> {
        self.0.lock().lost_at.filter(|at| wall_seconds().saturating_sub(*at) < TOLD)
    }

    /// Checks that the record is still the same one; creates it where it is missing.
    pub async fn look(&self, records: &dyn Records) {
        // Once more if another process has just created it.
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
                        // The next check sees whatever is there then.
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
            // These include the secret of confirmations, so that earlier confirmations are not valid a second time.
            records.forget_lasting();
            tracing::error!(
                "the store has lost its data: idempotency keys, used confirmations, sessions and tickets are \
                 forgotten, so an earlier action that a client retries will run again; find out why it came back empty \
                 (persistence, eviction, FLUSHALL), and look for actions that the site did twice"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Memory;

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
        // A later process warns people too, without having noticed the loss itself.
        let later = Marker::default();
        later.look(&store).await;
        assert!(later.losses() == 0 && later.lost_at().is_some());
    }
}
