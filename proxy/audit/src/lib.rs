//! The audit log: one line for each action of an agent. No action runs that could not be recorded.
//!
//! A call reserves room for its line before it acts, so that a full disk is noticed before the site is called. A thread
//! of its own writes waiting lines in one call; no request thread waits for a disk.

#![forbid(unsafe_code)]

mod disk;
mod file;
mod names;
mod series;
mod shared;
#[cfg(test)]
mod tests;
mod writer_thread;

use std::{sync::Arc, thread, time::Duration};

use async_trait::async_trait;
use frontdesk_config::Audit as Settings;
use frontdesk_desk::audit::{Audit, LONGEST, NotWritten, Place};
use tokio::time::timeout;

use self::{
    series::Series,
    shared::{Ending, PATIENCE, Room, Shared},
    writer_thread::AuditWriter,
};

/// How long the process waits at exit for lines to be written.
const FAREWELL: Duration = Duration::from_secs(5);

/// The open log. Dropping it still writes lines whose room was reserved.
pub struct Log {
    shared: Arc<Shared>,
    settings: Settings,
}

/// The state of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Lines can be written.
    pub well: bool,
    /// The number of written lines.
    pub written: u64,
    /// The number of lost lines: notes that the writer could not keep up with, or failed writes.
    pub dropped: u64,
}

impl Log {
    /// Opens the file and starts the thread. The process ignores SIGXFSZ, or blocks it in the calling thread: else a write
    /// beyond the file size limit ends the process. A full disk does not prevent the start: the log reports it, and recorded
    /// calls are refused.
    pub fn open(settings: &Settings) -> Result<Arc<Self>, String> {
        let shared = Shared::new();
        let owner = AuditWriter::new(shared.clone(), Series::open(settings)?);
        thread::Builder::new()
            .name("audit-log".into())
            .spawn(move || owner.run())
            .map_err(|error| format!("the thread of the audit log cannot be started: {error}"))?;
        Ok(Arc::new(Self { shared, settings: settings.clone() }))
    }

    /// Whether these settings describe this log.
    pub fn fits(&self, settings: &Settings) -> bool {
        self.settings == *settings
    }

    /// The current state.
    pub fn status(&self) -> Status {
        let (well, written, dropped) = self.shared.status();
        Status { well, written, dropped }
    }

    /// Returns when all accepted lines are written, or after a few seconds. After it nothing can be written.
    pub fn close(&self) {
        self.shared.end(Ending::Now);
        if !self.shared.ended_within(FAREWELL) {
            tracing::warn!("lines of the audit log were not written within {FAREWELL:?}");
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.shared.end(Ending::WhenUnused);
    }
}

#[async_trait]
impl Audit for Log {
    async fn reserve(&self) -> Result<Box<dyn Place>, NotWritten> {
        let room = match self.shared.ask()? {
            Ok(room) => room,
            // A caller that gives up returns the room when it comes later.
            Err(asked) => match timeout(PATIENCE, asked).await {
                Ok(Ok(room)) => room,
                _ => return Err(NotWritten),
            },
        };
        Ok(Box::new(Reserved(room)))
    }

    fn note(&self, line: Vec<u8>) {
        self.shared.note(is_line(&line).then_some(line));
    }
}

/// Reserved room for one line in the file.
struct Reserved(Room);

#[async_trait]
impl Place for Reserved {
    async fn write(self: Box<Self>, line: Vec<u8>) -> Result<(), NotWritten> {
        if !is_line(&line) {
            return Err(NotWritten);
        }
        let shared = self.0.shared.clone();
        shared.write(line, self.0).await.unwrap_or(Err(NotWritten))
    }
}

/// Whether it is one line that fits into its room.
fn is_line(line: &[u8]) -> bool {
    line.len() <= LONGEST && line.iter().position(|byte| *byte == b'\n').is_some_and(|at| at + 1 == line.len())
}
