//! The Agent Handshake Protocol 0.1: so far its discovery, the manifest at a well-known address.

mod manifest;

use super::{Announcement, Dialect, Document, Occupied, Publication, Variant};
use crate::site::Declaration;

/// Where the manifest is (AHP §3.1).
pub const MANIFEST: &str = "/.well-known/agent.json";
/// Where it is when the site has a document of its own there: an A2A agent card, say.
const MOVED: &str = "/.well-known/ahp.json";
/// The type an agent asks a page for to get the manifest instead (AHP §3.4).
pub const MEDIA_TYPE: &str = "application/agent+json";
/// The version spoken.
pub(crate) const VERSION: &str = "0.1";

/// The row in the table of dialects.
pub const DIALECT: Dialect = Dialect { name: "ahp", publish };

fn publish(declaration: &Declaration, occupied: &Occupied) -> Publication {
    let path = occupied.or_moved(MANIFEST, MOVED).to_owned();
    let body = manifest::render(declaration);
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
    }
}
