//! Ends an answer that a client over HTTP/2 reads more slowly than `protection.min_rate`.
//!
//! The library writes one piece after the other, each within a time of its own, so a client could take small pieces slowly
//! for ever and hold the site's place. What passes between two pieces is waiting for the client if more of the answer had
//! arrived from the site when the first was handed over; else it may be the site that is slow. Over HTTP/1 the connection
//! watches its own pace ([`crate::accept`]), and the fast path that of its streams.

use std::{
    os::fd::RawFd,
    time::{Duration, Instant},
};

use nix::sys::socket::{MsgFlags, recv};
use pingora::{Error, ErrorType, Result};

use super::ctx::Ctx;
use crate::client_pace::{Pace, SHARED_WINDOW};

/// So many bytes may come without being a part of the answer that can be handed over: the end of a chunk and the size of the
/// next one, each in a TLS record of its own.
const FRAMING: usize = 64;

/// The pace of one stream.
pub struct ReaderPace {
    pace: Pace,
    /// When a piece was last handed to the client, its length, and whether more of the answer was there.
    last: Option<(Instant, usize, bool)>,
}

impl ReaderPace {
    /// Hands a piece of so many bytes over. Returns whether the client was too slow with those before.
    fn hands_over(&mut self, bytes: usize, site: Option<RawFd>) -> bool {
        let more = site.is_some_and(has_more);
        let Some((since, handed, more_was_there)) = self.last.replace((Instant::now(), bytes, more)) else {
            return false;
        };
        self.pace.moved(handed as u64);
        more_was_there && self.pace.is_too_slow_after(since.elapsed())
    }
}

/// Whether more of an answer has come from the site than its framing.
fn has_more(site: RawFd) -> bool {
    let peeked = recv(site, &mut [0; FRAMING + 1], MsgFlags::MSG_PEEK | MsgFlags::MSG_DONTWAIT);
    peeked.is_ok_and(|bytes| bytes > FRAMING)
}

impl Ctx {
    /// Call this for each piece of an answer to a client over HTTP/2.
    ///
    /// # Errors
    ///
    /// The client reads too slowly.
    pub(super) fn reads_fast_enough(&mut self, bytes: usize) -> Result<()> {
        let (site, running) = (self.upstream_socket, self.running.as_ref());
        let reading = self.reading.get_or_insert_with(|| {
            let bounds = running.map(|running| &running.snapshot.settings.protection);
            let (lowest, pause) = bounds.map_or((0, Duration::ZERO), |bounds| (bounds.min_rate, bounds.idle_timeout));
            Box::new(ReaderPace { pace: Pace::new(lowest, pause).patient(SHARED_WINDOW), last: None })
        });
        if reading.hands_over(bytes, site) {
            let slow = Error::explain(ErrorType::WriteTimedout, "the client reads too slowly");
            return Err(slow.into_down());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        os::{fd::AsRawFd, unix::net::UnixStream},
    };

    use super::*;

    #[test]
    fn a_site_that_has_only_ended_a_chunk_has_no_more_to_say() {
        let (ours, mut site) = UnixStream::pair().unwrap();
        assert!(!has_more(ours.as_raw_fd()));
        site.write_all(b"\r\n1f4\r\n").unwrap();
        assert!(!has_more(ours.as_raw_fd()));
        site.write_all(&[b'x'; FRAMING]).unwrap();
        assert!(has_more(ours.as_raw_fd()));
    }

    #[test]
    fn an_answer_that_ends_with_its_connection_has_no_more_to_say() {
        let (ours, site) = UnixStream::pair().unwrap();
        drop(site);
        assert!(!has_more(ours.as_raw_fd()));
    }

    #[test]
    fn only_waiting_for_the_client_counts() {
        let (ours, mut site) = UnixStream::pair().unwrap();
        let mut pace = ReaderPace { pace: Pace::new(1_000_000, Duration::ZERO), last: None };
        let long_ago = Instant::now().checked_sub(Duration::from_secs(100)).unwrap();
        // The site was silent.
        pace.last = Some((long_ago, 1, false));
        assert!(!pace.hands_over(1, Some(ours.as_raw_fd())));
        // The site had more, so it was the client.
        site.write_all(&[b'x'; 1_000]).unwrap();
        assert!(!pace.hands_over(1, Some(ours.as_raw_fd())));
        pace.last = pace.last.map(|(_, bytes, more)| (long_ago, bytes, more));
        assert!(pace.hands_over(1, Some(ours.as_raw_fd())));
    }
}
