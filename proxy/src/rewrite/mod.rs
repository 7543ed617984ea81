//! Pages on their way out: which may be touched, what of their head changes with them, and the body itself.

mod body;
mod known;
mod request;
mod response;

pub use body::{PageBodies, PageBody};
pub use request::{Asked, prepare as prepare_request};
pub use response::{Touched, prepare as prepare_response};
