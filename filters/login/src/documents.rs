//! Finds a client by its id; reads the documents that clients publish about themselves
//! (draft-ietf-oauth-client-id-metadata-document).

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use frontdesk_config::{Clients as Taken, Login};
use frontdesk_desk::Outside;
use frontdesk_state::{Counters, Records, Subject};
use quick_cache::sync::Cache;
use serde_json::Value;
use url::Url;

use crate::{
    client::{self, Client},
    redirect_uri, registration, request_limits,
};

/// Maximum bytes of a document about a client (draft-ietf-oauth-client-id-metadata-document, §6.6).
const LARGEST: usize = 5 * 1024;
/// Seconds for which a document, or that there is none, is kept.
const KEPT: u64 = 300;
const MISSED: u64 = 20;
/// Documents that are kept.
const MOST: usize = 256;
/// Maximum documents read in a minute for one person, and for one address. Without it, new client ids would cause
/// requests to other hosts without end.
const MOST_A_MINUTE: u64 = 20;
const MINUTE: Duration = Duration::from_secs(60);
/// Maximum bytes of a client id.
const LONGEST_ID: usize = 1024;

/// Why a client is not taken.
#[derive(Debug)]
pub(crate) enum Untaken {
    /// Nobody here knows it.
    Unknown,
    /// Its document cannot be used: why, in a sentence for its developer.
    Document(String),
    /// The store is unavailable.
    Away,
    /// As many documents as are read in a minute for one person or address have been read.
    Busy,
}

