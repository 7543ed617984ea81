//! The capabilities as operations of an OpenAPI document, for GPT Actions and whatever else reads one (AHP appendix E),
//! and the operations themselves.

mod document;
mod operation;

use std::sync::Arc;

use http::Method;

use self::operation::{Nothing, Operation};
use super::{
    Dialect, Document, Explain, Occupied, Publication, Publishing, Variant,
    ahp::{
        self,
        listed::{self, Mode},
    },
    arguments::Function,
};
use frontdesk_config::Declaration;
use frontdesk_desk::{Endpoint, Serve};

/// The version of the format.
pub const VERSION: &str = "3.1.0";

/// The row in the table of dialects. An operation is refused as the handshake has it (AHP §E.2, §10).
pub const DIALECT: Dialect = Dialect { name: "openapi", publish, explain: ahp::error::reply };

fn publish(publishing: &Publishing<'_>) -> Publication {
    let Publishing { declaration, occupied, .. } = *publishing;
    let settings = &declaration.settings;
    let all = listed::all(declaration);
    let operated = occupied.leaves(&settings.paths.capabilities);
    // What is only read is read where it is (AHP §E.5).
    let listed = all.iter().filter(|listed| operated && listed.mode != Mode::One);
    let functions: Vec<_> = listed.map(|listed| (listed, Function::new(listed))).collect();
    let document = document::render(&functions, declaration, occupied).into_bytes();
    let documents = path(declaration, occupied).map(|path| Document {
        path: path.to_owned(),
        variants: vec![Variant::new("application/json", document.clone(), &super::cache_control(declaration))],
        negotiate: None,
        versions: Vec::new(),
    });
    let functions = functions.into_iter().map(|(_, (function, _))| function);
    let endpoints = if operated { endpoints(functions, publishing) } else { Vec::new() };
    Publication {
        announcement: None,
        documents: documents.into_iter().collect(),
        endpoints,
        exported: Some(document.into()),
    }
}

/// Where the document is, unless the site has something of its own there.
pub fn path<'d>(declaration: &'d Declaration, occupied: &Occupied) -> Option<&'d str> {
    let path = &declaration.settings.paths.openapi;
    occupied.leaves(path).then_some(path.path.as_str())
}

fn endpoints(functions: impl Iterator<Item = Function>, publishing: &Publishing<'_>) -> Vec<Endpoint> {
    let ours: Explain = ahp::error::told;
    let declared = &publishing.declaration.settings.paths.capabilities;
    let functions: Vec<Function> = functions.collect();
    let names = functions.iter().map(|function| function.name.clone()).collect();
    let none: Arc<dyn Serve> = Arc::new(Nothing { base: operation_path(&declared.path, ""), names });
    let nothing = || Endpoint::call(&declared.path, Method::POST, false, ours).served(none.clone());
    let below = nothing().below();
    // A site may well have pages there, as long as nobody said that it has none.
    let mut endpoints = vec![nothing(), if declared.chosen { below } else { below.yielding() }];
    endpoints.extend(functions.into_iter().map(|function| {
        let path = operation_path(&declared.path, &function.name);
        Endpoint::call(&path, Method::POST, false, ours)
            .served(Arc::new(Operation { function, converse: publishing.converse.clone() }))
    }));
    endpoints
}

fn operation_path(base: &str, name: &str) -> String {
    format!("{}/{name}", base.trim_end_matches('/'))
}
