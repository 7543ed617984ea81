//! The Model Context Protocol: the site's capabilities as tools, its text as resources (AHP appendix D).
//!
//! One endpoint serves three generations of clients: plain POSTs as of 2024-11-05, Streamable HTTP up to 2025-11-25,
//! and the stateless protocol of 2026-07-28. An answer is plain JSON, unless something is sent before it: progress, or a
//! question to the client's person. Then it is the last event of a stream.

mod answers;
mod by_name;
mod call;
mod completion;
mod dialogue;
mod elicitation;
mod envelope;
mod era;
mod files;
mod find;
mod gate;
mod identity;
mod message;
mod missing;
mod parameter_headers;
mod places;
mod progress;
pub(crate) mod protocol;
mod resources;
mod served;
mod server;
mod session;
mod skills;
mod stream;
mod tasks;
mod tools;

use std::sync::Arc;

use bytes::Bytes;
use http::Method;

pub use self::protocol::path;
use self::{identity::Identity, server::Server, tools::Tools};
use super::{
    Dialect, Document, Entry, Publication, Publishing, Variant,
    ahp::{self, listed},
};
use frontdesk_config::Paths;
use frontdesk_desk::Endpoint;
use frontdesk_discovery::{Probe, card_cache_control, cors, is_json};

/// Its row in the table of dialects.
pub const DIALECT: Dialect = Dialect { name: protocol::NAME, publish, explain: envelope::refused };

fn publish(publishing: &Publishing<'_>) -> Publication {
    let Publishing { declaration, occupied, .. } = *publishing;
    let tools = Tools::new(&listed::all(declaration), declaration);
    let exported = Bytes::from(tools.whole());
    let identity = path(declaration, occupied)
        .map(|path| Identity::new(&declaration.settings, path, occupied.or_moved(ahp::MANIFEST, ahp::MOVED)));
    let cards = identity.as_ref().map(|identity| cards(publishing, identity)).unwrap_or_default();
    let endpoints = path(declaration, occupied).zip(identity).map(|(path, identity)| {
        let server = Server::new(tools, publishing, identity);
        Endpoint::call(path, Method::POST, false, envelope::refused)
            .proving_later()
            .counting_messages()
            .served(Arc::new(server))
    });
    Publication {
        announcement: None,
        documents: cards.documents,
        entries: cards.entry.into_iter().collect(),
        endpoints: endpoints.into_iter().collect(),
        exported: Some(exported),
    }
}

/// The server card below the endpoint (SEP-2127), and where graders ask for it.
const CARD: &str = "server-card";
const CARDS: [&str; 2] = ["/.well-known/mcp/server-card.json", "/.well-known/mcp.json"];
const CARD_TYPE: &str = "application/mcp-server-card+json";

/// The server cards, and their entry in lists.
#[derive(Default)]
struct Cards {
    documents: Vec<Document>,
    entry: Option<Entry>,
}

fn cards(publishing: &Publishing<'_>, identity: &Identity) -> Cards {
    let Publishing { declaration, occupied, .. } = *publishing;
    let settings = &declaration.settings;
    let Some(endpoint) = path(declaration, occupied).filter(|_| settings.discovery.server_card) else {
        return Cards::default();
    };
    let card = card_path(endpoint);
    let free = [card.as_str()].into_iter().chain(CARDS).filter(|path| !occupied.contains(path));
    let documents: Vec<Document> = free
        .map(|path| {
            let shown = identity.clone();
            let render = move |origin: &str| shown.card(origin).to_string();
            let variant = Variant::of_origin(settings, CARD_TYPE, &card_cache_control(), render);
            Document { path: path.to_owned(), variants: vec![cors(variant)], negotiate: None, versions: Vec::new() }
        })
        .collect();
    let entry = documents.first().map(|document| Entry {
        name: "mcp",
        rel: None,
        path: document.path.clone(),
        media_type: CARD_TYPE,
        title: "The MCP server",
    });
    Cards { documents, entry }
}

fn card_path(endpoint: &str) -> String {
    format!("{}/{CARD}", endpoint.trim_end_matches('/'))
}

/// The cards that the site may have itself, and how to tell.
pub(crate) fn card_probes(paths: &Paths) -> Vec<Probe> {
    let at_endpoint = (!paths.mcp.chosen).then(|| card_path(&paths.mcp.path));
    let places = at_endpoint.into_iter().chain(CARDS.map(str::to_owned));
    places.map(|path| Probe::of_document(&path, is_json)).collect()
}
