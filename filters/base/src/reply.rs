//! Frontdesk's own replies: status, headers and body, which the proxy writes with one function.

use std::{fmt::Debug, sync::Arc};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, StatusCode, header};

/// A long body that is made piece by piece while it is sent.
pub trait Pieces: Send + Sync + Debug {
    /// The piece with this number, from 0 on; `None` after the last one. It may take long.
    fn piece(&self, nth: usize) -> Option<Bytes>;
}

/// A whole reply. Cloning is cheap: the body is reference-counted.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Not sent for HEAD, but its length is announced.
    pub body: Bytes,
    /// What is sent in the place of the body, as it is made. Its length is not announced.
    pub pieces: Option<Arc<dyn Pieces>>,
}

impl Reply {
    /// A reply with a body of this type.
    pub fn new(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self::of(status, HeaderValue::from_static(content_type), body)
    }

    /// The same with a dynamic type.
    pub fn of(status: StatusCode, content_type: HeaderValue, body: impl Into<Bytes>) -> Self {
        let mut headers = Vec::with_capacity(12);
        headers.push((header::CONTENT_TYPE, content_type));
        Self { status, headers, body: body.into(), pieces: None }
    }

    /// A reply without a body.
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new(), pieces: None }
    }

    /// Adds a header with a static value.
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
