//! The head of a message that rules may change, whatever library keeps it.

use http::{HeaderMap, HeaderName, HeaderValue};

/// A head that can be changed, whatever keeps it.
pub trait EditHead {
    /// Why a line cannot be added.
    type Error;

    /// Its lines.
    fn headers(&self) -> &HeaderMap;
    /// Removes all lines of a name that is among them.
    fn remove_present(&mut self, name: &HeaderName);
    /// Puts one line in place of all of that name.
    ///
    /// # Errors
    ///
    /// Where the head takes no more lines.
    fn insert(&mut self, name: HeaderName, value: HeaderValue) -> Result<(), Self::Error>;
    /// Adds a line.
    ///
    /// # Errors
    ///
    /// Where the head takes no more lines.
    fn append(&mut self, name: HeaderName, value: HeaderValue) -> Result<(), Self::Error>;

    /// Removes all lines of a name. They are looked for first: most are not there, and to remove takes longer.
    fn remove(&mut self, name: &HeaderName) {
        if self.headers().contains_key(name) {
            self.remove_present(name);
        }
    }
}

impl EditHead for HeaderMap {
    type Error = http::header::MaxSizeReached;

    fn headers(&self) -> &HeaderMap {
        self
    }

    fn remove_present(&mut self, name: &HeaderName) {
        self.remove(name);
    }

    fn insert(&mut self, name: HeaderName, value: HeaderValue) -> Result<(), Self::Error> {
        self.try_insert(name, value).map(drop)
    }

    fn append(&mut self, name: HeaderName, value: HeaderValue) -> Result<(), Self::Error> {
        self.try_append(name, value).map(drop)
    }
}
