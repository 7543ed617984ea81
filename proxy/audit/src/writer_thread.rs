//! The one thread that uses the file. It writes waiting lines in one call and keeps room for the reserved ones.
//!
//! A failed line is never written later, so that no caller hears of a failure that was none. After a failed write one
//! line at a time is let through as a probe, at growing intervals. A full disk counts as recovered as soon as there is
//! room.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use frontdesk_desk::audit::NotWritten;
use tokio::sync::oneshot;

use super::{
    series::Series,
    shared::{Entry, MOST, Room, STOCK, Shared},
};

/// The shortest and the longest pause after a failed write.
const HOLD: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// How often the thread checks a log that cannot be written.
const LOOK: Duration = Duration::from_secs(1);

pub(super) struct AuditWriter {
    shared: Arc<Shared>,
    series: Series,
    /// A failure has been logged.
    trouble: bool,
    suspicion: Option<Suspicion>,
}

/// A write failed, and none has succeeded since.
struct Suspicion {
    until: Instant,
    hold: Duration,
}

/// The caller to answer, and its reserved room.
type Promise = (oneshot::Sender<Result<(), NotWritten>>, Room);

/// A line in the buffer, by its end.
struct Written {
    end: usize,
    promise: Option<Promise>,
}

/// Answers waiting callers even if the thread panics.
struct Finish(Arc<Shared>);

impl Drop for Finish {
    fn drop(&mut self) {
        self.0.finish();
    }
}

impl AuditWriter {
    /// Checks the room at once.
    pub(super) fn new(shared: Arc<Shared>, series: Series) -> Self {
        let mut owner = Self { shared, series, trouble: false, suspicion: None };
        if let Err(error) = owner.series.file.room(1, 0, false) {
            owner.fails(&error);
        }
        owner
    }

    /// Runs until it is told to end, or until no handle is left.
    pub(super) fn run(mut self) {
        let _finish = Finish(self.shared.clone());
        loop {
            let patience = if self.trouble { LOOK } else { self.series.idle_for() };
            let Some(entries) = self.shared.next(patience) else { break };
            self.turn(entries);
        }
        self.series.file.release();
    }

