//! Calls of undeclared endpoints (AGTP-API §10.1): under an existing contract, or under one that is created on demand
//! if four conditions hold which no single party controls.

use std::{borrow::Cow, time::Duration};

use http::{HeaderName, HeaderValue};
use serde_json::json;

use super::{
    Spoken,
    attempts::{self, ATTEMPT},
    call::Given,
    calling::Calling,
    compare_and_set::busy,
    contract::{Bound, Contract, NoContract, Origin, holder},
    contracts::{Contracts, Entry, NotMade},
    error, escalation,
    path::Asked,
    propose::no_room,
    response::{AgtpError, AgtpResponse},
    template::{Places, Template},
};
use frontdesk_caller::limits::store_away;
use frontdesk_desk::{Desk, records::seconds};
use frontdesk_state::{Amount, Class, Key, Limit, Subject, Window};

/// The scope that must be claimed (§10.1.2).
const SCOPE: &str = "rcns:negotiate";
/// Names the contract of a call (§10.1.5).
const CONTRACT: HeaderName = HeaderName::from_static("contract-synthesized");
/// The window of `rate_limit_per_minute`.
const MINUTE: Duration = Duration::from_secs(60);
/// The tier of an agent that is not hosted here: its organisation asserts its id, and nothing proves it.
const FOREIGN: u8 = 2;

impl Spoken {
    /// Carries out a call under the contract that it names. No other contract is created for it (§10.1.2).
    ///
    /// # Errors
    ///
    /// The contract does not exist, belongs to another caller, or has ended (§10.1.4).
    pub(super) async fn under_contract(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        path: &Asked<'_>,
        id: &str,
    ) -> Result<AgtpResponse, AgtpError> {
        let found = Contracts::of(desk).find(id).await?;
        let contract = found.ok_or_else(|| {
            AgtpError::new(404, "not-found", "There is no such contract, or not any more. Ask for another.")
        })?;
        if !desk.compiled.settings.agtp.policies.synthesis_enabled {
            let message = "Contracts are no longer accepted here. Call a declared endpoint.";
            return Err(self.no_contract(desk, calling, NoContract::Disabled, message).await);
        }
        if contract.bound != Bound::Anybody {
            escalation::agent(calling)?;
        }
        if let Err((reason, message)) = contract.admits(calling, seconds()) {
            return Err(self.no_contract(desk, calling, reason, message).await);
        }
        let Some(places) = self.places(&contract, calling.method, &path.segments) else {
            let message = format!("This contract is about {} {}. Call that under it.", contract.method, contract.path);
            let wrong = AgtpError::new(400, "contract-mismatch", message);
            return Err(wrong
                .with("synthesis_id", contract.id)
                .with("method", contract.method)
                .with("path", contract.path));
        };
        self.fulfil(desk, calling, &contract, places).await
    }

    /// Answers an undeclared verb and path: under a published contract, a proposed one, or one created on demand; else
    /// with the general refusal.
    ///
    /// # Errors
    ///
    /// There is no contract.
    pub(super) async fn undeclared(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        path: &Asked<'_>,
    ) -> Result<AgtpResponse, AgtpError> {
        let rules = &desk.compiled.settings.agtp.policies;
        if rules.synthesis_enabled {
            let published = self.published(desk).await?;
            if let Some((contract, places)) = published.and_then(|all| all.find(calling.method, &path.segments)) {
                return self.fulfil(desk, calling, &contract, places).await;
            }
            if let Some((contract, places)) = self.agreed(desk, calling, path, Origin::Propose).await? {
                return self.fulfil(desk, calling, &contract, places).await;
            }
        }
        if !calling.head.allows_negotiation {
            return Err(self.nowhere(path));
        }
        let contract = match self.locks(desk, calling).await {
            Ok(()) => self.negotiated(desk, calling, path).await?,
            Err(wrong) => self.replayed(desk, calling, path, &wrong).await?.ok_or(wrong)?,
        };
        if !rules.rcns.optimistic {
            return Ok(AgtpResponse::json(461, &contract.preview()));
        }
        let said = match self.places(&contract, calling.method, &path.segments) {
            Some(places) => self.fulfil(desk, calling, &contract, places).await?,
            None => {
                return Err(self
                    .no_contract(desk, calling, NoContract::Failed, "The contract does not fit its request.")
                    .await);
            }
        };
        let named = HeaderValue::try_from(&contract.id);
        Ok(match named {
            Ok(named) => said.with(CONTRACT, named),
            Err(_) => said,
        })
    }

