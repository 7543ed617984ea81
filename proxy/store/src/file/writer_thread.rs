//! The one thread that uses a database. It groups all waiting operations into one transaction, so that many operations
//! share one disk flush, and no request thread ever waits for a disk.
//!
//! An operation that has begun is always waited for, so that no caller hears "not done" about an operation that is done
//! later. Only an operation that has not begun can be abandoned. The breaker keeps further requests away meanwhile.

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

use crate::breaker::Breaker;

#[cfg(test)]
mod tests;

/// The most operations that wait for the disk.
const QUEUE: usize = 4096;
/// The most operations in one transaction.
const TOGETHER: usize = 256;
/// A disk that takes longer than this counts as away.
const PATIENCE: Duration = Duration::from_secs(1);

/// The database work of the thread.
pub trait Work: Send + 'static {
    type Asked: Send;
    type Answer: Send;

    /// Does everything in one transaction, or nothing. Each operation must be complete by itself or have no effect.
    fn carry_out(&mut self, asked: &[Self::Asked]) -> Result<Vec<Self::Answer>, String>;
}

/// The handle to the thread, which ends when the handle is dropped.
pub struct WriterThread<W: Work> {
    queue: mpsc::Sender<Waiting<W>>,
    breaker: Arc<Breaker<()>>,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// Nothing was done, and nothing will be.
    NotDone,
    /// The thread died, before or after the work was done.
    Unknown,
}

/// The result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swept {
    More,
    All,
    /// The disk had no room.
    Full,
}

struct Waiting<W: Work> {
    asked: W::Asked,
    turn: Arc<Turn>,
    answer: oneshot::Sender<Result<W::Answer, String>>,
}

/// Decides a race: the thread takes it to begin, the caller takes it to give up.
#[derive(Default)]
struct Turn(AtomicBool);

impl Turn {
    /// Whether this caller is the first to take it.
    fn take(&self) -> bool {
        !self.0.swap(true, Ordering::AcqRel)
    }
}

impl<W: Work> WriterThread<W> {
    /// Starts the thread. It opens nothing itself: `work` brings its database.
    pub fn start(name: &'static str, work: W, breaker: Arc<Breaker<()>>) -> Result<Self, String> {
        let (queue, waiting) = mpsc::channel(QUEUE);
        thread::Builder::new()
            .name(name.into())
            .spawn(move || run(work, waiting))
            .map_err(|error| format!("the thread {name} cannot be started: {error}"))?;
        Ok(Self { queue, breaker })
    }

    /// The answer, once the operation is safe in the file. Fails at once while the file is known to be away.
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

    /// Sweeps until nothing has expired, or probes a file that was away. In that case `sweep` gets `true` and must
    /// write, since a disk that can be read may still fail to write. Does nothing if a probe is not due, or if the
    /// queue is full.
    pub async fn tend(&self, sweep: impl Fn(bool) -> W::Asked, heard: impl Fn(W::Answer) -> Swept) {
        // Take the turn first, so that a failure during the probe is not forgotten.
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

    /// Reports at once that it takes too long, although the answer will come later.
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
    /// The queue is full. That is no reason to refuse other requests.
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
        // Callers that gave up were told that nothing happened, or have gone away.
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
