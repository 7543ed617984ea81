//! One harness: greeted before it is asked, and asked no longer once it is gone.
//!
//! Whether it is gone is told by a greeting, never by its answers to events: what those are is in the hands of whoever
//! calls, and one agent must not close what all need.
//!
//! Nobody who calls waits for a connection: it is opened in the background ([`Link::greet`]), and until then whatever
//! needs this harness is closed, by whoever asks; here every failure is only told apart from a decision.

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
    line::{Line, Lost, Way},
    queue::Queue,
    wire::{self, Question},
};

/// For a greeting, whatever answers may take.
const GREETING: Duration = Duration::from_secs(5);
/// So many questions without a decision in a row, and it is greeted again: it may be gone, or have begun anew and know of
/// no greeting.
const MOST_LOST: u32 = 3;
/// For taking what waits for no answer.
const TAKEN: Duration = Duration::from_secs(5);
/// A harness, as long as it is declared.
pub struct Link {
    /// Without what is secret in its address.
    pub name: String,
    way: Arc<dyn Way>,
    /// For an answer of it.
    timeout: Duration,
    state: Mutex<State>,
    /// What it said of itself last, be it here or away: what it offered is closed while it is gone.
    known: Mutex<Option<Arc<Greeted>>>,
    /// Answers to our own questions that were lost or none, one after the other.
    lost: AtomicU32,
    pub(super) queue: Queue,
    /// The configuration that it was told of last.
    told: Mutex<String>,
    /// How it was greeted last: what was said, and what it needs to offer.
    hello: Mutex<Option<(Value, Vec<Kind>)>>,
}

enum State {
    Away { why: String, since: Instant },
    Here { line: Arc<dyn Line>, greeted: Arc<Greeted> },
}

/// Why there is no decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// Nobody is there, and why.
    Away(String),
    /// It was asked, and what came is none.
    Broken(String),
    /// It does not offer this.
    NotOffered,
}

impl NoAnswer {
    /// Why, for a log.
    pub(super) fn words(self) -> String {
        match self {
            Self::Away(why) | Self::Broken(why) => why,
            Self::NotOffered => "it does not offer this".into(),
        }
    }
}

impl Link {
    /// A harness that nobody has greeted yet.
    pub fn new(name: String, way: Arc<dyn Way>, timeout: Duration) -> Self {
        let state = State::Away { why: "it has not been greeted yet".into(), since: Instant::now() };
        let (known, lost, queue, told, hello) = Default::default();
        Self { name, way, timeout, state: Mutex::new(state), known, lost, queue, told, hello }
    }

    /// Whether somebody should greet it: it is away, or it is doubtful whether it is there.
    pub fn wants_greeting(&self) -> bool {
        self.lost.load(Ordering::Relaxed) >= MOST_LOST || self.greeted().is_none()
    }

    /// What it said of itself; `None` while it is away.
    pub fn greeted(&self) -> Option<Arc<Greeted>> {
        match &*self.state.lock() {
            State::Here { line, greeted } if !line.is_broken() => Some(greeted.clone()),
            _ => None,
        }
    }

    /// Why it is away; `None` where it is not.
    pub fn why_away(&self) -> Option<String> {
        match &*self.state.lock() {
            State::Here { line, .. } if !line.is_broken() => None,
            State::Here { .. } => Some("the connection broke".into()),
            State::Away { why, since } => Some(format!("{why} ({} s)", since.elapsed().as_secs())),
        }
    }

    /// Whether it offers this, as far as is known. Of one that nobody has met nobody knows that it does not want to
    /// decide.
    pub fn offers(&self, kind: Kind) -> bool {
        let known = self.known.lock();
        known.as_ref().map_or(kind.is_blocking(), |greeted| greeted.capabilities.contains(kind.name()))
    }

    /// Says who we are ("handshake"), over a connection that is there or a new one. `needs`: without them it is as good
    /// as away.
    ///
    /// # Errors
    ///
    /// Why that came to nothing; it is kept, too.
    pub async fn greet(&self, hello: &Hello<'_>, needs: &[Kind]) -> Result<(), String> {
        let hello = hello.params();
        *self.hello.lock() = Some((hello.clone(), needs.to_vec()));
        self.greet_with(&hello, needs).await
    }

    /// Greets it as it was greeted last: it may be another since.
    async fn greet_again(&self) -> Result<(), NoAnswer> {
        let said = self.hello.lock().clone();
        let Some((hello, needs)) = said else { return Err(NoAnswer::Away("nobody has greeted it yet".into())) };
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
        here: Option<Arc<dyn Line>>,
        hello: &Value,
        needs: &[Kind],
    ) -> Result<(Arc<dyn Line>, Greeted), String> {
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

    /// Asks for a decision about an event.
    ///
    /// # Errors
    ///
    /// There is none, for this question alone. Whoever looks after it greets it when [`Link::wants_greeting`].
    pub async fn ask(&self, kind: Kind, params: &Value) -> Result<Value, NoAnswer> {
        let answer = self.answer(Some(kind), |greeted| greeted.timeout, wire::EVENT, params).await;
        match &answer {
            Ok(_) => self.lost.store(0, Ordering::Relaxed),
            Err(NoAnswer::Broken(_)) => drop(self.lost.fetch_add(1, Ordering::Relaxed)),
            Err(_) => {}
        }
        answer
    }

    /// Calls a method for somebody else, who may be given more time than we take, and whose bad luck is not ours.
    ///
    /// # Errors
    ///
    /// As of [`Link::ask`].
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
            // Whoever is there now may speak another version, or not offer this.
            self.greet_again().await?;
            answer = ask().await?;
        }
        question.answer(&answer.map_err(|Lost(why)| NoAnswer::Broken(why))?).map_err(NoAnswer::Broken)
    }

    /// Whether it is there and was not told of this configuration; it is now.
    pub(super) fn is_news(&self, hash: &str) -> bool {
        let mut told = self.told.lock();
        let news = *told != hash && self.greeted().is_some();
        if news {
            hash.clone_into(&mut told);
        }
        news
    }

    /// Tells of an event, where it offers to hear of it.
    ///
    /// # Errors
    ///
    /// It could not be told.
    pub(super) async fn tell(&self, kind: Kind, params: &Value) -> Result<(), NoAnswer> {
        self.told_of(Some(kind), |greeted| greeted.timeout.min(TAKEN), params).await
    }

    /// Passes an event on that somebody else has to tell, whatever it offers to hear.
    ///
    /// # Errors
    ///
    /// It could not be told.
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

    /// The way to it, if it offers this.
    fn offering(&self, kind: Option<Kind>) -> Result<(Arc<dyn Line>, Arc<Greeted>), NoAnswer> {
        let (line, greeted) = self.here()?;
        match kind {
            Some(kind) if !greeted.capabilities.contains(kind.name()) => Err(NoAnswer::NotOffered),
            _ => Ok((line, greeted)),
        }
    }

    fn here(&self) -> Result<(Arc<dyn Line>, Arc<Greeted>), NoAnswer> {
        match &*self.state.lock() {
            State::Here { line, greeted } if !line.is_broken() => Ok((line.clone(), greeted.clone())),
            State::Here { .. } => Err(NoAnswer::Away("the connection broke".into())),
            State::Away { why, .. } => Err(NoAnswer::Away(why.clone())),
        }
    }
}
