//! A request as it was read from the wire.

use bytes::Bytes;
use http::{HeaderMap, Method};

/// A complete request.
#[derive(Debug)]
pub struct Frame {
    pub method: Method,
    /// The path and query as sent; begins with a slash.
    pub target: String,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// SHA-256 of its bytes, from the request line to the end of the body; of the head alone where the body was not
    /// read.
    pub digest: [u8; 32],
}
