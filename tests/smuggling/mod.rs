//! Promise: a request reaches the site as one request or not at all, however it is spelled; no second one rides in it.
//!
//! Each case goes out byte for byte, over HTTP/1.1 or in HTTP/2 frames. An origin that keeps every byte says what came
//! of it, and readers of every careless kind must find in those bytes what a strict one does. Then somebody else asks.

mod framing;
mod heads;
mod judge;
mod lenient;
mod streams;
