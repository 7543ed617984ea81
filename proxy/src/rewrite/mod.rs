//! Rewriting of pages on their way to the client: which responses, which headers, and the body.

mod body;
mod changes;
mod html_path_cache;
mod request;
mod response;

use http::{HeaderMap, HeaderName};

pub use body::{PageBodies, PageBody};
pub use changes::Changes;
pub use html_path_cache::learn_markdown;
pub use request::{Asked, is_prepared, prepare as prepare_request};
pub use response::{Touched, prepare as prepare_response};

/// The first value of a header.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).and_then(|v| v.to_str().ok())
}
