//! Who is asked before something risky happens: the Agent Harness Protocol, as its agent's side and as its gateway.
//!
//! It is another protocol than the handshake, though both are called AHP. Nothing here knows how a message travels.

pub(crate) mod decision;
pub(crate) mod gateway;
pub(crate) mod kinds;
mod line;
mod link;
mod pressure;
mod question;
mod sessions;
mod supervisor;
mod telemetry;
pub(crate) mod wire;

pub use gateway::Passed;
pub use line::{Line, Lost, Way};
pub use link::{Greeted, Hello, Link, NoAnswer};
pub use question::Action;
pub(crate) use supervisor::ALLOWED;
pub use supervisor::{Decided, Harness, Verdict};
pub use telemetry::Telemetry;
