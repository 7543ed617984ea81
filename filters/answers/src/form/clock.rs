//! The time limit for filling in one form. The work grows with the site's page and with the agent's inputs, so a bound on
//! one of them alone does not bound it.

use std::time::{Duration, Instant};

use frontdesk_base::fault::Refusal;

use crate::answered::too_large;

const PATIENCE: Duration = Duration::from_secs(2);

/// The time that is left for a form.
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn started() -> Self {
        Self(Instant::now() + PATIENCE)
    }

    pub(super) fn is_running(&self) -> bool {
        Instant::now() < self.0
    }

    /// Checks that time is left.
    ///
    /// # Errors
    ///
    /// It is over.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.is_running() {
            Ok(())
        } else {
            Err(too_large("The site's form takes longer to fill in than is allowed."))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_two_seconds() {
        assert!(Clock::started().check().is_ok());
        let over = Clock(Instant::now().checked_sub(Duration::from_millis(1)).unwrap());
        assert_eq!((over.is_running(), over.check().unwrap_err().reason), (false, "response_too_large"));
    }
}
