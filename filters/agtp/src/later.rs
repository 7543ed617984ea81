//! Later answers to proposals (AGTP-API §11, 261). A proposal is judged at once; a client that cannot wait gets an id,
//! and asks `QUERY /proposals/{id}` for the result.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Spoken,
    calling::Calling,
    contract::{Contract, holder},
    contracts::Contracts,
    path::Asked,
    proposal::Proposal,
    response::{AgtpError, AgtpResponse},
};
use frontdesk_desk::{Desk, records};
use frontdesk_state::{Change, Committed, Expect, Put};

/// Maximum stored answers of one caller.
const MOST: usize = 16;
/// How long they are kept.
const KEPT: Duration = Duration::from_secs(600);
/// Maximum bytes of a refusal. Beyond it the similar endpoints are left out.
const LONGEST: usize = 8 * 1024;

/// Stores the result of a proposal: 261.
///
/// # Errors
///
/// It cannot be stored, or the caller has too many (429).
pub(super) async fn keep(
    desk: &Desk<'_>,
    calling: &Calling<'_>,
    proposal: &Proposal,
    became: &Result<Contract, AgtpError>,
) -> Result<AgtpResponse, AgtpError> {
    let became = match became {
        Ok(contract) => json!({ "contract": contract.id, "method": proposal.method, "path": proposal.path }),
        Err(wrong) => {
            let mut wrong = wrong.clone();
            if wrong.body(calling.method, calling.path).to_string().len() > LONGEST {
                wrong.members.remove("counter_proposal");
            }
            json!({ "refused": wrong.body(calling.method, calling.path) })
        }
    };
    let fresh = records::unguessable()?;
    for place in (0..MOST).map(|place| format!("{place:x}")) {
        let id = format!("{place}{}", &fresh[1..]);
        let kept = json!({ "id": id, "agent": calling.head.agent, "became": became });
        let put = Put::Value(kept.to_string().into(), KEPT);
        let change = Change { key: key(calling, &place), expect: Expect::Absent, put };
        if let Committed::Done(_) = desk.records.commit(&[change]).await? {
            return Ok(AgtpResponse::json(261, &json!({ "status": 261, "proposal_id": id, "estimate": 1 })));
        }
    }
    let message = "Too many proposals of yours wait to be asked after. Ask after them, and try again in some minutes.";
    let mut wrong = AgtpError::new(429, "rate-limited", message).with("scope", "proposals").after(KEPT.as_secs());
    wrong.reason = "rate_limited";
    Err(wrong)
}

impl Spoken {
    /// `QUERY /proposals/{id}`: the result of a proposal.
    ///
    /// # Errors
    ///
    /// There is none with this id, or it is another caller's.
    pub(super) async fn proposed(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        path: &Asked<'_>,
    ) -> Result<AgtpResponse, AgtpError> {
        let id = path.segments.get(1).map(|id| &**id).filter(|id| records::is_id(id)).ok_or_else(unknown)?;
        let found = desk.records.get(&key(calling, &id[..1])).await?;
        let kept = found.and_then(|record| serde_json::from_slice::<Value>(&record.value).ok()).ok_or_else(unknown)?;
        if kept["id"] != *id || kept["agent"].as_str() != calling.head.agent {
            return Err(unknown());
        }
        let became = &kept["became"];
        let text = |name: &str| became[name].as_str().unwrap_or_default();
        if let Some(id) = became["contract"].as_str() {
            let contract = Contracts::of(desk).find(id).await?.ok_or_else(unknown)?;
            return Ok(AgtpResponse::approved(&contract.approval(text("method"), text("path"))));
        }
        let status = became["refused"]["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        Ok(AgtpResponse::json(status.ok_or_else(unknown)?, &became["refused"]))
    }
}

fn unknown() -> AgtpError {
    AgtpError::new(404, "not-found", "There is no such proposal of yours, or not any more.")
}

fn key(calling: &Calling<'_>, place: &str) -> String {
    format!("n:p:{}:{place}", holder(calling))
}
