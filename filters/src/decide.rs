//! The `decide` phase: whether a request is answered here or passed to the site.

use http::{HeaderMap, Method, StatusCode, header};

use crate::{
    accept,
    dialect::{self, document},
    path,
    problem::Fault,
    reply::Reply,
    site::{AcceptAnswer, Snapshot},
};

/// What becomes of a request.
#[derive(Debug)]
#[must_use]
pub enum Decision {
    /// It goes to the site.
    Pass,
    /// Frontdesk answers it.
    Answer(Reply),
    /// Frontdesk refuses it; the second is the value of `Allow`, where one is due.
    Refuse(Fault, Option<&'static str>),
}

/// Decides by the request's head alone. `target` is the path as it was sent, query included.
pub fn decide(snapshot: &Snapshot, method: &Method, target: &str, headers: &HeaderMap) -> Decision {
    let canonical = path::canonical(target);
    if let Some(document) = snapshot.documents.get(canonical.as_ref()) {
        let spelled = target.split(['?', '#']).next().unwrap_or(target);
        if spelled != document.path {
            // The site might fold this spelling into the declared one: never passed (decision 16).
            return Decision::Refuse(Fault::NotFound, None);
        }
        return match document.respond(method, headers) {
            Some(reply) => Decision::Answer(reply),
            None => Decision::Refuse(Fault::MethodNotAllowed, Some(document::ALLOW)),
        };
    }
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Decision::Pass;
    }
    match accept_of(headers) {
        Some(accept) if accept::prefers_explicitly(accept, dialect::ahp::MEDIA_TYPE) => {
            Decision::Answer(manifest_instead(snapshot))
        }
        _ => Decision::Pass,
    }
}

/// The manifest in place of a page (AHP §3.4): a variant of the page's address, so nobody may keep it for others.
fn manifest_instead(snapshot: &Snapshot) -> Reply {
    let reply = match snapshot.settings.discovery.accept {
        AcceptAnswer::Inline => Reply::new(StatusCode::OK, "application/json", snapshot.manifest.clone()),
        AcceptAnswer::Redirect => {
            Reply::empty(StatusCode::FOUND).with_value(header::LOCATION, snapshot.manifest_path.clone())
        }
    };
    reply.with(header::CACHE_CONTROL, "private, no-cache").with(header::VARY, "Accept")
}

fn accept_of(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::ACCEPT).and_then(|v| v.to_str().ok())
}