    fn turn(&mut self, entries: Vec<Entry>) {
        let (mut lines, mut asks) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry {
                Entry::Note(line) => lines.push((line, None)),
                Entry::Line { line, room, told } => lines.push((line, Some((told, room)))),
                Entry::Ask(ask) => asks.push(ask),
            }
        }
        self.series.sweep_if_due();
        if let Err(error) = self.series.follow(self.promised()) {
            self.fails(&error);
        }
        // On a full disk the next file would have no room either.
        if !self.trouble {
            self.series.rotate_if_due(self.promised(), lines.iter().map(|(line, _)| line.len()).sum());
        }
        let used = self.write(lines);
        let backed = self.settle();
        if !backed {
            // Room that is released now has no blocks behind it.
            self.shared.state().stocks = false;
        }
        drop(used);
        for ask in asks {
            if let Some(room) = self.grant(backed) {
                // If the caller no longer waits, the room is released.
                let _ = ask.send(room);
            }
        }
    }

    /// Writes the lines, answers the callers, and returns their room.
    fn write(&mut self, mut lines: Vec<(Vec<u8>, Option<Promise>)>) -> Vec<Room> {
        if lines.is_empty() {
            return Vec::new();
        }
        let notes: usize = lines.iter().filter(|(_, promise)| promise.is_none()).map(|(line, _)| line.len()).sum();
        // A note must not use room that was reserved for others.
        if notes > 0
            && self.series.file.on_disk()
            && let Err(error) = self.series.file.room(self.promised(), notes as u64, false)
        {
            self.fails(&error);
            let all = lines.len();
            lines.retain(|(_, promise)| promise.is_some());
            self.shared.state().dropped += (all - lines.len()) as u64;
        }
        let mut buffer = Vec::new();
        let lines: Vec<Written> = lines
            .into_iter()
            .map(|(line, promise)| {
                buffer.extend_from_slice(&line);
                Written { end: buffer.len(), promise }
            })
            .collect();
        let (done, failure) = if self.series.file.can_be_found() {
            self.series.file.append(&buffer)
        } else {
            (0, Some(io::Error::new(io::ErrorKind::NotFound, "the file was deleted")))
        };
        let written = lines.iter().filter(|line| line.end <= done).count();
        {
            let mut state = self.shared.state();
            state.written += written as u64;
            state.dropped += (lines.len() - written) as u64;
        }
        match failure {
            Some(error) => {
                let hold = self.suspicion.as_ref().map_or(HOLD.0, |before| (before.hold * 2).min(HOLD.1));
                self.suspicion = Some(Suspicion { until: Instant::now() + hold, hold });
                self.fails(&error);
            }
            None if written > 0 => self.suspicion = None,
            None => {}
        }
        lines
            .into_iter()
            .filter_map(|line| {
                let (told, room) = line.promise?;
                let _ = told.send(if line.end <= done { Ok(()) } else { Err(NotWritten) });
                Some(room)
            })
            .collect()
    }

    /// Ensures that reserved lines have their room. Notices a recovery.
    fn settle(&mut self) -> bool {
        let mut backed = self.series.file.room(self.promised(), 0, false);
        if backed.is_err() {
            // Room that no caller has yet can be given up.
            let mut state = self.shared.state();
            state.promised -= std::mem::take(&mut state.free);
            drop(state);
            backed = self.series.file.room(self.promised(), 0, false);
        }
        let (backed, well) = match backed {
            Ok(()) => (true, if self.trouble { self.has_recovered() } else { Ok(()) }),
            Err(error) => (false, Err(error)),
        };
        match well {
            Ok(()) if self.suspicion.is_none() => self.is_well(),
            Ok(()) => {}
            Err(error) => self.fails(&error),
        }
        backed
    }

    fn has_recovered(&mut self) -> io::Result<()> {
        self.series.follow(self.promised())?;
        self.series.file.room(self.promised(), 0, true)
    }

    /// Room for a caller.
    fn grant(&mut self, backed: bool) -> Option<Room> {
        if !backed {
            return None;
        }
        if let Err(error) = self.series.follow(self.promised()) {
            self.fails(&error);
            return None;
        }
        if let Some(suspicion) = &mut self.suspicion {
            if Instant::now() < suspicion.until {
                return None;
            }
            suspicion.until = Instant::now() + suspicion.hold;
        }
        let kept = {
            let mut state = self.shared.state();
            let kept = state.free > 0;
            state.free -= usize::from(kept);
            kept
        };
        if !kept {
            self.promise_more()?;
        }
        Some(Room { shared: self.shared.clone() })
    }

    /// Reserves room for one more line, and for the next callers.
    fn promise_more(&mut self) -> Option<()> {
        let promised = self.promised();
        for more in [STOCK, 1] {
            if promised + more > MOST {
                continue;
            }
            match self.series.file.room(promised + more, 0, false) {
                Ok(()) => {
                    let mut state = self.shared.state();
                    state.stocks = self.series.file.stocks();
                    let more = if state.stocks { more } else { 1 };
                    state.promised += more;
                    state.free += more - 1;
                    return Some(());
                }
                Err(error) if more == 1 => self.fails(&error),
                Err(_) => {}
            }
        }
        None
    }

    fn promised(&self) -> usize {
        self.shared.state().promised
    }

    fn fails(&mut self, error: &io::Error) {
        self.shared.state().well = false;
        if !self.trouble {
            self.trouble = true;
            let file = self.series.path().display();
            tracing::error!(%file, %error, "the audit log cannot be written; actions are refused until it can");
        }
    }

    fn is_well(&mut self) {
        self.shared.state().well = true;
        if self.trouble {
            self.trouble = false;
            let file = self.series.path().display();
            tracing::info!(%file, "the audit log can be written again");
        }
    }
}
