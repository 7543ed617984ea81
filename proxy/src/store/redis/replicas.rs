//! Replicas of the server: a promise counts as kept once so many of them have it.
//!
//! A server answers before its replicas have heard. If it is lost then, and one of them takes its place, what it answered last is
//! forgotten: a key that was taken is free again, and a confirmation that was used is good again. So where there are
//! replicas, what is promised is written on a connection of its own, and `WAIT` says there how many have it. WAIT goes by what
//! its connection has written, and holds up whatever else is asked on it; that is why it has one of its own.

use std::time::{Duration, Instant};

use frontdesk_filters::state::{Change, Committed, NotKept};
use parking_lot::Mutex;
use tokio::{sync::Semaphore, time::timeout};

use super::{Redis, dial::DIALING, link::Link};

/// How long replicas are waited for.
const WAIT: Duration = Duration::from_millis(500);
/// Promises that wait for replicas at a time.
const AT_A_TIME: usize = 64;
/// Connections that are kept for the next promise, and for how long.
const SPARE: usize = 16;
const IDLE: Duration = Duration::from_secs(30);
/// How often the operator is reminded that replicas do not follow.
const REMINDED: Duration = Duration::from_secs(60);

/// What is known of replicas, and the connections on which they are waited for.
pub struct Replicas {
    inside: Mutex<Inside>,
    places: Semaphore,
}

struct Inside {
    /// `store.wait_replicas`.
    declared: Option<usize>,
    /// There have been some since this process began. Where there are none now, this may be the server that was cut off
    /// from them.
    seen: bool,
    spare: Vec<(Instant, Link)>,
    told: Option<Instant>,
}

impl Replicas {
    pub fn new(declared: Option<usize>) -> Self {
        let inside = Inside { declared, seen: false, spare: Vec::new(), told: None };
        Self { inside: Mutex::new(inside), places: Semaphore::new(AT_A_TIME) }
    }

    /// Another number is declared now, or none.
    pub fn declare(&self, declared: Option<usize>) {
        self.inside.lock().declared = declared;
    }

    /// How many must have what is promised.
    pub fn wanted(&self) -> usize {
        let inside = self.inside.lock();
        inside.declared.unwrap_or(usize::from(inside.seen))
    }

    /// Takes note of how many there are.
    pub fn note(&self, count: usize) {
        let mut inside = self.inside.lock();
        if count > 0 && !inside.seen && inside.declared.is_none() {
            tracing::info!("the store has replicas: what is promised is answered for once one of them has it");
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
    /// Keeps a connection ready, so that no promise waits for one to be made.
    pub async fn tend_replicas(&self) {
        if self.replicas.wanted() == 0 {
            return;
        }
        let link = match self.replicas.take() {
            Some(link) => Some(link),
            None => self.dial_another().await,
        };
        let Some(link) = link else { return };
        // Whether it may be asked at all is better known before somebody needs it.
        let mut connection = link.connection.clone();
        let mut wait = redis::cmd("WAIT");
        wait.arg(0).arg(1);
        match timeout(self.patience(), wait.query_async::<usize>(&mut connection)).await {
            Ok(Ok(_)) => self.replicas.put_back(link),
            Ok(Err(error)) if !error.is_io_error() && !link.has_ended() => {
                self.tell_of_replicas(self.explain(&error).words());
            }
            // It is lost, or slow: another one is made next time.
            _ => {}
        }
    }

    fn tell_of_replicas(&self, why: &str) {
        if self.replicas.is_due_to_be_told() {
            tracing::warn!(
                "Redis at {}: promises are not safe, and their calls are refused: {why}; look whether its replicas \
                 follow (INFO replication) and its user may WAIT. store.wait_replicas says how many must have a promise; \
                 0, that none need to",
                self.dialer.load().address()
            );
        }
    }

    async fn dial_another(&self) -> Option<Link> {
        let (dialer, node) = (self.dialer.load_full(), self.node.lock().clone());
        dialer.dial(node.as_ref()).await.ok()
    }

    /// Makes a commit that so many replicas have. Where fewer have it in time it may have been made all the same.
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
            // The connection was lost, which is told elsewhere.
            Ok(Err(error)) if error.is_io_error() => return Err(NotKept::Unsure(version)),
            Ok(Err(error)) => self.explain(&error).words().to_owned(),
            Err(_) => "it did not say in time how many replicas had it".into(),
        };
        self.breaker.decided_without();
        self.tell_of_replicas(&why);
        Err(NotKept::Unsure(version))
    }
}
