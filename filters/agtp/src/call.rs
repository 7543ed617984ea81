//! Calls an endpoint: translates the request into an ask, and the outcome into a response (AGTP-API §13.2).

use http::HeaderValue;
use serde_json::{Map, Value, json};

use super::{
    Spoken,
    calling::Calling,
    endpoint::Endpoint,
    error, escalation,
    head::Head,
    lifecycle,
    outcome_response::confirmation,
    policy::Legacy,
    response::{AgtpError, AgtpResponse},
    session,
};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_caller::limits::store_away;
use frontdesk_config::Capability;
use frontdesk_desk::{
    {Account, Ask, Authority, Called, Carried, Desk, Done, Outcome, Talk, Turned, records, ticket::Wish},
    {CONFIRMATION, Incoming, REPLAYED, checked_key},
};
use frontdesk_state::Amount;

/// The input of a call.
pub(super) enum Given<'a> {
    /// The request's own body and query, and the values of the path's placeholders.
    Sent(&'a [(String, String)]),
    /// This input under an idempotency key, and the values of the path's placeholders.
    Input(Map<String, Value>, Option<String>, &'a [(String, String)]),
}

/// The scopes of a capability that the request claims.
pub(super) fn covered(capability: &Capability, head: &Head<'_>) -> Vec<String> {
    capability.required_scopes.iter().filter(|scope| head.claims(scope)).cloned().collect()
}

/// The caller's authority for a capability, limited to the claimed scopes.
pub(super) fn authority<'a>(capability: &Capability, calling: &Calling<'a>, covered: &'a [String]) -> Authority<'a> {
    Authority {
        // Required scopes must be claimed as well as granted; a claim never adds to the grants.
        claims: (!capability.required_scopes.is_empty()).then_some(covered),
        ..Authority::of(calling.incoming.caller)
    }
}

impl Spoken {
    /// Calls an endpoint. Every route to an endpoint ends here.
    pub(super) async fn call(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        endpoint: &Endpoint,
        given: Given<'_>,
    ) -> AgtpResponse {
        let mut said = match self.open(desk, calling, endpoint).await {
            Ok(()) => self.called(desk, calling, endpoint, given).await,
            Err(wrong) => wrong.said(calling.method, calling.path),
        };
        // The call may have come by another route than the endpoint's verb and path.
        said.headers.extend(self.warnings_of(endpoint));
        said
    }

    /// Checks that calls are served: the agent is active, the session is not suspended, and the caller is within the
    /// limits.
    async fn open(&self, desk: &Desk<'_>, calling: &Calling<'_>, endpoint: &Endpoint) -> Result<(), AgtpError> {
        lifecycle::serving(self, desk).await?;
        session::resumed(desk, calling).await?;
        if !endpoint.acts {
            return Ok(());
        }
        let held = desk.compiled.policies.held_beside(true, None, calling.incoming.caller);
        let refusal = match held.take(desk.counters, Amount::ONE).await {
            Ok(taken) if taken.granted.is_some() => return Ok(()),
            Ok(taken) => held.exceeded(&taken),
            Err(_) => store_away(),
        };
        Err(error::wrong(&refusal, None, self.scope_violation))
    }

    async fn called(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        endpoint: &Endpoint,
        given: Given<'_>,
    ) -> AgtpResponse {
        let Some(capability) = endpoint.capability(&desk.compiled.settings) else {
            return AgtpError::new(404, "not-found", "It no longer exists.").said(calling.method, calling.path);
        };
        let covered = covered(capability, calling.head);
        let authority = authority(capability, calling, &covered);
        let wish = capability.upstream.as_ref().is_some_and(|call| call.desk).then(|| wish(calling)).flatten();
        let key = self.key(calling, &given);
        let asked = key.and_then(|key| {
            let ask = self.ask(desk, calling, endpoint, capability, authority, given)?;
            if key.is_none() && calling.legacy == Some(Legacy::Put) {
                return Err(error::wrong(&Fault::KeyRequired.into(), None, self.scope_violation));
            }
            Ok((key, ask))
        });
        let charged = match asked {
            Ok((key, ask)) => {
                self.reserve(desk, calling, capability, &ask.input).await.map(|charged| (key, ask, charged))
            }
            Err(wrong) => Err(wrong),
        };
        let (key, mut ask, charged) = match charged {
            Ok(charged) => charged,
            Err(wrong) => {
                let account = self.turned_away(desk, calling, endpoint.called(), wrong.reason);
                return AgtpResponse { account: Some(account), ..wrong.said(calling.method, calling.path) };
            }
        };
        ask.wish = wish.as_ref();
        ask.idempotency_key = key.as_deref();
        if let Some(charged) = &charged {
            ask.talk.max_tokens = charged.answer();
        }
        let Carried { outcome, replayed, account } = desk.carry_out(ask).await;
        if let Some(charged) = charged {
            charged.settle(desk, &outcome).await;
        }
        let upstream = account.upstream_status;
        let said = match &outcome {
            Outcome::Done(done) => self.done(done, endpoint, calling, wish.is_some()),
            Outcome::NeedsConfirmation(asked) => confirmation(asked).said(calling.method, calling.path),
            Outcome::Fault(refusal) => {
                let mut wrong = error::wrong(refusal, upstream, self.scope_violation);
                if let Some(details) = &mut wrong.details {
                    self.in_our_words(details, &desk.compiled.settings);
                }
                wrong.said(calling.method, calling.path)
            }
        };
        let said = match replayed || matches!(&outcome, Outcome::Done(Done { replayed: true, .. })) {
            true => said.with(REPLAYED, HeaderValue::from_static("true")),
            false => said,
        };
        AgtpResponse { account: Some(account), acted: endpoint.acts, ..said }
    }

    /// The idempotency key of a call: the header's, else the parameter's. It is scoped to the caller and the Agent-ID
    /// (AGTP-API 01, "Idempotency-Key"), so it differs from the same key in another dialect. Without an Agent-ID there
    /// is none.
    fn key(&self, calling: &Calling<'_>, given: &Given<'_>) -> Result<Option<String>, AgtpError> {
        let refused = |refusal: Refusal| error::wrong(&refusal, None, self.scope_violation);
        let header = calling.incoming.idempotency_key().map_err(refused)?;
        let key = match (header, given) {
            (None, Given::Input(_, Some(key), _)) => Some(checked_key(key).map_err(refused)?),
            (header, _) => header,
        };
        // A key in a request cannot contain a line break.
        Ok(key.zip(calling.head.agent).map(|(key, agent)| format!("{agent}\n{key}")))
    }

    /// Checks a call before the desk does (401, 400, 422, claimed scopes), and builds the ask.
    fn ask<'r>(
        &self,
        desk: &Desk<'_>,
        calling: &'r Calling<'_>,
        endpoint: &'r Endpoint,
        capability: &Capability,
        authority: Authority<'r>,
        given: Given<'_>,
    ) -> Result<Ask<'r>, AgtpError> {
        let refused = |refusal: Refusal| error::wrong(&refusal, None, self.scope_violation);
        // A key's record belongs to an agent, and PUT has a key.
        if endpoint.needs_agent || calling.legacy == Some(Legacy::Put) {
            escalation::agent(calling)?;
        }
        desk.admit(endpoint.called(), &authority).map_err(refused)?;
        let input = match given {
            Given::Input(mut input, _, places) => {
                self.merge(&mut input, "", places, capability)?;
                input
            }
            Given::Sent(places) => {
                let mut input = match endpoint.takes("parameters") {
                    true => calling.parameters(false)?.members,
                    false => calling.own_parameters()?.members,
                };
                input.extend(calling.added());
                self.merge(&mut input, calling.query, places, capability)?;
                input
            }
        };
        let strange = endpoint.strange(&input);
        if !strange.is_empty() {
            return Err(refused(Refusal { violations: strange, ..Fault::InvalidInput.into() }));
        }
        let input = Value::Object(input);
        let unclaimed =
            calling.head.scopes.is_none() && (self.scope_required || !capability.required_scopes.is_empty());
        if unclaimed {
            // Input errors are reported first.
            if let Some(Err(violations)) = capability.input.as_ref().map(|schema| schema.check(&input)) {
                return Err(refused(Refusal { violations, ..Fault::InvalidInput.into() }));
            }
            let message = "This needs an Authority-Scope. Say which authority you act under.";
            let wrong = AgtpError::required("scope-required", message)
                .with("required_scopes", capability.required_scopes.clone());
            return Err(AgtpError { reason: "scope_required", ..wrong });
        }
        Ok(Ask {
            capability: endpoint.called(),
            input,
            caller: calling.incoming.caller,
            authority,
            confirmation: calling.incoming.headers.get(CONFIRMATION).and_then(|token| token.to_str().ok()),
            idempotency_key: None,
            request_id: calling.incoming.request_id,
            dialect: super::NAME,
            host: calling.incoming.authority,
            talk: Talk { session: calling.head.session, named_session: calling.head.session, ..Talk::default() },
            beside: Map::new(),
            wish: None,
            begun: None,
            // The site could not verify the caller's identity (AGTP-API §12.3).
            unnamed: true,
        })
    }

    /// Adds the inputs in the query and in the path. The body takes precedence over the query (§5.5). Path values are
    /// fixed; a different value elsewhere is an error.
    fn merge(
        &self,
        input: &mut Map<String, Value>,
        query: &str,
        places: &[(String, String)],
        capability: &Capability,
    ) -> Result<(), AgtpError> {
        let read = |name: &str, text: String| match &capability.input {
            Some(schema) => schema.read(name, vec![text]),
            None => text.into(),
        };
        for (name, text) in super::path::inputs(query).map_err(AgtpError::from)? {
            if !input.contains_key(&name) {
                let value = read(&name, text.as_str().unwrap_or_default().to_owned());
                input.insert(name, value);
            }
        }
        for (name, text) in places {
            let value = read(name, text.clone());
            if input.insert(name.clone(), value.clone()).is_some_and(|other| other != value) {
                let violation = frontdesk_desk::Violation::of(name, "The path says otherwise.");
                let refusal = Refusal { violations: vec![violation], ..Fault::InvalidInput.into() };
                return Err(error::wrong(&refusal, None, self.scope_violation));
            }
        }
        Ok(())
    }

    /// Writes the audit line of a refused call.
    pub(super) fn turned_away(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        capability: Called<'_>,
        reason: &'static str,
    ) -> Box<Account> {
        let Incoming { caller, request_id, .. } = *calling.incoming;
        let idempotency_key = calling.incoming.idempotency_key().ok().flatten();
        let turned = Turned { capability, caller, idempotency_key, request_id, dialect: super::NAME };
        desk.compiled.turned_away(&turned, reason, desk.audit)
    }
}

/// How the caller fetches a person's later answer.
fn wish(calling: &Calling<'_>) -> Option<Wish> {
    let id = records::unguessable().ok()?;
    let query = format!("{} {}", calling.method, calling.path);
    Some(Wish { id, query, manner: json!({ "agent": calling.head.agent }), ..Wish::default() })
}
