//! The store that replicas of Frontdesk share: Redis or Valkey (Redis 7.0 or Valkey 7.2, or later).
//!
//! Every operation is one script, so one round trip and one atomic step. KEYS names every key, and every key begins
//! with `{PREFIX}`, so that all of them are in one slot of a cluster. Counters and records expire by the server's
//! clock. The server's `appendfsync` decides how durable a record is. If the server has replicas, an idempotency record
//! counts as stored once one of them has it. docs/store.md ("Redis") lists the permissions that its user needs; a probe
//! tries all of them.
//!
//! A request does not wait for a server that is away. A lost connection is renewed at once, and requests wait a moment
//! for that. After one slow answer we check whether the server still answers. If either fails, the breaker opens, and
//! only [`Home::tend`] closes it. Each operation carries its deadline in the server's time, so that a delayed server
//! does nothing that its caller was told did not happen. Only an answer lost on the way leaves the outcome open.

mod connection;
mod counters;
mod dial;
mod link;
mod reconnect;
mod recording_socket;
mod records;
mod replicas;
mod trouble;

use std::{
    future::Future,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use async_trait::async_trait;
use frontdesk_config::{self as site, StoreHome};
use frontdesk_state::Settlement;
use parking_lot::Mutex;
use redis::{ErrorKind, RedisError, RedisResult};
use tokio::time::timeout;

use self::{
    dial::{Dialer, Node},
    link::{Clock, Link, Role},
    reconnect::{CLOSED, FULL},
    replicas::Replicas,
    trouble::{SinceTheStart, Trouble},
};
use super::{
    Home, Unsettled,
    breaker::{Breaker, Pass},
};

/// The permissions that docs/store.md lists, except `+select`, which a URL with a database needs.
const COMMANDS: &str = "+evalsha +script|load +time +get +set +del +hset +hmget +pexpire +pttl";

/// A server, whether it is reachable or not.
pub struct Redis {
    /// Replaced when the configuration changes, for example after a new password.
    dialer: ArcSwap<Dialer>,
    /// The node that holds our keys, if a cluster redirected us.
    node: Mutex<Option<Node>>,
    /// Since when a connection by the present dialer is wanted. A failure postpones it.
    wanted_anew: Mutex<Option<Instant>>,
    breaker: Breaker<Arc<Link>>,
    /// The clock of the latest connection in use.
    last_clock: Mutex<Option<Arc<Clock>>>,
    replicas: Replicas,
    prefix: String,
    since_the_start: Mutex<SinceTheStart>,
    /// The server has no free memory.
    full: AtomicBool,
    /// For work beside a request.
    me: Weak<Self>,
}

/// Why an operation was not done.
enum Refused {
    Away,
    /// The server has no free memory and evicts nothing.
    Full,
}

/// Why there was no answer.
enum Unanswered {
    Away,
    /// The connection was lost on the way.
    Cut,
    Full,
}

impl Redis {
    /// A server that counts as away until the first `tend`. `Err`: the URL cannot be used. The message never holds the
    /// URL, which may contain a password.
    pub fn open(url: &str, settings: &site::Store) -> Result<Arc<Self>, String> {
        let dialer = dialer(url, settings)?;
        let breaker = Breaker::open(format!("Redis at {}", dialer.address()));
        Ok(Arc::new_cyclic(|me| Self {
            dialer: ArcSwap::from_pointee(dialer),
            node: Mutex::default(),
            wanted_anew: Mutex::default(),
            breaker,
            last_clock: Mutex::default(),
            replicas: Replicas::new(settings.wait_replicas),
            prefix: braced(&settings.prefix),
            since_the_start: Mutex::new(SinceTheStart::Unknown),
            full: AtomicBool::new(false),
            me: me.clone(),
        }))
    }

    /// How long a request waits for an answer.
    fn patience(&self) -> Duration {
        self.dialer.load().patience
    }

    fn explain(&self, error: &RedisError) -> Trouble {
        self.dialer.load().explain(error)
    }

    /// Permission to use the server, unless it is known to be away.
    async fn pass(&self) -> Result<Pass<Arc<Link>>, Refused> {
        while let Some(pass) = self.breaker.pass_or_wait().await {
            if !pass.held.has_ended() {
                return Ok(pass);
            }
            self.lost(&pass, CLOSED, self.patience());
        }
        self.breaker.decided_without();
        Err(Refused::Away)
    }

    /// Waits for an answer as long as a request may. Without a valid answer the request is decided without the server.
    async fn answer<T>(
        &self,
        pass: &Pass<Arc<Link>>,
        asked: impl Future<Output = RedisResult<T>> + Send,
    ) -> Result<T, Refused> {
        self.try_to_ask(pass, asked).await.map_err(|why| self.decided_without(why))
    }

    /// Without a valid answer, finds out what happened to the server.
    async fn try_to_ask<T>(
        &self,
        pass: &Pass<Arc<Link>>,
        asked: impl Future<Output = RedisResult<T>> + Send,
    ) -> Result<T, Unanswered> {
        match timeout(self.patience(), asked).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) if error.code() == Some("OOM") => {
                self.is_full(true);
                Err(Unanswered::Full)
            }
            Ok(Err(error)) => {
                self.lost(pass, self.explain(&error).words(), self.patience());
                Err(if error.is_io_error() { Unanswered::Cut } else { Unanswered::Away })
            }
            Err(_) => {
                self.examine(pass);
                Err(Unanswered::Away)
            }
        }
    }

    fn decided_without(&self, why: Unanswered) -> Refused {
        self.breaker.decided_without();
        match why {
            Unanswered::Full => Refused::Full,
            Unanswered::Away | Unanswered::Cut => Refused::Away,
        }
    }

    /// The same for operations that may reach the server twice: retries once if the connection was lost.
    async fn answer_again<T, F>(&self, asked: impl Fn(Arc<Link>) -> F) -> Result<(Pass<Arc<Link>>, T), Refused>
    where
        F: Future<Output = RedisResult<T>> + Send,
    {
        let pass = self.pass().await?;
        match self.try_to_ask(&pass, asked(pass.held.clone())).await {
            Ok(answer) => return Ok((pass, answer)),
            Err(Unanswered::Cut) => {}
            Err(why) => return Err(self.decided_without(why)),
        }
        let pass = self.pass().await?;
        let answer = self.answer(&pass, asked(pass.held.clone())).await?;
        Ok((pass, answer))
    }

    /// The server missed the deadline by its own clock: it was delayed, or its clock was changed.
    fn late(&self, pass: &Pass<Arc<Link>>) -> Refused {
        self.examine(pass);
        self.breaker.decided_without();
        Refused::Away
    }

    /// The server gave an answer that none of our scripts gives.
    fn nonsense(&self, pass: &Pass<Arc<Link>>) -> Refused {
        self.lost(pass, "it answered nonsense", self.patience());
        self.breaker.decided_without();
        Refused::Away
    }
}

