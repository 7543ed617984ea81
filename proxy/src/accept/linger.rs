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
    sync::OwnedSemaphorePermit,
    time::timeout,
};

/// How long and how much of what a refused client still sends is read.
const PATIENCE: Duration = Duration::from_secs(2);
const BYTES: usize = 1 << 20;
/// How long at most somebody may take who reads the last answers of a connection, and is heard of meanwhile.
const READING: Duration = Duration::from_secs(30);
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
/// that is done: whoever brings it reads answers that are whole, and may take longer.
pub(super) fn close<S>(stream: S, held: Option<Arc<OwnedSemaphorePermit>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    let place = Place;
    if LINGERING.fetch_add(1, Ordering::Relaxed) < AT_A_TIME {
        runtime.spawn(async move {
            let _place = place;
            let limit = if held.is_some() { READING } else { PATIENCE };
            let _ = timeout(limit, drain(stream)).await;
            drop(held);
        });
    }
}

/// Says that nothing more will come, and reads what is still on its way.
async fn drain<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S) -> io::Result<()> {
    stream.shutdown().await?;
    let mut waste = vec![0u8; 16 * 1024];
    let mut left = BYTES;
    while left > 0 {
        match timeout(PATIENCE, stream.read(&mut waste)).await?? {
            0 => break,
            n => left = left.saturating_sub(n),
        }
    }
    Ok(())
}
