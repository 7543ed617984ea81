//! One connection to the server: how it is made, what is known about the other end, and what the operator is told.

use std::{
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::{Duration, Instant},
};

use redis::{
    AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo, RedisError, RedisResult, Value,
    aio::MultiplexedConnection,
};
use tokio::time::timeout;

/// What connecting, or trying a connection out, may take. No request waits for it.
pub const DIALING: Duration = Duration::from_secs(2);
/// Requests that wait to be written.
const PIPELINE: usize = 1024;

/// Makes connections.
pub struct Dialer {
    client: Client,
    address: String,
    password: Option<String>,
    /// What its user must be allowed.
    needs: String,
}

impl Dialer {
    /// Understands a URL of `redis://` or `rediss://`.
    pub fn new(url: &str, needs: String) -> Result<Self, String> {
        let refuse = |why: &str| format!("store.url: {why}; write \"redis://user:password@host:6379/0\", or rediss://");
        let info = url.into_connection_info().map_err(|error| refuse(&error.to_string()))?;
        if let ConnectionAddr::TcpTls { insecure, .. } = info.addr() {
            if *insecure {
                return Err(refuse("#insecure is not to be had: put the authority's certificate into SSL_CERT_FILE"));
            }
            // Whoever has chosen one before has chosen this one.
            let _ = rustls::crypto::ring::default_provider().install_default();
        }
        let address = format!("{}/{}", info.addr(), info.redis_settings().db());
        let password = info.redis_settings().password().map(str::to_owned);
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        // Saying who we are needs one more permission.
        let redis = info.redis_settings().clone().set_skip_set_lib_name();
        let info = info.set_tcp_settings(tcp).set_redis_settings(redis);
        let client = Client::open(info).map_err(|error| refuse(&error.to_string()))?;
        Ok(Self { client, address, password, needs })
    }

    /// Where the server is, without secrets.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Connects. The certificates that are trusted are read anew, with TLS.
    pub async fn dial(&self) -> Result<Link, String> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None)
            .set_pipeline_buffer_size(PIPELINE);
        let dialing = async {
            let connection = self.client.get_multiplexed_async_connection_with_config(&config).await?;
            let (full, clock) = (AtomicBool::new(false), AtomicI64::new(0));
            let link = Link { connection, began: Instant::now(), clock, full };
            link.read_clock().await?;
            Ok(link)
        };
        match timeout(DIALING, dialing).await {
            Ok(Ok(link)) => Ok(link),
            Ok(Err(error)) => Err(self.explain(&error)),
            Err(_) => Err(format!("no connection within {DIALING:?}")),
        }
    }

    /// An error in words; whatever it quotes, not the password.
    pub fn explain(&self, error: &RedisError) -> String {
        let mut words = error.to_string();
        let denied = error.code() == Some("NOPERM") || words.contains("The user executing the script can't");
        if denied {
            words = format!("{words}; the ACL of its user must allow {}", self.needs);
        }
        match self.password.as_deref() {
            Some(password) if !password.is_empty() => words.replace(password, "***"),
            _ => words,
        }
    }
}

/// A connection, shared by all requests.
pub struct Link {
    pub connection: MultiplexedConnection,
    began: Instant,
    /// What the server's clock said, in microseconds, less the time since `began`.
    clock: AtomicI64,
    full: AtomicBool,
}

impl Link {
    /// Looks at the server's clock, which is a sign of life too.
    pub async fn read_clock(&self) -> RedisResult<()> {
        let (seconds, micros): (i64, i64) = redis::cmd("TIME").query_async(&mut self.connection.clone()).await?;
        // Read after it was said: what we take for its time is never ahead of it.
        self.clock.store(seconds * 1_000_000 + micros - self.elapsed(), Ordering::Relaxed);
        Ok(())
    }

    /// When, by the server's clock, nobody waits any more.
    pub fn deadline(&self, patience: Duration) -> i64 {
        self.clock.load(Ordering::Relaxed)
            + self.elapsed()
            + i64::try_from(patience.as_micros()).unwrap_or(i64::MAX / 2)
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

    /// Once for each connection.
    pub fn say_once_that_it_is_full(&self, dialer: &Dialer) {
        if !self.full.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "Redis at {} has no memory left: limits are decided by store.on_error and new records are refused; \
                 raise its maxmemory",
                dialer.address()
            );
        }
    }

    fn elapsed(&self) -> i64 {
        i64::try_from(self.began.elapsed().as_micros()).unwrap_or(i64::MAX / 4)
    }
}