#[async_trait]
impl Home for Redis {
    /// Maintains the connection, or probes a server that is away.
    async fn tend(&self) -> Result<(), String> {
        if let Some(pass) = self.breaker.pass() {
            match timeout(self.patience(), pass.held.look()).await {
                Ok(Ok(())) if pass.held.role() == Role::Primary => {}
                // Its name may lead to another server now.
                Ok(Ok(())) => self.lost(&pass, &pass.held.role().in_words(), self.patience()),
                Ok(Err(error)) => self.lost(&pass, self.explain(&error).words(), self.patience()),
                Err(_) => self.examine(&pass),
            }
            // Find out by a write, because no request writes while it counts as full.
            if self.full.load(Ordering::Relaxed)
                && let Err(error) = self.try_everything(&pass.held).await
            {
                self.lost(&pass, self.explain(&error).words(), self.patience());
            }
            self.replicas.note(pass.held.replicas());
            self.tend_replicas().await;
            self.refresh(&pass.held).await;
            self.connect_anew().await;
        } else if self.breaker.probe_due() {
            let turn = self.breaker.turn();
            match self.probe().await {
                Ok(link) => {
                    self.replicas.note(link.replicas());
                    self.closed_with(turn, link);
                }
                Err(trouble) => self.breaker.still_away(trouble.words()),
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

    fn away(&self) -> Option<String> {
        self.breaker.away()
    }

    fn adopt(&self, settings: &site::Store) -> Result<(), String> {
        let StoreHome::Redis(url) = &settings.home else { return Ok(()) };
        let next = Arc::new(dialer(url, settings)?);
        self.replicas.declare(settings.wait_replicas);
        let before = self.dialer.swap(next.clone());
        if !before.is_same_way(&next) {
            *self.wanted_anew.lock() = Some(Instant::now());
            self.breaker.probe_soon();
        }
        Ok(())
    }

    fn full(&self) -> Option<String> {
        let full = self.full.load(Ordering::Relaxed);
        full.then(|| format!("Redis at {} {FULL}", self.dialer.load().address()))
    }

    fn unready(&self) -> Option<String> {
        let why = self.since_the_start.lock().unready()?;
        Some(format!("Redis at {}: {why}", self.dialer.load().address()))
    }

    fn clock_ahead(&self) -> Option<f64> {
        self.breaker.pass().map(|pass| pass.held.ahead())
    }

    fn without(&self) -> u64 {
        self.breaker.without()
    }

    /// There are none in this process.
    fn tracked(&self) -> u64 {
        0
    }
}

/// The dialer for these settings.
fn dialer(url: &str, settings: &site::Store) -> Result<Dialer, String> {
    Dialer::new(url, settings, format!("~{}:* {COMMANDS}", braced(&settings.prefix)))
}

/// Whether these settings can be used. Connects to no server.
pub fn check(settings: &site::Store) -> Result<(), String> {
    match &settings.home {
        StoreHome::Redis(url) => dialer(url, settings).map(drop),
        _ => Ok(()),
    }
}

/// The common prefix of keys: in a cluster it puts all of them in one slot.
fn braced(prefix: &str) -> String {
    format!("{{{prefix}}}")
}

/// The error for an answer that no script gives.
fn unexpected() -> RedisError {
    (ErrorKind::UnexpectedReturnType, "not what the script answers").into()
}
