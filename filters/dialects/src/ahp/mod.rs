//! The Agent Handshake Protocol 0.1: the manifest at a well-known path, and the conversation. Questions in words or
//! with structured input are answered from the site's pages, by capabilities, or by a person, at once or later.

mod answer;
mod answering;
mod asking;
mod converse;
mod conversed;
mod declaration;
mod endpoint;
pub mod error;
#[cfg(test)]
mod fuzz_properties;
mod inputs;
mod json;
mod kept;
mod later;
pub mod listed;
mod manifest;
mod prepared;
pub mod question;
mod rates;
mod session;
pub mod turn;
mod types;
mod words;

pub use conversed::{CANCEL, Conversed};
pub use endpoint::{body, served};
pub use later::{delivery, polled};
pub use listed::is_type;
pub use prepared::{Converse, pattern};
pub use question::Question;
pub use session::exists as is_session;
pub use turn::Turn;

pub use declaration::EXTENSION;

use http::Method;

use super::{Announcement, Dialect, Document, Occupied, Publication, Publishing, Variant};
use frontdesk_config::Declaration;
use frontdesk_desk::Endpoint;

/// The path of the manifest (AHP §3.1).
pub const MANIFEST: &str = "/.well-known/agent.json";
/// Its path where the site has a document of its own at the usual one, such as an A2A agent card.
pub(super) const MOVED: &str = "/.well-known/ahp.json";
/// The path for questions where the site uses the configured one. Later answers are then polled below it too.
const MOVED_CONVERSE: &str = "/.well-known/ahp/converse";
const MOVED_STATUS: &str = "/.well-known/ahp/status";
/// The media type with which an agent requests the manifest in place of a page (AHP §3.4).
pub const MEDIA_TYPE: &str = "application/agent+json";
/// The protocol version.
pub const VERSION: &str = "0.1";

/// Its row in the table of dialects.
pub const DIALECT: Dialect = Dialect { name: "ahp", publish, explain: error::reply };

fn publish(publishing: &Publishing<'_>) -> Publication {
    let Publishing { declaration, occupied, .. } = *publishing;
    let path = occupied.or_moved(MANIFEST, MOVED).to_owned();
    let body = manifest::render(declaration, occupied);
    let cache_control = super::cache_control(declaration);
    // The manifest is always application/json, whatever the client accepts (AHP §3.1).
    let variant = Variant::new("application/json", body, &cache_control);
    Publication {
        announcement: Some(Announcement {
            rel: "ahp-manifest",
            legacy_rel: Some("agent-manifest"),
            media_type: MEDIA_TYPE,
            path: path.clone(),
        }),
        documents: vec![Document { path, variants: vec![variant], negotiate: None, versions: Vec::new() }],
        entries: Vec::new(),
        endpoints: endpoints(publishing),
        exported: None,
    }
}

/// The endpoints for questions and for later answers.
fn endpoints(publishing: &Publishing<'_>) -> Vec<Endpoint> {
    let Publishing { declaration, occupied, converse } = *publishing;
    let path = converse_path(declaration, occupied);
    // The endpoint for later answers (AHP §9), from whichever dialect the question came.
    let status = format!("{}/{{id}}", status_path(declaration, occupied));
    vec![
        Endpoint::call(path, Method::POST, false, error::refusal_reply).served(endpoint::asked(converse)),
        // Other paths below it do not exist.
        Endpoint::call(path, Method::GET, false, error::reply).below().served(endpoint::nothing()),
        Endpoint::call(&status, Method::GET, false, error::reply).served(endpoint::status(converse)),
    ]
}

/// The path for questions.
pub fn converse_path<'d>(declaration: &'d Declaration, occupied: &Occupied) -> &'d str {
    let converse = &declaration.settings.paths.converse;
    if occupied.leaves(converse) { &converse.path } else { MOVED_CONVERSE }
}

/// The path for later answers, without the id: below the conversation, unless the site uses that path.
pub(crate) fn status_path(declaration: &Declaration, occupied: &Occupied) -> String {
    let converse = &declaration.settings.paths.converse;
    match occupied.leaves(converse) {
        true => format!("{}/status", converse.path.trim_end_matches('/')),
        false => MOVED_STATUS.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_is_asked_and_what_comes_later_is_where_the_site_has_nothing() {
        let text = "[upstream]\nurl = 'http://127.0.0.1:1'\n[[capabilities]]\nid = 'a'\ntype = 'query'\n\
                    [capabilities.ahp]\naction_type = 'async'";
        let path = std::path::Path::new("/x.toml");
        let declaration =
            frontdesk_config::testing::declare_text(path, text, &frontdesk_config::testing::Nowhere).unwrap();
        let mut occupied = Occupied::default();
        for expected in ["/agent/converse/status/", "/.well-known/ahp/status/"] {
            let converse = Arc::new(Converse::new(&declaration, &occupied));
            let publishing = Publishing { declaration: &declaration, occupied: &occupied, converse: &converse };
            assert_eq!(converse.status, expected);
            let declared = format!("{expected}{{id}}");
            let published = super::super::openapi::DIALECT.publish;
            let document = published(&publishing).exported.unwrap();
            assert!(String::from_utf8_lossy(&document).contains(&format!("{expected}{{session_id}}")));
            let manifest: serde_json::Value =
                serde_json::from_slice(&manifest::render(&declaration, &occupied)).unwrap();
            let asked = manifest["endpoints"]["converse"].as_str().unwrap().to_owned();
            for path in [declared, asked] {
                assert!(endpoints(&publishing).iter().any(|endpoint| endpoint.declared() == path));
            }
            occupied.insert("/agent/converse".to_owned());
        }
    }
}
