//! Waits for the server's replicas: an idempotency record counts as stored once enough of them have it.
//!
//! A server answers before its replicas have received a write. If it fails then and a replica takes over, the last
//! writes are lost: a used idempotency key or confirmation would be valid again. So such records are written on a
//! connection of their own, on which `WAIT` then reports the number of replicas that have them. WAIT counts the writes
//! of its own connection and blocks other commands on it; that is why it needs a separate one.

use std::time::{Duration, Instant};

use frontdesk_state::{Change, Committed, NotKept};
use parking_lot::Mutex;
use tokio::{sync::Semaphore, time::timeout};

use super::{
    Redis,
    link::{DIALING, Link},
};

/// How long to wait for replicas.
const WAIT: Duration = Duration::from_millis(500);
/// The most commits that wait for replicas.
const AT_A_TIME: usize = 64;
/// The most idle connections for the next commit, and how long they are kept.
const SPARE: usize = 16;
const IDLE: Duration = Duration::from_secs(30);
/// How often the operator is reminded that replicas do not follow.
const REMINDED: Duration = Duration::from_secs(60);

/// The known replicas, and the connections that wait for them.
pub struct Replicas {
    inside: Mutex<Inside>,
    places: Semaphore,
}

struct Inside {
    /// `store.wait_replicas`.
    declared: Option<usize>,
    /// The server had replicas before, since this process started. If it has none now, it may be an old primary that is
    /// cut off from them.
    seen: bool,
    spare: Vec<(Instant, Link)>,
    told: Option<Instant>,
}

impl Replicas {
    pub fn new(declared: Option<usize>) -> Self {
        let inside = Inside { declared, seen: false, spare: Vec::new(), told: None };
        Self { inside: Mutex::new(inside), places: Semaphore::new(AT_A_TIME) }
    }

    /// Changes the declared number.
    pub fn declare(&self, declared: Option<usize>) {
        self.inside.lock().declared = declared;
    }

    /// How many replicas must have a record.
    pub fn wanted(&self) -> usize {
        let inside = self.inside.lock();
        inside.declared.unwrap_or(usize::from(inside.seen))
    }

    /// Records the number of replicas.
    pub fn note(&self, count: usize) {
        let mut inside = self.inside.lock();
        if count > 0 && !inside.seen && inside.declared.is_none() {
            tracing::info!("the store has replicas: an idempotency key counts as stored once one of them has it");
        }
        inside.seen |= count > 0;
    }

    fn take(&self) -> Option<Link> {
        let mut inside = self.inside.lock();
        inside.spare.retain(|(since, link)| since.elapsed() < IDLE && !link.has_ended());
        inside.spare.pop().map(|(_, link)| link)
    }

    fn put_back(&self, link: Link) {
        let mut inside = self.inside.lock();
        if inside.spare.len() < SPARE && !link.has_ended() {
            inside.spare.push((Instant::now(), link));
        }
    }

    fn is_due_to_be_told(&self) -> bool {
        let mut inside = self.inside.lock();
        let is_due = inside.told.is_none_or(|told| told.elapsed() >= REMINDED);
        if is_due {
            inside.told = Some(Instant::now());
        }
        is_due
    }
}

impl Redis {
    /// Keeps a connection ready, so that no commit waits for one.
    pub async fn tend_replicas(&self) {
        if self.replicas.wanted() == 0 {
            return;
        }
        let link = match self.replicas.take() {
            Some(link) => Some(link),
            None => self.dial_another().await,
        };
        let Some(link) = link else { return };
        // Find out now whether the user may use WAIT, before a request needs it.
        let mut connection = link.connection.clone();
        let mut wait = redis::cmd("WAIT");
        wait.arg(0).arg(1);
        match timeout(self.patience(), wait.query_async::<usize>(&mut connection)).await {
            Ok(Ok(_)) => self.replicas.put_back(link),
            Ok(Err(error)) if !error.is_io_error() && !link.has_ended() => {
                self.tell_of_replicas(self.explain(&error).words());
            }
            // The connection is lost or slow: the next run makes another one.
            _ => {}
        }
    }

    fn tell_of_replicas(&self, why: &str) {
        if self.replicas.is_due_to_be_told() {
            tracing::warn!(
                "Redis at {}: idempotency keys are not safe, so calls that need one are refused: {why}; check that its \
                 replicas follow (INFO replication) and that its user may use WAIT. store.wait_replicas says how many \
                 replicas must have a key; 0 switches this off",
                self.dialer.load().address()
            );
        }
    }

    async fn dial_another(&self) -> Option<Link> {
        let (dialer, node) = (self.dialer.load_full(), self.node.lock().clone());
        dialer.dial(node.as_ref()).await.ok()
    }

    /// Makes a commit that so many replicas must have. If fewer have it in time, it may have been made all the same.
    pub async fn commit_on_replicas(&self, wanted: usize, changes: &[Change]) -> Result<Committed, NotKept> {
        let pass = self.pass().await?;
        let Ok(Ok(_place)) = timeout(self.patience(), self.replicas.places.acquire()).await else {
            return Err(NotKept::Away);
        };
        let link = match self.replicas.take() {
            Some(link) => link,
            None => timeout(DIALING / 2, self.dial_another()).await.ok().flatten().ok_or(NotKept::Away)?,
        };
        let committed = self.commit_by(&pass, &link, changes).await;
        let Ok(Committed::Done(version)) = committed else {
            if committed.is_ok() {
                self.replicas.put_back(link);
            }
            return committed;
        };
        let mut wait = redis::cmd("WAIT");
        wait.arg(wanted).arg(WAIT.as_millis() as u64);
        let mut connection = link.connection.clone();
        let why = match timeout(WAIT + self.patience(), wait.query_async::<usize>(&mut connection)).await {
            Ok(Ok(have)) => {
                self.replicas.put_back(link);
                if have >= wanted {
                    return committed;
                }
                format!("{have} of {wanted} replicas had it within {WAIT:?}")
            }
            // The connection was lost, which another place reports.
            Ok(Err(error)) if error.is_io_error() => return Err(NotKept::Unsure(version)),
            Ok(Err(error)) => self.explain(&error).words().to_owned(),
            Err(_) => "it did not say in time how many replicas had it".into(),
        };
        self.breaker.decided_without();
        self.tell_of_replicas(&why);
        Err(NotKept::Unsure(version))
    }
}
