//! How each protocol says what was declared: a folder each. AGTP has a crate of its own above this one; the table that
//! lists them all is above both.

#![forbid(unsafe_code)]

pub mod a2a;
pub mod ahp;
pub mod aicp;
mod arguments;
mod json;
mod jsonrpc;
pub mod mcp;
pub mod openapi;

use std::sync::Arc;

use bytes::Bytes;

pub use frontdesk_desk::{Document, Explain, Variant};
pub use frontdesk_discovery::{Entry, Occupied, Probe, Seen, cache_control};

use frontdesk_config::{Declaration, Paths};
use frontdesk_desk::Endpoint;
use frontdesk_discovery::{IsOwn, is_json, is_not_page, is_there};

/// A protocol that publishes something about the site.
pub struct Dialect {
    /// The folder's name.
    pub name: &'static str,
    /// Renders what is published; called once for each Snapshot.
    pub publish: fn(&Publishing<'_>) -> Publication,
    /// How it says that something is refused; status and headers follow from the refusal.
    pub explain: Explain,
}

/// What dialects publish from.
#[derive(Clone, Copy)]
pub struct Publishing<'a> {
    pub declaration: &'a Declaration,
    pub occupied: &'a Occupied,
    /// What can be asked in words, prepared once for all of them.
    pub converse: &'a Arc<ahp::Converse>,
}

/// What one dialect publishes.
pub struct Publication {
    /// `None`: the manifest says where it is, and nobody else has to.
    pub announcement: Option<Announcement>,
    pub documents: Vec<Document>,
    /// What the lists of everything that can be found say of it.
    pub entries: Vec<Entry>,
    /// Where it is called.
    pub endpoints: Vec<Endpoint>,
    /// What `frontdesk export` prints where no document is published.
    pub exported: Option<Bytes>,
}

/// Where an agent finds the dialect's entry document: one link-value of the `Link` header, one `<link>` element.
pub struct Announcement {
    pub rel: &'static str,
    /// An older name of the relation, announced only with `discovery.legacy_link_rel`.
    pub legacy_rel: Option<&'static str>,
    pub media_type: &'static str,
    pub path: String,
}

/// What the site is asked for the dialects. A path that the operator chose is ours whatever the site has there.
pub fn probes(paths: &Paths) -> Vec<Probe> {
    let documents: [(&str, IsOwn); 5] = [
        (ahp::MANIFEST, is_json),
        (aicp::CONTRACT, is_not_page),
        (aicp::NEGOTIATED, is_not_page),
        (aicp::INTERFACE, is_there),
        (a2a::CARD, is_json),
    ];
    let documents = documents.map(|(path, is_own)| Probe::of_document(path, is_own));
    let endpoints = paths.all().into_iter().filter(|path| !path.chosen);
    documents
        .into_iter()
        .chain(mcp::card_probes(paths))
        .chain(endpoints.map(|path| Probe::of_endpoint(&path.path)))
        .collect()
}
