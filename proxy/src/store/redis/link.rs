//! One connection to the server, shared by all requests, and what is known about the other end.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use frontdesk_filters::state::Record;
use parking_lot::Mutex;
use redis::{RedisError, RedisResult, Value, aio::MultiplexedConnection};
use tokio::{sync::watch, task::AbortHandle, time::timeout};

use super::dial::{DIALING, Dialer, Driver};

/// How long a record that lasts is believed to be as it was.
const REMEMBERED: Duration = Duration::from_secs(30);

/// What a server is among those that keep the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Also one that does not say.
    Primary,
    /// Of whom.
    Replica(String),
    Sentinel,
}

impl Role {
    /// Understands what ROLE answers.
    fn of(answer: &[Value]) -> Self {
        let text =
            |index: usize| answer.get(index).and_then(|value| redis::from_redis_value::<String>(value.clone()).ok());
        match text(0).as_deref() {
            Some("slave") => Self::Replica(format!("{}:{}", text(1).unwrap_or_default(), text(2).unwrap_or_default())),
            Some("sentinel") => Self::Sentinel,
            _ => Self::Primary,
        }
    }

    /// Why it is not used, and what to do.
    pub fn in_words(&self) -> String {
        match self {
            Self::Primary => "it is a primary".into(),
            Self::Replica(primary) => {
                format!("it is a replica of {primary}: store.url has to lead to the primary, also after a failover")
            }
            Self::Sentinel => "it is a Sentinel, which keeps nothing: store.url has to lead to the primary".into(),
        }
    }
}

/// The server's clock, as it was read last. It goes on without a connection.
pub struct Clock {
    began: Instant,
    /// What it said, in microseconds since 1970, less the time since `began`.
    said: AtomicI64,
}

impl Clock {
    /// The server's time, in whole seconds since 1970.
    pub fn seconds(&self) -> u64 {
        u64::try_from(self.micros() / 1_000_000).unwrap_or(0)
    }

    fn micros(&self) -> i64 {
        self.said.load(Ordering::Relaxed) + self.elapsed()
    }

    fn set(&self, micros: i64) {
        self.said.store(micros - self.elapsed(), Ordering::Relaxed);
    }

    fn elapsed(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX / 4)
    }
}

/// A connection, shared by all requests.
pub struct Link {
    pub connection: MultiplexedConnection,
    clock: Arc<Clock>,
    role: Mutex<Role>,
    replicas: AtomicUsize,
    /// Records that stay as they are, and when they were read. There are few of them.
    lasting: Mutex<HashMap<String, (Record, Instant)>>,
    /// Somebody is finding out whether it still answers.
    doubted: AtomicBool,
    ended: watch::Receiver<bool>,
    driver: AbortHandle,
}

impl Link {
    /// A connection whose socket is looked after on this runtime until the link is dropped.
    pub fn new(connection: MultiplexedConnection, driver: Driver) -> Self {
        let (ends, ended) = watch::channel(false);
        let driver = tokio::spawn(async move {
            driver.await;
            ends.send_replace(true);
        })
        .abort_handle();
        let doubted = AtomicBool::new(false);
        let clock = Arc::new(Clock { began: Instant::now(), said: AtomicI64::new(0) });
        let (role, replicas) = (Mutex::new(Role::Primary), AtomicUsize::new(0));
        Self { connection, clock, role, replicas, lasting: Mutex::default(), doubted, ended, driver }
    }

    /// Whether the other end, or something on the way, has closed it.
    pub fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Completes when it is closed. Holds nothing of the link.
    pub fn end(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut ended = self.ended.clone();
        async move {
            // An error: the link was dropped, which ends it too.
            let _ = ended.wait_for(|ended| *ended).await;
        }
    }

    /// Whether nobody else is finding out whether it still answers; the caller does, and then calls [`Link::is_trusted`].
    pub fn is_to_be_examined(&self) -> bool {
        !self.doubted.swap(true, Ordering::Relaxed)
    }

    /// It answered.
    pub fn is_trusted(&self) {
        self.doubted.store(false, Ordering::Relaxed);
    }

    /// Looks at what the server is, and at its clock.
    pub async fn look(&self) -> RedisResult<()> {
        match redis::cmd("ROLE").query_async::<Vec<Value>>(&mut self.connection.clone()).await {
            Ok(answer) => {
                *self.role.lock() = Role::of(&answer);
                self.replicas.store(replicas_of(&answer), Ordering::Relaxed);
            }
            // Not everybody may ask; a replica is then known by its refusal to write.
            Err(error) if error.code() == Some("NOPERM") || is_unknown(&error) => {}
            Err(error) => return Err(error),
        }
        match self.role() {
            // It has no clock to tell of.
            Role::Sentinel => Ok(()),
            _ => self.read_clock().await,
        }
    }

