//! Checks whether a caller is authorised; in doubt the answer is no (docs/decisions/0004-fail-open-fail-closed.md).

use http::HeaderValue;

use frontdesk_base::fault::{CHALLENGE, Fault, REALM, Refusal};
use frontdesk_caller::Caller;
use frontdesk_config::{AuthNeed, Capability, CapabilityKind, Monitoring, Settings};

/// The authority of one caller.
#[derive(Debug, Clone, Copy)]
pub struct Authority<'a> {
    pub has_credential: bool,
    /// The caller shows a credential that only the site can verify. It counts for capabilities that pass it on.
    pub shows_credential: bool,
    /// The scopes that the credential grants.
    pub scopes: &'a [String],
    /// How strongly the caller was authenticated.
    pub authentication: &'a [String],
    /// The scopes that the request claims. They narrow what a credential grants. Where a capability needs no
    /// credential (`auth = "none"`), they are the only scopes.
    pub claims: Option<&'a [String]>,
    /// The request needs a credential whatever the capability says.
    pub demands_credential: bool,
}

impl<'a> Authority<'a> {
    /// The full authority of a caller, without any claims.
    pub fn of(caller: &'a Caller) -> Self {
        Self {
            has_credential: caller.has_credential(),
            shows_credential: caller.credential.is_some(),
            scopes: caller.scopes(),
            authentication: caller.authentication(),
            claims: None,
            demands_credential: false,
        }
    }

    /// Checks that a required credential is there, before any input is looked at. Declared scopes require a credential
    /// even where `auth` is none.
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
        if needed && !self.has_credential && !self.leaves_it_to_the_site(capability) {
            let challenge = Some(CHALLENGE);
            let required_scopes = capability.required_scopes.clone();
            let refusal = Refusal { challenge, required_scopes, ..Fault::Unauthenticated.into() };
            let detail = format!("{}{}", refusal.detail, settings.auth.how_to_register());
            return Err(refusal.saying(detail));
        }
        Ok(())
    }

    /// Whether only the site can say what the caller may do.
    fn leaves_it_to_the_site(&self, capability: &Capability) -> bool {
        self.shows_credential && !self.has_credential && capability.is_in_their_name()
    }

    /// Checks that the scopes which the capability needs are there.
    pub(super) fn scoped(&self, capability: &Capability) -> Result<(), Refusal> {
        let claimed = |scope: &String| self.claims.is_none_or(|claims| claims.contains(scope));
        let alone = capability.auth_need() == AuthNeed::None && self.claims.is_some();
        let has = |scope: &String| claimed(scope) && (alone || self.scopes.contains(scope));
        if self.leaves_it_to_the_site(capability) || capability.required_scopes.iter().all(has) {
            Ok(())
        } else {
            Err(missing_scope(capability))
        }
    }

    /// Checks that the caller was authenticated as strongly as the capability needs.
    pub(super) fn strong(&self, capability: &Capability, settings: &Settings) -> Result<(), Refusal> {
        let strong = |value: &String| settings.auth.strong_acr.contains(value);
        let weak = capability.requires_strong_authentication && !self.authentication.iter().any(strong);
        if weak { Err(too_weak(settings)) } else { Ok(()) }
    }

    /// Whether the caller could make the call, if need be after a stronger authentication. Only such capabilities are
    /// listed.
    pub fn opens(&self, capability: &Capability, settings: &Settings) -> bool {
        self.credential(capability, settings).is_ok() && self.scoped(capability).is_ok()
    }
}

/// The refusal for a missing scope (RFC 6750 §3.1).
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

/// The refusal for a too weak authentication (RFC 9470 §3).
fn too_weak(settings: &Settings) -> Refusal {
    let strong = settings.auth.strong_acr.join(" ");
    let challenge = format!(
        "{REALM}, error=\"insufficient_user_authentication\", \
         error_description=\"A stronger authentication is required\", acr_values=\"{}\"",
        quotable(&strong)
    );
    Refusal { challenge: HeaderValue::try_from(challenge).ok(), ..Fault::WeakAuthentication.into() }
}

/// A text reduced to the characters of a quoted string in a header.
fn quotable(text: &str) -> String {
    text.chars().filter(|c| matches!(c, ' '..='~') && !matches!(c, '"' | '\\')).collect()
}
