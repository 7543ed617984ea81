//! One harness: the handshake, requests after it, and none while the harness is unreachable.
//!
//! Only a handshake decides whether the harness is reachable, never its answers to events: callers influence those,
//! and one agent must not be able to close calls for all.
//!
//! No call waits for a connection. [`Link::greet`] opens it in the background; until then the calls that need this
//! harness are closed by the code that asks. This module only tells each failure apart from a decision.

#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;

use super::{
    greeting::{Greeted, Hello},
    kinds::Kind,
    queue::Queue,
    transport::{HarnessConnection, HarnessTransport, Lost},
    wire::{self, Question},
};

/// Time limit for a handshake, whatever the limit for answers.
const GREETING: Duration = Duration::from_secs(5);
/// After this many requests in a row without a decision the harness is greeted again: it may be gone, or have
/// restarted and forgotten the handshake.
const MOST_LOST: u32 = 3;
/// Time limit for sending a notification.
const TAKEN: Duration = Duration::from_secs(5);
/// A harness of the configuration.
pub struct Link {
    /// The address without its secrets.
    pub name: String,
    way: Arc<dyn HarnessTransport>,
    /// Time limit for an answer.
    timeout: Duration,
    state: Mutex<State>,
    /// The last handshake reply. It is kept while the harness is unreachable, so that calls which need it are closed.
    known: Mutex<Option<Arc<Greeted>>>,
    /// Consecutive requests of ours that were lost or got no valid answer.
    lost: AtomicU32,
    pub(super) queue: Queue,
    /// The configuration hash that it was last notified of.
    told: Mutex<String>,
    /// The parameters of the last handshake, and the kinds that the harness must offer.
    hello: Mutex<Option<(Value, Vec<Kind>)>>,
}

enum State {
    Away { why: String, since: Instant },
    Here { line: Arc<dyn HarnessConnection>, greeted: Arc<Greeted> },
}

/// Why there is no decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The harness is unreachable, and why.
    Away(String),
    /// The harness was asked and gave no valid answer.
    Broken(String),
    /// The harness does not offer this kind.
    NotOffered,
}

impl NoAnswer {
    /// The reason, for the log.
    pub fn words(self) -> String {
        match self {
            Self::Away(why) | Self::Broken(why) => why,
            Self::NotOffered => "it does not offer this".into(),
        }
    }
}

impl Link {
    /// A harness before its first handshake.
    pub fn new(name: String, way: Arc<dyn HarnessTransport>, timeout: Duration) -> Self {
        let state = State::Away { why: "it has not been greeted yet".into(), since: Instant::now() };
        let (known, lost, queue, told, hello) = Default::default();
        Self { name, way, timeout, state: Mutex::new(state), known, lost, queue, told, hello }
    }

    /// Whether a handshake is due: the harness is unreachable, or may be.
    pub fn wants_greeting(&self) -> bool {
        self.lost.load(Ordering::Relaxed) >= MOST_LOST || self.greeted().is_none()
    }

    /// The last handshake reply; `None` while the harness is unreachable.
    pub fn greeted(&self) -> Option<Arc<Greeted>> {
        match &*self.state.lock() {
            State::Here { line, greeted } if !line.is_broken() => Some(greeted.clone()),
            _ => None,
        }
    }

    /// Why the harness is unreachable; `None` where it is reachable.
    pub fn why_away(&self) -> Option<String> {
        match &*self.state.lock() {
            State::Here { line, .. } if !line.is_broken() => None,
            State::Here { .. } => Some("the connection broke".into()),
            State::Away { why, since } => Some(format!("{why} ({} s)", since.elapsed().as_secs())),
        }
    }

    /// Whether it offers this kind, as far as is known. Before its first handshake a harness counts as offering every
    /// kind.
    pub fn offers(&self, kind: Kind) -> bool {
        let known = self.known.lock();
        known.as_ref().map_or(kind.is_blocking(), |greeted| greeted.capabilities.contains(kind.name()))
    }

    /// Performs the handshake, over the present connection or a new one. `needs`: kinds without which the harness
    /// counts as unreachable.
    ///
    /// # Errors
    ///
    /// The reason of the failure, which is also stored.
    pub async fn greet(&self, hello: &Hello<'_>, needs: &[Kind]) -> Result<(), String> {
        let hello = hello.params();
        *self.hello.lock() = Some((hello.clone(), needs.to_vec()));
        self.greet_with(&hello, needs).await
    }

    /// Repeats the last handshake, because the harness may have restarted.
    async fn greet_again(&self) -> Result<(), NoAnswer> {
        let said = self.hello.lock().clone();
        let Some((hello, needs)) = said else { return Err(NoAnswer::Away("the handshake is still due".into())) };
        self.greet_with(&hello, &needs).await.map_err(NoAnswer::Away)
    }

    async fn greet_with(&self, hello: &Value, needs: &[Kind]) -> Result<(), String> {
        let here = match &*self.state.lock() {
            State::Here { line, .. } if !line.is_broken() => Some(line.clone()),
            _ => None,
        };
        self.lost.store(0, Ordering::Relaxed);
        let greeted = self.greeting(here, hello, needs).await;
        let mut state = self.state.lock();
        match greeted {
            Ok((line, greeted)) => {
                let greeted = Arc::new(greeted);
                *self.known.lock() = Some(greeted.clone());
                *state = State::Here { line, greeted };
                Ok(())
            }
            Err(why) => {
                let since = match &*state {
                    State::Away { since, .. } => *since,
                    State::Here { .. } => Instant::now(),
                };
                *state = State::Away { why: why.clone(), since };
                Err(why)
            }
        }
    }

