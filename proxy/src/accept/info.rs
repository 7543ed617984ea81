//! What is known about a connection, and what a request's handler tells it.

use std::{
    any::Any,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering},
    },
    task::Context,
};

use frontdesk_http1::framing::digits;
use futures_util::task::AtomicWaker;
use http::HeaderValue;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{gate::Admission, portion::RequestBody};
use crate::admin::metrics::Metrics;

/// Every date in HTTP has this many bytes (RFC 9110 §5.6.7).
const DATE_LENGTH: usize = 29;

/// What is known about a connection, for whoever handles a request on it.
pub struct ConnInfo {
    /// Who a trusted proxy said the client is (PROXY protocol), else who is at the other end of the socket.
    pub client: SocketAddr,
    pub tls: bool,
    /// The client's address as the site is told it.
    pub address: HeaderValue,
    metrics: Arc<Metrics>,
    /// The current request's head has been read; until then the head's deadline holds.
    head_read: AtomicBool,
    /// The body that follows it over HTTP/1.
    body: Mutex<RequestBody>,
    /// What came of that body is not framed as HTTP has it.
    malformed: AtomicBool,
    /// The site's own Date, for as long as the head that carries it has not been written.
    date: Mutex<Option<[u8; DATE_LENGTH]>>,
    date_kept: AtomicBool,
    /// Something has been written since the current request began.
    written: AtomicBool,
    /// The status that the library refused the last head with that it could not read.
    refused_with: AtomicU16,
    /// Frames wait to be written.
    unflushed: AtomicBool,
    /// The head's deadline has passed.
    late: AtomicBool,
    /// The client may still be sending what nobody will read.
    linger: AtomicBool,
    /// It may be sending an upload that was answered early.
    drains_upload: AtomicBool,
    /// Bytes that the socket has taken of frames.
    told: AtomicUsize,
    /// There are more, and the socket takes none.
    blocked: AtomicBool,
    /// What is given back once the client has read the last of its answers.
    held: Mutex<Option<Arc<Admission>>>,
    /// The request is not worth waiting for any longer.
    abandoned: Notify,
    /// Bytes a second that the client has to take of an answer at least; 0: no bound.
    lowest_rate: AtomicU64,
    /// It took less.
    too_slow: AtomicBool,
    /// Reading the current request's body may be ended.
    reading_is_watched: AtomicBool,
    /// It was.
    reading_has_ended: AtomicBool,
    /// Who reads.
    reader: AtomicWaker,
    /// What was found out about the current request before the library read it.
    found_out: Mutex<Option<Box<dyn Any + Send>>>,
}

impl ConnInfo {
    /// A fresh connection.
    pub fn new(client: SocketAddr, tls: bool, metrics: Arc<Metrics>) -> Self {
        // An address is never anything else than visible characters.
        let address = HeaderValue::try_from(client.ip().to_canonical().to_string());
        Self::told(client, tls, address.unwrap_or_else(|_| HeaderValue::from_static("unknown")), metrics)
    }

    fn told(client: SocketAddr, tls: bool, address: HeaderValue, metrics: Arc<Metrics>) -> Self {
        Self {
            client,
            tls,
            address,
            metrics,
            head_read: AtomicBool::new(true),
            body: Mutex::new(RequestBody::Unbounded),
            malformed: AtomicBool::new(false),
            date: Mutex::new(None),
            date_kept: AtomicBool::new(false),
            written: AtomicBool::new(false),
            refused_with: AtomicU16::new(0),
            unflushed: AtomicBool::new(false),
            late: AtomicBool::new(false),
            linger: AtomicBool::new(false),
            drains_upload: AtomicBool::new(false),
            told: AtomicUsize::new(0),
            blocked: AtomicBool::new(false),
            held: Mutex::default(),
            abandoned: Notify::new(),
            lowest_rate: AtomicU64::new(0),
            too_slow: AtomicBool::new(false),
            reading_is_watched: AtomicBool::new(false),
            reading_has_ended: AtomicBool::new(false),
            reader: AtomicWaker::new(),
            found_out: Mutex::default(),
        }
    }

    /// The same for one stream of the connection.
    pub(super) fn for_stream(&self) -> Self {
        Self::told(self.client, self.tls, self.address.clone(), self.metrics.clone())
    }

    /// The socket has taken so many bytes of frames, or none for now.
    pub(super) fn tells(&self, bytes: Option<usize>) {
        self.blocked.store(bytes.is_none(), Ordering::Relaxed);
        self.told.fetch_add(bytes.unwrap_or_default(), Ordering::Relaxed);
    }

