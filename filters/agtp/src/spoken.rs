//! AGTP's compiled state, prepared once per snapshot, and the path of a request through it.

use std::{
    collections::HashSet,
    sync::{Arc, OnceLock},
};

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::Value;

use super::{
    attribution::Signing,
    call::Given,
    calling::Calling,
    catalog::Catalog,
    describe,
    discover::{Lists, builtins, listed},
    endpoint::{Endpoint, endpoint_of},
    error,
    gate::{Destination, Gated, Seen},
    genesis::Hosted,
    head,
    manifest::{Manifest, Rendered},
    native::is_native,
    path,
    policy::{Admission, Policy},
    published::Published,
    response::{AgtpError, AgtpResponse},
    routes::Routes,
    synthesis::Stock,
};
use frontdesk_caller::limits::Counted;
use frontdesk_config::{Agtp, Capability, CapabilityKind, Declaration, Settings};
use frontdesk_desk::{Desk, Incoming};
use frontdesk_dialects::Explain;

const AGENT_ID: HeaderName = HeaderName::from_static("agent-id");

/// Verbs that are also HTTP methods, registered (IANA) or widely used. Over HTTP such a request goes to the site
/// unless other headers mark it as AGTP. An operator's own verb may be among them.
const HTTPS_OWN: [&str; 47] = [
    "ACL",
    "ANNOUNCE",
    "BAN",
    "BASELINE-CONTROL",
    "BCOPY",
    "BDELETE",
    "BIND",
    "BMOVE",
    "CHECKIN",
    "CHECKOUT",
    "COPY",
    "DESCRIBE",
    "LABEL",
    "LINK",
    "LOCK",
    "MERGE",
    "MKACTIVITY",
    "MKCALENDAR",
    "MKCOL",
    "MKREDIRECTREF",
    "MKWORKSPACE",
    "MOVE",
    "NOTIFY",
    "ORDERPATCH",
    "PATCH",
    "PAUSE",
    "PLAY",
    "POLL",
    "PRI",
    "PROPFIND",
    "PROPPATCH",
    "PURGE",
    "QUERY",
    "REBIND",
    "REDIRECT",
    "REFRESH",
    "REPORT",
    "SEARCH",
    "SOURCE",
    "SUBSCRIBE",
    "UNBIND",
    "UNCHECKOUT",
    "UNLINK",
    "UNLOCK",
    "UNSUBSCRIBE",
    "UPDATE",
    "UPDATEREDIRECTREF",
];
/// Methods that are never AGTP over HTTP.
const NEVER: [&str; 2] = ["CONNECT", "TRACE"];

/// The compiled state.
#[derive(Debug)]
pub struct Spoken {
    pub(super) catalog: Arc<Catalog>,
    pub(super) policy: Policy,
    pub(super) routes: Routes,
    /// The status for insufficient scopes.
    pub(super) scope_violation: u16,
    pub(super) server_id: String,
    /// The supported verbs, as a header.
    pub(super) supported: HeaderValue,
    /// The Agent Identity Document without the agent's status.
    pub(super) identity: Value,
    pub(super) signing: Signing,
    /// Every call must claim scopes.
    pub(super) scope_required: bool,
    /// Endpoints can be negotiated, so every answer names the version.
    pub(super) negotiable: bool,
    /// The operator's own verbs.
    custom: HashSet<String>,
    /// The hosted agent.
    pub(super) hosted: Option<Hosted>,
    pub(super) manifest: Manifest,
    /// The manifest without published contracts.
    rendered: Rendered,
    pub(super) lists: Lists,
    /// The sources from which endpoints can be made at run time.
    pub(super) stock: Stock,
    /// The published contracts.
    pub(super) published: Published,
}

impl Spoken {
    /// `None` where AGTP is off.
    pub fn new(declaration: &Declaration) -> Option<Self> {
        let settings = &declaration.settings;
        let agtp = &settings.agtp;
        agtp.spoken.then(|| {
            let catalog = catalog(agtp);
            let policy = Policy::new(&agtp.policies.methods, &catalog);
            let mut routes = Routes::default();
            endpoints(settings, &catalog, &policy).for_each(|endpoint| routes.add(Arc::new(endpoint)));
            let custom = policy.custom().iter().cloned().collect();
            // An invalid Genesis was reported by the configuration check.
            let hosted = agtp.agent.as_ref().and_then(|genesis| Hosted::read(genesis).ok()).map(|(hosted, _)| hosted);
            let signing = Signing::new(settings, hosted.as_ref());
            let agents = hosted.iter().map(|hosted| listed(hosted, routes.all())).collect();
            let manifest = Manifest::new(declaration, &catalog, &policy, agents);
            let all = routes.all().iter().map(AsRef::as_ref);
            let rendered = manifest.render(all, builtins(), |document| signing.manifest_signature(document));
            let mut spoken = Self {
                stock: Stock::new(settings, &catalog, &routes),
                published: Published::default(),
                server_id: signing.server_id.clone(),
                identity: Value::Null,
                supported: {
                    let list = describe::supported(routes.all()).join(", ");
                    HeaderValue::try_from(list).unwrap_or(HeaderValue::from_static(""))
                },
                signing,
                hosted,
                manifest,
                rendered,
                lists: Lists::new(declaration),
                catalog,
                policy,
                routes,
                scope_violation: agtp.scope_violation,
                scope_required: agtp.policies.scope_required_for_invocation,
                negotiable: agtp.policies.synthesis_enabled,
                custom,
            };
            spoken.identity = describe::identity(declaration, &spoken);
            spoken
        })
    }

