//! An authorization request (RFC 6749 §4.1.1) and its checks.

use std::{collections::HashSet, sync::Arc};

use frontdesk_caller::link::Consent;
use frontdesk_config::{Capability, Login, Settings};
use frontdesk_desk::Desk;

use crate::{
    client::Client,
    documents::{Documents, Sources, Untaken},
    pkce, redirect_uri,
};

/// Maximum bytes of `state`.
const LONGEST_STATE: usize = 2048;
/// Maximum parameters of a request or a form.
const MOST_PARAMETERS: usize = 64;
/// Clients ask for refresh tokens by it, which they get anyway.
const OFFLINE_ACCESS: &str = "offline_access";

/// A request that a person may be asked about.
pub(crate) struct AuthorizationRequest {
    pub(crate) client: Arc<Client>,
    pub(crate) redirect_uri: String,
    pub(crate) state: Option<String>,
    pub(crate) challenge: String,
    pub(crate) resource: String,
    /// The capabilities that the person chooses from.
    pub(crate) offered: Vec<Consent>,
    /// The client has named them.
    pub(crate) is_named: bool,
}

impl AuthorizationRequest {
    /// Whether the person may choose a capability.
    pub(crate) fn offers(&self, capability: &Capability) -> bool {
        self.offered.iter().any(|offered| offered.id == capability.id)
    }
}

/// Why nobody is asked.
pub(crate) enum Wrong {
    /// Who asks, or where the answer would go, is not known: the person is told, and nobody else.
    ToPerson(&'static str, String),
    /// The client is told, once the person has agreed to go there.
    ToClient(Box<Return>),
    Away,
    /// Too many clients were new in the last minute.
    Busy,
}

/// An error for a client.
pub(crate) struct Return {
    pub(crate) client: Arc<Client>,
    pub(crate) redirect_uri: String,
    pub(crate) state: Option<String>,
    pub(crate) code: &'static str,
    pub(crate) why: String,
}

impl Return {
    /// Its address.
    pub(crate) fn address(&self, issuer: &str) -> String {
        let mut pairs = vec![("error", self.code), ("error_description", &self.why), ("iss", issuer)];
        pairs.extend(self.state.as_deref().map(|state| ("state", state)));
        redirect_uri::with(&self.redirect_uri, &pairs)
    }
}

/// The parameters of a request, each once.
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads a query or a form. `several`: a parameter that may be there more than once.
    ///
    /// # Errors
    ///
    /// Another one is there twice (RFC 6749 §3.1), or there are more than [`MOST_PARAMETERS`].
    pub(crate) fn read(text: &[u8], several: &str) -> Result<Self, &'static str> {
        let (mut all, mut names): (Vec<(String, String)>, _) = (Vec::new(), HashSet::new());
        for (name, value) in url::form_urlencoded::parse(text) {
            if name != several && !names.insert(name.to_string()) {
                return Err("A parameter is there twice.");
            }
            if names.len() > MOST_PARAMETERS {
                return Err("There are more than 64 parameters.");
            }
            all.push((name.into_owned(), value.into_owned()));
        }
        Ok(Self(all))
    }

    /// A parameter. An empty one counts as left out (RFC 6749 §3.1).
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, value)| other == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// All with this name.
    pub(crate) fn all<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p str> {
        self.0.iter().filter(move |(other, value)| other == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }
}

/// The capabilities that a person can allow: those that are called in their name.
pub(crate) fn in_their_name(settings: &Settings) -> impl Iterator<Item = &Capability> {
    settings.offered().map(|(_, capability)| capability).filter(|capability| capability.is_in_their_name())
}

/// The resources that tokens are for (RFC 8707): the site, and its MCP endpoint.
pub(crate) fn resource<'r>(settings: &Settings, login: &Login, asked: Option<&'r str>) -> Option<&'r str> {
    let Some(asked) = asked else { return Some("") };
    let mcp = format!("{}{}", login.issuer, settings.paths.mcp.path);
    let plain = asked.strip_suffix('/').unwrap_or(asked);
    (plain == login.issuer || plain == mcp.trim_end_matches('/')).then_some(plain)
}