    /// How many bytes of frames the socket has taken, and whether it takes no more for now.
    pub(super) fn told_so_far(&self) -> (usize, bool) {
        (self.told.load(Ordering::Relaxed), self.blocked.load(Ordering::Relaxed))
    }

    /// The connection is over, and its client still reads: it counts until that is done.
    pub(super) fn is_read_to_its_end(&self, admission: Arc<Admission>) {
        *self.held.lock() = Some(admission);
        self.linger();
    }

    pub(super) fn let_go(&self) -> Option<Arc<Admission>> {
        self.held.lock().take()
    }

    /// Ends the current request at once, whatever it waits for; there is no answer.
    pub fn abandon(&self) {
        self.abandoned.notify_waiters();
    }

    /// Returns when the current request has been abandoned.
    pub(super) async fn abandoned(&self) {
        self.abandoned.notified().await;
    }

    /// So many bytes a second the client has to take of an answer at least; 0: no bound.
    pub fn set_lowest_rate(&self, bytes: u64) {
        self.lowest_rate.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn lowest_rate(&self) -> u64 {
        self.lowest_rate.load(Ordering::Relaxed)
    }

    /// The client takes what it is sent too slowly, and the connection ends. `framed`: with all of its streams, none of
    /// which would say so.
    pub(super) fn reads_too_slowly(&self, framed: bool) {
        self.too_slow.store(true, Ordering::Relaxed);
        if framed {
            self.metrics.rejected("slow_reader");
        }
    }

    /// Whether the current request ended because the client took its answer too slowly.
    pub fn is_slow_reader(&self) -> bool {
        self.too_slow.load(Ordering::Relaxed)
    }

    /// From now on reading the current request's body may be ended.
    pub fn watch_reading(&self) {
        self.reading_is_watched.store(true, Ordering::Relaxed);
    }

    /// From now on it may not.
    pub fn unwatch_reading(&self) {
        self.reading_is_watched.store(false, Ordering::Relaxed);
    }

    /// Over HTTP/1 a read of more of the current request's body fails from now on. Answers can still be written.
    pub fn end_reading(&self) {
        self.reading_has_ended.store(true, Ordering::Release);
        self.reader.wake();
    }

    /// Whether reading the current request's body was ended; who asks is woken when it is.
    pub(super) fn poll_reading_ended(&self, cx: &Context<'_>) -> bool {
        if !self.reading_is_watched.load(Ordering::Relaxed) {
            return false;
        }
        self.reader.register(cx.waker());
        self.reading_has_ended.load(Ordering::Acquire)
    }

    /// The request's head is complete: its deadline no longer holds. Over HTTP/1 this body follows.
    pub fn head_is_read(&self, body: RequestBody) {
        *self.body.lock() = body;
        self.head_read.store(true, Ordering::Relaxed);
    }

    /// The connection speaks another protocol from now on.
    pub fn is_upgraded(&self) {
        *self.body.lock() = RequestBody::Unbounded;
    }

    /// The current request's body, once its head is complete.
    pub(super) fn body(&self) -> RequestBody {
        *self.body.lock()
    }

    /// The current request's body is not framed as HTTP has it.
    pub(super) fn body_is_malformed(&self) {
        self.malformed.store(true, Ordering::Relaxed);
    }

    /// Whether reading the current request's body failed because of how the client framed it: there is somebody to tell.
    pub fn has_malformed_body(&self) -> bool {
        self.malformed.load(Ordering::Relaxed)
    }

    /// The response's head is about to be written, with a Date of the site's that must survive: over HTTP/1 the library
    /// writes its own over it, which would make an answer from a cache behind us look fresh.
    pub fn keep_date(&self, date: &HeaderValue) {
        if let Ok(date) = <[u8; DATE_LENGTH]>::try_from(date.as_bytes()) {
            *self.date.lock() = Some(date);
            self.date_kept.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a Date waits to be put back.
    pub(super) fn keeps_date(&self) -> bool {
        self.date_kept.load(Ordering::Relaxed)
    }

    /// Puts a kept Date back into a head. `false` when this is not the head yet.
    pub(super) fn restore_date(&self, head: &mut [u8]) -> bool {
        const NAME: &[u8] = b"Date: ";
        if head.starts_with(b"HTTP/1.1 1") {
            return false;
        }
        let date = self.date.lock().take();
        self.date_kept.store(false, Ordering::Relaxed);
        let named = |at: &usize| head.get(*at..at + NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME));
        let at = memchr::memchr_iter(b'\n', head).map(|end| end + 1).find(named).map(|at| at + NAME.len());
        if let (Some(date), Some(place)) = (date, at.and_then(|at| head.get_mut(at..at + DATE_LENGTH))) {
            place.copy_from_slice(&date);
        }
        true
    }

    /// The request was refused before all of it was read: read on for a moment when closing, or the reset that a
    /// closed socket sends may reach the client before the answer does.
    pub fn linger(&self) {
        self.linger.store(true, Ordering::Relaxed);
    }

    /// The request was answered before the client had sent all of it: when closing, read the rest for as long as a client
    /// may take that reads its answer only after its request has left.
    pub fn drain_upload(&self) {
        self.drains_upload.store(true, Ordering::Relaxed);
        self.linger();
    }

    /// Whether the rest of a request is read when closing.
    pub(super) fn drains_upload(&self) -> bool {
        self.drains_upload.load(Ordering::Relaxed)
    }

    /// Leaves what was found out about the current request to whoever reads it anew.
    pub fn leave(&self, found_out: Box<dyn Any + Send>) {
        *self.found_out.lock() = Some(found_out);
    }

    /// Takes what was left.
    pub fn found_out(&self) -> Option<Box<dyn Any + Send>> {
        self.found_out.lock().take()
    }

    /// A new request begins on this connection.
    pub(super) fn begin_head(&self) {
        drop(self.found_out());
        self.too_slow.store(false, Ordering::Relaxed);
        for flag in [&self.head_read, &self.malformed, &self.written, &self.date_kept, &self.reading_has_ended] {
            flag.store(false, Ordering::Relaxed);
        }
    }

    /// Whether the current request's head is complete.
    pub(super) fn has_head(&self) -> bool {
        self.head_read.load(Ordering::Relaxed)
    }

    /// The head's deadline has passed.
    pub(super) fn head_is_late(&self) {
        self.late.store(true, Ordering::Relaxed);
    }

    /// Something is about to be written. Before the head is complete that can only be the library's refusal of it,
    /// which is counted before anybody can read it.
    pub(super) fn is_written_to(&self, bytes: &[u8]) {
        let first = !self.written.swap(true, Ordering::Relaxed);
        if first && self.head_outcome() == HeadOutcome::Refused {
            self.metrics.rejected("malformed");
            let status = bytes.get("HTTP/1.1 ".len()..).and_then(|rest| rest.split_at_checked(3)).map(|(code, _)| code);
            let status = status.and_then(digits).and_then(|status| u16::try_from(status).ok());
            self.refused_with.store(status.unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// Frames wait to be written, or have been.
    pub(super) fn leaves_unflushed(&self, waits: bool) {
        self.unflushed.store(waits, Ordering::Relaxed);
    }

    /// Whether frames wait to be written, however often the connection was flushed.
    pub(super) fn is_unflushed(&self) -> bool {
        self.unflushed.load(Ordering::Relaxed)
    }

    /// Whether closing needs patience.
    pub(super) fn lingers(&self) -> bool {
        self.linger.load(Ordering::Relaxed) || self.head_outcome() == HeadOutcome::Refused
    }

    /// Whether what is written is the library's refusal of a head that it could not read.
    pub(super) fn is_refused(&self) -> bool {
        self.head_outcome() == HeadOutcome::Refused
    }

    /// The status of the library's refusal, where that is how the last request's head ended.
    pub(super) fn refused_with(&self) -> u16 {
        self.refused_with.load(Ordering::Relaxed)
    }

    /// How the last request's head ended.
    pub(super) fn head_outcome(&self) -> HeadOutcome {
        if self.head_read.load(Ordering::Relaxed) {
            HeadOutcome::Read
        } else if self.late.load(Ordering::Relaxed) {
            HeadOutcome::Late
        } else if self.written.load(Ordering::Relaxed) {
            HeadOutcome::Refused
        } else {
            HeadOutcome::Gone
        }
    }
}

/// How reading a request's head ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadOutcome {
    Read,
    /// Not complete in time.
    Late,
    /// The library answered it with an error of its own: it could not be parsed.
    Refused,
    /// The client left.
    Gone,
}

impl std::fmt::Debug for ConnInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnInfo").field("client", &self.client).field("tls", &self.tls).finish_non_exhaustive()
    }
}