    /// The current manifest; the last known one where the store is unavailable.
    pub(super) async fn manifest(&self, desk: &Desk<'_>) -> Rendered {
        let published = self.published(desk).await.unwrap_or_else(|_| self.last_published());
        published.map_or_else(|| self.rendered.clone(), |published| published.manifest.clone())
    }

    /// The manifest as `export` prints it.
    pub(super) fn exported(&self) -> bytes::Bytes {
        self.rendered.body.clone()
    }

    /// Whether an HTTP request is AGTP.
    pub fn claims(&self, method: &Method, headers: &HeaderMap) -> bool {
        let name = method.as_str();
        // The common methods first: this runs for every request.
        if matches!(*method, Method::GET | Method::HEAD | Method::POST | Method::PUT | Method::DELETE)
            || NEVER.contains(&name)
            || self.catalog.verb(name).is_none() && !self.custom.contains(name)
        {
            return false;
        }
        !HTTPS_OWN.contains(&name) || is_told_apart(headers)
    }

    /// What a request counts as. An action is counted when it is called, because only then it is known to be one.
    pub fn counted(&self, method: &Method, target: &str) -> Counted {
        let method = self.policy.resolve(method.as_str()).method;
        let is_published = matches!(method, "DISCOVER" | "DESCRIBE")
            && path::read(target, &self.catalog)
                .is_ok_and(|asked| is_native(method, &asked) && self.policy.redirect(method, &asked).is_none());
        if is_published { Counted::Content } else { Counted::Call { action: false } }
    }

    /// The agent that a request says it comes from: a claim, like every name that is not proven.
    pub fn claimed<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        headers.get(AGENT_ID)?.to_str().ok().filter(|id| head::is_canonical(id))
    }

    /// How somebody is refused before anything is served.
    pub fn explain(&self) -> Explain {
        error::reply
    }

    /// The answer to a request.
    ///
    /// # Errors
    ///
    /// The error response.
    pub(super) async fn answer<'a>(
        &self,
        desk: &Desk<'_>,
        incoming: &'a Incoming<'_>,
        seen: &mut Seen<'a>,
    ) -> Result<AgtpResponse, AgtpError> {
        let Gated { method, path, legacy, to } = self.gate(incoming, seen)?;
        let (method, head) = (method.as_str(), &seen.head);
        let (asked, query, around) = (&*path.path, &*path.query, OnceLock::new());
        let calling = Calling { incoming, head, method, path: asked, query, legacy, around };
        let said = match (to, calling.head.contract) {
            (Destination::Native, _) => self.native(desk, &calling, &path).await,
            (_, Some(id)) => self.under_contract(desk, &calling, &path, id).await,
            (Destination::Endpoint(endpoint, places), None) => {
                Ok(self.call(desk, &calling, &endpoint, Given::Sent(&places)).await)
            }
            (Destination::Nowhere, None) => self.undeclared(desk, &calling, &path).await,
        };
        seen.around = calling.around.into_inner().unwrap_or_default();
        said
    }
}

/// Whether headers mark a request as AGTP.
fn is_told_apart(headers: &HeaderMap) -> bool {
    let ours = |name| headers.get_all(name).iter().any(|value| contains(value.as_bytes(), b"application/vnd.agtp"));
    headers.contains_key(AGENT_ID) || ours(header::ACCEPT) || ours(header::CONTENT_TYPE)
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// The catalog that the operator chose, parsed at load.
pub(super) fn catalog(agtp: &Agtp) -> Arc<Catalog> {
    let own = agtp.catalog.as_ref().and_then(|bytes| Catalog::of_operator(bytes).ok());
    own.map_or_else(Catalog::built_in, Arc::new)
}

/// Every endpoint that is exposed and can be called. Those with a removed verb (AGTP-API §4.5), or one that this
/// server does not allow, are left out; the configuration check reported them.
fn endpoints(settings: &Settings, catalog: &Catalog, policy: &Policy) -> impl Iterator<Item = Endpoint> {
    let all = settings.offered().filter(|(_, capability)| leads_somewhere(capability));
    let all = all.filter_map(move |(index, capability)| endpoint_of(index, capability, catalog));
    all.filter(move |endpoint| policy.admits(&endpoint.method, catalog) == Admission::Admitted)
}

/// Whether a capability has a target.
fn leads_somewhere(capability: &Capability) -> bool {
    let policy = capability.kind == CapabilityKind::Policy;
    capability.built_in.is_some() || policy || capability.endpoint.is_some() || capability.upstream.is_some()
}
