//! The state that callers and the writing thread share: one queue, in order, and the reserved room.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use frontdesk_desk::audit::NotWritten;
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

/// The most notes that may wait. No caller waits for a note.
const NOTES: usize = 4096;
/// The approximate size of one write.
const TOGETHER: usize = 256 * 1024;
/// Room that is kept ready for the next callers.
pub(super) const STOCK: usize = 16;
/// The most lines reserved at a time, because each one takes disk space.
pub(super) const MOST: usize = 4096;
/// A disk that takes longer than this counts as hanging.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// An entry in the thread's queue.
pub(super) enum Entry {
    Note(Vec<u8>),
    Line {
        line: Vec<u8>,
        room: Room,
        told: oneshot::Sender<Result<(), NotWritten>>,
    },
    /// A caller requests room. Dropping the sender refuses it.
    Ask(oneshot::Sender<Room>),
}

/// Reserved room for one line. Dropping it releases the room.
pub(super) struct Room {
    pub(super) shared: Arc<Shared>,
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock();
        if state.stocks && state.free < STOCK {
            state.free += 1;
        } else {
            state.promised -= 1;
        }
        if state.ending == Ending::WhenUnused {
            self.shared.work.notify_one();
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Ending {
    No,
    /// End when all reserved room has been used or released.
    WhenUnused,
    /// End when the accepted lines are written.
    Now,
}

pub(super) struct State {
    queue: VecDeque<Entry>,
    /// The number of notes among them.
    notes: usize,
    /// Reserved room that no caller has.
    pub(super) free: usize,
    /// All reserved room, free or not. The thread changes it, and so does a released room.
    pub(super) promised: usize,
    /// Whether room can be kept ready for callers.
    pub(super) stocks: bool,
    pub(super) well: bool,
    pub(super) written: u64,
    pub(super) dropped: u64,
    ending: Ending,
    finished: bool,
    /// When the thread began its current disk operation.
    busy_since: Option<Instant>,
    /// That operation took too long, and the log has reported it.
    stuck: bool,
}

pub(super) struct Shared {
    state: Mutex<State>,
    /// Signals work for the thread.
    work: Condvar,
    /// Signals that the thread has ended.
    ended: Condvar,
}

impl Shared {
    pub(super) fn new() -> Arc<Self> {
        let state = State {
            queue: VecDeque::new(),
            notes: 0,
            free: 0,
            promised: 0,
            stocks: false,
            well: true,
            written: 0,
            dropped: 0,
            ending: Ending::No,
            finished: false,
            busy_since: None,
            stuck: false,
        };
        Arc::new(Self { state: Mutex::new(state), work: Condvar::new(), ended: Condvar::new() })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Room that is ready, or a receiver to wait for it.
    pub(super) fn ask(self: &Arc<Self>) -> Result<Result<Room, oneshot::Receiver<Room>>, NotWritten> {
        let mut state = self.state.lock();
        if state.ending != Ending::No || state.finished || state.is_stuck() {
            return Err(NotWritten);
        }
        if state.well && state.free > 0 {
            state.free -= 1;
            return Ok(Ok(Room { shared: self.clone() }));
        }
        if state.queue.len() >= NOTES + 2 * MOST {
            return Err(NotWritten);
        }
        let (given, asked) = oneshot::channel();
        state.queue.push_back(Entry::Ask(given));
        self.work.notify_one();
        Ok(Err(asked))
    }

    /// Accepts a line with reserved room.
    pub(super) fn write(&self, line: Vec<u8>, room: Room) -> oneshot::Receiver<Result<(), NotWritten>> {
        let (told, answer) = oneshot::channel();
        let entry = Entry::Line { line, room, told };
        let mut state = self.state.lock();
        if state.finished {
            // Release the room without holding the lock.
            drop(state);
            drop(entry);
        } else {
            state.queue.push_back(entry);
            self.work.notify_one();
        }
        answer
    }

    pub(super) fn note(&self, line: Option<Vec<u8>>) {
        let mut state = self.state.lock();
        let open = state.ending == Ending::No && !state.finished && state.notes < NOTES;
        match line.filter(|_| open) {
            Some(line) => {
                state.notes += 1;
                state.queue.push_back(Entry::Note(line));
                self.work.notify_one();
            }
            None => state.dropped += 1,
        }
    }

    /// The next work. Empty if there is none within `patience`; `None` at the end.
    pub(super) fn next(&self, patience: Duration) -> Option<Vec<Entry>> {
        let until = Instant::now() + patience;
        let mut state = self.state.lock();
        state.busy_since = None;
        if std::mem::take(&mut state.stuck) {
            tracing::info!("the disk of the audit log answers again");
        }
        while state.queue.is_empty() {
            let unused = state.free == state.promised;
            match state.ending {
                Ending::Now => return None,
                Ending::WhenUnused if unused => return None,
                _ => {}
            }
            if self.work.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.busy_since = Some(Instant::now());
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while bytes < TOGETHER
            && let Some(entry) = state.queue.pop_front()
        {
            match &entry {
                Entry::Note(line) => {
                    state.notes -= 1;
                    bytes += line.len();
                }
                Entry::Line { line, .. } => bytes += line.len(),
                Entry::Ask(_) => {}
            }
            taken.push(entry);
        }
        Some(taken)
    }

    /// Stops accepting anything new.
    pub(super) fn end(&self, how: Ending) {
        let mut state = self.state.lock();
        state.ending = state.ending.max(how);
        self.work.notify_one();
    }

    /// Whether the thread ends in time.
    pub(super) fn ended_within(&self, patience: Duration) -> bool {
        let until = Instant::now() + patience;
        let mut state = self.state.lock();
        while !state.finished {
            if self.ended.wait_until(&mut state, until).timed_out() {
                return state.finished;
            }
        }
        true
    }

    /// The thread ends: every waiting caller gets an error.
    pub(super) fn finish(&self) {
        let mut state = self.state.lock();
        state.finished = true;
        let waiting = std::mem::take(&mut state.queue);
        state.dropped += state.notes as u64;
        state.notes = 0;
        drop(state);
        drop(waiting);
        self.ended.notify_all();
    }

    /// Whether lines can be written, and the numbers of written and of lost lines.
    pub(super) fn status(&self) -> (bool, u64, u64) {
        let state = self.state.lock();
        let away = state.busy_since.is_some_and(|since| since.elapsed() > PATIENCE);
        (state.well && !away && !state.finished, state.written, state.dropped)
    }
}

impl State {
    /// Whether the thread hangs at the disk. Logs it once.
    fn is_stuck(&mut self) -> bool {
        let away = self.busy_since.is_some_and(|since| since.elapsed() > PATIENCE);
        if away && !self.stuck {
            self.stuck = true;
            tracing::error!("the disk of the audit log did not answer within {PATIENCE:?}; actions are refused");
        }
        away
    }
}
