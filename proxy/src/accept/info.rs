//! Facts about a connection, and signals from a request's handler to it.

use std::{
    any::Any,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering},
    },
    task::Context,
    time::Duration,
};

use frontdesk_filters::site::Protection;
use frontdesk_http1::framing::digits;
use futures_util::task::AtomicWaker;
use http::HeaderValue;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::{admission::Admission, read_limit::RequestBody};
use crate::metrics::Metrics;

/// The length of every HTTP date (RFC 9110 §5.6.7).
const DATE_LENGTH: usize = 29;

/// The facts about a connection, for the handlers of its requests.
pub struct ConnInfo {
    /// A number that no other connection of this process has or had.
    pub number: u64,
    /// The client address from a trusted proxy (PROXY protocol), or the socket's peer.
    pub client: SocketAddr,
    pub tls: bool,
    /// The client address as a header value for the upstream.
    pub address: HeaderValue,
    metrics: Arc<Metrics>,
    /// The head of the current request has been read, so its deadline is over.
    head_read: AtomicBool,
    /// The request's body over HTTP/1.
    body: Mutex<RequestBody>,
    /// The body's framing is not valid.
    malformed: AtomicBool,
    /// The site's `Date`, until the head that contains it has been written.
    date: Mutex<Option<[u8; DATE_LENGTH]>>,
    date_kept: AtomicBool,
    /// Something has been written since the current request began.
    written: AtomicBool,
    /// The status of the library's refusal of the last head, if it could not be parsed.
    refused_with: AtomicU16,
    /// Frames wait to be written.
    unflushed: AtomicBool,
    /// The deadline of the head has passed.
    late: AtomicBool,
    /// The client may still be sending data that will not be read.
    linger: AtomicBool,
    /// The client may be sending an upload that was answered early.
    drains_upload: AtomicBool,
    /// The number of frame bytes that the socket has taken.
    told: AtomicUsize,
    /// More frames wait, and the socket takes none.
    blocked: AtomicBool,
    /// What is given back once the client has read the last of its answers.
    held: Mutex<Option<Arc<Admission>>>,
    /// The request is not worth waiting for any longer.
    abandoned: Notify,
    /// The lowest pace of reading a response in bytes a second; 0: no limit.
    lowest_rate: AtomicU64,
    /// How long it may pause, in milliseconds.
    longest_pause: AtomicU64,
    /// It took less.
    too_slow: AtomicBool,
    /// Reading the current request's body may be ended.
    reading_is_watched: AtomicBool,
    /// Reading was ended.
    reading_has_ended: AtomicBool,
    /// The task that reads.
    reader: AtomicWaker,
    /// The fast path's findings about the current request, for the library's path.
    found_out: Mutex<Option<Box<dyn Any + Send>>>,
}

impl ConnInfo {
    /// A new connection.
    pub fn new(client: SocketAddr, tls: bool, metrics: Arc<Metrics>) -> Self {
        // The text of an address has only visible characters.
        let address = HeaderValue::try_from(client.ip().to_canonical().to_string());
        Self::told(client, tls, address.unwrap_or_else(|_| HeaderValue::from_static("unknown")), metrics)
    }

