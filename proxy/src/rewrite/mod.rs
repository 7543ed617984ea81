//! Pages on their way out: which may be touched, what of their head changes with them, and the body itself.

mod body;
mod changes;
mod known;
mod request;
mod response;

use http::{HeaderMap, HeaderName};

pub use body::{PageBodies, PageBody};
pub use changes::Changes;
pub use request::{Asked, is_prepared, prepare as prepare_request};
pub use response::{Touched, prepare as prepare_response};

/// What a header says; its first line.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|v| v.to_str().ok())
}
