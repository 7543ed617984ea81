//! The interface to the audit log.
//!
//! An action is carried out only if it can be recorded, so the desk reserves room for its line before it calls the
//! site. A read is recorded if there is room; no request waits for that.

use async_trait::async_trait;

/// Maximum bytes of a line, its newline included.
pub const LONGEST: usize = 8 * 1024;

/// The audit log.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Reserves room for a line that is written later. Called before an action goes to the site.
    async fn reserve(&self) -> Result<Box<dyn Place>, NotWritten>;

    /// Queues a line without waiting (a read). The log drops and counts it when the writer cannot keep up.
    fn note(&self, line: Vec<u8>);
}

/// Room for one line. Dropping it unused gives the room back.
#[async_trait]
pub trait Place: Send + Sync {
    /// Writes the line (at most `LONGEST` bytes, ending in a newline); returns when the kernel has it.
    async fn write(self: Box<Self>, line: Vec<u8>) -> Result<(), NotWritten>;
}

/// The line is not in the log, or cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotWritten;
