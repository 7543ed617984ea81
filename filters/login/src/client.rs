//! Clients: the agents that may ask a person. Listed by the operator, described by a document at their own URL, or
//! registered here (RFC 7591). None of them has a secret.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use frontdesk_base::text::fitted;
use frontdesk_config::{Clients as Taken, Login};
use frontdesk_desk::Desk;
use frontdesk_state::{Amount, Class, Key, Limit, Subject, Window};
use quick_cache::sync::Cache;
use serde_json::Value;
use url::Url;

use crate::{redirect_uri, registration};

/// Maximum bytes of a document about a client (draft-ietf-oauth-client-id-metadata-document, §6.6).
const LARGEST: usize = 5 * 1024;
/// Seconds for which a document, or that there is none, is kept.
const KEPT: u64 = 300;
const MISSED: u64 = 20;
/// Documents that are kept, and that are read in a minute: somebody could name ever new ones.
const MOST: usize = 256;
const MOST_A_MINUTE: u64 = 120;
/// Maximum bytes of a client id, and characters of a name.
const LONGEST_ID: usize = 1024;
const LONGEST_NAME: usize = 60;
/// Redirect URIs of one client.
pub(crate) const MOST_URIS: usize = 20;

/// An agent that may ask a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Client {
    pub(crate) id: String,
    /// How it calls itself.
    pub(crate) name: Option<String>,
    /// The host that its document is at; `None` where there is none.
    pub(crate) host: Option<String>,
    pub(crate) redirect_uris: Vec<String>,
    /// The operator listed it.
    pub(crate) is_listed: bool,
}

impl Client {
    /// Whether it may be answered there.
    pub(crate) fn may_use(&self, uri: &str) -> bool {
        self.redirect_uris.iter().any(|registered| redirect_uri::matches(registered, uri))
    }

    /// Whether a person may rely on who it is: the operator listed it, or it is answered at the host of its own document.
    /// A program on the person's own machine can pretend to be any other one.
    pub(crate) fn is_verified(&self, uri: &str) -> bool {
        let leads_to = Url::parse(uri).ok();
        let host = leads_to.as_ref().filter(|url| url.scheme() == "https").and_then(Url::host_str);
        !redirect_uri::is_on_this_machine(uri)
            && (self.is_listed || self.host.is_some() && host == self.host.as_deref())
    }

    /// What a person is shown: the host where there is a document, because anybody can choose a name.
    pub(crate) fn shown(&self) -> &str {
        match (&self.host, &self.name) {
            (Some(host), _) => host,
            (None, Some(name)) => name,
            (None, None) => &self.id,
        }
    }
}

/// Why a client is not taken.
#[derive(Debug)]
pub(crate) enum Untaken {
    /// Nobody here knows it.
    Unknown,
    /// Its document cannot be used: why, in a sentence for its developer.
    Document(String),
    /// The store is unavailable.
    Away,
    /// As many documents as are read in a minute have been read.
    Busy,
}

/// The documents that were read.
pub(crate) struct Documents(Cache<String, Document>);

impl std::fmt::Debug for Documents {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Documents({} kept)", self.0.len())
    }
}

#[derive(Clone)]
struct Document {
    client: Result<Arc<Client>, String>,
    until: u64,
}

impl Documents {
    pub(crate) fn new() -> Self {
        Self(Cache::new(MOST))
    }

    /// Finds a client.
    ///
    /// # Errors
    ///
    /// It is not taken.
    pub(crate) async fn client(&self, desk: &Desk<'_>, login: &Login, id: &str) -> Result<Arc<Client>, Untaken> {
        if id.is_empty() || id.len() > LONGEST_ID {
            return Err(Untaken::Unknown);
        }
        if let Some(listed) = login.listed.iter().find(|listed| listed.id == id) {
            let (name, redirect_uris) = (Some(listed.name.clone()), listed.redirect_uris.clone());
            return Ok(Arc::new(Client { id: id.to_owned(), name, host: None, redirect_uris, is_listed: true }));
        }
        match login.clients {
            Taken::Dynamic if registration::is_id(id) => {
                let found = registration::client(desk.records, id).await.map_err(|_| Untaken::Away)?;
                found.map(Arc::new).ok_or(Untaken::Unknown)
            }
            Taken::Metadata | Taken::Dynamic if id.contains("://") => self.of_document(desk, id).await,
            _ => Err(Untaken::Unknown),
        }
    }

