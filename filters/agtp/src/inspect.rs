//! INSPECT of the record chain: one record, or the chain's head (AGTP-API §10.1.6; the base draft's INSPECT).

use serde_json::{Map, Value, json};

use super::{
    attribution::Signing,
    head::is_canonical,
    jws,
    lifecycle::{INSPECT_ALL, OPERATE},
    response::AgtpError,
};
use frontdesk_caller::Caller;
use frontdesk_config::Inspectable;
use frontdesk_state::{Records, chain::Chains};

/// Scopes that allow their holder to see everything.
const SCOPES: [&str; 2] = [OPERATE, INSPECT_ALL];

/// Checks `agtp.inspect`: whether the caller may ask at all. `agent_id` is the claimed Agent-ID.
///
/// # Errors
///
/// The caller may not.
pub fn admitted(inspect: Inspectable, caller: &Caller, agent_id: Option<&str>) -> Result<(), AgtpError> {
    let operates = caller.scopes().iter().any(|scope| SCOPES.contains(&scope.as_str()));
    match inspect {
        Inspectable::Public => Ok(()),
        _ if operates => Ok(()),
        Inspectable::AgentOnly if agent_id.is_some() => Ok(()),
        Inspectable::AgentOnly => {
            let detail = "Only agents may look into this chain. Send your Agent-ID.";
            Err(AgtpError::new(401, "acl-anonymous-blocked", detail).with("reason", "acl-anonymous-blocked"))
        }
        Inspectable::OperatorOnly => {
            let detail = "Only who operates this may look into this chain: a credential with the scope agtp:operate or inspect:all.";
            Err(AgtpError::new(403, "acl-operator-only", detail).with("reason", "acl-operator-only"))
        }
    }
}

/// A record: `{audit_id}` to `{jws, header, payload, format}`.
///
/// # Errors
///
/// The record does not exist, or is no longer stored.
pub async fn audit(chains: &Chains, records: &dyn Records, params: &Map<String, Value>) -> Result<Value, AgtpError> {
    let id = params.get("audit_id").and_then(Value::as_str).filter(|id| is_canonical(id)).ok_or_else(|| {
        let detail = "audit_id has to be an Audit-ID: 64 lower-case hex digits.";
        AgtpError::new(422, "invalid-audit-id", detail)
    })?;
    let found = chains.find(records, id).await?;
    // Other records in this store are not signed.
    let read = found.and_then(|record| jws::read(&record).map(|(header, payload)| (record, header, payload)));
    let (record, header, payload) = read.ok_or_else(|| {
        let detail = "No record is kept under this Audit-ID. Records are kept for a day at most.";
        AgtpError::new(404, "audit-not-found", detail)
    })?;
    Ok(json!({ "audit_id": id, "jws": record, "header": header, "payload": payload, "format": "jws" }))
}

