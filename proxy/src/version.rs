//! The version of this build.

/// The released version: `0.1.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The first digits of the commit of this build; empty if unknown.
pub const REVISION: &str = env!("FRONTDESK_REVISION");
/// Both: `0.1.0 (0b45f84d3c1a)`.
pub const WHOLE: &str = env!("FRONTDESK_VERSION");
