//! Boxes large futures in place.

use std::pin::Pin;

/// A large future, boxed. `Box::pin` would build it on the stack and copy it whole, although hardly any of it is in
/// use before the first poll. This builds it in the box.
pub fn boxed<F>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    let place = Box::new_uninit();
    Box::into_pin(Box::write(place, make()))
}
