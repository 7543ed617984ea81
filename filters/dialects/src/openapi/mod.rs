//! The capabilities as operations of an OpenAPI document (AHP appendix E), for GPT Actions and similar clients, and
//! the endpoints of these operations.

mod document;
mod operation;
pub mod published;

use std::sync::Arc;

use http::Method;

use self::{
    operation::{Nothing, Operation},
    published::path,
};
use super::{
    Dialect, Document, Entry, Explain, Publication, Publishing, Variant,
    ahp::{
        self,
        listed::{self, Mode},
    },
    arguments::Function,
};
use frontdesk_desk::{Endpoint, Serve};

const MEDIA_TYPE: &str = "application/json";

/// Its row in the table of dialects. Refusals are AHP's (AHP §E.2, §10).
pub const DIALECT: Dialect = Dialect { name: "openapi", publish, explain: ahp::error::reply };

fn publish(publishing: &Publishing<'_>) -> Publication {
    let Publishing { declaration, occupied, .. } = *publishing;
    let settings = &declaration.settings;
    let all = listed::all(declaration);
    let operated = occupied.leaves(&settings.paths.capabilities);
    // A capability that only reads published text is read at its own address (AHP §E.5).
    let listed = all.iter().filter(|listed| operated && listed.mode != Mode::One);
    let functions: Vec<_> = listed.map(|listed| (listed, Function::new(listed))).collect();
    let document = document::render(&functions, declaration, occupied).into_bytes();
    let documents = path(declaration, occupied).map(|path| Document {
        path: path.to_owned(),
        variants: vec![Variant::new(MEDIA_TYPE, document.clone(), &super::cache_control(declaration))],
        negotiate: None,
        versions: Vec::new(),
    });
    let entry = path(declaration, occupied).map(|path| Entry {
        name: "openapi",
        rel: Some("service-desc"),
        path: path.to_owned(),
        media_type: MEDIA_TYPE,
        title: "What can be called here, as an OpenAPI document",
    });
    let functions = functions.into_iter().map(|(_, (function, _))| function);
    let endpoints = if operated { endpoints(functions, publishing) } else { Vec::new() };
    Publication {
        announcement: None,
        documents: documents.into_iter().collect(),
        entries: entry.into_iter().collect(),
        endpoints,
        exported: Some(document.into()),
    }
}

fn endpoints(functions: impl Iterator<Item = Function>, publishing: &Publishing<'_>) -> Vec<Endpoint> {
    let ours: Explain = ahp::error::refusal_reply;
    let declared = &publishing.declaration.settings.paths.capabilities;
    let functions: Vec<Function> = functions.collect();
    let names = functions.iter().map(|function| function.name.clone()).collect();
    let none: Arc<dyn Serve> = Arc::new(Nothing { base: operation_path(&declared.path, ""), names });
    let nothing = || Endpoint::call(&declared.path, Method::POST, false, ours).served(none.clone());
    let below = nothing().below();
    // The site may have pages below this path, unless the operator chose it.
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
