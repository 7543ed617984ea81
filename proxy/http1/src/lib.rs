//! The rules of HTTP/1 between a client, Frontdesk and the site, without IO: each rule stands here once, and both HTTP
//! engines call it.
//!
//! | module | owns |
//! |---|---|
//! | [`request_head`] | which requests are plain enough for the fast path, and how they are read |
//! | [`response_head`] | how the head of a response is read |
//! | [`framing`] | how the end of a body is known, and whether a connection can be used again |
//! | [`response_reader`] | a whole response, read as its bytes come |
//! | [`response_writer`] | a response to a client over HTTP/1.1 |
//! | [`chunk_decoder`], [`chunk_scan`] | chunked bodies: decoded, and looked at before somebody else decodes them |
//! | [`hop`] | what belongs to one hop only: hop-by-hop fields, connection options, interim responses |
//! | [`forwarding`] | headers that tell the site where a request came from |
//! | [`field`] | names and values of header fields |
//! | [`edit_head`] | a head that rules may change |
//!
//! It knows no socket, no proxy library and nothing else of Frontdesk, so that it can be tested and fuzzed by itself. What
//! is to be believed of a client's headers is decided in `frontdesk_filters::caller::forwarded`.

#![forbid(unsafe_code)]

pub mod chunk_decoder;
pub mod chunk_scan;
pub mod edit_head;
pub mod field;
pub mod forwarding;
pub mod framing;
pub mod hop;
pub mod malformed;
pub mod request_head;
pub mod response_head;
pub mod response_reader;
pub mod response_writer;

pub use framing::{Body, Framing};
pub use malformed::Malformed;
pub use response_head::{Line, ResponseHead};
pub use response_reader::ResponseReader;
pub use response_writer::ResponseWriter;
