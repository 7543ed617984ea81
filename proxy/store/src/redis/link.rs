//! One connection to the server, shared by all requests, with what is known about the server.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use frontdesk_state::Record;
use parking_lot::Mutex;
use redis::{RedisError, RedisResult, Value, aio::MultiplexedConnection};
use tokio::{sync::watch, task::AbortHandle, time::timeout};

use super::connection::Connection;

/// The time limit for connecting and for trying a connection. No request waits for it.
pub const DIALING: Duration = Duration::from_secs(2);
/// How long a remembered record is trusted.
const REMEMBERED: Duration = Duration::from_secs(30);

/// Moves bytes between a connection and its socket until the connection ends.
pub type Driver = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The server's replication role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Also a server that does not tell.
    Primary,
    /// The address of its primary.
    Replica(String),
    Sentinel,
}

impl Role {
    /// Parses the answer to ROLE.
    fn of(answer: &[Value]) -> Self {
        let text =
            |index: usize| answer.get(index).and_then(|value| redis::from_redis_value::<String>(value.clone()).ok());
        match text(0).as_deref() {
            Some("slave") => Self::Replica(format!("{}:{}", text(1).unwrap_or_default(), text(2).unwrap_or_default())),
            Some("sentinel") => Self::Sentinel,
            _ => Self::Primary,
        }
    }

    /// Why a server in this role is not used, and what to do.
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

/// The server's clock at the last reading. It runs on without a connection.
pub struct Clock {
    began: Instant,
    /// The server's time in microseconds since 1970, less the time since `began`.
    said: AtomicI64,
}

impl Clock {
    /// The server's time in whole seconds since 1970.
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
    pub connection: Connection,
    clock: Arc<Clock>,
    role: Mutex<Role>,
    replicas: AtomicUsize,
    /// Records that rarely change, with the time of reading. There are few of them.
    lasting: Mutex<HashMap<String, (Record, Instant)>>,
    /// Another caller is checking whether it still answers.
    doubted: AtomicBool,
    driver: AbortHandle,
}

impl Link {
    /// A connection whose socket this runtime drives until the link is dropped.
    pub fn new(connection: MultiplexedConnection, driver: Driver) -> Self {
        let (ends, ended) = watch::channel(false);
        let driver = tokio::spawn(async move {
            driver.await;
            ends.send_replace(true);
        })
        .abort_handle();
        let (connection, doubted) = (Connection::new(connection, ended), AtomicBool::new(false));
        let clock = Arc::new(Clock { began: Instant::now(), said: AtomicI64::new(0) });
        let (role, replicas) = (Mutex::new(Role::Primary), AtomicUsize::new(0));
        Self { connection, clock, role, replicas, lasting: Mutex::default(), doubted, driver }
    }

    /// Whether the server or the network has closed it.
    pub fn has_ended(&self) -> bool {
        self.connection.has_ended()
    }

    /// Completes when it is closed. Keeps no reference to the link.
    pub fn end(&self) -> impl Future<Output = ()> + Send + 'static {
        self.connection.end()
    }

    /// Whether this caller has to check that it still answers. The caller then calls [`Link::is_trusted`].
    pub fn is_to_be_examined(&self) -> bool {
        !self.doubted.swap(true, Ordering::Relaxed)
    }

    /// It has answered.
    pub fn is_trusted(&self) {
        self.doubted.store(false, Ordering::Relaxed);
    }

    /// Reads the server's role and clock.
    pub async fn look(&self) -> RedisResult<()> {
        match redis::cmd("ROLE").query_async::<Vec<Value>>(&mut self.connection.clone()).await {
            Ok(answer) => {
                *self.role.lock() = Role::of(&answer);
                self.replicas.store(replicas_of(&answer), Ordering::Relaxed);
            }
            // The user may lack the permission. A replica then shows itself by refusing to write.
            Err(error) if error.code() == Some("NOPERM") || is_unknown(&error) => {}
            Err(error) => return Err(error),
        }
        match self.role() {
            // A sentinel has no clock.
            Role::Sentinel => Ok(()),
            _ => self.read_clock().await,
        }
    }

    /// The number of its connected replicas at the last look.
    pub fn replicas(&self) -> usize {
        self.replicas.load(Ordering::Relaxed)
    }

    /// The server's role at the last look.
    pub fn role(&self) -> Role {
        self.role.lock().clone()
    }

    /// Reads the server's clock, which also shows that it answers.
    pub async fn read_clock(&self) -> RedisResult<()> {
        let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(&mut self.connection.clone()).await?;
        // We read it later than the server did, so our copy is never ahead of the server.
        self.clock.set(seconds * 1_000_000 + micros);
        Ok(())
    }

    /// The server's clock, which may outlive this connection.
    pub fn clock(&self) -> &Arc<Clock> {
        &self.clock
    }

    /// A recently read record that rarely changes.
    pub fn remembered(&self, key: &str) -> Option<Record> {
        let lasting = self.lasting.lock();
        let (record, since) = lasting.get(key)?;
        (since.elapsed() < REMEMBERED).then(|| record.clone())
    }

    /// Remembers such a record, or its absence.
    pub fn remember(&self, key: &str, record: Option<Record>) {
        let mut lasting = self.lasting.lock();
        match record {
            Some(record) => drop(lasting.insert(key.to_owned(), (record, Instant::now()))),
            None => drop(lasting.remove(key)),
        }
    }

    /// Forgets all of them.
    pub fn forget_lasting(&self) {
        self.lasting.lock().clear();
    }

    /// The keys of records that will soon be forgotten.
    pub fn grown_old(&self) -> Vec<String> {
        let lasting = self.lasting.lock();
        let old = lasting.iter().filter(|(_, (_, since))| since.elapsed() > REMEMBERED / 2);
        old.map(|(key, _)| key.clone()).collect()
    }

    /// How many seconds the server's clock is ahead of this machine's; negative if it is behind.
    pub fn ahead(&self) -> f64 {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        self.deadline(Duration::ZERO) as f64 / 1e6 - wall.as_secs_f64()
    }

    /// When, by the server's clock, a request stops waiting.
    pub fn deadline(&self, patience: Duration) -> i64 {
        self.clock.micros() + i64::try_from(patience.as_micros()).unwrap_or(i64::MAX / 2)
    }

    /// Warns the operator of a server that evicts live keys: it loses limits and idempotency keys.
    pub async fn warn_of_eviction(&self, address: &str) {
        let policy = match timeout(DIALING, self.eviction_policy()).await {
            Ok(Some(policy)) if policy != "noeviction" => policy,
            // The user may not read the setting either.
            _ => return,
        };
        tracing::warn!(
            "Redis at {} may evict keys that are still needed (maxmemory-policy {policy}), such as idempotency keys: \
             set it to noeviction",
            address
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

/// The replicas in a primary's answer to ROLE.
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
