//! Answers the built-in endpoints: each verb at the root and each reserved path by the module that implements it.

use super::{
    Spoken,
    calling::{Calling, Parameters},
    describe, discover, escalation, floor_verbs,
    idempotency::once,
    lifecycle,
    native::not_here,
    path::Asked,
    response::{AgtpError, AgtpResponse},
    session,
};
use frontdesk_desk::{Desk, records::KEPT};

impl Spoken {
    /// Answers a built-in endpoint.
    pub(super) async fn native(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        path: &Asked<'_>,
    ) -> Result<AgtpResponse, AgtpError> {
        if matches!(calling.method, "DISCOVER" | "DESCRIBE")
            && calling.head.agent.is_none()
            && !desk.compiled.settings.agtp.policies.anonymous_discovery
        {
            let message = "DISCOVER needs the header Agent-ID with your canonical id.";
            return Err(AgtpError::required("anonymous-discovery-disabled", message));
        }
        // Queries and calls check their session themselves, and SUSPEND must not count as use of its session.
        if !matches!(calling.method, "SUSPEND" | "QUERY" | "EXECUTE") {
            session::used(desk, calling).await;
        }
        match calling.method {
            "DISCOVER" => return discover::discover(self, desk, calling, path).await,
            // The body's `method` belongs to the proposal.
            "PROPOSE" => return self.propose(desk, calling).await,
            "QUERY" if !path.segments.is_empty() => return self.proposed(desk, calling, path).await,
            "DELEGATE" => {
                let message =
                    "A delegation cannot be verified here, and nothing is delegated. Call what you need yourself.";
                return Err(AgtpError::new(551, "authority-chain-broken", message));
            }
            "SUMMARIZE" | "PLAN" => return Err(not_here(calling.method)),
            _ => {}
        }
        let parameters = calling.given()?;
        let envelope = parameters.envelope.clone();
        let said = match calling.method {
            "DESCRIBE" => describe::describe(self, desk, calling, path, &parameters.members).await,
            _ => self.floor(desk, calling, parameters).await,
        };
        Ok(match &envelope {
            Some(envelope) => {
                let said = said.unwrap_or_else(|wrong| wrong.said(calling.method, calling.path));
                floor_verbs::enveloped(said, calling, envelope)
            }
            None => said?,
        })
    }

    async fn floor(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        parameters: Parameters,
    ) -> Result<AgtpResponse, AgtpError> {
        let given = &parameters.members;
        match calling.method {
            "QUERY" => floor_verbs::query(self, desk, calling, given).await,
            "EXECUTE" => floor_verbs::execute(self, desk, calling, parameters).await,
            "INSPECT" => floor_verbs::inspected(self, desk, calling, given).await,
            "SUSPEND" if given.contains_key("synthesis_id") => self.release(desk, calling, given).await,
            "REVOKE" if given.contains_key("target") => self.revoke(desk, calling, given).await,
            "SUSPEND" => session::suspend(desk, calling, &parameters).await,
            "ESCALATE" => {
                let given = &parameters.with_envelopes(&["task_id", "context"]);
                // As long as questions to a person are kept.
                let lasts = desk.compiled.settings.sessions.results;
                once(desk, calling, given, Some(lasts), escalation::escalate(desk, calling, given)).await
            }
            "CONFIRM" => once(desk, calling, given, Some(KEPT), escalation::confirm(self, desk, calling, given)).await,
            "NOTIFY" => once(desk, calling, given, None, escalation::notify(self, desk, calling, given)).await,
            "ACTIVATE" | "DEACTIVATE" | "REINSTATE" | "REVOKE" | "DEPRECATE" => {
                lifecycle::change(self, desk, calling, given).await
            }
            _ => Err(not_here(calling.method)),
        }
    }
}
