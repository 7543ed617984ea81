//! The one thread that uses a database: it makes everything that waits into one transaction, so that a commit to disk
//! is paid for by many, and no thread that serves requests is ever held up by a disk.
//!
//! Nobody is told that something was not done which then is: what has been begun is waited for, however long it takes,
//! and the breaker sees to it that nobody comes after. Only what has not been begun is given up.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use crate::store::breaker::Breaker;

#[cfg(test)]
mod tests;

/// What may wait for the disk at a time.
const QUEUE: usize = 4096;
/// What goes into one transaction.
const TOGETHER: usize = 256;
/// A disk that takes longer than this is away.
const PATIENCE: Duration = Duration::from_secs(1);

/// The work on a database that its thread does.
pub trait Work: Send + 'static {
    type Asked: Send;
    type Answer: Send;

    /// Does all of it in one transaction, or nothing; each must be complete by itself or have no effect.
    fn carry_out(&mut self, asked: &[Self::Asked]) -> Result<Vec<Self::Answer>, String>;
}

/// The way to the thread. It ends when this is dropped.
pub struct Owner<W: Work> {
    queue: mpsc::Sender<Waiting<W>>,
    breaker: Arc<Breaker<()>>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// Nothing was done, nor will be.
    NotDone,
    /// The thread died of it, before or after it was done.
    Unknown,
}

/// What a sweep found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swept {
    More,
    All,
    /// There was no room to write.
    Full,
}

struct Waiting<W: Work> {
    asked: W::Asked,
    turn: Arc<Turn>,
    answer: oneshot::Sender<Result<W::Answer, String>>,
}

/// Whose turn it is: the thread takes it to begin, and who asks takes it to give up.
#[derive(Default)]
struct Turn(AtomicBool);

impl Turn {
    /// Whether nobody had taken it.
    fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

impl<W: Work> Owner<W> {
    /// Starts the thread, which opens nothing itself: `work` comes with its database.
    pub fn start(name: &'static str, work: W, breaker: Arc<Breaker<()>>) -> Result<Self, String> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        thread::Builder::new()
            .name(name.into())
            .spawn(move || run(work, waiting))
            .map_err(|error| format!("the thread {name} cannot be started: {error}"))?;
        Ok(Self { queue, breaker })
    }

    /// The answer, once it is safe in the file; none, at once, while the file is known to be away.
    pub async fn ask(&self, asked: W::Asked) -> Result<W::Answer, Unanswered> {
        let Some(pass) = self.breaker.pass() else {
            self.breaker.decided_without();
            return Err(Unanswered::NotDone);
        };
        let failure = match self.reach(asked, |why| self.breaker.trip(&pass, why)).await {
            Ok(answer) => return Ok(answer),
            Err(failure) => failure,
        };
        self.breaker.decided_without();
        match failure {
            Failure::Busy => Err(Unanswered::NotDone),
            Failure::Away(why) => {
                self.breaker.trip(&pass, &why);
                Err(Unanswered::NotDone)
            }
            Failure::Lost => {
                self.breaker.trip(&pass, DEAD);
                Err(Unanswered::Unknown)
            }
        }
    }

    /// Sweeps, until all is swept, or finds out whether a file that was away is back: then `sweep` is told that it
    /// must write, since a disk that can be read may still be of no use. Does nothing if it is too early to look
    /// again, or if more is asked already than the disk can do.
    pub async fn tend(&self, sweep: impl Fn(bool) -> W::Asked, heard: impl Fn(W::Answer) -> Swept) {
        // From before: what fails while we look must not be forgotten for it.
        let turn = self.breaker.turn();
        let pass = self.breaker.pass();
        if pass.is_none() && !self.breaker.probe_due() {
            return;
        }
        let swept = loop {
            // It does no harm if it is done later.
            match timeout(PATIENCE, self.reach(sweep(pass.is_none()), |_| {})).await {
                Ok(Ok(answer)) => match heard(answer) {
                    Swept::More => {}
                    Swept::All => break Ok(()),
                    Swept::Full if pass.is_some() => break Ok(()),
                    Swept::Full => break Err("the disk is full".into()),
                },
                Ok(Err(Failure::Busy)) => return,
                Ok(Err(Failure::Away(why))) => break Err(why),
                Ok(Err(Failure::Lost)) => break Err(DEAD.into()),
                Err(_) => break Err(slow()),
            }
        };
        match (swept, pass) {
            (Ok(()), None) => self.breaker.close_since(turn, ()),
            (Err(why), Some(pass)) => self.breaker.trip(&pass, &why),
            (Err(why), None) => self.breaker.still_away(&why),
            (Ok(()), Some(_)) => {}
        }
    }

    /// Says at once when it takes too long, though there will be an answer.
    async fn reach(&self, asked: W::Asked, late: impl Fn(&str)) -> Result<W::Answer, Failure> {
        let (answer, mut answered) = oneshot::channel();
        let turn = Arc::new(Turn::default());
        self.queue.try_send(Waiting { asked, turn: turn.clone(), answer }).map_err(|refused| match refused {
            mpsc::error::TrySendError::Full(_) => Failure::Busy,
            mpsc::error::TrySendError::Closed(_) => Failure::Away(DEAD.into()),
        })?;
        let verdict = match timeout(PATIENCE, &mut answered).await {
            Ok(verdict) => verdict,
            Err(_) if turn.take() => return Err(Failure::Away(slow())),
            Err(_) => {
                late(&slow());
                answered.await
            }
        };
        match verdict {
            Ok(verdict) => verdict.map_err(Failure::Away),
            Err(_) if turn.take() => Err(Failure::Away(DEAD.into())),
            Err(_) => Err(Failure::Lost),
        }
    }
}

fn slow() -> String {
    format!("the disk did not answer within {PATIENCE:?}")
}

const DEAD: &str = "its thread has ended; restart Frontdesk, and report this";

enum Failure {
    /// More is asked than the disk can do; that is no reason to turn the others away.
    Busy,
    /// Nothing was done.
    Away(String),
    /// The thread died in the middle.
    Lost,
}

fn run<W: Work>(mut work: W, mut queue: mpsc::Receiver<Waiting<W>>) {
    while let Some(first) = queue.blocking_recv() {
        let mut waiting = vec![first];
        while waiting.len() < TOGETHER
            && let Ok(next) = queue.try_recv()
        {
            waiting.push(next);
        }
        // Whoever has given up was told that nothing happened, or has gone away.
        waiting.retain(|one| !one.answer.is_closed() && one.turn.take());
        let (asked, answers): (Vec<_>, Vec<_>) = waiting.into_iter().map(|one| (one.asked, one.answer)).unzip();
        if asked.is_empty() {
            continue;
        }
        match work.carry_out(&asked) {
            Ok(done) => answers.into_iter().zip(done).for_each(|(answer, done)| drop(answer.send(Ok(done)))),
            Err(why) => answers.into_iter().for_each(|answer| drop(answer.send(Err(why.clone())))),
        }
    }
}
