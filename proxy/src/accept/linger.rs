//! The lingering close: a client that was refused in mid-sentence gets to read its answer, and one that reads slowly the
//! last of its answers.
//!
//! Closing a socket with unread bytes sends a reset, which may overtake the answer that was written before.

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

use super::gate::Admission;

/// How long and how much is read before the socket closes.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    /// In all.
    total: Duration,
    /// Without a byte from the client.
    silence: Duration,
    bytes: usize,
}

/// After a refusal.
pub(super) const REFUSAL: Bound =
    Bound { total: Duration::from_secs(2), silence: Duration::from_secs(2), bytes: 1 << 20 };
/// After the last answers of a connection, which the client still reads.
pub(super) const ANSWER: Bound =
    Bound { total: Duration::from_secs(30), silence: Duration::from_secs(2), bytes: 1 << 20 };
/// After an answer to an upload that has not ended: some clients read it only once they have sent everything.
pub(super) const UPLOAD: Bound =
    Bound { total: Duration::from_secs(30), silence: Duration::from_secs(5), bytes: usize::MAX };
/// How many connections may linger at a time: most of their permits have gone back.
const AT_A_TIME: usize = 512;

/// Connections that linger now.
static LINGERING: AtomicUsize = AtomicUsize::new(0);

struct Place;

impl Drop for Place {
    fn drop(&mut self) {
        LINGERING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Closes in a task of its own, unless too many do already; then the stream is simply dropped. `held` is given back when
/// that is done.
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

/// Says that nothing more will come, and reads what is still on its way.
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
