//! A limit on the work that one document may cost. It counts the thread's CPU time: on a busy machine a page waits for its
//! turn, and waiting is no fault of the page.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A busy machine may stretch the work this many times; then it ends whatever it has cost.
const LONGEST_WAIT: u32 = 4;

/// The work that is left for one document. It belongs to the thread that began it.
#[derive(Debug, Clone, Copy)]
pub struct WorkLimit {
    most: Duration,
    began: Instant,
    cpu: Duration,
}

impl WorkLimit {
    /// Begins to count. At most `most` of this thread's CPU time may be used, within four times as much of the clock's.
    pub fn begin(most: Duration) -> Self {
        Self { most, began: Instant::now(), cpu: thread_cpu() }
    }

    /// Whether the work has to end. Cheap until `most` has passed on the clock: CPU time is never more than that.
    pub fn is_over(&self) -> bool {
        let wall = self.began.elapsed();
        wall > self.most && (wall > self.most * LONGEST_WAIT || thread_cpu().saturating_sub(self.cpu) > self.most)
    }
}

/// The CPU time that this thread has used.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: Duration = Duration::from_millis(50);

    #[test]
    fn work_is_counted_and_waiting_is_not() {
        let limit = WorkLimit::begin(MOST);
        std::thread::sleep(MOST * 2);
        assert!(!limit.is_over());
        let begun = thread_cpu();
        while thread_cpu() - begun <= MOST {
            std::hint::spin_loop();
        }
        assert!(limit.is_over());
    }

    #[test]
    fn waiting_ends_too() {
        let limit = WorkLimit::begin(MOST);
        std::thread::sleep(MOST * LONGEST_WAIT + MOST);
        assert!(limit.is_over());
    }

    #[test]
    fn nothing_is_left_of_nothing() {
        let limit = WorkLimit::begin(Duration::ZERO);
        let begun = thread_cpu();
        while thread_cpu() == begun {
            std::hint::spin_loop();
        }
        assert!(limit.is_over());
    }
}
