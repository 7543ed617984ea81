//! Clients: the agents that may ask a person. Listed by the operator, described by a document at their own URL, or
//! registered here (RFC 7591). None of them has a secret.

use frontdesk_base::text::fitted;
use serde_json::Value;
use url::Url;

use crate::redirect_uri;

/// Maximum characters of a name.
const LONGEST_NAME: usize = 60;
/// Redirect URIs of one client.
pub(crate) const MOST_URIS: usize = 20;

/// An agent that may ask a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) id: String,
    /// How it calls itself.
    pub(crate) name: Option<String>,
    /// The host, and perhaps the port, that its document is at; `None` where there is none.
    pub(crate) authority: Option<String>,
    pub(crate) redirect_uris: Vec<String>,
    /// The operator listed it.
    pub(crate) is_listed: bool,
}

impl Client {
    /// Whether it may be answered there.
    pub(crate) fn may_use(&self, uri: &str) -> bool {
        self.redirect_uris.iter().any(|registered| redirect_uri::matches(registered, uri))
    }

    /// Whether a person may rely on who it is: the operator listed it, or it is answered at the origin of its own document.
    /// A program on the person's own machine can pretend to be any other one.
    pub(crate) fn is_verified(&self, uri: &str) -> bool {
        let leads_to = Url::parse(uri).ok();
        let authority = leads_to.as_ref().filter(|url| url.scheme() == "https").and_then(redirect_uri::authority);
        !redirect_uri::is_on_this_machine(uri)
            && (self.is_listed || self.authority.is_some() && authority == self.authority)
    }

    /// What a person is shown: the host and port where there is a document, because anybody can choose a name.
    pub(crate) fn shown(&self) -> &str {
        match (&self.authority, &self.name) {
            (Some(authority), _) => authority,
            (None, Some(name)) => name,
            (None, None) => &self.id,
        }
    }
}

/// Reads what a client says of itself (RFC 7591 §2). Its id and authority stay empty.
///
/// # Errors
///
/// Why it cannot be taken.
pub(crate) fn read(said: &Value) -> Result<Client, String> {
    let method = said["token_endpoint_auth_method"].as_str().unwrap_or("none");
    if method != "none" || !said["client_secret"].is_null() {
        return Err("only public clients are taken: token_endpoint_auth_method has to be \"none\"".into());
    }
    let uris: Vec<String> = match &said["redirect_uris"] {
        Value::Array(uris) => uris.iter().filter_map(|uri| uri.as_str().map(str::to_owned)).collect(),
        _ => Vec::new(),
    };
    if uris.is_empty() || uris.len() > MOST_URIS {
        return Err(format!("redirect_uris has to be a list of 1 to {MOST_URIS} URIs"));
    }
    if let Some(wrong) = uris.iter().find(|uri| !redirect_uri::is_safe(uri)) {
        let wrong = fitted(wrong, 100);
        return Err(format!(
            "{wrong} cannot be a redirect URI: write https, http to the own machine, or a scheme like com.example.app"
        ));
    }
    let takes = |name: &str, wanted: &str| match &said[name] {
        Value::Array(values) => values.iter().any(|value| value == wanted),
        _ => true,
    };
    if !takes("grant_types", "authorization_code") || !takes("response_types", "code") {
        return Err("only authorization codes are given: grant_types and response_types have to have them".into());
    }
    let plain = |name: &str| {
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        fitted(name.trim(), LONGEST_NAME)
    };
    let name = said["client_name"].as_str().map(plain).filter(|name| !name.is_empty());
    Ok(Client { id: String::new(), name, authority: None, redirect_uris: uris, is_listed: false })
}
