//! What Frontdesk itself says: a status, headers and a body, ready to be written by the proxy's one answer function.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};

/// A whole reply. Cloning counts references; nothing is copied.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Sent for every method but HEAD; its length is announced for HEAD as well.
    pub body: Bytes,
}

impl Reply {
    /// A reply with a body of the given type.
    pub fn new(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::of(status, HeaderValue::from_static(content_type), body)
    }

    /// The same with a type that is a value already.
    pub fn of(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Self {
        let mut headers = Vec::with_capacity(12);
        headers.push((header::CONTENT_TYPE, content_type));
        Self { status, headers, body: body.into() }
    }

    /// A reply without a body.
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new() }
    }

    /// Adds a header with a value known at compile time.
    pub fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.push((name, HeaderValue::from_static(value)));
        self
    }

    /// Adds a header.
    pub fn with_value(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }
}
