//! The lingering close: a client that was refused while still sending can read its response, and a slow client the rest
//! of its last response.
//!
//! Closing a socket with unread data sends a reset, which may overtake the response.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};

use super::admission::Admission;

/// How long and how much is read before the socket closes.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    /// The whole time.
    total: Duration,
    /// The time without a byte from the client.
    silence: Duration,
    bytes: usize,
}

/// After a refusal.
pub(super) const REFUSAL: Bound =
    Bound { total: Duration::from_secs(2), silence: Duration::from_secs(2), bytes: 1 << 20 };
/// After the last responses of a connection, while the client still reads them.
pub(super) const ANSWER: Bound =
    Bound { total: Duration::from_secs(30), silence: Duration::from_secs(2), bytes: 1 << 20 };
/// After a response to an unfinished upload: some clients read it only once they have sent everything.
pub(super) const UPLOAD: Bound =
    Bound { total: Duration::from_secs(30), silence: Duration::from_secs(5), bytes: usize::MAX };
/// The most lingering connections at a time. Most of them no longer hold a permit.
const AT_A_TIME: usize = 512;

/// The number of lingering connections.
static LINGERING: AtomicUsize = AtomicUsize::new(0);

struct Place;

impl Drop for Place {
    fn drop(&mut self) {
        LINGERING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Closes in a task of its own. If there are too many, drops the stream at once. `held` is released at the end.
pub(super) fn close<S>(stream: S, bound: Bound, held: Option<Arc<Admission>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    let place = Place;
    if LINGERING.fetch_add(1, Ordering::Relaxed) < AT_A_TIME {
        runtime.spawn(async move {
            let _place = place;
            let _ = timeout(bound.total, drain(stream, bound)).await;
            drop(held);
        });
    }
}

/// Shuts down the sending side, and reads what the client still sends.
async fn drain<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, bound: Bound) -> io::Result<()> {
    stream.shutdown().await?;
    let mut waste = vec![0u8; 16 * 1024];
    let mut left = bound.bytes;
    while left > 0 {
        match timeout(bound.silence, stream.read(&mut waste)).await?? {
            0 => break,
            n => left = left.saturating_sub(n),
        }
    }
    Ok(())
}