    /// How many replicas it had then that follow it.
    pub fn replicas(&self) -> usize {
        self.replicas.load(Ordering::Relaxed)
    }

    /// What the server was when it was looked at last.
    pub fn role(&self) -> Role {
        self.role.lock().clone()
    }

    /// Looks at the server's clock, which is a sign of life too.
    pub async fn read_clock(&self) -> RedisResult<()> {
        let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(&mut self.connection.clone()).await?;
        // Read after it was said: what we take for its time is never ahead of it.
        self.clock.set(seconds * 1_000_000 + micros);
        Ok(())
    }

    /// The server's clock, which may be kept for when this connection has ended.
    pub fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// A record that lasts, as it was read on this connection not long ago.
    pub fn remembered(&self, key: &str) -> Option<Record> {
        let lasting = self.lasting.lock();
        let (record, since) = lasting.get(key)?;
        (since.elapsed() < REMEMBERED).then(|| record.clone())
    }

    /// Remembers such a record, or that it is not there.
    pub fn remember(&self, key: &str, record: Option<Record>) {
        let mut lasting = self.lasting.lock();
        match record {
            Some(record) => drop(lasting.insert(key.to_owned(), (record, Instant::now()))),
            None => drop(lasting.remove(key)),
        }
    }

    /// Remembers none of them.
    pub fn forget_lasting(&self) {
        self.lasting.lock().clear();
    }

    /// What will soon be remembered no more.
    pub fn grown_old(&self) -> Vec<String> {
        let lasting = self.lasting.lock();
        let old = lasting.iter().filter(|(_, (_, since))| since.elapsed() > REMEMBERED / 2);
        old.map(|(key, _)| key.clone()).collect()
    }

    /// How far the server's clock is ahead of this machine's; negative where it is behind.
    pub fn ahead(&self) -> f64 {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.deadline(Duration::ZERO) as f64 / 1e6 - wall.as_secs_f64()
    }

    /// When, by the server's clock, nobody waits any more.
    pub fn deadline(&self, patience: Duration) -> i64 {
        self.clock.micros() + i64::try_from(patience.as_micros()).unwrap_or(i64::MAX / 2)
    }

    /// A server that evicts what is live gives up limits and promises: the operator should know.
    pub async fn warn_of_eviction(&self, dialer: &Dialer) {
        let policy = match timeout(DIALING, self.eviction_policy()).await {
            Ok(Some(policy)) if policy != "noeviction" => policy,
            // Not allowed to ask, either.
            _ => return,
        };
        tracing::warn!(
            "Redis at {} may evict what is still needed (maxmemory-policy {policy}), limits and promises among it: \
             set it to noeviction",
            dialer.address()
        );
    }

    async fn eviction_policy(&self) -> Option<String> {
        let mut connection = self.connection.clone();
        let info = redis::cmd("INFO").arg("memory").query_async::<String>(&mut connection).await.unwrap_or_default();
        if let Some(policy) = info.lines().find_map(|line| line.strip_prefix("maxmemory_policy:")) {
            return Some(policy.trim().into());
        }
        let asked = redis::cmd("CONFIG").arg("GET").arg("maxmemory-policy").query_async(&mut connection).await;
        let [_, policy]: [String; 2] =
            redis::from_redis_value::<Vec<String>>(asked.unwrap_or(Value::Nil)).ok()?.try_into().ok()?;
        Some(policy)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Of what a primary answers to ROLE.
fn replicas_of(answer: &[Value]) -> usize {
    match answer {
        [_, _, Value::Array(replicas)] => replicas.len(),
        _ => 0,
    }
}

fn is_unknown(error: &RedisError) -> bool {
    error.to_string().to_lowercase().contains("unknown command")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_understood() {
        let text = |text: &str| Value::BulkString(text.into());
        assert_eq!(Role::of(&[text("master"), Value::Int(7), Value::Array(vec![])]), Role::Primary);
        let replica = Role::of(&[text("slave"), text("10.0.0.5"), Value::Int(6379), text("connected"), Value::Int(7)]);
        assert_eq!(replica, Role::Replica("10.0.0.5:6379".into()));
        assert!(replica.in_words().contains("a replica of 10.0.0.5:6379"));
        assert_eq!(Role::of(&[text("sentinel"), Value::Array(vec![])]), Role::Sentinel);
        assert_eq!(Role::of(&[]), Role::Primary);
        let one = Value::Array(vec![text("10.0.0.6"), text("6379"), text("7")]);
        assert_eq!(replicas_of(&[text("master"), Value::Int(7), Value::Array(vec![one])]), 1);
        assert_eq!(replicas_of(&[text("slave"), text("10.0.0.5"), Value::Int(6379)]), 0);
    }
}