    /// The client that a document describes. Concurrent requests read it once.
    async fn of_document(&self, desk: &Desk<'_>, id: &str) -> Result<Arc<Client>, Untaken> {
        // What cannot be read counts against nobody.
        is_url_of_document(id).map_err(|why| Untaken::Document(why.to_owned()))?;
        let now = desk.records.now();
        if self.0.get(id).is_some_and(|document| document.until <= now) {
            self.0.remove(id);
        }
        let read = async {
            let minute = Window::Fixed(Duration::from_secs(60));
            let key = Key::new(Class::Links, Subject::named(&[b"documents"]));
            let taken = desk.counters.take(&[Limit { key, most: MOST_A_MINUTE, window: minute }], Amount::ONE).await;
            if taken.map_err(|_| Untaken::Away)?.granted.is_none() {
                return Err(Untaken::Busy);
            }
            let client = desk.outside.document(id, LARGEST).await.and_then(|bytes| described(id, &bytes));
            let until = now + if client.is_ok() { KEPT } else { MISSED };
            Ok::<_, Untaken>(Document { client: client.map(Arc::new), until })
        };
        let document = self.0.get_or_insert_async(id, read).await?;
        document.client.map_err(Untaken::Document)
    }
}

/// Checks the URL of a document (draft-ietf-oauth-client-id-metadata-document, §3). Where it leads is checked when it is
/// read.
fn is_url_of_document(id: &str) -> Result<(), &'static str> {
    let url = Url::parse(id).map_err(|_| "is no URL")?;
    // A text that the parser changes would be another URL for other readers.
    if url.as_str() != id {
        return Err("is not in its normal form");
    }
    match () {
        () if url.path() == "/" => Err("has no path"),
        () if url.query().is_some() || url.fragment().is_some() => Err("has a query or a fragment"),
        () => Ok(()),
    }
}

/// Reads a document.
///
/// # Errors
///
/// Why it cannot be used.
fn described(id: &str, bytes: &Bytes) -> Result<Client, String> {
    let said: Value = serde_json::from_slice(bytes).map_err(|_| "is no JSON")?;
    if said["client_id"] != id {
        return Err("its client_id is not its own address".into());
    }
    let mut client = read(&said)?;
    client.host = Url::parse(id).ok().and_then(|url| url.host_str().map(str::to_owned));
    id.clone_into(&mut client.id);
    Ok(client)
}

/// Reads what a client says of itself (RFC 7591 §2). Its id and host stay empty.
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
    Ok(Client { id: String::new(), name, host: None, redirect_uris: uris, is_listed: false })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "https://agent.test/client.json";

    fn document(more: Value) -> Result<Client, String> {
        let mut said = json!({ "client_id": ID, "client_name": "Agent", "redirect_uris": ["https://agent.test/cb"] });
        said.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        described(ID, &said.to_string().into())
    }

    #[test]
    fn a_document_speaks_for_its_own_address_only() {
        let client = document(json!({})).unwrap();
        assert_eq!((client.shown(), client.name.as_deref()), ("agent.test", Some("Agent")));
        assert!(client.is_verified("https://agent.test/cb") && !client.is_verified("https://other.test/cb"));
        assert!(!client.is_verified("http://127.0.0.1:1/cb"));
        for lie in ["https://other.test/client.json", "https://agent.test/client.json/", ""] {
            assert!(document(json!({ "client_id": lie })).is_err(), "{lie}");
        }
        for more in [
            json!({ "client_secret": "x" }),
            json!({ "token_endpoint_auth_method": "client_secret_basic" }),
            json!({ "redirect_uris": [] }),
            json!({ "redirect_uris": ["javascript:x"] }),
            json!({ "redirect_uris": vec!["https://agent.test/cb"; MOST_URIS + 1] }),
            json!({ "grant_types": ["client_credentials"] }),
            json!({ "response_types": ["token"] }),
        ] {
            assert!(document(more.clone()).is_err(), "{more}");
        }
        let long = document(json!({ "client_name": format!("A\u{7}{}", "x".repeat(500)) })).unwrap().name.unwrap();
        assert!(long.chars().count() <= LONGEST_NAME && !long.contains('\u{7}'));
    }

    #[test]
    fn an_address_has_one_spelling() {
        assert!(is_url_of_document(ID).is_ok());
        for wrong in [
            "https://agent.test",
            "https://agent.test/",
            "https://AGENT.test/c",
            "https://agent.test/a/../c",
            "https://agent.test/c?x",
            "https://agent.test/c#x",
            "https://agent.test:443/c",
            "agent",
        ] {
            assert!(is_url_of_document(wrong).is_err(), "{wrong}");
        }
    }
}
