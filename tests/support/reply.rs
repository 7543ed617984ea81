//! Responses of an origin: a reply with its framing, or a script of raw steps.

use super::gate::Gate;
use super::message::bodiless;
use bytes::Bytes;
use std::time::Duration;

pub enum Answer {
    Reply(Reply),
    /// HTTP/1.1 only. The connection closes at the end of the script unless it ends with `KeepAlive`.
    Script(Vec<Step>),
}

/// One step on the wire. Every write is flushed.
#[derive(Clone)]
pub enum Step {
    Write(Vec<u8>),
    Pause(Duration),
    /// Waits until the gate is open.
    Wait(Gate),
    /// Closes the connection in order.
    Close,
    /// 101, then an echo of every byte.
    RawEcho(String),
    /// 101 by the WebSocket rules, then an echo of every message.
    WebSocketEcho,
    /// Nothing more; the connection stays open.
    Stall,
    KeepAlive,
}

#[derive(Clone, Copy, PartialEq)]
pub enum How {
    Length,
    Chunked,
    Close,
    /// The headers alone state the framing, true or not. The connection closes afterwards.
    Verbatim,
}

#[derive(Clone)]
pub enum Piece {
    Bytes(Bytes),
    Pause(Duration),
    Wait(Gate),
    HangUp,
}

#[derive(Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub pieces: Vec<Piece>,
    pub how: How,
    pub trailers: Vec<(String, String)>,
}

impl Reply {
    pub fn new(status: u16) -> Reply {
        Reply { status, headers: Vec::new(), pieces: Vec::new(), how: How::Length, trailers: Vec::new() }
    }

    /// A 200 with HTML.
    pub fn html(page: impl AsRef<[u8]>) -> Reply {
        Reply::new(200).header("Content-Type", "text/html; charset=utf-8").body(page)
    }

    /// A 200 with JSON.
    pub fn json(text: impl AsRef<[u8]>) -> Reply {
        Reply::new(200).header("Content-Type", "application/json").body(text)
    }

    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn body(mut self, bytes: impl AsRef<[u8]>) -> Reply {
        self.pieces = vec![Piece::Bytes(Bytes::copy_from_slice(bytes.as_ref()))];
        self
    }

    /// Appends to the body.
    pub fn then(mut self, bytes: impl AsRef<[u8]>) -> Reply {
        self.pieces.push(Piece::Bytes(Bytes::copy_from_slice(bytes.as_ref())));
        self
    }

    /// Waits until the gate is open.
    pub fn wait(mut self, gate: &Gate) -> Reply {
        self.pieces.push(Piece::Wait(gate.clone()));
        self
    }

    pub fn pause(mut self, time: Duration) -> Reply {
        self.pieces.push(Piece::Pause(time));
        self
    }

    /// Ends the connection here (over HTTP/2: resets the stream), whatever the framing announced.
    pub fn hang_up(mut self) -> Reply {
        self.pieces.push(Piece::HangUp);
        self
    }

    pub fn chunked(mut self) -> Reply {
        self.how = How::Chunked;
        self
    }

    pub fn until_close(mut self) -> Reply {
        self.how = How::Close;
        self
    }

    pub fn verbatim(mut self) -> Reply {
        self.how = How::Verbatim;
        self
    }

    /// Chunked with a trailer; over HTTP/2 a trailers frame.
    pub fn trailer(mut self, name: &str, value: &str) -> Reply {
        self.how = How::Chunked;
        self.trailers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sends the body in two separate writes, the first of `at` bytes.
    pub fn split_at(mut self, at: usize) -> Reply {
        let mut whole = self.whole();
        let second = whole.split_off(at.min(whole.len()));
        let pause = Piece::Pause(Duration::from_millis(1));
        self.pieces = vec![Piece::Bytes(whole), pause, Piece::Bytes(second)];
        self
    }

    /// Sends the body in writes of `size` bytes.
    pub fn pieces_of(mut self, size: usize) -> Reply {
        let whole = self.whole();
        self.pieces = whole.chunks(size).map(|c| Piece::Bytes(Bytes::copy_from_slice(c))).collect();
        self
    }

    pub fn whole(&self) -> Bytes {
        let parts = self.pieces.iter().filter_map(|p| if let Piece::Bytes(b) = p { Some(b.as_ref()) } else { None });
        Bytes::from(parts.collect::<Vec<_>>().concat())
    }

    pub fn closes(&self) -> bool {
        matches!(self.how, How::Close | How::Verbatim) || self.pieces.iter().any(|p| matches!(p, Piece::HangUp))
    }

    pub fn has_body(&self, method: &str) -> bool {
        method != "HEAD" && !bodiless(self.status)
    }

    /// The head in HTTP/1.1 form, with the framing headers last.
    pub fn head(&self) -> Vec<u8> {
        let reason =
            http::StatusCode::from_u16(self.status).ok().and_then(|s| s.canonical_reason()).unwrap_or("Status");
        let mut head = format!("HTTP/1.1 {} {reason}\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match self.how {
            How::Length if !bodiless(self.status) => {
                head.push_str(&format!("Content-Length: {}\r\n", self.whole().len()))
            }
            How::Chunked if !bodiless(self.status) => head.push_str("Transfer-Encoding: chunked\r\n"),
            How::Close => head.push_str("Connection: close\r\n"),
            _ => {}
        }
        head.push_str("\r\n");
        head.into_bytes()
    }
}

impl From<Reply> for Answer {
    fn from(reply: Reply) -> Answer {
        Answer::Reply(reply)
    }
}

impl From<Vec<Step>> for Answer {
    fn from(steps: Vec<Step>) -> Answer {
        Answer::Script(steps)
    }
}