/// Where clients come from, and who asks about one.
pub(crate) struct Sources<'a> {
    pub(crate) outside: &'a dyn Outside,
    pub(crate) counters: &'a dyn Counters,
    pub(crate) records: &'a dyn Records,
    /// The visitor's address and the person.
    pub(crate) askers: [Subject; 2],
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
    pub(crate) async fn client(&self, from: &Sources<'_>, login: &Login, id: &str) -> Result<Arc<Client>, Untaken> {
        if id.is_empty() || id.len() > LONGEST_ID {
            return Err(Untaken::Unknown);
        }
        if let Some(listed) = login.listed.iter().find(|listed| listed.id == id) {
            let (name, redirect_uris) = (Some(listed.name.clone()), listed.redirect_uris.clone());
            return Ok(Arc::new(Client { id: id.to_owned(), name, authority: None, redirect_uris, is_listed: true }));
        }
        match login.clients {
            Taken::Dynamic if registration::is_id(id) => {
                let found = registration::client(from.records, id).await.map_err(|_| Untaken::Away)?;
                found.map(Arc::new).ok_or(Untaken::Unknown)
            }
            Taken::Metadata | Taken::Dynamic if id.contains("://") => self.of_document(from, id).await,
            _ => Err(Untaken::Unknown),
        }
    }

    /// The client that a document describes. Concurrent requests read it once.
    async fn of_document(&self, from: &Sources<'_>, id: &str) -> Result<Arc<Client>, Untaken> {
        // What cannot be read counts against nobody.
        is_url_of_document(id).map_err(|why| Untaken::Document(why.to_owned()))?;
        let now = from.records.now();
        if self.0.get(id).is_some_and(|document| document.until <= now) {
            self.0.remove(id);
        }
        let read = async {
            let counted = |asker: Subject| asker.with(Subject::named(&[b"documents"]));
            let limits = from.askers.map(|asker| request_limits::limit(counted(asker), MOST_A_MINUTE, MINUTE));
            if request_limits::take(from.counters, &limits).await.map_err(|_| Untaken::Away)?.is_some() {
                return Err(Untaken::Busy);
            }
            let client = from.outside.document(id, LARGEST).await.and_then(|bytes| described(id, &bytes));
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
    let mut client = client::read(&said)?;
    client.authority = Url::parse(id).ok().and_then(|url| redirect_uri::authority(&url));
    id.clone_into(&mut client.id);
    Ok(client)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use async_trait::async_trait;
    use frontdesk_state::testing::{Home, Shelf, run};
    use serde_json::json;

    use super::*;

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
        // Another port is another origin.
        assert!(client.is_verified("https://agent.test:443/cb") && !client.is_verified("https://agent.test:8443/cb"));
        let id = "https://agent.test:8443/client.json";
        let said = json!({ "client_id": id, "redirect_uris": ["https://agent.test:8443/cb"] });
        let client = described(id, &said.to_string().into()).unwrap();
        assert_eq!(client.shown(), "agent.test:8443");
        assert!(client.is_verified("https://agent.test:8443/cb") && !client.is_verified("https://agent.test/cb"));
        for lie in ["https://other.test/client.json", "https://agent.test/client.json/", ""] {
            assert!(document(json!({ "client_id": lie })).is_err(), "{lie}");
        }
        for more in [
            json!({ "client_secret": "x" }),
            json!({ "token_endpoint_auth_method": "client_secret_basic" }),
            json!({ "redirect_uris": [] }),
            json!({ "redirect_uris": ["javascript:x"] }),
            json!({ "redirect_uris": vec!["https://agent.test/cb"; client::MOST_URIS + 1] }),
            json!({ "grant_types": ["client_credentials"] }),
            json!({ "response_types": ["token"] }),
        ] {
            assert!(document(more.clone()).is_err(), "{more}");
        }
        let long = document(json!({ "client_name": format!("A\u{7}{}", "x".repeat(500)) })).unwrap().name.unwrap();
        assert!(long.chars().count() <= 60 && !long.contains('\u{7}'));
    }

    /// Documents outside, and how many were asked for.
    #[derive(Default)]
    struct Web(Mutex<usize>);

    #[async_trait]
    impl Outside for Web {
        fn check(&self, _: &str) -> Result<(), String> {
            Ok(())
        }

        async fn deliver(&self, _: &str, _: Bytes) -> Result<(), String> {
            Ok(())
        }

        async fn document(&self, url: &str, _: usize) -> Result<Bytes, String> {
            *self.0.lock().unwrap() += 1;
            let said = json!({ "client_id": url, "client_name": "Agent", "redirect_uris": ["https://agent.test/cb"] });
            if url.contains("none") { Err("could not be read".into()) } else { Ok(said.to_string().into()) }
        }

        async fn pause(&self, _: Duration) {}

        fn undelivered(&self, _: &str, _: &str) {}
    }

    fn login(clients: Taken) -> Login {
        let (cookies, listed, issuer) = (Vec::new(), Vec::new(), "https://site.test".to_owned());
        Login { cookies, access_ttl: MINUTE, link_ttl: MINUTE, clients, listed, issuer }
    }

    #[test]
    fn a_document_is_read_once_and_so_many_in_a_minute_for_each_who_asks() {
        let (web, counters, shelf) = (Web::default(), Home::new(), Shelf::default());
        let (documents, login) = (Documents::new(), login(Taken::Metadata));
        let [ada, bob] = [b"ada", b"bob"].map(|who| Subject::named(&[who]));
        let [here, there] = [[192_u8, 0, 2, 1], [192, 0, 2, 2]].map(|address| Subject::address(address.into()));
        let ask = |askers: [Subject; 2], id: &str| {
            let from = Sources { outside: &web, counters: &counters, records: &shelf, askers };
            run(documents.client(&from, &login, id))
        };
        for _ in 0..3 {
            assert_eq!(ask([here, ada], ID).unwrap().shown(), "agent.test");
        }
        assert_eq!(*web.0.lock().unwrap(), 1);
        let id = |n: u64| format!("https://agent.test/{n}.json");
        for n in 1..MOST_A_MINUTE {
            assert!(ask([here, ada], &id(n)).is_ok(), "{n}");
        }
        assert!(matches!(ask([here, bob], &id(100)), Err(Untaken::Busy)), "the address");
        assert!(matches!(ask([there, ada], &id(100)), Err(Untaken::Busy)), "the person");
        assert!(ask([there, bob], &id(100)).is_ok(), "somebody else elsewhere");
        assert!(ask([here, ada], ID).is_ok(), "what is kept counts against nobody");
        let unread = ask([there, bob], "https://agent.test/none.json");
        assert!(matches!(unread, Err(Untaken::Document(why)) if why == "could not be read"));
        for unknown in ["agent", "fdc_00", "", &"https://agent.test/".repeat(100)] {
            assert!(matches!(ask([there, bob], unknown), Err(Untaken::Unknown)), "{unknown}");
        }
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
