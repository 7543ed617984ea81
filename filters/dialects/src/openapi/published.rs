//! Where the OpenAPI document is published, and its version. Other documents name both, so this imports nothing of the
//! dialect.

use frontdesk_config::Declaration;

use crate::Occupied;

/// The version of OpenAPI.
pub const VERSION: &str = "3.1.0";

/// The document's path, unless the site uses it.
pub fn path<'d>(declaration: &'d Declaration, occupied: &Occupied) -> Option<&'d str> {
    let path = &declaration.settings.paths.openapi;
    occupied.leaves(path).then_some(path.path.as_str())
}
