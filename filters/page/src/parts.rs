//! What leaves of a page at a time.

use bytes::Bytes;

/// Three pieces, in this order. What is as it came, and may be long, was not copied.
#[derive(Debug, Default, PartialEq)]
pub struct Parts {
    /// Put together: the beginning, with what was inserted into it.
    pub made: Bytes,
    /// As it came.
    pub rest: Bytes,
    /// Put together: the notice, with what comes after it.
    pub after: Bytes,
}

impl From<Bytes> for Parts {
    fn from(made: Bytes) -> Self {
        Self { made, ..Self::default() }
    }
}

impl Parts {
    /// All of them as one.
    pub fn joined(self) -> Bytes {
        match (self.made.is_empty(), self.rest.is_empty(), self.after.is_empty()) {
            (true, true, _) => self.after,
            (true, _, true) => self.rest,
            (_, true, true) => self.made,
            _ => [self.made, self.rest, self.after].concat().into(),
        }
    }

    /// With something more at the end.
    #[must_use]
    pub fn and(self, more: Bytes) -> Parts {
        match (more.is_empty(), self.after.is_empty()) {
            (true, _) => self,
            (false, true) => Parts { after: more, ..self },
            (false, false) => Parts { after: [self.after, more].concat().into(), ..self },
        }
    }
}