    /// Replays the answer of an idempotency key, whose contract it still names, without counting against the limit of
    /// attempts (§10.1.5). The contract can be called by its own id just as often.
    async fn replayed(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        path: &Asked<'_>,
        wrong: &AgtpError,
    ) -> Result<Option<Contract>, AgtpError> {
        let keyed = || calling.incoming.idempotency_key().is_ok_and(|key| key.is_some());
        if wrong.status != 429 || !desk.compiled.settings.agtp.policies.rcns.optimistic || !keyed() {
            return Ok(None);
        }
        let agreed = self.agreed(desk, calling, path, Origin::Gate).await?;
        Ok(agreed.map(|(contract, _)| contract))
    }

    /// Checks the four conditions in order, and the limit of attempts.
    async fn locks(&self, desk: &Desk<'_>, calling: &Calling<'_>) -> Result<(), AgtpError> {
        let rules = &desk.compiled.settings.agtp.policies;
        if !rules.rcns.enabled || !rules.synthesis_enabled {
            let message = "This server negotiates nothing. DISCOVER /methods lists what there is.";
            return Err(self.no_contract(desk, calling, NoContract::Disabled, message).await);
        }
        let agent = escalation::agent(calling)?;
        if !calling.head.claims(SCOPE) {
            let message = "Nothing is negotiated without the scope rcns:negotiate. Claim it in Authority-Scope.";
            let wrong = AgtpError::required("scope-required", message).with("scope", SCOPE);
            return Err(AgtpError { reason: "scope_required", ..wrong.with("required_scopes", json!([SCOPE])) });
        }
        if self.tier(calling) > rules.rcns.min_trust_tier {
            let message = "This server negotiates with agents of a stricter trust tier only.";
            return Err(self.no_contract(desk, calling, NoContract::TrustTier, message).await);
        }
        let caller = calling.incoming.caller.holder();
        let limit = Limit {
            key: Key::new(Class::Negotiation, Subject::named(&[b"gate", &caller.bytes(), agent.as_bytes()])),
            most: rules.rcns.rate_limit_per_minute,
            window: Window::Fixed(MINUTE),
        };
        let taken = desk.counters.take(&[limit], Amount::ONE).await;
        let taken = taken.map_err(|_| error::wrong(&store_away(), None, self.scope_violation))?;
        if taken.granted.is_some() {
            return Ok(());
        }
        let wait = taken.levels[0].resets_in.as_millis().div_ceil(1000).max(1);
        let message = format!("More than {} attempts in a minute. Try again in {wait} seconds.", limit.most);
        let wrong = AgtpError::new(429, "rate-limited", message).with("scope", "rcns");
        let mut wrong = wrong.after(u64::try_from(wait).unwrap_or(60));
        wrong.reason = "rate_limited";
        Err(wrong)
    }

    /// The trust tier of an agent: lower is more trusted. A claimed identity never gets the highest.
    fn tier(&self, calling: &Calling<'_>) -> u8 {
        let own = self.hosted.as_ref().filter(|hosted| calling.head.agent == Some(hosted.agent_id.as_str()));
        let proven = calling.incoming.caller.has_credential();
        own.map_or(FOREIGN, |hosted| if proven { hosted.tier } else { hosted.tier.max(FOREIGN) })
    }

