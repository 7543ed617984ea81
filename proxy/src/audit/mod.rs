//! The audit log: a file of lines that says what agents did, and that nothing is done of which it could not tell.
//!
//! Whoever is about to act sets room for a line aside first, so that a full disk is noticed before the site is asked and
//! not after. A thread of its own writes what waits in one call; no thread that serves requests waits for a disk.

mod disk;
mod file;
mod names;
mod owner;
mod series;
mod shared;
#[cfg(test)]
mod tests;

use std::{sync::Arc, thread, time::Duration};

use async_trait::async_trait;
use frontdesk_filters::{
    desk::audit::{Audit, LONGEST, NotWritten, Place},
    site::Audit as Settings,
};
use tokio::time::timeout;

use self::{
    owner::Owner,
    series::Series,
    shared::{Ending, PATIENCE, Room, Shared},
};

/// How long the end of the process waits for lines to be written.
const FAREWELL: Duration = Duration::from_secs(5);

/// The log in its file. What was promised when this is dropped is kept.
pub struct Log {
    shared: Arc<Shared>,
    settings: Settings,
}

/// How the log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// Lines can be written.
    pub well: bool,
    /// Lines written.
    pub written: u64,
    /// Lines lost: nobody waited for them and the writer could not keep up, or they could not be written.
    pub dropped: u64,
}

impl Log {
    /// Opens the file and starts its thread. A disk without room is no reason not to start: that is said in the log,
    /// and what would be recorded is refused.
    pub fn open(settings: &Settings) -> Result<Arc<Self>, String> {
        crate::sys::survive_file_limit();
        let shared = Shared::new();
        let owner = Owner::new(shared.clone(), Series::open(settings)?);
        thread::Builder::new()
            .name("audit-log".into())
            .spawn(move || owner.run())
            .map_err(|error| format!("the thread of the audit log cannot be started: {error}"))?;
        Ok(Arc::new(Self { shared, settings: settings.clone() }))
    }

    /// Whether it is the log that these settings ask for.
    pub fn fits(&self, settings: &Settings) -> bool {
        self.settings == *settings
    }

    /// How the log is now.
    pub fn status(&self) -> Status {
        let (well, written, dropped) = self.shared.status();
        Status { well, written, dropped }
    }

    /// Returns when every line handed over has been written, or after a few seconds. Nothing can be written after it.
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
            // Whoever gives up gives back what comes later.
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

/// Room for one line in the file.
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
