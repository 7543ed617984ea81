//! Futures in places of their own.

use std::pin::Pin;

/// A large future, boxed. `Box::pin` would make it on the stack and copy all of it, though next to nothing of it is in use
/// before it is polled; this makes it where it stays.
pub fn boxed<F>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    let place = Box::new_uninit();
    Box::into_pin(Box::write(place, make()))
}
