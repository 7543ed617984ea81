//! The Agent Transfer Protocol and its contract layer (AGTP-API, draft-hood-agtp-api-01): verbs on paths, over a
//! socket of its own or as HTTP methods.

#![forbid(unsafe_code)]

mod ascii;
mod attempts;
mod attribution;
mod call;
mod calling;
pub mod catalog;
mod compare_and_set;
mod contract;
mod contract_end;
mod contracts;
mod declaration;
#[cfg(test)]
mod declared;
mod describe;
pub mod diff;
mod discover;
mod dispatch;
mod endpoint;
mod error;
mod escalation;
mod floor_verbs;
mod gate;
pub mod genesis;
mod head;
mod idempotency;
mod inputs;
mod inspect;
mod jws;
mod later;
mod lifecycle;
mod manifest;
pub mod name;
mod native;
mod openapi;
mod outcome_response;
pub mod path;
pub mod policy;
mod proposal;
mod propose;
mod published;
mod rcns;
mod recipe;
mod response;
mod routes;
mod serve;
mod session;
mod source;
mod spoken;
pub mod suggest;
mod synthesis;
pub mod taken_routes;
pub mod template;
#[cfg(test)]
mod tests;
mod token_charge;
mod warning;
pub mod wire;

use catalog::CATEGORIES;
pub use error::unread;
use head::is_scope;
use native::{RESERVED, is_native_somewhere};
pub use openapi::as_openapi;
pub use spoken::Spoken;

use bytes::Bytes;

pub use declaration::{Break, EXTENSION, breaks};
use frontdesk_config::Declaration;
use frontdesk_dialects::{Dialect, Document, Publication, Publishing, Variant};

/// Its name in the audit log.
const NAME: &str = "agtp";

/// Its row in the table of dialects.
pub const DIALECT: Dialect = Dialect { name: NAME, publish, explain: error::reply };

/// Where HTTP clients discover AGTP.
pub const BOOTSTRAP: &str = "/.well-known/agtp";

fn publish(publishing: &Publishing<'_>) -> Publication {
    let Publishing { declaration, occupied, .. } = *publishing;
    let spoken = declaration.settings.agtp.spoken && !occupied.contains(BOOTSTRAP);
    let bootstrap = spoken.then(|| Document {
        path: BOOTSTRAP.to_owned(),
        variants: vec![Variant::new(
            "application/json",
            manifest::bootstrap(declaration).to_string(),
            &frontdesk_dialects::cache_control(declaration),
        )],
        negotiate: None,
        versions: Vec::new(),
    });
    Publication {
        announcement: None,
        documents: bootstrap.into_iter().collect(),
        entries: Vec::new(),
        endpoints: Vec::new(),
        exported: None,
    }
}

/// The server manifest as it would be served; `None` where AGTP is off.
pub fn manifest(declaration: &Declaration) -> Option<Bytes> {
    Spoken::new(declaration).map(|spoken| spoken.exported())
}
