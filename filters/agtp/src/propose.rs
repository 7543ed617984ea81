//! PROPOSE (AGTP-API §10.2 to §10.8): judges a proposed endpoint in the order of §10.6. It is approved where it can be
//! made from existing parts, and else refused with the similar endpoints.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Spoken,
    calling::Calling,
    compare_and_set::busy,
    contract::{Bound, Contract, Origin, holder},
    contracts::{Contracts, MOST_OF_ONE, NotMade},
    escalation, later,
    lifecycle::{OPERATE, operator},
    path::{self, Asked},
    policy::Admission,
    proposal::Proposal,
    response::{AgtpError, AgtpResponse},
    synthesis::{Made, scope_required, similar},
};
use frontdesk_desk::Desk;
use frontdesk_state::{Amount, Class, Key, Limit, Subject, Window};

/// Refused proposals before a person should be asked (§10.3).
const TURNS: u64 = 3;
/// How long they are counted.
const TURNS_COUNT: Duration = Duration::from_secs(3600);
impl Spoken {
    /// Answers PROPOSE.
    ///
    /// # Errors
    ///
    /// The refusal.
    pub(super) async fn propose(&self, desk: &Desk<'_>, calling: &Calling<'_>) -> Result<AgtpResponse, AgtpError> {
        // Applies to every proposal and every caller (§8.7).
        if !desk.compiled.settings.agtp.policies.synthesis_enabled {
            let message = "This server puts no endpoints together. DISCOVER /methods lists those that there are.";
            return Err(rejected("synthesis-disabled", message));
        }
        escalation::agent(calling)?;
        let proposal = self.proposal(calling)?;
        let bound = bound(calling, &proposal);
        let became = match self.approved(desk, calling, &proposal, bound).await {
            Err(wrong) if wrong.status == 463 => Err(self.turned_down(desk, calling, &proposal, wrong).await),
            became => became,
        };
        // An invalid proposal is refused at once, even if asynchronous.
        if proposal.asynchronous && became.as_ref().map_or_else(|wrong| matches!(wrong.status, 262 | 463), |_| true) {
            return later::keep(desk, calling, &proposal, &became).await;
        }
        let contract = became?;
        Ok(AgtpResponse { acted: true, ..AgtpResponse::approved(&contract.approval(&proposal.method, &proposal.path)) })
    }

    /// Creates and stores the contract.
    async fn approved(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        proposal: &Proposal,
        bound: Bound,
    ) -> Result<Contract, AgtpError> {
        let settings = &desk.compiled.settings;
        let unclaimed: Vec<String> =
            proposal.scopes.iter().filter(|scope| !calling.head.claims(scope)).cloned().collect();
        if !unclaimed.is_empty() {
            return Err(scope_required(&unclaimed));
        }
        let (method, template, path) = self.meant(proposal)?;
        let made = self.stock.find(settings, &self.routes, &method, &template);
        if let Some(made) = &made {
            self.suffices(desk, calling, &made.endpoint)?;
        }
        let made = made.ok_or_else(|| self.impossible(desk, calling, proposal))?;
        if let Some(why) = differs(&made, proposal) {
            let counter = json!({ "endpoint": made.definition(&proposal.method, &proposal.path) });
            return Err(rejected("composition-impossible", why).with("counter_proposal", counter));
        }
        if !matches!(self.policy.admits(&method, &self.catalog), Admission::Admitted) {
            let message = format!("This server does not take {method}, whatever the path is.");
            return Err(rejected("policy-refused", message));
        }
        let public = bound == Bound::Anybody && !made.declared;
        let drafted = made.drafted(desk, calling, Origin::Propose, bound, (&method, &path), proposal.duration);
        let contract = drafted?;
        let contracts = Contracts::of(desk);
        // A repeated proposal gets the existing contract.
        if let Some(before) = contracts.like(&contract).await? {
            return Ok(before);
        }
        match contracts.keep(&contract, public).await {
            Ok(()) => Ok(contract),
            Err(NotMade::NotKept(why)) => Err(why.into()),
            Err(NotMade::Busy) => Err(busy()),
            Err(why) => Err(rejected("policy-refused", no_room(why))),
        }
    }

    /// The verb and path after aliases and redirects.
    fn meant(&self, proposal: &Proposal) -> Result<(String, super::template::Template, String), AgtpError> {
        let method = self.policy.resolve(&proposal.method).method;
        // A path with placeholders is never redirected, because it has no values yet.
        let asked = path::read(&proposal.path, &self.catalog).ok().map(Asked::alone);
        let redirected = asked.and_then(|asked| {
            let (method, path) = self.policy.redirect(method, &asked)?;
            Some((method.to_owned(), path.unwrap_or_else(|| proposal.path.clone())))
        });
        let Some((method, path)) = redirected else {
            return Ok((method.to_owned(), proposal.template.clone(), proposal.path.clone()));
        };
        let template = super::template::Template::parse(&path, &self.catalog);
        Ok((method, template.map_err(AgtpError::from)?, path))
    }

