//! A socket for a protocol of frames: frames arrive in order, and each gets its answer in the same order.
//!
//! `frontdesk-filters` defines the frames; this module moves their bytes, with the same limits as for HTTP. It reads
//! nothing more while it answers a request, so pipelined data waits in the system's buffers.

mod account;
mod answer;

use std::{io, sync::Arc, time::Duration};

use answer::Asked;
use bytes::{Buf, BufMut, BytesMut};
use frontdesk_filters::{
    Reply,
    frames::{Bounds, Frame, Reader, Refused, Wants, write},
};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, timeout, timeout_at},
};

use crate::{
    accept::{Admission, Admitted, App, Conn, Due, Gate},
    alarm::Alarm,
    front::Front,
    intake,
};

/// The most bytes of one read.
const PIECE: usize = 16 * 1024;
const FIRST_PIECE: usize = 4096;
/// How long a client may take to learn that the connection is over.
const FAREWELL: Duration = Duration::from_secs(1);

/// The app that answers frames.
pub struct Frames {
    front: Front,
}

impl Frames {
    /// Answers with the same front as HTTP.
    pub fn new(front: Front) -> Self {
        Self { front }
    }

    fn bounds(&self) -> Bounds {
        let running = self.front.live.current();
        let protection = &running.snapshot.settings.protection;
        Bounds { head: protection.max_header, body: protection.max_input }
    }
}

impl App for Frames {
    async fn serve(self: Arc<Self>, gate: Arc<Gate>, admitted: Admitted, admission: Arc<Admission>) {
        let Admitted { conn, deadline, .. } = admitted;
        let Some(id) = unguessable() else {
            tracing::error!("a connection is closed: the system gives no random numbers to name it by");
            return;
        };
        let server_name = conn.server_name().map(str::to_owned);
        let mut connection =
            Connection { conn, id, server_name, alarm: Alarm::default(), reader: Reader::new(self.bounds()) };
        connection.serve(&self, &gate, &admission, deadline).await;
    }
}

/// One connection.
struct Connection {
    conn: Box<Conn>,
    alarm: Alarm,
    /// The connection's unique id.
    id: String,
    /// The host in the TLS handshake (SNI).
    server_name: Option<String>,
    reader: Reader,
}

/// What the client sent.
enum Sent {
    Frame(Frame),
    Refused(Refused),
    /// The client has left.
    Gone,
}

impl Connection {
    /// Serves the connection to its end.
    async fn serve(&mut self, frames: &Frames, gate: &Gate, admission: &Admission, first: Instant) {
        let mut first = Some(first);
        loop {
            self.reader.hold_to(frames.bounds());
            let (mut asked, reply, closes) = match self.next(gate, admission, &mut first).await {
                Sent::Frame(frame) => {
                    let mut asked = Asked::new(frames, self, frame);
                    // Boxed, so that an idle connection does not hold the memory of an answer.
                    let reply = Box::pin(frames.answer(self, &mut asked)).await;
                    (Some(asked), reply, false)
                }
                Sent::Refused(mut refused) => {
                    let mut asked = refused.frame.take().map(|frame| Asked::new(frames, self, *frame));
                    let reply = Box::pin(frames.unread(self, asked.as_mut(), &refused)).await;
                    (asked, reply, refused.closes)
                }
                Sent::Gone => break,
            };
            let (_, limit) = gate.limits();
            let wrote = self.write(&reply, limit).await.is_ok();
            if let Some(asked) = &mut asked {
                frames.account(asked, &reply, wrote);
            }
            if !wrote {
                return;
            }
            if closes || gate.drains() {
                // The client may still be sending data that will not be read.
                return self.conn.info().linger();
            }
        }
        let _ = timeout(FAREWELL, self.conn.shutdown()).await;
    }

    /// Waits for the next request: `idle_timeout` for its first byte, `header_timeout` from there to the end of its
    /// head (for the first request from accept on), and the limit for any body.
    async fn next(&mut self, gate: &Gate, admission: &Admission, first: &mut Option<Instant>) -> Sent {
        let mut head_by = None;
        let mut body_by = None;
        loop {
            match self.reader.next_frame() {
                Ok(Some(frame)) => return Sent::Frame(frame),
                Ok(None) => {}
                Err(refused) => return Sent::Refused(refused),
            }
            let by = match self.reader.wants() {
                Wants::Nothing => return Sent::Gone,
                Wants::Request => {
                    let begun = gate.begun(admission, &mut self.conn, &mut self.alarm, first.take(), Instant::now());
                    head_by = begun.await.map(Due::by);
                    let Some(by) = head_by else { return Sent::Gone };
                    by
                }
                Wants::Head => *head_by.get_or_insert_with(|| Instant::now() + gate.limits().0),
                Wants::Body => *body_by.get_or_insert_with(|| Instant::now() + intake::PATIENCE),
            };
            let buffer = self.reader.buffer();
            // Most requests fit into the first read. Longer ones are read in larger pieces.
            buffer.reserve(PIECE.min(FIRST_PIECE + buffer.len()));
            match timeout_at(by, self.conn.read_buf(&mut buffer.limit(PIECE))).await {
                Ok(Ok(1..)) => {}
                // The connection ends if no more data comes, with or without an error.
                Ok(_) => return Sent::Gone,
                Err(_) if body_by.is_some() => return Sent::Refused(self.reader.late()),
                Err(_) => {
                    gate.metrics().rejected("header_timeout");
                    return Sent::Gone;
                }
            }
        }
    }

    /// Writes a reply. Fails if the client is gone, or reads nothing for `limit`.
    async fn write(&mut self, reply: &Reply, limit: Duration) -> io::Result<()> {
        let mut out = BytesMut::new();
        write(reply, &mut out);
        while out.has_remaining() {
            timeout(limit, self.conn.write_buf(&mut out)).await??;
        }
        timeout(limit, self.conn.flush()).await?
    }
}

/// 128 random bits in hexadecimal digits.
fn unguessable() -> Option<String> {
    let mut bits = [0; 16];
    SystemRandom::new().fill(&mut bits).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bits)))
}