    /// The contract for a verb and path: this agent's existing one, or a new one.
    async fn negotiated(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        path: &Asked<'_>,
    ) -> Result<Contract, AgtpError> {
        let template = Template::parse(&path.path, &self.catalog).map_err(AgtpError::from)?;
        let found = self.stock.find(&desk.compiled.settings, &self.routes, calling.method, &template);
        let Some(made) = found else {
            let message = "This server has nothing that does this. DISCOVER /patterns lists the possible endpoints.";
            return Err(self.no_contract(desk, calling, NoContract::Impossible, message).await);
        };
        self.suffices(desk, calling, &made.endpoint)?;
        let bound = calling.head.session.map_or(Bound::Agent, |session| Bound::Session(session.to_owned()));
        let drafted = made.drafted(desk, calling, Origin::Gate, bound, (calling.method, &path.path), None);
        let drafted = drafted?;
        if let Some((before, _)) = self.agreed(desk, calling, path, Origin::Gate).await?
            && before.hash == drafted.hash
            && before.source == drafted.source
        {
            return Ok(before);
        }
        match Contracts::of(desk).keep(&drafted, false).await {
            Ok(()) => Ok(drafted),
            Err(NotMade::NotKept(why)) => Err(why.into()),
            Err(NotMade::Busy) => Err(busy()),
            Err(why) => Err(self.no_contract(desk, calling, NoContract::Failed, no_room(why)).await),
        }
    }

    /// This agent's existing contract for the request (§10.1.1), with the values of its placeholders.
    async fn agreed(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        path: &Asked<'_>,
        origin: Origin,
    ) -> Result<Option<(Contract, Places)>, AgtpError> {
        let Some(agent) = calling.head.agent else { return Ok(None) };
        let session = calling.head.session.map(|name| Bound::Session(name.to_owned()));
        let connection = calling.incoming.framed.map(|framed| Bound::Connection(framed.connection.to_owned()));
        // A proposed contract without a session is called by its own id only.
        let agents = (origin == Origin::Gate).then_some(Bound::Agent);
        let marks: Vec<String> = [session, connection, agents].iter().flatten().map(Bound::mark).collect();
        let contracts = Contracts::of(desk);
        let entries = contracts.entries(&holder(calling)).await?;
        let fits = |entry: &&Entry| {
            let template = || Template::parse(&entry.path, &self.catalog).ok();
            entry.agent == agent
                && entry.origin == origin.word()
                && entry.method == calling.method
                && marks.contains(&entry.mark)
                && template().is_some_and(|template| template.matches(&path.segments).is_some())
        };
        // The latest entry is last.
        let Some(entry) = entries.iter().rev().find(fits) else { return Ok(None) };
        let found = contracts.find(&entry.id).await?;
        let found = found.filter(|contract| contract.admits(calling, seconds()).is_ok());
        Ok(found.and_then(|contract| {
            let places = self.places(&contract, calling.method, &path.segments)?;
            Some((contract, places))
        }))
    }

    /// The values for the source's placeholders; `None` where the request does not match.
    fn places(&self, contract: &Contract, method: &str, segments: &[Cow<'_, str>]) -> Option<Places> {
        let template = Template::parse(&contract.path, &self.catalog).ok()?;
        let places = template.matches(segments).filter(|_| contract.method == method)?;
        Some(places)
    }

    /// Carries out a call under a contract, and names the contract in the answer.
    async fn fulfil(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        contract: &Contract,
        mut places: Places,
    ) -> Result<AgtpResponse, AgtpError> {
        places.extend(contract.places.iter().cloned());
        self.carried_out(desk, calling, contract, Given::Sent(&places)).await
    }

    /// The same with the given input, which includes the contract's fixed values.
    pub(super) async fn carried_out(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        contract: &Contract,
        given: Given<'_>,
    ) -> Result<AgtpResponse, AgtpError> {
        let Some(endpoint) = self.stock.endpoint(&contract.source, &desk.compiled.settings, &self.catalog) else {
            let message = "The endpoint behind this contract no longer exists. Ask for another contract.";
            return Err(self.no_contract(desk, calling, NoContract::Impossible, message).await);
        };
        let said = self.call(desk, calling, &endpoint, given).await;
        Ok(AgtpResponse { lineage: Some(contract.lineage()), ..said })
    }

    /// 464, with an attempt id.
    pub(super) async fn no_contract(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        reason: NoContract,
        message: impl Into<Cow<'static, str>>,
    ) -> AgtpError {
        let wrong = AgtpError::new(464, "rcns-no-contract", message).with("reason", reason.word());
        let Some(id) = attempts::noted(desk, calling, reason).await else { return wrong };
        let mut wrong = wrong.with("attempt_id", id.as_str());
        wrong.headers.extend(HeaderValue::try_from(id).ok().map(|id| (ATTEMPT, id)));
        wrong
    }
}