    async fn greeting(
        &self,
        here: Option<Arc<dyn HarnessConnection>>,
        hello: &Value,
        needs: &[Kind],
    ) -> Result<(Arc<dyn HarnessConnection>, Greeted), String> {
        let line = match here {
            Some(line) => line,
            None => self.way.open(GREETING).await.map_err(|Lost(why)| why)?,
        };
        let question = Question::new(wire::HANDSHAKE, hello);
        let answer = line.greet(&question.id, question.message.clone(), GREETING).await.map_err(|Lost(why)| why)?;
        let greeted = Greeted::read(&question.answer(&answer)?, self.timeout)?;
        let lacks: Vec<_> =
            needs.iter().map(|kind| kind.name()).filter(|name| !greeted.capabilities.contains(*name)).collect();
        if lacks.is_empty() { Ok((line, greeted)) } else { Err(format!("it does not offer {}", lacks.join(", "))) }
    }

    /// Asks for a decision on an event.
    ///
    /// # Errors
    ///
    /// There is none for this event. When [`Link::wants_greeting`] says so, a background task repeats the handshake.
    pub async fn ask(&self, kind: Kind, params: &Value) -> Result<Value, NoAnswer> {
        let answer = self.answer(Some(kind), |greeted| greeted.timeout, wire::EVENT, params).await;
        match &answer {
            Ok(_) => self.lost.store(0, Ordering::Relaxed),
            Err(NoAnswer::Broken(_)) => drop(self.lost.fetch_add(1, Ordering::Relaxed)),
            Err(_) => {}
        }
        answer
    }

    /// Calls a method on behalf of a gateway client. The client's time limit may be longer than ours, and a failure
    /// does not count against the harness.
    ///
    /// # Errors
    ///
    /// As for [`Link::ask`].
    pub async fn call(&self, method: &str, params: &Value) -> Result<Value, NoAnswer> {
        self.answer(None, |greeted| greeted.own_timeout, method, params).await
    }

    async fn answer(
        &self,
        kind: Option<Kind>,
        within: impl Fn(&Greeted) -> Duration,
        method: &str,
        params: &Value,
    ) -> Result<Value, NoAnswer> {
        let question = Question::new(method, params);
        let ask = async || {
            let (line, greeted) = self.offering(kind)?;
            Ok(line.ask(&question.id, question.message.clone(), within(&greeted)).await)
        };
        let mut answer: Result<Bytes, Lost> = ask().await?;
        if answer.as_ref().is_err_and(Lost::is_ungreeted) {
            // The restarted harness may speak another version, or not offer this kind.
            self.greet_again().await?;
            answer = ask().await?;
        }
        question.answer(&answer.map_err(|Lost(why)| NoAnswer::Broken(why))?).map_err(NoAnswer::Broken)
    }

    /// Whether the harness is reachable and has not yet been notified of this configuration. Marks it as notified.
    pub(super) fn is_news(&self, hash: &str) -> bool {
        let mut told = self.told.lock();
        let news = *told != hash && self.greeted().is_some();
        if news {
            hash.clone_into(&mut told);
        }
        news
    }

    /// Sends a notification, where the harness offers the kind.
    ///
    /// # Errors
    ///
    /// It could not be sent.
    pub(super) async fn tell(&self, kind: Kind, params: &Value) -> Result<(), NoAnswer> {
        self.told_of(Some(kind), |greeted| greeted.timeout.min(TAKEN), params).await
    }

    /// Forwards a gateway client's notification, whatever kinds the harness offers.
    ///
    /// # Errors
    ///
    /// It could not be sent.
    pub async fn forward(&self, params: &Value) -> Result<(), NoAnswer> {
        self.told_of(None, |greeted| greeted.timeout, params).await
    }

    async fn told_of(
        &self,
        kind: Option<Kind>,
        within: impl Fn(&Greeted) -> Duration,
        params: &Value,
    ) -> Result<(), NoAnswer> {
        let tell = async || {
            let (line, greeted) = self.offering(kind)?;
            Ok(line.tell(wire::notification(params), within(&greeted)).await)
        };
        let mut told: Result<(), Lost> = tell().await?;
        if told.as_ref().is_err_and(Lost::is_ungreeted) {
            self.greet_again().await?;
            told = tell().await?;
        }
        told.map_err(|Lost(why)| NoAnswer::Broken(why))
    }

    /// The connection and the handshake reply, if the harness offers this kind.
    fn offering(&self, kind: Option<Kind>) -> Result<(Arc<dyn HarnessConnection>, Arc<Greeted>), NoAnswer> {
        let (line, greeted) = self.here()?;
        match kind {
            Some(kind) if !greeted.capabilities.contains(kind.name()) => Err(NoAnswer::NotOffered),
            _ => Ok((line, greeted)),
        }
    }

    fn here(&self) -> Result<(Arc<dyn HarnessConnection>, Arc<Greeted>), NoAnswer> {
        match &*self.state.lock() {
            State::Here { line, greeted } if !line.is_broken() => Ok((line.clone(), greeted.clone())),
            State::Here { .. } => Err(NoAnswer::Away("the connection broke".into())),
            State::Away { why, .. } => Err(NoAnswer::Away(why.clone())),
        }
    }
}
