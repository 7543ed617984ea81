//! The address of the site: the first server of a document.

use serde_json::Value;
use url::Url;

use super::{name, pointer::shown};

/// The default where the document names no server.
const SOMEWHERE: &str = "http://127.0.0.1:3000";

/// The site's address for `[upstream]`, and its path prefix.
pub(super) struct Server {
    /// Scheme, host and port.
    pub(super) origin: String,
    /// The prefix of all paths, without a trailing slash.
    pub(super) path: String,
    /// The full URL, where the document has one.
    pub(super) url: Option<Url>,
    pub(super) note: Option<String>,
}

impl Server {
    /// The first server of a document.
    pub(super) fn of(document: &Value, from: &str) -> Self {
        Self::first(&document["servers"], from)
    }

    /// The first server of a list. A relative URL is resolved against the document's source.
    fn first(servers: &Value, from: &str) -> Self {
        let server = &servers[0];
        let text = filled(server["url"].as_str().unwrap_or("/"), &server["variables"]);
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        let location = Url::parse(from).ok().filter(is_web);
        let absolute = Url::parse(&text).ok().filter(is_web);
        let note = match (&absolute, &location) {
            (Some(_), _) => None,
            (None, Some(_)) => Some("the document does not name a server; this is where it is from".to_owned()),
            (None, None) => Some("the document does not say where the site is".to_owned()),
        };
        let base = location.clone().or_else(|| Url::parse(SOMEWHERE).ok());
        let url = absolute.clone().or_else(|| base.as_ref()?.join(&text).ok().filter(is_web)).or(base);
        let more = servers.as_array().map_or(0, Vec::len).saturating_sub(1);
        let note = match (note, more) {
            (None, 1..) => Some(format!("the first of {} servers", more + 1)),
            (note, _) => note,
        };
        Self {
            origin: url.as_ref().map_or(SOMEWHERE.to_owned(), |url| url.origin().ascii_serialization()),
            path: url.as_ref().map_or(String::new(), |url| url.path().trim_end_matches('/').to_owned()),
            url: absolute.or(location),
            note,
        }
    }
}

/// Where an operation with servers of its own is.
#[derive(Debug, PartialEq)]
pub(super) enum Place {
    /// At the document's server, with this path prefix.
    Here(String),
    /// Elsewhere: scheme and host, and a path prefix.
    Elsewhere(String, String),
    /// Where Frontdesk does not call.
    Nowhere(String),
}

impl Server {
    /// The place of an operation whose own servers are these.
    pub(super) fn place(&self, servers: &Value, from: &str) -> Place {
        let own = Self::first(servers, from);
        let url = servers[0]["url"].as_str().unwrap_or_default();
        if own.origin == self.origin || own.url.is_none() {
            Place::Here(own.path)
        } else if own.origin.starts_with("https://") {
            Place::Elsewhere(own.origin, own.path)
        } else {
            let what = format!("the document has this on a server of its own, {}; only https is called", shown(url));
            Place::Nowhere(name::one_line(&what, 300))
        }
    }
}

/// A URL with the defaults of its variables.
fn filled(url: &str, variables: &Value) -> String {
    let pieces = name::pieces(url).into_iter().map(|piece| match piece {
        Ok(text) => text.to_owned(),
        Err(name) => variables[name]["default"].as_str().map_or_else(|| format!("{{{name}}}"), str::to_owned),
    });
    pieces.collect()
}

/// The document's source for a comment, without parts of a URL that may be secret.
pub(super) fn from(from: &str) -> String {
    match Url::parse(from) {
        Ok(url) if url.has_host() => {
            name::one_line(&format!("{}{}", url.origin().ascii_serialization(), url.path()), 200)
        }
        _ => name::one_line(shown(from).trim_matches('"'), 200),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_server_says_where_the_site_is() {
        let variables = json!({"region": {"default": "eu"}});
        for (url, from, origin, path, noted) in [
            ("https://api.example.com/v1/", "x.json", "https://api.example.com", "/v1", false),
            ("https://{region}.example.com:8443/{x}", "x.json", "https://eu.example.com:8443", "/%7Bx%7D", false),
            ("/v3", "x.json", SOMEWHERE, "/v3", true),
            ("/v3", "https://example.com/docs/openapi.json", "https://example.com", "/v3", true),
            ("../v3", "https://example.com/docs/openapi.json", "https://example.com", "/v3", true),
            ("ftp://a/b", "x.json", SOMEWHERE, "", true),
            ("https://user:pass@example.com", "x.json", "https://example.com", "", false),
            ("http://[::1]:80/a", "x.json", "http://[::1]", "/a", false),
        ] {
            let server = Server::of(&json!({"servers": [{"url": url, "variables": variables}]}), from);
            assert_eq!((server.origin.as_str(), server.path.as_str()), (origin, path), "{url}");
            assert_eq!(server.note.is_some(), noted, "{url}");
        }
        let server = Server::of(&json!({"servers": [{"url": "https://a.example/v1"}]}), "x.json");
        let place = |url: &str| server.place(&json!([{"url": url}]), "x.json");
        assert_eq!(place("https://a.example/v2/"), Place::Here("/v2".into()));
        assert_eq!(place("/v3"), Place::Here("/v3".into()));
        assert_eq!(place("https://b.example/x"), Place::Elsewhere("https://b.example".into(), "/x".into()));
        assert!(matches!(place("http://b.example"), Place::Nowhere(_)));
        assert_eq!(Server::of(&json!({}), "x").origin, SOMEWHERE);
        assert_eq!(from("https://u:p@h/x?token=1"), "https://h/x");
    }
}
