//! Maintains the connection: renews it when it is lost, examines it when it is slow, and tries a new one before use.

use std::{
    io,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use redis::{RedisError, RedisResult};
use tokio::time::timeout;

use super::{
    Redis, counters,
    dial::Node,
    link::{DIALING, Link, Role},
    records,
    trouble::Trouble,
};
use crate::breaker::Pass;

/// How soon another connection is tried again while one works.
const ANEW: Duration = Duration::from_secs(30);
/// The most redirections between nodes of a cluster.
const HOPS: usize = 3;
/// The reason for a connection that has ended.
pub const CLOSED: &str = "the connection was closed";
/// The warning about a server without free memory.
pub const FULL: &str = "has no memory left: limits are decided by store.on_error and new records are refused; raise \
                        its maxmemory";

impl Redis {
    /// This connection is lost: makes another one at once, while requests wait for at most `wait`.
    pub fn lost(&self, pass: &Pass<Arc<Link>>, why: &str, wait: Duration) {
        let Some(me) = self.me.upgrade() else { return };
        let Some(turn) = self.breaker.renew(pass, why, wait) else { return };
        tokio::spawn(async move {
            match me.probe().await {
                Ok(link) => me.closed_with(turn, link),
                Err(trouble) => me.breaker.not_renewed(turn, trouble.words()),
            }
        });
    }

    /// An answer was late: checks whether this connection still works. A single slow answer proves little.
    pub fn examine(&self, pass: &Pass<Arc<Link>>) {
        let Some(me) = self.me.upgrade() else { return };
        if !pass.held.is_to_be_examined() {
            return;
        }
        let pass = pass.clone();
        tokio::spawn(async move {
            // A bit less than a request's patience, so that the next requests know the result.
            match timeout(me.patience() * 3 / 4, pass.held.read_clock()).await {
                Ok(Ok(())) => pass.held.is_trusted(),
                Ok(Err(error)) => me.lost(&pass, me.explain(&error).words(), me.patience()),
                // Whatever the outcome, requests do not wait for it.
                Err(_) => me.lost(&pass, &format!("no answer within {:?}", me.patience()), Duration::ZERO),
            }
        });
    }

    /// Starts using a tested connection, if the last one was lost in this turn.
    pub fn closed_with(&self, turn: u64, link: Arc<Link>) {
        self.notice_the_end(&link);
        self.breaker.close_since(turn, link);
    }

    /// Watches for the end of this connection and then makes another one, if it is in use. Keeps the server's clock.
    fn notice_the_end(&self, link: &Link) {
        *self.last_clock.lock() = Some(link.clock().clone());
        let (end, me) = (link.end(), self.me.clone());
        tokio::spawn(async move {
            end.await;
            if let Some(me) = me.upgrade()
                && let Some(pass) = me.breaker.pass().filter(|pass| pass.held.has_ended())
            {
                me.lost(&pass, CLOSED, me.patience());
            }
        });
    }

    /// Connects, and tries everything that requests will need.
    pub async fn probe(&self) -> Result<Arc<Link>, Trouble> {
        let found = self.try_out().await;
        self.since_the_start.lock().note(found.as_ref().map(|_| ()));
        if found.is_ok() {
            *self.wanted_anew.lock() = None;
        }
        found
    }

    async fn try_out(&self) -> Result<Arc<Link>, Trouble> {
        let (dialer, mut node) = (self.dialer.load_full(), self.node.lock().clone());
        for _ in 0..HOPS {
            let link = match dialer.dial(node.as_ref()).await {
                Ok(link) => Arc::new(link),
                // The server in the URL redirected us there, and may know better by now.
                Err(_) if node.is_some() => {
                    node = None;
                    continue;
                }
                Err(trouble) => return Err(trouble),
            };
            match self.try_everything(&link).await {
                Ok(()) => match link.role() {
                    Role::Primary => {
                        self.is_at(node);
                        link.warn_of_eviction(dialer.address()).await;
                        return Ok(link);
                    }
                    role => return Err(Trouble::Refused(role.in_words())),
                },
                Err(error) => match (Node::of(&error, &dialer, node.as_ref()), link.role()) {
                    (Some(next), _) => node = Some(next),
                    (None, Role::Primary) => return Err(dialer.explain(&error)),
                    (None, role) => return Err(Trouble::Refused(role.in_words())),
                },
            }
        }
        Err(Trouble::Absent("the nodes of its cluster send us from one to the other".into()))
    }

    /// Records which cluster node holds our keys. All of them are in one slot.
    fn is_at(&self, node: Option<Node>) {
        let mut before = self.node.lock();
        if let Some(node) = node.as_ref().filter(|node| before.as_ref() != Some(node)) {
            let address = self.dialer.load().address().to_owned();
            tracing::info!("Redis at {address} is a node of a cluster that keeps our keys at {node}, which is used");
        }
        *before = node;
    }

    /// Runs every kind of operation once.
    pub async fn try_everything(&self, link: &Link) -> RedisResult<()> {
        let trial = async {
            // Load the scripts again: a server that knows them may forget them later.
            for script in counters::scripts().into_iter().chain(records::scripts()) {
                script.load_async(&mut link.connection.clone()).await?;
            }
            counters::try_out(link, &self.prefix).await?;
            records::try_out(link, &self.prefix).await
        };
        let full = match timeout(DIALING, trial).await {
            Ok(Ok(())) => false,
            // Without memory, `store.on_error` decides about counts, and records can still be read.
            Ok(Err(error)) if error.code() == Some("OOM") => true,
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                let why = format!("it is reached, but did not answer within {DIALING:?}");
                return Err(RedisError::from(io::Error::new(io::ErrorKind::TimedOut, why)));
            }
        };
        self.is_full(full);
        Ok(())
    }

    /// Connects with the changed settings. Until that succeeds, the present connection stays in use.
    pub async fn connect_anew(&self) {
        let due = |at: &mut Instant| *at <= Instant::now();
        if !self.wanted_anew.lock().as_mut().is_some_and(due) {
            return;
        }
        match self.try_out().await {
            Ok(link) => {
                *self.wanted_anew.lock() = None;
                self.notice_the_end(&link);
                self.breaker.replace(link);
                tracing::info!("Redis at {} is connected to as [store] says now", self.dialer.load().address());
            }
            Err(trouble) => {
                *self.wanted_anew.lock() = Some(Instant::now() + ANEW);
                tracing::error!(
                    "Redis at {} cannot be used as [store] says now; the connection that was made before stays in use \
                     as long as it lasts: {}",
                    self.dialer.load().address(),
                    trouble.words()
                );
            }
        }
    }

    /// Records whether the server has free memory, and logs changes.
    pub fn is_full(&self, full: bool) {
        if self.full.swap(full, Ordering::Relaxed) == full {
            return;
        }
        let dialer = self.dialer.load();
        let address = dialer.address();
        if full {
            tracing::warn!("Redis at {address} {FULL}");
        } else {
            tracing::info!("Redis at {address} has memory again");
        }
    }
}