/// Checks a request.
pub(crate) async fn asked(
    desk: &Desk<'_>,
    login: &Login,
    (documents, from): (&Documents, &Sources<'_>),
    query: &str,
) -> Result<AuthorizationRequest, Wrong> {
    let wrong = |why: &str| Wrong::ToPerson("invalid_request", why.into());
    let given = Parameters::read(query.as_bytes(), "resource").map_err(wrong)?;
    let id = given.get("client_id").unwrap_or_default();
    let client = documents.client(from, login, id).await.map_err(|untaken| match untaken {
        Untaken::Unknown => Wrong::ToPerson("invalid_client", "The client_id is not known here.".into()),
        Untaken::Document(why) => Wrong::ToPerson("invalid_client", format!("The document of the client: {why}.")),
        Untaken::Away => Wrong::Away,
        Untaken::Busy => Wrong::Busy,
    })?;
    let redirect_uri = given.get("redirect_uri").unwrap_or_default().to_owned();
    if !client.may_use(&redirect_uri) {
        let why = "The redirect_uri is none of this client's.".to_owned();
        return Err(Wrong::ToPerson("invalid_request", why));
    }
    let state = given.get("state").map(str::to_owned);
    let wrong = |code, why: &str| {
        let state = state.clone().filter(|state| state.len() <= LONGEST_STATE);
        let (client, redirect_uri) = (client.clone(), redirect_uri.clone());
        Wrong::ToClient(Box::new(Return { client, redirect_uri, state, code, why: why.to_owned() }))
    };
    if state.as_ref().is_some_and(|state| state.len() > LONGEST_STATE) {
        return Err(wrong("invalid_request", "The state is too long."));
    }
    if given.get("response_type") != Some("code") {
        return Err(wrong("unsupported_response_type", "The response_type has to be code."));
    }
    if given.get("response_mode").is_some_and(|mode| mode != "query") {
        return Err(wrong("invalid_request", "The response_mode has to be query."));
    }
    let challenge = given.get("code_challenge").filter(|challenge| pkce::is_challenge(challenge));
    let (Some(challenge), Some("S256")) = (challenge, given.get("code_challenge_method")) else {
        return Err(wrong("invalid_request", "PKCE is needed: a code_challenge, with code_challenge_method S256."));
    };
    let settings = &desk.compiled.settings;
    let mut resources = given.all("resource");
    let wanted = resource(settings, login, resources.next()).filter(|_| resources.next().is_none());
    let Some(wanted) = wanted else {
        return Err(wrong("invalid_target", "The resource is not this site, or there is more than one."));
    };
    let scope = given.get("scope").unwrap_or_default();
    let (offered, is_named) = offered(settings, scope).ok_or_else(|| {
        wrong("invalid_scope", "A scope is not known here: scopes_supported of the metadata has those that are.")
    })?;
    if offered.is_empty() {
        return Err(wrong("invalid_scope", "Nothing here is called in a person's name."));
    }
    let (challenge, resource) = (challenge.to_owned(), wanted.to_owned());
    Ok(AuthorizationRequest { client, redirect_uri, state, challenge, resource, offered, is_named })
}

/// The capabilities that a scope asks for, by their ids or by the scopes that they need, and whether it names any. All, where
/// it names none. `None`: it has a scope that nothing here knows.
fn offered(settings: &Settings, scope: &str) -> Option<(Vec<Consent>, bool)> {
    let scopes: Vec<&str> = scope.split(' ').filter(|scope| !scope.is_empty()).collect();
    let ids = in_their_name(settings).map(|capability| &capability.id);
    let needed = settings.offered().flat_map(|(_, capability)| &capability.required_scopes);
    // The metadata of the resource names those of the operator's other capabilities too, and clients ask for all of them.
    let known: HashSet<&str> =
        ids.chain(needed).chain(&settings.auth.available_scopes).map(String::as_str).chain([OFFLINE_ACCESS]).collect();
    if scopes.iter().any(|scope| !known.contains(scope)) {
        return None;
    }
    let is_named = |capability: &Capability| {
        let needed = &capability.required_scopes;
        let by_scopes = !needed.is_empty() && needed.iter().all(|needed| scopes.contains(&needed.as_str()));
        by_scopes || scopes.contains(&capability.id.as_str())
    };
    let any = in_their_name(settings).any(&is_named);
    let offered = in_their_name(settings).filter(|capability| !any || is_named(capability));
    Some((offered.map(Consent::to).collect(), any))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_there_once_and_are_few() {
        let read = |text: &str| Parameters::read(text.as_bytes(), "allow");
        assert_eq!(read("a=1&b=&allow=x&allow=y").unwrap().get("a"), Some("1"));
        assert_eq!(read("a=1&a=2").err(), Some("A parameter is there twice."));
        let many = |count: usize| (0..count).map(|n| format!("p{n}=1&")).collect::<String>();
        assert!(read(&many(64)).is_ok());
        assert_eq!(read(&many(65)).err(), Some("There are more than 64 parameters."));
        assert_eq!(read(&"allow=x&".repeat(100)).unwrap().all("allow").count(), 100);
    }
}
