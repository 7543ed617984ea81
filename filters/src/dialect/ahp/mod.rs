//! The Agent Handshake Protocol 0.1: so far its discovery, the manifest at a well-known address, and its endpoints,
//! where callers are identified and limited.

mod error;
mod manifest;

use http::Method;

use super::{Announcement, Dialect, Document, Explain, Occupied, Publication, Variant};
use crate::{endpoint::Endpoint, problem, site::Declaration};

/// Where the manifest is (AHP §3.1).
pub const MANIFEST: &str = "/.well-known/agent.json";
/// Where it is when the site has a document of its own there: an A2A agent card, say.
const MOVED: &str = "/.well-known/ahp.json";
/// The type an agent asks a page for to get the manifest instead (AHP §3.4).
pub const MEDIA_TYPE: &str = "application/agent+json";
/// The version spoken.
pub(crate) const VERSION: &str = "0.1";

/// The row in the table of dialects.
pub const DIALECT: Dialect = Dialect { name: "ahp", publish, explain: error::reply };

fn publish(declaration: &Declaration, occupied: &Occupied) -> Publication {
    let path = occupied.or_moved(MANIFEST, MOVED).to_owned();
    let body = manifest::render(declaration, occupied);
    let cache_control = super::cache_control(declaration);
    // The manifest is always application/json, whatever was asked for (AHP §3.1).
    let variant = Variant::new("application/json", body, &cache_control);
    Publication {
        announcement: Announcement {
            rel: "ahp-manifest",
            legacy_rel: Some("agent-manifest"),
            media_type: MEDIA_TYPE,
            path: path.clone(),
        },
        documents: vec![Document { path, variants: vec![variant], negotiate: None, versions: Vec::new() }],
        endpoints: endpoints(declaration, occupied),
    }
}

/// The `[paths]`, but for those where the site has something of its own.
fn endpoints(declaration: &Declaration, occupied: &Occupied) -> Vec<Endpoint> {
    let paths = &declaration.settings.paths;
    let ours: Explain = error::reply;
    let mut endpoints = Vec::new();
    if occupied.leaves(&paths.converse) {
        let path = &paths.converse.path;
        endpoints.push(Endpoint::call(path, Method::POST, false, ours));
        // Where an answer that takes its time is asked for (AHP §9).
        endpoints.push(Endpoint::call(path, Method::GET, false, ours).below());
    }
    if occupied.leaves(&paths.capabilities) {
        let path = &paths.capabilities.path;
        endpoints.push(Endpoint::call(path, Method::POST, false, ours));
        let below = Endpoint::call(path, Method::POST, false, ours).below();
        // A site may well have pages there, as long as nobody said that it has none.
        endpoints.push(if paths.capabilities.chosen { below } else { below.yielding() });
        endpoints.extend(declaration.settings.capabilities.iter().filter(|c| c.exposed).map(|c| {
            let path = format!("{}/{}", path.trim_end_matches('/'), manifest::name(c));
            Endpoint::call(&path, Method::POST, c.kind.is_action(), ours)
        }));
    }
    if occupied.leaves(&paths.openapi) {
        endpoints.push(Endpoint::call(&paths.openapi.path, Method::GET, false, ours));
    }
    if occupied.leaves(&paths.mcp) {
        endpoints.push(Endpoint::call(&paths.mcp.path, Method::POST, false, problem::reply));
    }
    endpoints
}
