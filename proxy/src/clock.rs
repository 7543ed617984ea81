//! Time for requests: the time of day, and durations.
//!
//! The time of day is derived from an `Instant` that the request has already read, because reading the clock again for
//! each record would cost more than the record.

use std::{
    cell::Cell,
    time::{Duration, Instant, SystemTime},
};

use rustix::time::{ClockId, clock_gettime};

/// The clock that also runs while this process is stopped and while the machine sleeps.
#[cfg(target_os = "linux")]
const UNSTOPPED: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const UNSTOPPED: ClockId = ClockId::Monotonic;

/// Time since the machine started, including sleep. This clock cannot be set.
pub fn since_boot() -> Duration {
    let now = clock_gettime(UNSTOPPED);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// How long a reading is extrapolated. A change of the clock is noticed after that.
const FRESH: Duration = Duration::from_millis(100);

/// The time since 1970 at a moment.
pub fn since_1970(moment: Instant) -> Duration {
    thread_local!(static SAID: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) });
    if let Some((at, said)) = SAID.get()
        && let Some(after) = moment.checked_duration_since(at)
        && after < FRESH
    {
        return said + after;
    }
    let now = Instant::now();
    let said = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    SAID.set(Some((now, said)));
    said.saturating_sub(now.saturating_duration_since(moment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_told_as_the_clock_has_them_and_as_far_apart_as_they_were() {
        for _ in 0..3 {
            let (now, clock) = (Instant::now(), SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap());
            let told = since_1970(now);
            assert!(told.abs_diff(clock) < Duration::from_secs(20), "{told:?}, {clock:?}");
            for before in [0, 1, 99, 1000, 3_600_000].map(Duration::from_millis) {
                let apart = told.abs_diff(since_1970(now.checked_sub(before).unwrap()));
                assert!(apart.abs_diff(before) < Duration::from_secs(1), "{before:?}, {apart:?}");
            }
            std::thread::sleep(FRESH);
        }
    }
}