    /// 463: it cannot be made; includes the similar endpoints.
    fn impossible(&self, desk: &Desk<'_>, calling: &Calling<'_>, proposal: &Proposal) -> AgtpError {
        let Proposal { method, template, .. } = proposal;
        let message =
            "This server has nothing that does what you propose. DISCOVER /patterns lists the possible endpoints.";
        let mut wrong = rejected("composition-impossible", message);
        let short = |endpoint: &&std::sync::Arc<super::endpoint::Endpoint>| json!({ "method": endpoint.method, "path": endpoint.path, "description": endpoint.description });
        let near: Vec<Value> = similar(&self.routes, method, template).iter().map(short).collect();
        if !near.is_empty() {
            wrong = wrong.with("similar", near);
        }
        // Only endpoints that the caller could get.
        let could = self.stock.similar(method, template);
        if let Some(endpoint) = could.into_iter().find(|endpoint| self.suffices(desk, calling, endpoint).is_ok()) {
            wrong = wrong.with("counter_proposal", json!({ "endpoint": endpoint.definition }));
        }
        wrong
    }

    /// Counts a refused proposal. After too many for one task a person should be asked (§10.3).
    async fn turned_down(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        proposal: &Proposal,
        wrong: AgtpError,
    ) -> AgtpError {
        let wrong = wrong.with("proposed", json!({ "method": proposal.method, "path": proposal.path }));
        let of = calling.head.task.or(proposal.session.as_deref()).unwrap_or_default();
        let agent = calling.head.agent.unwrap_or_default();
        let subject = Subject::named(&[b"proposals", holder(calling).as_bytes(), agent.as_bytes(), of.as_bytes()]);
        let limit =
            Limit { key: Key::new(Class::Negotiation, subject), most: TURNS, window: Window::Fixed(TURNS_COUNT) };
        // While the counters are unavailable no one is sent to a person.
        let Ok(taken) = desk.counters.take(&[limit], Amount::ONE).await else { return wrong };
        let used = if taken.granted.is_some() { taken.levels[0].used } else { TURNS };
        let left = TURNS.saturating_sub(used);
        let wrong = wrong.with("turns_left", left);
        if left > 0 {
            return wrong;
        }
        let explanation = format!("{} This was turned down {TURNS} times: ESCALATE to a person.", wrong.message);
        let escalate = json!({ "method": "ESCALATE", "path": "/" });
        AgtpError { message: explanation.clone().into(), ..wrong }
            .with("explanation", explanation)
            .with("escalate", escalate)
    }
}

/// What ends the contract. A public one needs a credential with the operator's scope. Over HTTP the only session is a
/// named one; without it the contract is called by its own id until it expires.
fn bound(calling: &Calling<'_>, proposal: &Proposal) -> Bound {
    match (&proposal.session, &calling.incoming.framed) {
        _ if proposal.persistent && operator(calling, OPERATE).is_ok() => Bound::Anybody,
        (Some(session), _) => Bound::Session(session.clone()),
        (None, Some(framed)) => Bound::Connection(framed.connection.to_owned()),
        (None, None) => Bound::Agent,
    }
}

/// The inputs in which a proposal differs from what it would get.
fn differs(made: &Made, proposal: &Proposal) -> Option<String> {
    let proposed = proposal.inputs.as_ref()?;
    if let Some(strange) = proposed.iter().find(|name| !made.endpoint.takes(name)) {
        let strange: String = strange.chars().take(64).collect();
        return Some(format!("There is something at hand for this pair, but it has no input \"{strange}\"."));
    }
    let placed = |name: &str| made.places.iter().any(|(place, _)| place == name);
    let lacks = made.needs().find(|name| !placed(name) && !proposed.iter().any(|proposed| proposed == name))?;
    Some(format!("There is something at hand for this pair, but it needs the input \"{lacks}\" too."))
}

/// 463 (§11).
fn rejected(reason: &'static str, explanation: impl Into<String>) -> AgtpError {
    let explanation = explanation.into();
    AgtpError::new(463, "proposal-rejected", explanation.clone())
        .with("reason", reason)
        .with("explanation", explanation)
}

/// The explanation where there is no room for another contract.
pub(super) fn no_room(why: NotMade) -> String {
    match why {
        NotMade::TooManyOfOne => {
            format!("You have {MOST_OF_ONE} contracts, which is as many as one may have. SUSPEND some.")
        }
        NotMade::TooLong => "What comes of it is larger than what is kept of a contract.".to_owned(),
        NotMade::TooMany | NotMade::Busy | NotMade::NotKept(_) => {
            "This server has as many contracts as it keeps. Try again later.".to_owned()
        }
    }
}
