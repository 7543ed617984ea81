//! Where the site has something of its own, so that ours moves or is not there (decision 14), and how that is found out.

use std::{collections::HashSet, fmt};

use http::StatusCode;

use frontdesk_base::media;
use frontdesk_config::AgentPath;

/// Paths where the site has something of its own, so that ours moves or is not there (decision 14).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Occupied(HashSet<String>);

/// What the site answered at some path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub status: StatusCode,
    /// The Content-Type as sent; empty where there is none.
    pub kind: String,
}

/// A path to ask the site for, and how to tell that it has something there.
#[derive(Debug, Clone)]
pub struct Probe {
    pub path: String,
    /// It may be called with other methods than GET: OPTIONS is asked too.
    pub called: bool,
    pub is_own: IsOwn,
}

/// By what the site answers at a path, and what at a path beside it that nobody has.
pub type IsOwn = fn(there: &Seen, nowhere: &Seen) -> bool;

impl PartialEq for Probe {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path
    }
}

impl Probe {
    /// For a document, which is only read.
    pub fn of_document(path: &str, is_own: IsOwn) -> Self {
        Self { path: path.into(), called: false, is_own }
    }

    /// For an endpoint.
    pub fn of_endpoint(path: &str) -> Self {
        Self { path: path.into(), called: true, is_own: is_there }
    }

    /// A path beside it, in the same directory and with the same ending, which many a site tells types by.
    pub fn beside(&self, name: &str) -> String {
        let (directory, file) = self.path.rsplit_once('/').unwrap_or_default();
        let ending = file.rfind('.').map_or("", |dot| &file[dot..]);
        format!("{directory}/{name}{ending}")
    }
}

impl Occupied {
    /// Marks a path as the site's own.
    pub fn insert(&mut self, path: String) {
        self.0.insert(path);
    }

    /// Whether the site has something of its own there.
    pub fn contains(&self, path: &str) -> bool {
        self.0.contains(path)
    }

    /// The same where ours are served at the well-known paths whatever the site has there (`discovery.on_conflict`).
    pub fn but_for_documents(&self) -> Self {
        Self(self.0.iter().filter(|path| !path.starts_with("/.well-known/")).cloned().collect())
    }

    /// `path`, or where ours is served instead.
    pub fn or_moved<'a>(&self, path: &'a str, moved: &'a str) -> &'a str {
        if self.contains(path) { moved } else { path }
    }

    /// Whether an endpoint of ours is at one of the `[paths]`.
    pub fn leaves(&self, path: &AgentPath) -> bool {
        path.chosen || !self.contains(&path.path)
    }
}

/// The paths, for a person.
impl fmt::Display for Occupied {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut paths: Vec<&str> = self.0.iter().map(String::as_str).collect();
        paths.sort_unstable();
        out.write_str(if paths.is_empty() { "nothing" } else { "" })?;
        out.write_str(&paths.join(", "))
    }
}

/// JSON, where the site does not answer every path with it.
pub fn is_json(there: &Seen, nowhere: &Seen) -> bool {
    there.status == StatusCode::OK && there != nowhere && media::is_json(&there.kind)
}

/// A site that answers every path with its start page has no document there.
pub fn is_not_page(there: &Seen, nowhere: &Seen) -> bool {
    let media = media::essence(&there.kind).to_ascii_lowercase();
    let page = media.is_empty() || media == "text/html" || media == "application/xhtml+xml";
    there.status == StatusCode::OK && there != nowhere && !page
}

/// Something that does not answer to GET is something too.
pub fn is_there(there: &Seen, nowhere: &Seen) -> bool {
    !matches!(there.status, StatusCode::NOT_FOUND | StatusCode::GONE) && there != nowhere
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_that_answers_everything_is_not_a_document() {
        let seen = |status: u16, kind: &str| Seen { status: StatusCode::from_u16(status).unwrap(), kind: kind.into() };
        let nothing = seen(404, "text/html");
        assert!(is_json(&seen(200, "application/json; charset=utf-8"), &nothing));
        assert!(is_json(&seen(200, "application/a2a+json"), &nothing));
        assert!(!is_json(&seen(200, "text/html"), &nothing) && !is_json(&seen(200, ""), &nothing));
        assert!(!is_json(&seen(404, "application/json"), &nothing));
        assert!(!is_json(&seen(200, "application/json"), &seen(200, "application/json")));
        assert!(
            is_not_page(&seen(200, "application/toml"), &nothing) && is_not_page(&seen(200, "text/plain"), &nothing)
        );
        assert!(
            !is_not_page(&seen(200, "text/html; charset=utf-8"), &nothing) && !is_not_page(&seen(200, ""), &nothing)
        );
        assert!(is_there(&seen(405, "text/plain"), &nothing) && is_there(&seen(200, "text/html"), &nothing));
        assert!(!is_there(&nothing, &nothing) && !is_there(&seen(401, ""), &seen(401, "")));
    }

    #[test]
    fn what_is_occupied_reads_as_a_list() {
        let mut occupied = Occupied::default();
        assert_eq!(occupied.to_string(), "nothing");
        for path in ["/mcp", "/openapi.json", "/agent/converse"] {
            occupied.insert(path.into());
        }
        assert_eq!(occupied.to_string(), "/agent/converse, /mcp, /openapi.json");
    }

    #[test]
    fn what_nobody_has_is_looked_for_beside() {
        let probe = |path: &str| Probe { path: path.into(), called: true, is_own: is_there };
        assert_eq!(probe("/mcp").beside("x"), "/x");
        assert_eq!(probe("/openapi.json").beside("x"), "/x.json");
        assert_eq!(probe("/agent/converse").beside("x"), "/agent/x");
    }
}
