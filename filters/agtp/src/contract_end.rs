//! The early end of contracts, and their inspection (AGTP-API §5.8.7, §10.1.4): an agent releases its own, the
//! operator revokes any, and a sweep ends those whose recipe has changed.

use serde_json::{Map, Value, json};

use super::{
    Spoken, attempts,
    calling::Calling,
    contract::{Bound, Contract, Ending, holder},
    contracts::Contracts,
    escalation::{self, required},
    lifecycle::{self, INSPECT_ALL, operator, text},
    response::{AgtpError, AgtpResponse},
    source::Source,
};
use frontdesk_config::Recipe;
use frontdesk_desk::{Desk, records::seconds};

impl Spoken {
    /// `DISCOVER /contracts`: the caller's own, or all for a caller who may see them.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub(super) async fn contracts(&self, desk: &Desk<'_>, calling: &Calling<'_>) -> Result<AgtpResponse, AgtpError> {
        let contracts = Contracts::of(desk);
        let mut listed = Vec::new();
        if operator(calling, INSPECT_ALL).is_ok() {
            listed.extend(contracts.all().await?);
        } else if calling.head.agent.is_some() {
            let now = seconds();
            for entry in contracts.entries(&holder(calling)).await? {
                let found = contracts.find(&entry.id).await?;
                // A contract of a closed connection can never be called again.
                listed.extend(found.filter(|contract| {
                    contract.is_of(calling)
                        && (contract.admits(calling, now).is_ok() || matches!(contract.bound, Bound::Session(_)))
                        && !contract.is_over(now)
                }));
            }
        }
        Ok(AgtpResponse::json(200, &listed.iter().map(Contract::listing).collect::<Vec<_>>().into()))
    }

    /// `INSPECT target=contract`.
    ///
    /// # Errors
    ///
    /// It does not exist, or belongs to another caller.
    pub(super) async fn inspect_contract(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        id: &str,
    ) -> Result<Value, AgtpError> {
        let contract = found(desk, id).await?;
        if !contract.is_of(calling) {
            operator(calling, INSPECT_ALL)?;
        }
        Ok(contract.whole(seconds()))
    }

    /// `INSPECT target=rcns-attempt`.
    ///
    /// # Errors
    ///
    /// The caller has no such attempt.
    pub(super) async fn inspect_attempt(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        id: &str,
    ) -> Result<Value, AgtpError> {
        let found = attempts::find(desk, calling, id, operator(calling, INSPECT_ALL).is_ok()).await?;
        let unknown = || AgtpError::new(404, "not-found", "You have no such attempt, or it is no longer stored.");
        found.ok_or_else(unknown)
    }

    /// `SUSPEND synthesis_id=…`: an agent releases its own contract.
    ///
    /// # Errors
    ///
    /// It does not exist (404), or belongs to another caller (403).
    pub(super) async fn release(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        given: &Map<String, Value>,
    ) -> Result<AgtpResponse, AgtpError> {
        escalation::agent(calling)?;
        let contract = found(desk, required(given, "synthesis_id")?).await?;
        if !contract.is_of(calling) {
            return Err(AgtpError::new(403, "forbidden", "Only the agent that a contract was made for lets go of it."));
        }
        self.end(desk, &contract, Ending::Released, "agent-release", text(given, "actor")?).await
    }

    /// `REVOKE target=…`: revokes contracts, not the agent.
    ///
    /// # Errors
    ///
    /// The caller may not (403), or the target does not exist.
    pub(super) async fn revoke(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        given: &Map<String, Value>,
    ) -> Result<AgtpResponse, AgtpError> {
        let actor = text(given, "actor")?.or(calling.incoming.caller.name.as_deref());
        match required(given, "target")? {
            "contract" => self.revoke_contract(desk, calling, required(given, "synthesis_id")?, actor).await,
            "stale-contracts" => self.sweep(desk, calling, text(given, "mode")?, actor).await,
            other => {
                let other: String = other.chars().take(64).collect();
                let message = "There is no such target. Known are contract and stale-contracts.";
                Err(AgtpError::new(400, "unknown-target", message).with("target", other))
            }
        }
    }

    /// The operator revokes a contract.
    async fn revoke_contract(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        id: &str,
        actor: Option<&str>,
    ) -> Result<AgtpResponse, AgtpError> {
        // A caller who may not see it does not learn whether it exists.
        operator(calling, INSPECT_ALL)?;
        self.end(desk, &found(desk, id).await?, Ending::Revoked, "operator-revocation", actor).await
    }

    /// Reports or ends the contracts whose recipe has changed (§10.1.4.1).
    async fn sweep(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        mode: Option<&str>,
        actor: Option<&str>,
    ) -> Result<AgtpResponse, AgtpError> {
        operator(calling, INSPECT_ALL)?;
        let agtp = &desk.compiled.settings.agtp;
        let invalidate = match mode {
            None => agtp.policies.rcns.invalidate,
            Some("invalidate") => true,
            Some("grandfather") => false,
            Some(_) => return Err(AgtpError::new(400, "bad-request", "mode has to be grandfather or invalidate.")),
        };
        let contracts = Contracts::of(desk);
        let mut examined = Vec::new();
        for contract in contracts.all().await? {
            let Source::Recipe(captured) = &contract.source else { continue };
            let current = agtp.recipes.iter().find(|recipe: &&Recipe| recipe.name == captured.name);
            let current = current.map(|recipe| recipe.version.as_str());
            let disposition = match (current == Some(captured.version.as_str()), invalidate) {
                (true, _) => "unchanged",
                (false, false) => "grandfathered",
                (false, true) => {
                    if contracts.end(&contract.id, None).await? {
                        self.note(desk, &contract, "policy-change-invalidation", actor).await;
                    }
                    "evicted"
                }
            };
            examined.push(json!({
                "synthesis_id": contract.id, "agent_id": contract.agent,
                "method": contract.method, "path": contract.path,
                "recipe_name": captured.name, "captured_version": captured.version, "current_version": current,
                "disposition": disposition,
            }));
        }
        let mode = if invalidate { "invalidate" } else { "grandfather" };
        let body =
            json!({ "target": "stale-contracts", "mode": mode, "examined": examined.len(), "contracts": examined });
        Ok(AgtpResponse { acted: true, ..AgtpResponse::json(200, &body) })
    }

    async fn end(
        &self,
        desk: &Desk<'_>,
        contract: &Contract,
        how: Ending,
        reason: &'static str,
        actor: Option<&str>,
    ) -> Result<AgtpResponse, AgtpError> {
        let contracts = Contracts::of(desk);
        let told =
            |status: &str| json!({ "synthesis_id": contract.id, "status": status, "event_type": "rcns_release" });
        if !contracts.end(&contract.id, Some(how)).await? {
            // It had ended before, so there is no new event.
            let over = contracts.find(&contract.id).await?.ok_or_else(unknown)?;
            let mut body = told(over.status(seconds()));
            body["noop"] = true.into();
            return Ok(AgtpResponse::json(200, &body));
        }
        let body = told(if how == Ending::Released { "released" } else { "revoked" });
        self.note(desk, contract, reason, actor).await;
        Ok(AgtpResponse { acted: true, ..AgtpResponse::json(200, &body) })
    }

    /// Adds an event to the agent's lifecycle. The contract has ended whether or not that can be stored.
    async fn note(&self, desk: &Desk<'_>, contract: &Contract, reason: &'static str, actor: Option<&str>) {
        let event = contract.event(reason, actor, seconds());
        let _ = lifecycle::note(self, desk, &contract.agent, event).await;
    }
}

async fn found(desk: &Desk<'_>, id: &str) -> Result<Contract, AgtpError> {
    Contracts::of(desk).find(id).await?.ok_or_else(unknown)
}

fn unknown() -> AgtpError {
    AgtpError::new(404, "not-found", "There is no such contract, or not any more.")
}
