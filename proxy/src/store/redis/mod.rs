//! The home that replicas share: Redis, or Valkey.
//!
//! Every operation is one script, so one round trip and one atomic step; every key is named in KEYS and begins with
//! `{PREFIX}`, so that all of them are in one slot of a cluster. Counts and records expire in the server by its own
//! clock. How safe a record is that was answered for is the server's to say (`appendfsync`); but what is promised is
//! answered for once a replica has it, where there are some. Redis 7.0 or Valkey 7.2, or later. What its user must be allowed is in docs/store.md ("Redis");
//! a probe does all of it once.
//!
//! An absent server costs no request its patience. A lost connection is made anew at once, and requests wait for it a
//! moment; a server that was slow once is asked whether it still answers. If either fails, the breaker opens, and only
//! [`Home::tend`] closes it. An operation says until when somebody waits for it, in the server's own time, so that a
//! server that was held up does nothing that its caller was told did not happen. Only an answer that is lost on its way
//! leaves that open.

mod counters;
mod dial;
mod keep;
mod link;
mod noted;
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
use frontdesk_filters::{
    site::{self, StoreHome},
    state::Settlement,
};
use parking_lot::Mutex;
use redis::{ErrorKind, RedisError, RedisResult};
use tokio::time::timeout;

use self::{
    dial::{Dialer, Node},
    keep::{CLOSED, FULL},
    link::{Clock, Link, Role},
    replicas::Replicas,
    trouble::{SinceTheStart, Trouble},
};
use super::{
    Home, Unsettled,
    breaker::{Breaker, Pass},
};

/// What docs/store.md says that its user must be allowed, but for `+select` where the URL names a database.
const COMMANDS: &str = "+evalsha +script|load +time +get +set +del +hset +hmget +pexpire +pttl";

/// A server, reachable or not.
pub struct Redis {
    /// Another one where the configuration says so: a new password, say.
    dialer: ArcSwap<Dialer>,
    /// Where our keys are, if a cluster has sent us there.
    node: Mutex<Option<Node>>,
    /// Since then a connection is wanted that is made by the present dialer; a failure puts it off.
    wanted_anew: Mutex<Option<Instant>>,
    breaker: Breaker<Arc<Link>>,
    /// Of the connection that was taken into use last.
    last_clock: Mutex<Option<Arc<Clock>>>,
    replicas: Replicas,
    prefix: String,
    since_the_start: Mutex<SinceTheStart>,
    /// It has no memory left.
    full: AtomicBool,
    /// For what goes on beside a request.
    me: Weak<Self>,
}

/// Why an operation was not done.
enum Refused {
    Away,
    /// The server has no memory left, and evicts nothing.
    Full,
}

/// Why there was no answer.
enum Unanswered {
    Away,
    /// The connection was cut on the way.
    Cut,
    Full,
}

impl Redis {
    /// Away until it is tended. `Err`: the URL cannot be used; the URL itself, which may hold a password, is not in it.
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

    /// What a request waits for an answer at most.
    fn patience(&self) -> Duration {
        self.dialer.load().patience
    }

    fn explain(&self, error: &RedisError) -> Trouble {
        self.dialer.load().explain(error)
    }

    /// Leave to ask the server something, unless it is known to be away.
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

    /// Waits for an answer as long as a request may. Without one worth having, the request is decided without the server.
    async fn answer<T>(
        &self,
        pass: &Pass<Arc<Link>>,
        asked: impl Future<Output = RedisResult<T>> + Send,
    ) -> Result<T, Refused> {
        self.try_to_ask(pass, asked).await.map_err(|why| self.decided_without(why))
    }

    /// Without an answer worth having, finds out what has become of the server.
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

    /// The same for what may reach the server twice: asked once more, if the connection was lost on the way.
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

    /// The server did not do it in time, by its own clock: it was held up, or its clock was set.
    fn late(&self, pass: &Pass<Arc<Link>>) -> Refused {
        self.examine(pass);
        self.breaker.decided_without();
        Refused::Away
    }

    /// The server answered what no script of ours answers.
    fn nonsense(&self, pass: &Pass<Arc<Link>>) -> Refused {
        self.lost(pass, "it answered nonsense", self.patience());
        self.breaker.decided_without();
        Refused::Away
    }
}

#[async_trait]
impl Home for Redis {
    /// Looks after the connection, or for a server that is away.
    async fn tend(&self) -> Result<(), String> {
        if let Some(pass) = self.breaker.pass() {
            match timeout(self.patience(), pass.held.look()).await {
                Ok(Ok(())) if pass.held.role() == Role::Primary => {}
                // Where its name leads now there may be another one.
                Ok(Ok(())) => self.lost(&pass, &pass.held.role().in_words(), self.patience()),
                Ok(Err(error)) => self.lost(&pass, self.explain(&error).words(), self.patience()),
                Err(_) => self.examine(&pass),
            }
            // Nobody may write to it until somebody does.
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

    /// None in this process.
    fn tracked(&self) -> u64 {
        0
    }
}

/// What connects as the settings say.
fn dialer(url: &str, settings: &site::Store) -> Result<Dialer, String> {
    Dialer::new(url, settings, format!("~{}:* {COMMANDS}", braced(&settings.prefix)))
}

/// Whether the settings can be followed; nobody is asked.
pub fn check(settings: &site::Store) -> Result<(), String> {
    match &settings.home {
        StoreHome::Redis(url) => dialer(url, settings).map(drop),
        _ => Ok(()),
    }
}

/// What keys begin with: in a cluster all of them are in one slot.
fn braced(prefix: &str) -> String {
    format!("{{{prefix}}}")
}

/// An answer that is not what the script promises.
fn unexpected() -> RedisError {
    (ErrorKind::UnexpectedReturnType, "not what the script answers").into()
}
