//! What is told beside an answer, whatever it is, to whoever asks for something that is on its way out: a verb (AGTP-API
//! §4.4), an endpoint (§6.5). It is worked out from verb and path, so that it is there before anything else is known.

use http::{HeaderName, HeaderValue};

use super::{Spoken, endpoint::Endpoint, path, policy::Admission, routes::Found};
use frontdesk_base::reply::Reply;
use frontdesk_desk::Incoming;

const CATALOG_WARNING: HeaderName = HeaderName::from_static("agtp-catalog-warning");
pub(super) const ENDPOINT_WARNING: HeaderName = HeaderName::from_static("agtp-endpoint-warning");

type Header = (HeaderName, HeaderValue);

impl Spoken {
    /// Tells it beside a reply, once.
    pub(super) fn warn(&self, request: &Incoming<'_>, reply: &mut Reply) {
        let mut told: Vec<Header> = Vec::new();
        let is_one = |(name, _): &Header| *name == CATALOG_WARNING || *name == ENDPOINT_WARNING;
        let said = reply.headers.extract_if(.., |header| is_one(header));
        for warning in
            said.collect::<Vec<_>>().into_iter().chain(self.warnings(request.method.as_str(), request.target))
        {
            if !told.contains(&warning) {
                told.push(warning);
            }
        }
        reply.headers.extend(told);
    }

    /// What is told of an endpoint, and of its verb.
    pub(super) fn warnings_of(&self, endpoint: &Endpoint) -> impl Iterator<Item = Header> {
        let own = endpoint.warning.clone().map(|warning| (ENDPOINT_WARNING, warning));
        self.catalog_warning(&endpoint.method).into_iter().chain(own)
    }

    /// What is told of a verb and a target, as they were sent: of what they are read as, and of where that leads.
    fn warnings(&self, asked: &str, target: &str) -> Vec<Header> {
        let resolved = self.policy.resolve(asked).method;
        let method = match self.policy.admits(resolved, &self.catalog) {
            Admission::Admitted => resolved,
            Admission::Legacy(legacy) => legacy.method(),
            Admission::Refused | Admission::Unknown => return self.catalog_warning(resolved).into_iter().collect(),
        };
        let mut warnings: Vec<Header> = self.catalog_warning(method).into_iter().collect();
        let Ok(path) = path::read(target, &self.catalog) else { return warnings };
        let redirected = self.policy.redirect(method, &path);
        let (method, elsewhere) = redirected.map_or((method, None), |(method, path)| (method, path));
        warnings.extend(self.catalog_warning(method));
        let elsewhere = elsewhere.as_ref().map(|path| path::read(path, &self.catalog));
        let segments = match &elsewhere {
            None => &path.segments,
            Some(Ok(path)) => &path.segments,
            Some(Err(_)) => return warnings,
        };
        if let Found::Endpoint(endpoint, _) = self.routes.find(method, segments) {
            warnings.extend(self.warnings_of(endpoint));
        }
        warnings
    }

    fn catalog_warning(&self, method: &str) -> Option<Header> {
        let warning = self.catalog.verb(method)?.warning()?;
        Some((CATALOG_WARNING, HeaderValue::try_from(warning).ok()?))
    }
}
