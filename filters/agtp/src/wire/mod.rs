//! `AGTP/1.0` without its socket: bytes in, requests out; replies to bytes (AGTP-API §5.2, base draft §4.4).
//!
//! It looks like HTTP and is not: the version comes first, `Content-Length` alone frames a body, and nothing is folded or
//! chunked. So nothing here is lenient that a second reader could take otherwise. A line ends with CRLF and a name is said
//! once; what the drafts leave open is only that the path may be missing (`/`), and `Content-Length` with it (no body).
//!
//! This folder leans on nothing but `frontdesk_base::reply`, so that the fuzzer builds in seconds (`tests/fuzz`).

mod head;
mod reader;
mod refused;
#[cfg(test)]
mod tests;
mod write;

pub use reader::{Bounds, Frame, Reader, Wants};
pub use refused::Refused;
pub use write::write;

/// What the protocol calls itself where something is negotiated (ALPN) or told (logs, metrics).
pub const PROTOCOL: &str = "agtp";
/// Its only version.
pub const VERSION: &str = "1.0";
/// What a message begins with; proxies name the protocol so, too.
pub const TOKEN: &str = "AGTP/1.0";
/// The same with the space that follows.
const BEGINNING: &[u8] = b"AGTP/1.0 ";
