//! What the desk asks of whoever keeps the audit log.
//!
//! An action is carried out only if it can be recorded, so room for its line is asked for before the site is; a read
//! is recorded if there is room, and nobody waits for it.

use async_trait::async_trait;

/// The most bytes a line may have, its newline among them.
pub const LONGEST: usize = 8 * 1024;

/// The audit log.
#[async_trait]
pub trait Audit: Send + Sync {
    /// Makes sure that a line can be written later: room for it is set aside. Asked before an action goes to the site.
    async fn reserve(&self) -> Result<Box<dyn Place>, NotWritten>;

    /// Hands over a line that nobody waits for (a read). Dropped and counted when the writer cannot keep up.
    fn note(&self, line: Vec<u8>);
}

/// Room for one line. Dropped unused, it is given back.
#[async_trait]
pub trait Place: Send + Sync {
    /// Writes the line (at most `LONGEST` bytes, ending in a newline); returns when the kernel has it.
    async fn write(self: Box<Self>, line: Vec<u8>) -> Result<(), NotWritten>;
}

/// The line is not in the log, or cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotWritten;
