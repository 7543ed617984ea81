//! `AGTP/1.0` without its socket: bytes to requests, replies to bytes (AGTP-API §5.2, base draft §4.4).
//!
//! It resembles HTTP and is not: the version comes first, only `Content-Length` frames a body, and there is no folding
//! and no chunking. The parser is strict wherever two readers could disagree: lines end in CRLF, and a header occurs
//! once. The drafts permit only that the path is missing (`/`), or `Content-Length` (no body).
//!
//! This folder depends only on `frontdesk_base::reply`, so that the fuzzer builds in seconds (`tests/fuzz`).

mod frame;
mod head;
mod reader;
mod refused;
#[cfg(test)]
mod tests;
mod write;

pub use frame::Frame;
pub use reader::{Bounds, Reader, Wants};
pub use refused::Refused;
pub use write::write;

/// The protocol's name in ALPN, logs and metrics.
pub const PROTOCOL: &str = "agtp";
/// Its only version.
pub const VERSION: &str = "1.0";
/// The first word of a message; also the protocol's name in `Via`.
pub const TOKEN: &str = "AGTP/1.0";
/// The same with the space after it.
const BEGINNING: &[u8] = b"AGTP/1.0 ";
