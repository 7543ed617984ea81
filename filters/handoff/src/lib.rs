//! A project's handoff between agents (AAHP v3), served read-only over HTTP in layers, with the integrity of each
//! file.
//!
//! A handoff is a directory of small files with a manifest. It is served from a consistent reading
//! ([`SnapshotCache`]), never while it changes. Writing (tasks, locks, git) is left to the agents; only [`lint`] and [`generate()`] help with it.

#![forbid(unsafe_code)]

mod answer;
mod checksum;
mod date;
mod declaration;
mod directory;
mod generate;
mod leaving;
mod lines;
pub mod lint;
mod lock;
mod log;
mod manifest;
mod ordered;
mod query;
mod reading;
mod sections;
mod serve;
mod snapshot_cache;
mod tasks;
#[cfg(test)]
mod testing;
mod trust;
mod withheld;

pub use declaration::EXTENSION;
pub use directory::{Directory, Kind, NAMES, Stamp, Unread};
pub use generate::{Generated, Session, generate, is_free};
pub use reading::View;
pub use serve::endpoints;
pub use snapshot_cache::{Busy, SnapshotCache, Source};

/// The names that a writer needs.
pub const MANIFEST: &str = manifest::MANIFEST;
pub const LOCK: &str = lock::LOCK;

/// The phases that a session may have.
pub fn phases() -> [&'static str; 7] {
    manifest::PHASES
}
