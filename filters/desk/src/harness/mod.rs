//! Supervision by the Agent Harness Protocol: Frontdesk as an agent that asks. The gateway for other agents is the crate
//! `frontdesk-harness-gateway`.
//!
//! This is another protocol than the Agent Handshake Protocol, although both are abbreviated AHP. Nothing here knows
//! the transport.

pub mod decision;
mod greeting;
pub mod kinds;
mod link;
mod notes;
mod passed;
mod question;
mod queue;
mod rate_hints;
mod sessions;
mod supervisor;
mod telemetry;
mod transport;
mod verdict;
pub mod wire;

pub use greeting::{Greeted, Hello, major};
pub use link::{Link, NoAnswer};
pub use passed::Passed;
pub use question::Action;
pub use supervisor::{Harness, Unwanted};
pub use telemetry::Telemetry;
pub use transport::{HarnessConnection, HarnessTransport, Lost};
pub use verdict::ALLOWED;
pub use verdict::{Decided, Verdict};
pub use wire::id as answers;
