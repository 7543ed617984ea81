//! The limit on the work of filling in one form. It grows with the site's page and with the agent's inputs, so a bound on
//! one of them alone does not bound it.

use std::time::Duration;

use frontdesk_base::{fault::Refusal, work_limit::WorkLimit};

use crate::answered::too_large;

const PATIENCE: Duration = Duration::from_secs(2);

/// The time that is left for a form.
pub(super) struct Clock(WorkLimit);

impl Clock {
    pub(super) fn started() -> Self {
        Self(WorkLimit::begin(PATIENCE))
    }

    pub(super) fn is_running(&self) -> bool {
        !self.0.is_over()
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
        let over = Clock(WorkLimit::begin(Duration::ZERO));
        assert_eq!((over.is_running(), over.check().unwrap_err().reason), (false, "response_too_large"));
    }
}