    fn told(client: SocketAddr, tls: bool, address: HeaderValue, metrics: Arc<Metrics>) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
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
            longest_pause: AtomicU64::new(0),
            too_slow: AtomicBool::new(false),
            reading_is_watched: AtomicBool::new(false),
            reading_has_ended: AtomicBool::new(false),
            reader: AtomicWaker::new(),
            found_out: Mutex::default(),
        }
    }

    /// The same for one stream of the connection.
    pub(super) fn for_stream(&self) -> Self {
        let number = self.number;
        Self { number, ..Self::told(self.client, self.tls, self.address.clone(), self.metrics.clone()) }
    }

    /// Records frame bytes that the socket has taken; `None`: it takes nothing now.
    pub(super) fn tells(&self, bytes: Option<usize>) {
        self.blocked.store(bytes.is_none(), Ordering::Relaxed);
        self.told.fetch_add(bytes.unwrap_or_default(), Ordering::Relaxed);
    }

    /// The number of frame bytes that the socket has taken, and whether it takes nothing now.
    pub(super) fn told_so_far(&self) -> (usize, bool) {
        (self.told.load(Ordering::Relaxed), self.blocked.load(Ordering::Relaxed))
    }

    /// Keeps the permit until the client has read the end of its last response.
    pub(super) fn is_read_to_its_end(&self, admission: Arc<Admission>) {
        *self.held.lock() = Some(admission);
        self.linger();
    }

    pub(super) fn let_go(&self) -> Option<Arc<Admission>> {
        self.held.lock().take()
    }

    /// Gives up the current request at once, without a response.
    pub fn abandon(&self) {
        self.abandoned.notify_waiters();
    }

    /// Returns when the current request has been given up.
    pub(super) async fn abandoned(&self) {
        self.abandoned.notified().await;
    }

    /// How fast the client has to take an answer at least, and how long it may pause.
    pub fn hold_to_pace(&self, protection: &Protection) {
        self.set_lowest_rate(protection.min_rate);
        let pause = u64::try_from(protection.idle_timeout.as_millis()).unwrap_or(u64::MAX);
        self.longest_pause.store(pause, Ordering::Relaxed);
    }

    /// So many bytes a second the client has to take of an answer at least; 0: no bound.
    pub(super) fn set_lowest_rate(&self, bytes: u64) {
        self.lowest_rate.store(bytes, Ordering::Relaxed);
    }

    pub(super) fn longest_pause(&self) -> Duration {
        Duration::from_millis(self.longest_pause.load(Ordering::Relaxed))
    }

    pub(super) fn lowest_rate(&self) -> u64 {
        self.lowest_rate.load(Ordering::Relaxed)
    }

    /// The client reads too slowly, and the connection ends. `framed`: with all of its streams, none of which would
    /// report it.
    pub(super) fn reads_too_slowly(&self, framed: bool) {
        self.too_slow.store(true, Ordering::Relaxed);
        if framed {
            self.metrics.rejected("slow_reader");
        }
    }

    /// Whether the current request ended because the client read its response too slowly.
    pub fn is_slow_reader(&self) -> bool {
        self.too_slow.load(Ordering::Relaxed)
    }

    /// From now on, reading the current request's body may be ended.
    pub fn watch_reading(&self) {
        self.reading_is_watched.store(true, Ordering::Relaxed);
    }

    /// From now on, it may not.
    pub fn unwatch_reading(&self) {
        self.reading_is_watched.store(false, Ordering::Relaxed);
    }

    /// Over HTTP/1, further reads of the current request's body fail. Responses can still be written.
    pub fn end_reading(&self) {
        self.reading_has_ended.store(true, Ordering::Release);
        self.reader.wake();
    }

    /// Whether reading the current request's body was ended. Wakes the caller when it is.
    pub(super) fn poll_reading_ended(&self, cx: &Context<'_>) -> bool {
        if !self.reading_is_watched.load(Ordering::Relaxed) {
            return false;
        }
        self.reader.register(cx.waker());
        self.reading_has_ended.load(Ordering::Acquire)
    }

    /// The request's head is complete, so its deadline is over. Over HTTP/1 this body follows.
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

    /// The framing of the current request's body is not valid.
    pub(super) fn body_is_malformed(&self) {
        self.malformed.store(true, Ordering::Relaxed);
    }

    /// Whether reading the current request's body failed because of its framing, so that the client can still get an
    /// error.
    pub fn has_malformed_body(&self) -> bool {
        self.malformed.load(Ordering::Relaxed)
    }

    /// Keeps the site's `Date` for the head that is about to be written. Over HTTP/1 the library would overwrite it,
    /// which would make a response from a cache behind us look fresh.
    pub fn keep_date(&self, date: &HeaderValue) {
        if let Ok(date) = <[u8; DATE_LENGTH]>::try_from(date.as_bytes()) {
            *self.date.lock() = Some(date);
            self.date_kept.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a `Date` has to be restored.
    pub(super) fn keeps_date(&self) -> bool {
        self.date_kept.load(Ordering::Relaxed)
    }

    /// Restores the kept `Date` in a head. `false` if this is not the head yet.
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

    /// The request was refused before all of it was read. When closing, read on for a moment: a socket closed with
    /// unread data sends a reset, which may reach the client before the response.
    pub fn linger(&self) {
        self.linger.store(true, Ordering::Relaxed);
    }

    /// The request was answered before its end. When closing, read the rest for a while: some clients read the response
    /// only after they have sent everything.
    pub fn drain_upload(&self) {
        self.drains_upload.store(true, Ordering::Relaxed);
        self.linger();
    }

    /// Whether to read the rest of a request when closing.
    pub(super) fn drains_upload(&self) -> bool {
        self.drains_upload.load(Ordering::Relaxed)
    }

    /// Leaves findings about the current request for the next handler.
    pub fn leave(&self, found_out: Box<dyn Any + Send>) {
        *self.found_out.lock() = Some(found_out);
    }

    /// Takes these findings.
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

    /// The deadline of the head has passed.
    pub(super) fn head_is_late(&self) {
        self.late.store(true, Ordering::Relaxed);
    }

    /// Called before a write. Before the head is complete this can only be the library's refusal of it, which is
    /// counted before a client can read it.
    pub(super) fn is_written_to(&self, bytes: &[u8]) {
        let first = !self.written.swap(true, Ordering::Relaxed);
        if first && self.head_outcome() == HeadOutcome::Refused {
            self.metrics.rejected("malformed");
            let status = bytes.get("HTTP/1.1 ".len()..).and_then(|rest| rest.split_at_checked(3)).map(|(code, _)| code);
            let status = status.and_then(digits).and_then(|status| u16::try_from(status).ok());
            self.refused_with.store(status.unwrap_or(0), Ordering::Relaxed);
        }
    }

    /// Records whether frames wait to be written.
    pub(super) fn leaves_unflushed(&self, waits: bool) {
        self.unflushed.store(waits, Ordering::Relaxed);
    }

    /// Whether frames wait to be written, even after a flush.
    pub(super) fn is_unflushed(&self) -> bool {
        self.unflushed.load(Ordering::Relaxed)
    }

    /// Whether to linger when closing.
    pub(super) fn lingers(&self) -> bool {
        self.linger.load(Ordering::Relaxed) || self.head_outcome() == HeadOutcome::Refused
    }

    /// Whether the library is writing a refusal of a head that it could not parse.
    pub(super) fn is_refused(&self) -> bool {
        self.head_outcome() == HeadOutcome::Refused
    }

    /// The status of that refusal.
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

/// The outcome of reading a request's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadOutcome {
    Read,
    /// The head was not complete in time.
    Late,
    /// The library answered with an error of its own: the head could not be parsed.
    Refused,
    /// The client left.
    Gone,
}

impl std::fmt::Debug for ConnInfo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnInfo").field("client", &self.client).field("tls", &self.tls).finish_non_exhaustive()
    }
}
