//! Ends an answer that a client over HTTP/2 reads more slowly than `protection.min_rate`.
//!
//! pingora writes one piece of an answer after the other. Its time limit begins anew with every byte that the client takes,
//! so a client could hold the site's connection for ever. Here each piece records when it has been written, and a task looks
//! once a second. A second counts as waiting for the client only if a piece is not written yet. The time in which the site
//! sends nothing does not count. Over HTTP/1 the connection watches its own pace ([`crate::accept`]), and the fast path that
//! of its streams.

use std::{
    any::Any,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use pingora::{
    Result,
    modules::http::{HttpModule, HttpModuleBuilder, Module},
    proxy::Session,
};
use tokio::{task::AbortHandle, time::sleep};

use crate::{
    accept::ConnInfo,
    client_pace::{Pace, SHARED_WINDOW},
};

/// How often the task looks.
const TICK: Duration = Duration::from_secs(1);

/// How much of one answer the client has taken.
#[derive(Default)]
struct Progress {
    /// Bytes given to pingora.
    handed: AtomicU64,
    /// Bytes of the pieces that have been written in full.
    written: AtomicU64,
    /// The length of the longest piece.
    longest: AtomicU64,
    too_slow: AtomicBool,
}

impl Progress {
    /// Returns once the client was too slow. `lowest`: bytes a second, not 0.
    async fn watch(&self, lowest: u64, mut pace: Pace) {
        let (mut counted, mut waited) = (0, Duration::ZERO);
        loop {
            sleep(TICK).await;
            let written = self.written.load(Ordering::Relaxed);
            if self.handed.load(Ordering::Relaxed) > written {
                waited += TICK;
            }
            let is_too_slow = if written > counted {
                pace.moved(written - counted);
                counted = written;
                pace.is_too_slow_after(std::mem::take(&mut waited))
            } else {
                // Nobody can tell how much of the current piece has been written.
                let piece = Duration::from_secs(self.longest.load(Ordering::Relaxed) / lowest);
                waited > pace.allowed() + piece
            };
            if is_too_slow {
                return self.too_slow.store(true, Ordering::Relaxed);
            }
        }
    }
}

/// A piece of an answer. pingora drops it once it is written.
struct Piece {
    bytes: Bytes,
    progress: Arc<Progress>,
}

impl Piece {
    fn new(bytes: Bytes, progress: Arc<Progress>) -> Self {
        let length = bytes.len() as u64;
        progress.handed.fetch_add(length, Ordering::Relaxed);
        progress.longest.fetch_max(length, Ordering::Relaxed);
        Self { bytes, progress }
    }
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Piece {
    fn drop(&mut self) {
        self.progress.written.fetch_add(self.bytes.len() as u64, Ordering::Relaxed);
    }
}

/// Has the pieces of an answer record when they are written, once the answer is watched.
#[derive(Default)]
pub struct PacedBody(Option<Arc<Progress>>);

#[async_trait]
impl HttpModule for PacedBody {
    fn response_body_filter(&mut self, body: &mut Option<Bytes>, _: bool) -> Result<()> {
        if let (Some(progress), Some(bytes)) = (&self.0, body.as_mut().filter(|bytes| !bytes.is_empty())) {
            *bytes = Bytes::from_owner(Piece::new(std::mem::take(bytes), progress.clone()));
        }
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// Makes the module for each request.
pub struct PacedBodies;

impl HttpModuleBuilder for PacedBodies {
    /// After all others: it counts what they have made of the answer.
    fn order(&self) -> i16 {
        -1
    }

    fn init(&self) -> Module {
        Box::new(PacedBody::default())
    }
}

/// Watches how one client reads its answer, for as long as this lives.
pub struct ReaderWatch {
    progress: Arc<Progress>,
    task: AbortHandle,
}

impl ReaderWatch {
    /// Begins with the next piece of the answer. `lowest`: bytes a second, not 0. `pause`: how long the client may read
    /// nothing. A client that is too slow has its stream reset.
    pub(super) fn start(session: &mut Session, lowest: u64, pause: Duration, connection: Arc<ConnInfo>) -> Self {
        let progress = Arc::new(Progress::default());
        if let Some(body) = session.downstream_modules_ctx.get_mut::<PacedBody>() {
            body.0 = Some(progress.clone());
        }
        let watched = progress.clone();
        let task = tokio::spawn(async move {
            watched.watch(lowest, Pace::new(lowest, pause).patient(SHARED_WINDOW)).await;
            // Without its request the stream is reset.
            connection.abandon();
        });
        Self { progress, task: task.abort_handle() }
    }

    /// Whether the answer was ended.
    pub(super) fn is_too_slow(&self) -> bool {
        self.progress.too_slow.load(Ordering::Relaxed)
    }

    /// The bytes of the answer that have been written.
    pub(super) fn bytes(&self) -> usize {
        usize::try_from(self.progress.written.load(Ordering::Relaxed)).unwrap_or(usize::MAX)
    }
}

impl Drop for ReaderWatch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, timeout};

    use super::*;

    const DAY: Duration = Duration::from_secs(24 * 3600);

    /// How many seconds a client lasts that takes such a piece each so many seconds, of five that are in flight.
    async fn lasts(length: usize, every: u64) -> Option<u64> {
        let (progress, began) = (Arc::new(Progress::default()), Instant::now());
        let mut body = PacedBody(Some(progress.clone()));
        let reading = async {
            let mut flight = std::collections::VecDeque::new();
            loop {
                while flight.len() < 5 {
                    let mut piece = Some(Bytes::from(vec![b'x'; length]));
                    body.response_body_filter(&mut piece, false).unwrap();
                    flight.push_back(piece);
                }
                sleep(Duration::from_secs(every)).await;
                flight.pop_front();
            }
        };
        let pace = Pace::new(500, Duration::from_secs(60)).patient(SHARED_WINDOW);
        tokio::select! {
            () = progress.watch(500, pace) => Some(began.elapsed().as_secs()),
            () = reading => None,
            () = sleep(DAY) => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_too_slowly_is_ended_whatever_the_pieces_are() {
        // 30 bytes a second: ten seconds, twenty for the window that streams share, and what its pieces earn.
        assert!((30..=40).contains(&lasts(1_000, 33).await.unwrap()));
        assert!((30..=70).contains(&lasts(30, 1).await.unwrap()));
        assert!((30..=200).contains(&lasts(65_536, 2_184).await.unwrap()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_above_the_lowest_rate_is_served_whatever_the_pieces_are() {
        assert_eq!(lasts(600, 1).await, None);
        assert_eq!(lasts(65_536, 110).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_in_which_the_site_sends_nothing_does_not_count() {
        let progress = Arc::new(Progress::default());
        let piece = Piece::new(Bytes::from_static(b"written"), progress.clone());
        drop(piece);
        let watched = progress.watch(500, Pace::new(500, Duration::ZERO));
        assert!(timeout(DAY, watched).await.is_err());
    }

    #[test]
    fn a_piece_is_written_once_its_last_part_is_gone() {
        let progress = Arc::new(Progress::default());
        let mut body = PacedBody(Some(progress.clone()));
        let mut piece = Some(Bytes::from_static(b"two parts"));
        body.response_body_filter(&mut piece, true).unwrap();
        let mut rest = piece.take().unwrap();
        let first = rest.split_to(3);
        assert_eq!((&first[..], &rest[..]), (&b"two"[..], &b" parts"[..]));
        drop(first);
        assert_eq!(progress.written.load(Ordering::Relaxed), 0);
        drop(rest);
        assert_eq!(progress.written.load(Ordering::Relaxed), 9);
    }
}
