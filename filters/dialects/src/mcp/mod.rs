//! The Model Context Protocol: the site's capabilities as tools, its text as resources (AHP appendix D).
//!
//! One endpoint serves three generations of clients: plain POSTs as of 2024-11-05, Streamable HTTP up to 2025-11-25,
//! and the stateless protocol of 2026-07-28. There are no transport sessions. Every answer is plain JSON, because no
//! answer takes long enough to be streamed.

mod call;
mod envelope;
mod era;
mod find;
mod gate;
mod message;
mod resources;
mod server;
mod tools;

use std::sync::Arc;

use bytes::Bytes;
use http::Method;

use self::{server::Server, tools::Tools};
use super::{
    Dialect, Occupied, Publication, Publishing,
    ahp::listed::{self, Listed, Mode},
};
use frontdesk_config::Declaration;
use frontdesk_desk::Endpoint;

/// Versions with a handshake, oldest first.
pub(crate) const HANDSHAKES: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
/// The version without one.
pub(crate) const STATELESS: &str = "2026-07-28";

/// Its row in the table of dialects.
pub const DIALECT: Dialect = Dialect { name: "mcp", publish, explain: envelope::refused };

fn publish(publishing: &Publishing<'_>) -> Publication {
    let Publishing { declaration, occupied, .. } = *publishing;
    let tools = Tools::new(&listed::all(declaration), declaration);
    let exported = Bytes::from(tools.whole());
    let endpoints = path(declaration, occupied).map(|path| {
        let server = Server::new(tools, publishing);
        Endpoint::call(path, Method::POST, false, envelope::refused)
            .proving_later()
            .counting_messages()
            .served(Arc::new(server))
    });
    Publication {
        announcement: None,
        documents: Vec::new(),
        endpoints: endpoints.into_iter().collect(),
        exported: Some(exported),
    }
}

/// The endpoint's path, unless the site uses it.
pub fn path<'d>(declaration: &'d Declaration, occupied: &Occupied) -> Option<&'d str> {
    let path = &declaration.settings.paths.mcp;
    occupied.leaves(path).then_some(path.path.as_str())
}

/// Whether a capability is a tool: one that only reads published text is a resource (AHP §D.2).
fn is_tool(listed: &Listed) -> bool {
    listed.mode != Mode::One
}
