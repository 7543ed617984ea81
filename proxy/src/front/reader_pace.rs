//! Ends an answer that a client over HTTP/2 reads more slowly than `protection.min_rate`.
//!
//! The library writes one piece after the other, each within a time of its own, so a client could take small pieces slowly
//! for ever and hold the site's place. What passes between two pieces is waiting for the client if more of the answer had
//! arrived from the site when the first was handed over; else it may be the site that is slow. Over HTTP/1 the connection
//! watches its own pace ([`crate::accept`]), and the fast path that of its streams.

use std::{os::fd::RawFd, time::Instant};

use pingora::{Error, ErrorType, Result};

use super::{ctx::Ctx, early_answer::has_come};
use crate::client_pace::{Pace, SHARED_WINDOW};

/// The pace of one stream.
pub struct ReaderPace {
    pace: Pace,
    /// When a piece was last handed to the client, its length, and whether more of the answer was there.
    last: Option<(Instant, usize, bool)>,
}

impl ReaderPace {
    /// Hands a piece of so many bytes over. Returns whether the client was too slow with those before.
    fn hands_over(&mut self, bytes: usize, site: Option<RawFd>) -> bool {
        let more = site.is_some_and(has_come);
        let Some((since, handed, more_was_there)) = self.last.replace((Instant::now(), bytes, more)) else {
            return false;
        };
        self.pace.moved(handed as u64);
        more_was_there && self.pace.is_too_slow_after(since.elapsed())
    }
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
            let (lowest, pause) =
                bounds.map_or((0, std::time::Duration::ZERO), |bounds| (bounds.min_rate, bounds.idle_timeout));
            Box::new(ReaderPace { pace: Pace::new(lowest, pause).patient(SHARED_WINDOW), last: None })
        });
        if reading.hands_over(bytes, site) {
            let slow = Error::explain(ErrorType::WriteTimedout, "the client reads too slowly");
            return Err(slow.into_down());
        }
        Ok(())
    }
}
