//! Adds deprecation warnings to every answer for a deprecated verb (AGTP-API §4.4) or endpoint (§6.5). They depend
//! only on verb and path, so they are available before anything else is known.

use http::{HeaderName, HeaderValue};

use super::{Spoken, endpoint::Endpoint, path, policy::Admission, routes::Found};
use frontdesk_base::reply::Reply;
use frontdesk_desk::Incoming;

const CATALOG_WARNING: HeaderName = HeaderName::from_static("agtp-catalog-warning");
pub(super) const ENDPOINT_WARNING: HeaderName = HeaderName::from_static("agtp-endpoint-warning");

type Header = (HeaderName, HeaderValue);

impl Spoken {
    /// Adds the warnings to a reply, once.
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

    /// The warnings of an endpoint and its verb.
    pub(super) fn warnings_of(&self, endpoint: &Endpoint) -> impl Iterator<Item = Header> {
        let own = endpoint.warning.clone().map(|warning| (ENDPOINT_WARNING, warning));
        self.catalog_warning(&endpoint.method).into_iter().chain(own)
    }

    /// The warnings for a verb and a target as sent, after aliases and redirects.
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
