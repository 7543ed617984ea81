//! What those who hand lines over share with the thread that writes them: one queue, in order, and the room promised.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use frontdesk_filters::desk::audit::NotWritten;
use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

/// Lines that nobody waits for and that may wait to be written.
const NOTES: usize = 4096;
/// What goes into one write, about.
const TOGETHER: usize = 256 * 1024;
/// Room that is kept for those who will ask.
pub(super) const STOCK: usize = 16;
/// Lines that may be promised at a time: the room for more would be a disk of its own.
pub(super) const MOST: usize = 4096;
/// A disk that takes longer than this is away.
pub(super) const PATIENCE: Duration = Duration::from_secs(1);

/// What waits for the thread.
pub(super) enum Entry {
    Note(Vec<u8>),
    Line {
        line: Vec<u8>,
        room: Room,
        told: oneshot::Sender<Result<(), NotWritten>>,
    },
    /// Somebody wants room; refused if this is dropped.
    Ask(oneshot::Sender<Room>),
}

/// Room for one line; given back when dropped.
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
    /// When everybody who was promised room has used it or given it back.
    WhenUnused,
    /// When what was handed over is written.
    Now,
}

pub(super) struct State {
    queue: VecDeque<Entry>,
    /// How many of them are notes.
    notes: usize,
    /// Room that is set aside and that nobody has.
    pub(super) free: usize,
    /// All room, free or not; changed by the thread, and by room that is given back.
    pub(super) promised: usize,
    /// Whether room can be kept for those who will ask.
    pub(super) stocks: bool,
    pub(super) well: bool,
    pub(super) written: u64,
    pub(super) dropped: u64,
    ending: Ending,
    finished: bool,
    /// When the thread turned to the disk.
    busy_since: Option<Instant>,
    /// Somebody found it there for too long, and said so.
    stuck: bool,
}

pub(super) struct Shared {
    state: Mutex<State>,
    /// There is something to do.
    work: Condvar,
    /// The thread has ended.
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

    /// Room that is kept, or where to wait for some.
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

    /// Hands over a line for which there is room.
    pub(super) fn write(&self, line: Vec<u8>, room: Room) -> oneshot::Receiver<Result<(), NotWritten>> {
        let (told, answer) = oneshot::channel();
        let entry = Entry::Line { line, room, told };
        let mut state = self.state.lock();
        if state.finished {
            // The room is given back when the lock is not held.
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

    /// What is next to do; nothing when there is no more, or for so long. `None` when it is over.
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

    /// Nothing new is accepted any more.
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

    /// The thread does no more; whoever waits is told.
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

    /// Whether lines can be written, lines written, lines lost.
    pub(super) fn status(&self) -> (bool, u64, u64) {
        let state = self.state.lock();
        let away = state.busy_since.is_some_and(|since| since.elapsed() > PATIENCE);
        (state.well && !away && !state.finished, state.written, state.dropped)
    }
}

impl State {
    /// Whether the thread hangs at the disk; says so once.
    fn is_stuck(&mut self) -> bool {
        let away = self.busy_since.is_some_and(|since| since.elapsed() > PATIENCE);
        if away && !self.stuck {
            self.stuck = true;
            tracing::error!("the disk of the audit log did not answer within {PATIENCE:?}; actions are refused");
        }
        away
    }
}
