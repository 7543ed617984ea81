//! The home that replicas share: Redis, or Valkey.
//!
//! Every operation is one script, so one round trip and one atomic step; every key is named in KEYS and begins with
//! `{PREFIX}`, so that all of them are in one slot of a cluster. Counts and records expire in the server by its own
//! clock. How safe a record is that was answered for is the server's to say (`appendfsync`, replicas): Frontdesk asks
//! for nothing beyond it. Redis 7 or Valkey 7.2, or later.
//!
//! A user of its own needs no more than this, where `store.prefix` is "frontdesk", and `+select` if the URL names a
//! database other than 0; with `+info` (or `+config|get`) it is noticed that the server may evict what is needed:
//!
//! ```text
//! ACL SETUSER frontdesk on >PASSWORD ~{frontdesk}:* +evalsha +script|load
//!     +time +get +set +del +hset +hmget +pexpire +pttl
//! ```
//!
//! An absent server costs no request its patience: the first one to find it away opens the breaker, and only
//! [`Home::tend`] closes it. An operation says until when somebody waits for it, in the server's own time, so that a
//! server that was held up does nothing that its caller was told did not happen. Only an answer that is lost on its way
//! leaves that open.

mod counters;
mod link;
mod records;

use std::{future::Future, sync::Arc, time::Duration};

use async_trait::async_trait;
use frontdesk_filters::state::Settlement;
use redis::{ErrorKind, RedisResult};
use tokio::time::timeout;

use self::link::{DIALING, Dialer, Link};
use super::{
    Home, Unsettled,
    breaker::{Breaker, Pass},
};

/// What a request waits for an answer at most.
pub const PATIENCE: Duration = Duration::from_millis(250);
/// What is documented above.
const COMMANDS: &str = "+evalsha +script|load +time +get +set +del +hset +hmget +pexpire +pttl";

/// A server, reachable or not.
pub struct Redis {
    dialer: Dialer,
    breaker: Breaker<Arc<Link>>,
    prefix: String,
    patience: Duration,
}

/// Why an operation was not done.
enum Refused {
    Away,
    /// The server has no memory left, and evicts nothing.
    Full,
}

impl Redis {
    /// Away until it is tended. `Err`: the URL cannot be used; the URL itself, which may hold a password, is not in it.
    pub fn open(url: &str, prefix: &str, patience: Duration) -> Result<Self, String> {
        let prefix = format!("{{{prefix}}}");
        let dialer = Dialer::new(url, format!("~{prefix}:* {COMMANDS}"))?;
        let breaker = Breaker::open(format!("Redis at {}", dialer.address()));
        Ok(Self { dialer, breaker, prefix, patience })
    }

    /// Leave to ask the server something, unless it is known to be away.
    fn pass(&self) -> Result<Pass<Arc<Link>>, Refused> {
        self.breaker.pass().ok_or_else(|| {
            self.breaker.decided_without();
            Refused::Away
        })
    }

    /// Waits for an answer as long as a request may, and opens the breaker if there is none worth having.
    async fn answer<T>(
        &self,
        pass: &Pass<Arc<Link>>,
        asked: impl Future<Output = RedisResult<T>> + Send,
    ) -> Result<T, Refused> {
        let why = match timeout(self.patience, asked).await {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) if error.code() == Some("OOM") => {
                pass.held.say_once_that_it_is_full(&self.dialer);
                self.breaker.decided_without();
                return Err(Refused::Full);
            }
            Ok(Err(error)) => self.dialer.explain(&error),
            Err(_) => format!("no answer within {:?}", self.patience),
        };
        Err(self.away(pass, &why))
    }

    /// The server did not do it in time, by its own clock.
    fn late(&self, pass: &Pass<Arc<Link>>) -> Refused {
        self.away(pass, "it answered too late, or its clock was set")
    }

    /// The server answered what no script of ours answers.
    fn nonsense(&self, pass: &Pass<Arc<Link>>) -> Refused {
        self.away(pass, "it answered nonsense")
    }

    fn away(&self, pass: &Pass<Arc<Link>>, why: &str) -> Refused {
        self.breaker.trip(pass, why);
        self.breaker.decided_without();
        Refused::Away
    }

    /// Connects, and finds out whether everything that requests will need works.
    async fn probe(&self) -> Result<Arc<Link>, String> {
        let link = Arc::new(self.dialer.dial().await?);
        let trial = async {
            counters::try_out(&link, &self.prefix).await?;
            records::try_out(&link, &self.prefix).await
        };
        match timeout(DIALING, trial).await {
            Ok(Ok(())) => {}
            // Counts are decided without it, and records can still be read.
            Ok(Err(error)) if error.code() == Some("OOM") => link.say_once_that_it_is_full(&self.dialer),
            Ok(Err(error)) => return Err(self.dialer.explain(&error)),
            Err(_) => return Err(format!("it is reached, but did not answer within {DIALING:?}")),
        }
        link.warn_of_eviction(&self.dialer).await;
        Ok(link)
    }
}

#[async_trait]
impl Home for Redis {
    /// Looks after the connection, or for a server that is away.
    async fn tend(&self) -> Result<(), String> {
        if let Some(pass) = self.breaker.pass() {
            match timeout(self.patience, pass.held.read_clock()).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => self.breaker.trip(&pass, &self.dialer.explain(&error)),
                Err(_) => self.breaker.trip(&pass, &format!("no answer within {:?}", self.patience)),
            }
        } else if self.breaker.probe_due() {
            match self.probe().await {
                Ok(link) => self.breaker.close(link),
                Err(why) => self.breaker.still_away(&why),
            }
        }
        self.breaker.away().map_or(Ok(()), Err)
    }

    async fn settle_or_say(&self, settlements: &[Settlement]) -> Result<(), Unsettled> {
        counters::settle_or_say(self, settlements).await
    }

    fn reachable(&self) -> bool {
        self.breaker.is_closed()
    }

    fn without(&self) -> u64 {
        self.breaker.without()
    }

    /// None in this process.
    fn tracked(&self) -> u64 {
        0
    }
}

/// An answer that is not what the script promises.
fn unexpected() -> redis::RedisError {
    (ErrorKind::UnexpectedReturnType, "not what the script answers").into()
}
