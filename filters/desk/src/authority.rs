//! Whether a caller may: a doubt means no (decision 11).

use http::HeaderValue;

use frontdesk_base::fault::{CHALLENGE, Fault, REALM, Refusal};
use frontdesk_caller::Caller;
use frontdesk_config::{AuthNeed, Capability, CapabilityKind, Monitoring, Settings};

/// Somebody who may call, or may not.
#[derive(Debug, Clone, Copy)]
pub struct Authority<'a> {
    pub has_credential: bool,
    /// What the credential grants.
    pub scopes: &'a [String],
    /// How strongly its subject was authenticated.
    pub authentication: &'a [String],
    /// Scopes beyond which no authority is claimed: they narrow what a credential grants, and where a capability needs
    /// none (`auth = "none"`) they stand alone.
    pub claims: Option<&'a [String]>,
    /// A credential is needed whatever the capability says.
    pub demands_credential: bool,
}

impl<'a> Authority<'a> {
    /// What a caller has, who claims nothing.
    pub fn of(caller: &'a Caller) -> Self {
        Self {
            has_credential: caller.has_credential(),
            scopes: caller.scopes(),
            authentication: caller.authentication(),
            claims: None,
            demands_credential: false,
        }
    }

    /// Whether a credential is there where one is needed; before anything that was sent is looked at. Scopes that are
    /// written down are meant, even beside an auth of none.
    pub(super) fn credential(&self, capability: &Capability, settings: &Settings) -> Result<(), Refusal> {
        let monitoring = settings.policies.automated_monitoring;
        let is_monitor = capability.kind == CapabilityKind::Monitor;
        if is_monitor && monitoring == Monitoring::Disallowed {
            return Err(Refusal::from(Fault::Forbidden).saying("This site does not allow automated monitoring."));
        }
        let scoped = !capability.required_scopes.is_empty();
        let needed = match capability.auth_need() {
            AuthNeed::Required => true,
            AuthNeed::Optional => scoped,
            AuthNeed::None => scoped && self.claims.is_none(),
        };
        let needed = needed
            || self.demands_credential
            || capability.requires_strong_authentication
            || is_monitor && monitoring == Monitoring::RequiresAuth;
        if needed && !self.has_credential {
            let challenge = Some(CHALLENGE);
            let required_scopes = capability.required_scopes.clone();
            return Err(Refusal { challenge, required_scopes, ..Fault::Unauthenticated.into() });
        }
        Ok(())
    }

    /// Whether the scopes are there that the capability needs.
    pub(super) fn scoped(&self, capability: &Capability) -> Result<(), Refusal> {
        let claimed = |scope: &String| self.claims.is_none_or(|claims| claims.contains(scope));
        let alone = capability.auth_need() == AuthNeed::None && self.claims.is_some();
        let has = |scope: &String| claimed(scope) && (alone || self.scopes.contains(scope));
        if capability.required_scopes.iter().all(has) { Ok(()) } else { Err(missing_scope(capability)) }
    }

    /// Whether the subject was authenticated as strongly as the capability needs.
    pub(super) fn strong(&self, capability: &Capability, settings: &Settings) -> Result<(), Refusal> {
        let strong = |value: &String| settings.auth.strong_acr.contains(value);
        let weak = capability.requires_strong_authentication && !self.authentication.iter().any(strong);
        if weak { Err(too_weak(settings)) } else { Ok(()) }
    }

    /// Whether a call could be granted, at most after a stronger authentication: what is worth showing to them.
    pub fn opens(&self, capability: &Capability, settings: &Settings) -> bool {
        self.credential(capability, settings).is_ok() && self.scoped(capability).is_ok()
    }
}

/// RFC 6750 §3.1.
fn missing_scope(capability: &Capability) -> Refusal {
    let scopes = capability.required_scopes.join(" ");
    let challenge = format!("{REALM}, error=\"insufficient_scope\", scope=\"{}\"", quotable(&scopes));
    let plural = if capability.required_scopes.len() == 1 { "scope" } else { "scopes" };
    let detail = format!("This needs the {plural} {}.", capability.required_scopes.join(", "));
    Refusal {
        challenge: HeaderValue::try_from(challenge).ok(),
        required_scopes: capability.required_scopes.clone(),
        ..Refusal::from(Fault::MissingScope).saying(detail)
    }
}

/// RFC 9470 §3.
fn too_weak(settings: &Settings) -> Refusal {
    let strong = settings.auth.strong_acr.join(" ");
    let challenge = format!(
        "{REALM}, error=\"insufficient_user_authentication\", \
         error_description=\"A stronger authentication is required\", acr_values=\"{}\"",
        quotable(&strong)
    );
    Refusal { challenge: HeaderValue::try_from(challenge).ok(), ..Fault::WeakAuthentication.into() }
}

/// What can stand in a quoted string of a header.
fn quotable(text: &str) -> String {
    text.chars().filter(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\')).collect()
}