/// The head of the stored chain: `{agent_id?}` to `{audit_id}`, `null` where there is none.
///
/// # Errors
///
/// No such agent is hosted here.
pub(crate) async fn chain_head(
    chains: &Chains,
    records: &dyn Records,
    signing: &Signing,
    params: &Map<String, Value>,
) -> Result<Value, AgtpError> {
    let asked = params.get("agent_id").filter(|asked| !asked.is_null());
    if asked.is_some_and(|asked| asked.as_str().is_none_or(|asked| Some(asked) != signing.agent_id())) {
        let detail = "No such agent is hosted here. DISCOVER /agents lists those that are.";
        return Err(AgtpError::new(404, "agent-not-found", detail));
    }
    Ok(json!({ "audit_id": chains.head(records, signing.chain()).await? }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::attribution::testing::{CALLER, hosting};
    use frontdesk_caller::{Granted, Proof};
    use frontdesk_state::testing::{Shelf, Shelving, run};

    fn params(params: Value) -> Map<String, Value> {
        params.as_object().unwrap().clone()
    }

    fn status(shown: Result<impl std::fmt::Debug, AgtpError>) -> (u16, &'static str) {
        let refused = shown.unwrap_err();
        (refused.status, refused.reason)
    }

    #[test]
    fn a_record_is_shown_as_it_was_signed() {
        let (chains, shelf, signing) = (Chains::default(), Shelf::default(), hosting());
        let room = run(chains.room(&shelf, signing.chain())).unwrap();
        let appended = room.append(|before| {
            let payload = json!({ "previous_audit_id": before, "status": 200 });
            jws::Jws::new(Some(&frontdesk_caller::signing::testing::k1())).sign(payload.to_string().as_bytes())
        });
        let nobody_yet = run(chain_head(&chains, &shelf, &signing, &Map::new())).unwrap();
        assert_eq!(nobody_yet, json!({ "audit_id": null }), "what is not stored is not announced");
        run(chains.store(&shelf, 1 << 20)).unwrap();
        for asked in [json!({}), json!({ "agent_id": null }), json!({ "agent_id": signing.agent_id() })] {
            let head = run(chain_head(&chains, &shelf, &signing, &params(asked))).unwrap();
            assert_eq!(head, json!({ "audit_id": appended.id }));
        }
        let shown = run(audit(&chains, &shelf, &params(json!({ "audit_id": appended.id })))).unwrap();
        let expected = json!({
            "audit_id": appended.id, "jws": std::str::from_utf8(&appended.record).unwrap(), "format": "jws",
            "header": { "alg": "EdDSA", "kid": "k1", "typ": "JWT" },
            "payload": { "previous_audit_id": "0".repeat(64), "status": 200 },
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn what_is_not_there_is_said_to_be_so() {
        let (chains, shelf, signing) = (Chains::default(), Shelf::default(), hosting());
        let of = |asked: Value| status(run(audit(&chains, &shelf, &params(asked))));
        for wrong in
            [json!({}), json!({ "audit_id": 1 }), json!({ "audit_id": "" }), json!({ "audit_id": "F".repeat(64) })]
        {
            assert_eq!(of(wrong), (422, "invalid-audit-id"));
        }
        let unknown = json!({ "audit_id": "f".repeat(64) });
        assert_eq!(of(unknown.clone()), (404, "audit-not-found"));
        for other in [json!({ "agent_id": CALLER }), json!({ "agent_id": "" }), json!({ "agent_id": 1 })] {
            let head = run(chain_head(&chains, &shelf, &signing, &params(other)));
            assert_eq!(status(head), (404, "agent-not-found"));
        }
        *shelf.state.lock() = Shelving::Away;
        assert_eq!(of(unknown), (503, "store_away"));
        assert_eq!(status(run(chain_head(&chains, &shelf, &signing, &Map::new()))), (503, "store_away"));
    }

    #[test]
    fn who_may_look_is_the_operators_to_say() {
        let nobody = Caller::at([192, 0, 2, 1].into());
        let with = |scopes: &[&str]| {
            let scopes: Arc<[String]> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
            Caller { proof: Proof::Key, granted: Granted::Key(scopes), ..nobody.clone() }
        };
        use Inspectable::{AgentOnly, OperatorOnly, Public};
        assert!(admitted(Public, &nobody, None).is_ok() && admitted(AgentOnly, &nobody, Some(CALLER)).is_ok());
        assert_eq!(status(admitted(AgentOnly, &nobody, None)), (401, "acl-anonymous-blocked"));
        for (caller, agent) in
            [(&nobody, Some(CALLER)), (&with(&["flights:search", "agtp"]), Some(CALLER)), (&with(&[]), None)]
        {
            assert_eq!(status(admitted(OperatorOnly, caller, agent)), (403, "acl-operator-only"));
        }
        for scope in SCOPES {
            assert!(
                admitted(OperatorOnly, &with(&[scope]), None).is_ok()
                    && admitted(AgentOnly, &with(&[scope]), None).is_ok()
            );
        }
    }
}
