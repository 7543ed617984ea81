//! Promise: a request reaches the site as exactly one request or not at all, in any spelling; none is smuggled inside
//! it.
//!
//! Each case is sent byte for byte, over HTTP/1.1 or in HTTP/2 frames. An origin records every byte, and each lenient
//! reader must find in them what a strict one finds. Then another client sends a request.

mod framing;
mod heads;
mod judge;
mod lenient;
mod streams;
