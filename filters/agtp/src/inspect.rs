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
    match inspect {
        Inspectable::Public => Ok(()),
        _ if operates(caller) => Ok(()),
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

fn operates(caller: &Caller) -> bool {
    caller.scopes().iter().any(|scope| SCOPES.contains(&scope.as_str()))
}

/// A record: `{audit_id}` to `{jws, header, payload, format}`. An Agent-ID is only a claim, so an agent sees no record of
/// somebody whose name was proven, unless it proves that name too.
///
/// # Errors
///
/// The record does not exist, is no longer stored, or is of somebody else.
pub async fn audit(
    (chains, records): (&Chains, &dyn Records),
    (inspect, caller): (Inspectable, &Caller),
    params: &Map<String, Value>,
) -> Result<Value, AgtpError> {
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
    let is_theirs = payload["principal_id"].as_str().is_none_or(|name| caller.name.as_deref() == Some(name));
    if inspect != Inspectable::Public && !is_theirs && !operates(caller) {
        let detail = "This record is of somebody else. Use their credential, or one with the scope inspect:all.";
        return Err(AgtpError::new(403, "acl-operator-only", detail).with("reason", "acl-operator-only"));
    }
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
        let nobody = Caller::at([192, 0, 2, 1].into());
        let asks = (Inspectable::AgentOnly, &nobody);
        let shown = run(audit((&chains, &shelf), asks, &params(json!({ "audit_id": appended.id })))).unwrap();
        let expected = json!({
            "audit_id": appended.id, "jws": std::str::from_utf8(&appended.record).unwrap(), "format": "jws",
            "header": { "alg": "EdDSA", "kid": "k1", "typ": "JWT" },
            "payload": { "previous_audit_id": "0".repeat(64), "status": 200 },
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_record_with_a_name_is_for_who_proves_that_name() {
        let (chains, shelf, signing) = (Chains::default(), Shelf::default(), hosting());
        let room = run(chains.room(&shelf, signing.chain())).unwrap();
        let appended = room.append(|before| {
            let payload = json!({ "previous_audit_id": before, "status": 200, "principal_id": "ada@example.test" });
            jws::Jws::new(Some(&frontdesk_caller::signing::testing::k1())).sign(payload.to_string().as_bytes())
        });
        run(chains.store(&shelf, 1 << 20)).unwrap();
        let nobody = Caller::at([192, 0, 2, 1].into());
        let named = |name: &str| Caller { proof: Proof::Token, name: Some(name.into()), ..nobody.clone() };
        let scopes: Arc<[String]> = Arc::new(["inspect:all".to_owned()]);
        let operator = Caller { proof: Proof::Key, granted: Granted::Key(scopes), ..nobody.clone() };
        let of = |inspect, caller: &Caller| {
            run(audit((&chains, &shelf), (inspect, caller), &params(json!({ "audit_id": appended.id }))))
        };
        use Inspectable::{AgentOnly, Public};
        for stranger in [&nobody, &named("eve@example.test")] {
            assert_eq!(status(of(AgentOnly, stranger)), (403, "acl-operator-only"));
        }
        assert!(of(AgentOnly, &named("ada@example.test")).is_ok() && of(AgentOnly, &operator).is_ok());
        assert!(of(Public, &nobody).is_ok());
    }

    #[test]
    fn what_is_not_there_is_said_to_be_so() {
        let (chains, shelf, signing) = (Chains::default(), Shelf::default(), hosting());
        let nobody = Caller::at([192, 0, 2, 1].into());
        let asks = (Inspectable::AgentOnly, &nobody);
        let of = |asked: Value| status(run(audit((&chains, &shelf), asks, &params(asked))));
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
