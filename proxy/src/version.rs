//! Which Frontdesk this is.

/// As it is released: `0.1.0`.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The first digits of the commit it was built from; empty where the build could not know it.
pub const REVISION: &str = env!("FRONTDESK_REVISION");
/// Both, for a person: `0.1.0 (0b45f84d3c1a)`.
pub const WHOLE: &str = env!("FRONTDESK_VERSION");
