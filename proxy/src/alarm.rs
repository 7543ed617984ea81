//! A timer for many waits in a row, nearly all of which end before their deadline.

use std::{pin::Pin, time::Duration};

use tokio::time::{Instant, Sleep, sleep_until};

/// It is set once, and again only for an earlier deadline. A timer that fires too early costs less than setting it for
/// each wait.
#[derive(Debug, Default)]
pub struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Returns at `when`, or at once if that has passed.
    pub async fn at(&mut self, when: Instant) {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(when)));
        if sleep.is_elapsed() || sleep.deadline() > when {
            sleep.as_mut().reset(when);
        }
        loop {
            sleep.as_mut().await;
            if sleep.deadline() >= when {
                return;
            }
            sleep.as_mut().reset(when);
        }
    }

    /// The same for a duration from now on.
    pub async fn within(&mut self, limit: Duration) {
        self.at(Instant::now() + limit).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_rings_when_it_is_to_whatever_it_was_set_for_before() {
        let start = Instant::now();
        let seconds = |seconds| start + Duration::from_secs(seconds);
        let mut alarm = Alarm::default();
        for (when, passing) in [(60, 5), (70, 6), (30, 7), (90, 80)] {
            let until = seconds(passing);
            tokio::select! {
                () = alarm.at(seconds(when)) => assert!(when <= passing),
                () = sleep_until(until) => assert!(passing < when),
            }
        }
        assert_eq!(Instant::now(), seconds(80));
        alarm.at(seconds(90)).await;
        assert_eq!(Instant::now(), seconds(90), "set earlier before, and passed meanwhile");
        alarm.at(seconds(60)).await;
        assert_eq!(Instant::now(), seconds(90), "a time that has passed is now");
        alarm.within(Duration::from_secs(1)).await;
        assert_eq!(Instant::now(), seconds(91));
    }
}
