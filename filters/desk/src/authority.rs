//! Checks whether a caller is authorised; in doubt the answer is no (docs/decisions/0004-fail-open-fail-closed.md).

use http::HeaderValue;

use frontdesk_base::fault::{CHALLENGE, Fault, REALM, Refusal};
use frontdesk_caller::{Caller, Link, Proof};
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
    /// What a person has allowed this agent, where its token is one of ours.
    pub link: Option<&'a Link>,
    /// There is another credential beside that token.
    pub has_own_credential: bool,
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
            link: caller.link.as_deref(),
            has_own_credential: caller.proof != Proof::Token,
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
        self.allowed_by_person(capability)?;
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
        if needed && self.is_for_people_alone(capability) {
            let detail = "A person's sign-in does not open this. It needs a credential of this site's operator.";
            return Err(Refusal { reason: "link_opens_less", ..Fault::Forbidden.into() }.saying(detail));
        }
        if needed && !self.has_credential && !self.leaves_it_to_the_site(capability) {
            let required_scopes = capability.required_scopes.clone();
            let challenge = match required_scopes.is_empty() {
                true => None,
                // What the client has to ask its person for (RFC 6750 §3).
                false => {
                    let scopes = quotable(&required_scopes.join(" "));
                    HeaderValue::try_from(format!("{REALM}, scope=\"{scopes}\"")).ok()
                }
            };
            let challenge = challenge.or(Some(CHALLENGE));
            let refusal = Refusal { challenge, required_scopes, ..Fault::Unauthenticated.into() };
            let detail = format!("{}{}", refusal.detail, settings.auth.how_to_register());
            return Err(refusal.saying(detail));
        }
        Ok(())
    }

    /// Checks that the person has allowed a capability that is called in their name, whether it needs a credential or not.
    fn allowed_by_person(&self, capability: &Capability) -> Result<(), Refusal> {
        match self.link {
            Some(link) if capability.is_in_their_name() && !link.allows(capability) => Err(not_allowed(capability)),
            _ => Ok(()),
        }
    }

    /// Whether the caller has nothing but a person's permission, and the capability is not called in a person's name.
    fn is_for_people_alone(&self, capability: &Capability) -> bool {
        self.link.is_some() && !self.has_own_credential && !capability.is_in_their_name()
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
        let is_linked = self.link.is_some() && capability.is_in_their_name();
        if is_linked || self.leaves_it_to_the_site(capability) || capability.required_scopes.iter().all(has) {
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

/// The refusal where the person has not allowed a capability (RFC 6750 §3.1). Its id is the scope to ask them for.
fn not_allowed(capability: &Capability) -> Refusal {
    let challenge = format!("{REALM}, error=\"insufficient_scope\", scope=\"{}\"", quotable(&capability.id));
    let detail = format!("The person has not allowed {}. Ask them for it anew.", capability.id);
    Refusal {
        reason: "not_allowed_by_person",
        challenge: HeaderValue::try_from(challenge).ok(),
        required_scopes: vec![capability.id.clone()],
        ..Refusal::from(Fault::MissingScope).saying(detail)
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
