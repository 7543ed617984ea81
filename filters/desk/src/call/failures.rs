//! Failures that the site reports within a successful answer, where the operator declared how.

use std::sync::Arc;

use frontdesk_answers::{Failed, Says};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_config::Call;
use http::StatusCode;
use serde_json::Value;

/// What in an answer says that the call failed.
#[derive(Debug)]
pub(crate) struct Failures {
    /// Names of failures by what the answer says.
    says: Vec<(Says, Arc<str>)>,
    /// What in a 2xx says that it failed.
    failed: Option<Failed>,
}

impl Failures {
    pub(super) fn of(call: &Call) -> Self {
        let named = |(key, name): &(String, String)| Some((Says::parse(key)?, name.as_str().into()));
        Self {
            says: call.says.iter().filter_map(named).collect(),
            failed: call.failed.as_deref().and_then(|text| Failed::parse(text).ok()),
        }
    }

    /// Checks that an answer does not say that it failed, where the operator declared how it would.
    ///
    /// # Errors
    ///
    /// It failed, by the operator's name for that if there is one.
    pub(crate) fn says_done(&self, data: &Value) -> Result<(), Refusal> {
        if let Some(name) = self.named_by(data) {
            return Err(Refusal { name: Some(name), ..Fault::Named(StatusCode::UNPROCESSABLE_ENTITY).into() });
        }
        match &self.failed {
            Some(failed) if failed.holds(data) => {
                Err(Refusal::from(Fault::SiteFailed).saying("The site answered that it did not do this."))
            }
            _ => Ok(()),
        }
    }

    /// The operator's name for what an answer says.
    pub(crate) fn named_by(&self, data: &Value) -> Option<Arc<str>> {
        self.says.iter().find(|(says, _)| says.holds(data)).map(|(_, name)| name.clone())
    }

    /// Whether a failure has a name by what the answer says.
    pub(crate) fn have_names(&self) -> bool {
        !self.says.is_empty()
    }

    /// Whether the data of an answer says whether it failed.
    pub(crate) fn are_declared(&self) -> bool {
        self.failed.is_some() || !self.says.is_empty()
    }
}
