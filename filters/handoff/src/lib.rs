//! A project's handoff between agents (AAHP v3): read-only over HTTP, layered, with how far each file can be believed.
//!
//! A directory of small files with a manifest that says what they are. It is served as it was read in one go ([`Shelf`]),
//! never as it changes; the writer's part (tasks, locks, git) stays with the agents, but for a look at what is wrong with
//! a directory ([`lint`]) and a manifest made anew ([`generate()`]).

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
mod shelf;
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
pub use shelf::{Busy, Shelf, Source};

/// Names that whoever writes has to know.
pub const MANIFEST: &str = manifest::MANIFEST;
pub const LOCK: &str = lock::LOCK;

/// What a session may be said to have been about.
pub fn phases() -> [&'static str; 7] {
    manifest::PHASES
}
