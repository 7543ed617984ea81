//! The Agent2Agent protocol (A2A), versions 1.0 and 0.3 over JSON-RPC: the agent card, and the conversation as messages
//! and tasks.
//!
//! A text part is a question to the conversation, a data part calls a capability. What needs a person's confirmation, or
//! an answer that comes later, is a task in the store. Nothing is streamed or pushed.

mod card;
mod form;
mod offered;
mod outcome;
mod problem;
mod sent;
mod server;
mod tasks;
mod turns;

use std::sync::Arc;

use http::Method;

use self::{card::Card, offered::Offered, server::Server};
use super::{Dialect, Occupied, Publication, Publishing, ahp::listed};
use frontdesk_config::{Declaration, Extension, unchecked};
use frontdesk_desk::Endpoint;
use frontdesk_discovery::Entry;

/// The path of the agent card.
pub const CARD: &str = "/.well-known/agent-card.json";

/// Its row in the table of dialects.
pub const DIALECT: Dialect = Dialect { name: "a2a", publish, explain: problem::refused };

/// The paths of its documents. Its keys are in `[paths]` and `[discovery]`.
pub static EXTENSION: Extension = Extension { keys: &[], documents: &[CARD], check: unchecked };

fn publish(publishing: &Publishing<'_>) -> Publication {
    let Publishing { declaration, occupied, converse } = *publishing;
    let listed = listed::all(declaration);
    let mut publication = Publication {
        announcement: None,
        documents: Vec::new(),
        entries: Vec::new(),
        endpoints: Vec::new(),
        exported: None,
    };
    // Without anything to ask there is nothing that a card could lead to.
    let Some(path) = path(declaration, occupied).filter(|_| !listed.is_empty()) else { return publication };
    let card = Card::new(&listed, declaration, path);
    publication.exported = card.exported();
    if card_path(declaration, occupied).is_some() {
        publication.entries.push(Entry {
            name: "agent-card",
            rel: None,
            path: CARD.into(),
            media_type: card::MEDIA_TYPE,
            title: "The A2A agent card: what this agent can be asked.",
        });
        match card.document(&frontdesk_discovery::cache_control(declaration)) {
            Some(document) => publication.documents.push(document),
            // The operator named no origin, so the card has the address that each client asked.
            None => publication.endpoints.push(
                Endpoint::call(CARD, Method::GET, false, problem::refused).counting_messages().served(Arc::new(card)),
            ),
        }
    }
    let server = Server { offered: Offered::new(&listed, declaration, converse.clone()) };
    publication
        .endpoints
        .push(Endpoint::call(path, Method::POST, false, problem::refused).counting_messages().served(Arc::new(server)));
    publication
}

/// The endpoint's path, unless the site uses it.
pub fn path<'d>(declaration: &'d Declaration, occupied: &Occupied) -> Option<&'d str> {
    let path = &declaration.settings.paths.a2a;
    occupied.leaves(path).then_some(path.path.as_str())
}

/// The card's path, where there is a card: the operator wants one, and the site has none of its own.
pub fn card_path(declaration: &Declaration, occupied: &Occupied) -> Option<&'static str> {
    let is_wanted = declaration.settings.discovery.agent_card && declaration.settings.offered().next().is_some();
    (is_wanted && path(declaration, occupied).is_some() && !occupied.contains(CARD)).then_some(CARD)
}
