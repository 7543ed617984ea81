//! The built-in endpoints (AGTP-API §6.1, tier A): the floor's verbs at the root, and the reserved paths.

use super::{
    Spoken,
    calling::{Calling, Parameters},
    catalog::FLOOR,
    describe, discover, floor, human, lifecycle,
    once::once,
    path::Asked,
    said::{Said, Wrong},
    session,
    template::Template,
};
use frontdesk_desk::{Desk, records::KEPT};

/// What `DISCOVER` has of its own, by the first segment (§5.9).
pub const RESERVED: [&str; 7] = ["methods", "agents", "genesis", "tools", "apis", "patterns", "contracts"];
/// Where proposals are asked after (§11).
const PROPOSALS: &str = "proposals";

/// Floor verbs that would need a model or another server.
const NOT_HERE: [&str; 3] = ["SUMMARIZE", "PLAN", "DELEGATE"];

/// Whether a verb on a path is built in.
pub(super) fn is_native(method: &str, path: &Asked<'_>) -> bool {
    match path.segments.as_slice() {
        [] => FLOOR.contains(&method),
        [first] if method == "DISCOVER" => RESERVED.contains(&&**first),
        [first, _] if method == "QUERY" => first == PROPOSALS,
        // `/agents/NAME` names the addressed agent.
        [first, _] if first == "agents" => matches!(method, "DESCRIBE" | "DISCOVER"),
        _ => false,
    }
}

/// Whether an alias or redirect from such paths, or from any path, could hide a built-in endpoint.
pub(crate) fn is_native_somewhere(method: &str, path: Option<&Template>) -> bool {
    let Some(path) = path else { return FLOOR.contains(&method) };
    let may_be = |segment: &Option<&str>, names: &[&str]| segment.is_none_or(|segment| names.contains(&segment));
    match path.segments().collect::<Vec<_>>().as_slice() {
        [] => FLOOR.contains(&method),
        [first] => method == "DISCOVER" && may_be(first, &RESERVED),
        [first, _] if method == "QUERY" => may_be(first, &[PROPOSALS]),
        [first, _] => matches!(method, "DESCRIBE" | "DISCOVER") && may_be(first, &["agents"]),
        _ => false,
    }
}

/// Whether a floor verb gets more than a refusal here.
pub(super) fn is_answered(method: &str) -> bool {
    FLOOR.contains(&method) && !NOT_HERE.contains(&method)
}

impl Spoken {
    /// Answers a built-in endpoint.
    pub(super) async fn native(&self, desk: &Desk<'_>, calling: &Calling<'_>, path: &Asked<'_>) -> Result<Said, Wrong> {
        if matches!(calling.method, "DISCOVER" | "DESCRIBE")
            && calling.head.agent.is_none()
            && !desk.compiled.settings.agtp.policies.anonymous_discovery
        {
            let message = "DISCOVER needs the header Agent-ID with your canonical id.";
            return Err(Wrong::required("anonymous-discovery-disabled", message));
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
                return Err(Wrong::new(551, "authority-chain-broken", message));
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
                floor::enveloped(said, calling, envelope)
            }
            None => said?,
        })
    }

    async fn floor(&self, desk: &Desk<'_>, calling: &Calling<'_>, parameters: Parameters) -> Result<Said, Wrong> {
        let given = &parameters.members;
        match calling.method {
            "QUERY" => floor::query(self, desk, calling, given).await,
            "EXECUTE" => floor::execute(self, desk, calling, parameters).await,
            "INSPECT" => floor::inspected(self, desk, calling, given).await,
            "SUSPEND" if given.contains_key("synthesis_id") => self.release(desk, calling, given).await,
            "REVOKE" if given.contains_key("target") => self.revoke(desk, calling, given).await,
            "SUSPEND" => session::suspend(desk, calling, &parameters).await,
            "ESCALATE" => {
                let given = &parameters.with_envelopes(&["task_id", "context"]);
                // As long as questions to a person are kept.
                let lasts = desk.compiled.settings.sessions.results;
                once(desk, calling, given, Some(lasts), human::escalate(desk, calling, given)).await
            }
            "CONFIRM" => once(desk, calling, given, Some(KEPT), human::confirm(self, desk, calling, given)).await,
            "NOTIFY" => once(desk, calling, given, None, human::notify(self, desk, calling, given)).await,
            "ACTIVATE" | "DEACTIVATE" | "REINSTATE" | "REVOKE" | "DEPRECATE" => {
                lifecycle::change(self, desk, calling, given).await
            }
            _ => Err(not_here(calling.method)),
        }
    }
}

/// The refusal of a floor verb that cannot be served here.
pub(super) fn not_here(method: &str) -> Wrong {
    let message =
        format!("{method} at the root is not something this server can answer. DISCOVER /methods lists what is.");
    Wrong::new(422, "not-supported-here", message)
}
