//! The Agent Transfer Protocol and its contract layer (AGTP-API, draft-hood-agtp-api-01): verbs on paths, spoken over a
//! socket of their own or as methods of HTTP.

mod ascii;
mod attempts;
mod attribution;
mod budget;
mod call;
mod calling;
pub(crate) mod catalog;
mod contract;
mod contracts;
pub(crate) mod declaration;
mod describe;
pub mod diff;
mod discover;
mod endpoint;
mod error;
mod floor;
mod gate;
pub(crate) mod genesis;
mod head;
mod human;
mod inputs;
mod inspect;
mod jws;
mod later;
mod lifecycle;
mod manifest;
pub(crate) mod name;
mod native;
mod once;
mod openapi;
pub(crate) mod path;
pub(crate) mod policy;
mod proposal;
mod propose;
mod published;
mod rcns;
mod recipe;
mod released;
mod routes;
mod said;
mod serve;
mod session;
mod source;
mod spoken;
pub(crate) mod suggest;
mod synthesis;
pub(crate) mod taken;
pub(crate) mod template;
#[cfg(test)]
mod tests;
mod told;
mod tries;
mod warning;
pub(crate) mod wire;

pub(crate) use catalog::CATEGORIES;
pub(crate) use error::unread;
pub(crate) use head::is_scope;
pub(crate) use native::{RESERVED, is_native_somewhere};
pub(crate) use openapi::as_openapi;
pub(crate) use spoken::Spoken;

use bytes::Bytes;

use super::{Dialect, Document, Publication, Publishing, Variant};
use crate::site::Declaration;

/// As the record names it.
const NAME: &str = "agtp";

/// The row in the table of dialects.
pub const DIALECT: Dialect = Dialect { name: NAME, publish, explain: error::reply };

/// Where somebody who only has HTTP finds out about it (notes §1.1).
pub(crate) const BOOTSTRAP: &str = "/.well-known/agtp";

fn publish(publishing: &Publishing<'_>) -> Publication {
    let Publishing { declaration, occupied, .. } = *publishing;
    let spoken = declaration.settings.agtp.spoken && !occupied.contains(BOOTSTRAP);
    let bootstrap = spoken.then(|| Document {
        path: BOOTSTRAP.to_owned(),
        variants: vec![Variant::new(
            "application/json",
            manifest::bootstrap(declaration).to_string(),
            &super::cache_control(declaration),
        )],
        negotiate: None,
        versions: Vec::new(),
    });
    Publication {
        announcement: None,
        documents: bootstrap.into_iter().collect(),
        endpoints: Vec::new(),
        exported: None,
    }
}

/// The server manifest, as it would be told; `None` where no verbs are spoken.
pub(crate) fn manifest(declaration: &Declaration) -> Option<Bytes> {
    Spoken::new(declaration).map(|spoken| spoken.exported())
}
