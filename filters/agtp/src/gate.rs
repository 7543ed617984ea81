//! The gates before an endpoint, in order: wire format, sender, verb, path, the operator's policy.

use http::{HeaderValue, header};
use serde_json::json;

use super::{
    Spoken,
    calling::Around,
    catalog::FLOOR,
    endpoint::Endpoint,
    head::Head,
    native,
    path::{self, Asked},
    policy::{Admission, Legacy},
    response::AgtpError,
    routes::Found,
};
use frontdesk_desk::Incoming;

/// A request after the gates.
pub(super) struct Gated {
    /// The verb after aliases and redirects.
    pub(super) method: String,
    pub(super) path: Asked<'static>,
    /// The HTTP verb that was mapped to it.
    pub(super) legacy: Option<Legacy>,
    pub(super) to: Destination,
}

/// The target of a request.
pub(super) enum Destination {
    /// Built into the protocol: a floor verb at the root, or a reserved path.
    Native,
    /// A declared endpoint, with the values of its placeholders.
    Endpoint(std::sync::Arc<Endpoint>, Vec<(String, String)>),
    /// Not declared; a contract may match.
    Nowhere,
}

/// What is known of a request, whether or not it passes.
#[derive(Default)]
pub(super) struct Seen<'a> {
    pub(super) head: Head<'a>,
    /// The verb as sent, where it was mapped to another.
    pub(super) requested: Option<String>,
    /// The verb it was mapped to, and the path, for the response.
    pub(super) method: String,
    pub(super) path: String,
    /// The envelope's members.
    pub(super) around: Around,
}

impl Spoken {
    /// Passes a request through the gates.
    ///
    /// # Errors
    ///
    /// The refusal of the gate that it failed.
    pub(super) fn gate<'a>(&self, incoming: &'a Incoming<'_>, seen: &mut Seen<'a>) -> Result<Gated, AgtpError> {
        let asked = incoming.method.as_str();
        seen.method = asked.to_owned();
        seen.path = incoming.target.split(['?', '#']).next().unwrap_or_default().to_owned();
        let read = path::read(incoming.target, &self.catalog);
        if let Err(wrong) = &read
            && wrong.status == 400
        {
            return Err(wrong.clone().into());
        }
        seen.head = Head::read(incoming.headers, incoming.framed.is_none())?;

        let resolved = self.policy.resolve(asked);
        seen.requested = resolved.requested.map(str::to_owned);
        let mut method = resolved.method.to_owned();
        let mut legacy = None;
        let admitted = self.policy.admits(&method, &self.catalog);
        if matches!(admitted, Admission::Unknown) {
            return Err(self.unknown(&method));
        }
        if let Admission::Legacy(verb) = admitted {
            seen.requested = Some(method.clone());
            method = verb.method().to_owned();
            legacy = Some(verb);
        }
        seen.method.clone_from(&method);
        let mut path = read.map_err(AgtpError::from)?.alone();
        if matches!(admitted, Admission::Refused) {
            return Err(self.not_allowed(&path, "This server does not take this verb."));
        }
        let redirected = self.policy.redirect(&method, &path).map(|(method, path)| (method.to_owned(), path));
        if let Some((to_method, to_path)) = redirected {
            seen.requested.get_or_insert_with(|| method.clone());
            method = to_method;
            if let Some(to_path) = to_path {
                let query = std::mem::take(&mut path.query);
                path = Asked { query, ..path::read(&to_path, &self.catalog).map_err(AgtpError::from)?.alone() };
            }
            seen.method.clone_from(&method);
            seen.path = path.path.to_string();
            match self.policy.admits(&method, &self.catalog) {
                Admission::Admitted => {}
                Admission::Unknown => return Err(self.unknown(&method)),
                _ => return Err(self.not_allowed(&path, "This server does not take this verb.")),
            }
        }
        let to = self.destination(&method, &path);
        Ok(Gated { method, path, legacy, to })
    }

    fn destination(&self, method: &str, path: &Asked<'_>) -> Destination {
        if native::is_native(method, path) {
            return Destination::Native;
        }
        match self.routes.find(method, &path.segments) {
            Found::Endpoint(endpoint, places) => Destination::Endpoint(endpoint.clone(), places),
            Found::Others(_) | Found::Nothing => Destination::Nowhere,
        }
    }

    /// The response to a verb and path that no endpoint and no contract has: 404 where the path has no verb, else 405
    /// (§6.1).
    pub(super) fn nowhere(&self, path: &Asked<'_>) -> AgtpError {
        match self.allowed(path).is_empty() {
            true => AgtpError::new(
                404,
                "not-found",
                "There is nothing at this path. DISCOVER /methods lists what there is.",
            ),
            false => self.not_allowed(path, "This path is known under other verbs."),
        }
    }

    /// 459: no such verb (§11).
    pub(super) fn unknown(&self, method: &str) -> AgtpError {
        let method: String = method.chars().take(64).collect();
        let message = format!(
            "{method} is not a verb of catalog {}. DISCOVER /methods lists the supported verbs.",
            self.catalog.version
        );
        AgtpError::new(459, "method-violation", message)
            .with("method", method)
            .with("catalog_version", self.catalog.version.clone())
    }

    /// 405, with the verbs that the path has (§11).
    fn not_allowed(&self, path: &Asked<'_>, message: &'static str) -> AgtpError {
        let allowed = self.allowed(path);
        let mut wrong = AgtpError::new(405, "method-not-allowed", message);
        // HTTP requires `Allow` with a 405 (RFC 9110 §15.5.6).
        let allow = HeaderValue::try_from(allowed.join(", ")).ok();
        wrong.headers.extend(allow.map(|allow| (header::ALLOW, allow)));
        wrong.with("allowed_methods_for_path", allowed).with("redirects_for_path", self.policy.redirects_for(path))
    }

    /// The verbs of a path, those of the last known published contracts included.
    fn allowed(&self, path: &Asked<'_>) -> Vec<String> {
        let mut allowed: Vec<String> = match self.routes.find("", &path.segments) {
            Found::Others(others) => others.into_iter().map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let published = self.last_published();
        allowed.extend(published.iter().flat_map(|published| published.verbs_at(&path.segments)));
        let native = FLOOR.iter().filter(|method| native::is_native(method, path));
        allowed.extend(native.filter(|method| native::is_answered(method)).map(|method| (*method).to_owned()));
        allowed.retain(|method| matches!(self.policy.admits(method, &self.catalog), Admission::Admitted));
        allowed.sort_unstable();
        allowed.dedup();
        allowed
    }
}

impl From<path::PathError> for AgtpError {
    fn from(wrong: path::PathError) -> Self {
        let told = Self::new(wrong.status, wrong.code, format!("The target {}.", wrong.detail));
        match wrong.segment {
            Some(segment) => told.with("segment", json!(segment)),
            None => told,
        }
    }
}
