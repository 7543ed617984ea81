//! compile: a declaration becomes the Snapshot, the immutable thing that every request reads.
//!
//! Whatever a request would have to parse, serialise or allocate again and again is prepared here, once.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Method};

use super::{Capability, Declaration, Settings};
use crate::{
    caller::Callers,
    content::{
        crawl::Excluded,
        llms::{self, Contents},
    },
    desk::{Plan, Seen},
    dialect::{Announcement, DIALECTS, Explain, Occupied, Variant, agtp::Spoken, ahp, api_catalog},
    endpoint::{Endpoint, Endpoints},
    firewall::{self, Firewall},
    handoff,
    harness::gateway,
    limits::{Policies, budget::Budgets},
    page::{Insertion, signals::Signals},
    path::Path,
    problem,
};

/// One configuration, compiled. A request takes one at its start and keeps it to its last byte. Nothing in it changes what is
/// answered while it is in use; `seen` alone grows, and only spares work.
#[derive(Debug)]
pub struct Snapshot {
    pub settings: Settings,
    /// SHA-256 of everything the declaration was made from, in hex.
    pub hash: String,
    /// The added `Link` header; `None` when `discovery.link_header` is off.
    pub link: Option<HeaderValue>,
    /// What goes into pages and the hash of it; `None` when `discovery.notice` is off.
    pub insertion: Option<(Arc<Insertion>, String)>,
    /// What may be done with the site's words; `None` when the operator wrote nothing about it.
    pub signals: Option<Signals>,
    /// What nobody is to read in another form.
    excluded: Excluded,
    /// What looks through everything that leaves for an agent.
    pub(crate) firewall: Arc<Firewall>,
    /// In which of the site's answers it found nothing: learned on the way, and gone with this configuration.
    pub(crate) seen: Seen,
    /// Every path that is ours.
    pub endpoints: Endpoints,
    /// Who is known here, and how they prove it.
    pub(crate) callers: Callers,
    pub(crate) policies: Policies,
    pub(crate) budgets: Budgets,
    /// The handshake's manifest, for a page whose client prefers it, and where it is.
    pub(crate) manifest: Bytes,
    pub(crate) manifest_path: HeaderValue,
    /// How it is refused.
    pub(crate) manifest_explain: Explain,
    /// How each capability is carried out, in the order of the settings.
    plans: Vec<Plan>,
    /// What can be asked in words.
    pub(crate) converse: ahp::Converse,
    /// What is called by verbs, whatever the path; `None` where none are spoken.
    pub(crate) spoken: Option<Arc<Spoken>>,
}

/// What was learned about the world outside since the declaration was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Learned {
    pub occupied: Occupied,
    /// What was fetched from each of [`Settings::key_urls`].
    pub keys: HashMap<String, Bytes>,
    /// What the site has, where it was read.
    pub contents: Option<Arc<Contents>>,
}

impl Snapshot {
    /// Compiles a declaration that has passed every check.
    pub fn compile(declaration: &Declaration, learned: &Learned) -> Self {
        let elsewhere = declaration.settings.discovery.ours_wins.then(|| learned.occupied.but_for_documents());
        let occupied = elsewhere.as_ref().unwrap_or(&learned.occupied);
        let mut announcements = Vec::new();
        let mut endpoints = Endpoints::default();
        let mut manifest = Bytes::new();
        for dialect in DIALECTS {
            let published = (dialect.publish)(declaration, occupied);
            if dialect.name == ahp::DIALECT.name {
                manifest = published.documents.first().map(|d| d.variants[0].body()).unwrap_or_default();
            }
            announcements.extend(published.announcement);
            published.documents.into_iter().for_each(|d| endpoints.add(Endpoint::document(d, dialect.explain)));
            published.endpoints.into_iter().for_each(|endpoint| endpoints.add(endpoint));
        }
        if let Some(path) = declaration.settings.harness.as_ref().and_then(|harness| harness.gateway_path.as_deref()) {
            endpoints.add(gateway::endpoint(path));
        }
        let discovery = &declaration.settings.discovery;
        let path = |rel| announcements.iter().find(|a| a.rel == rel).map_or("/", |a| a.path.as_str());
        let answered = declaration.settings.offered().next().is_some();
        let ways = llms::Ways {
            manifest: Some(path("ahp-manifest")),
            converse: answered.then(|| ahp::converse_path(declaration, occupied)),
        };
        let firewall = declaration.settings.firewall.compiled();
        let contents = learned.contents.as_deref();
        if let Some(ours) = llms::document(&declaration.settings, occupied, contents, ways, &firewall) {
            endpoints.add(Endpoint::document(ours, problem::reply));
        }
        if let Some(list) = api_catalog::document(declaration, occupied, &announcements) {
            endpoints.add(Endpoint::document(list, problem::reply));
        }
        let handoff = declaration.settings.handoff.iter();
        handoff.flat_map(handoff::endpoints).for_each(|endpoint| endpoints.add(endpoint));
        let insertion = discovery.notice.then(|| {
            let insertion = Insertion::standard(
                path("ahp-manifest"),
                path("agent-interface"),
                declaration.settings.content.markdown,
            )
            .at(discovery.notice_position);
            let tag = insertion.tag(&declaration.settings.content.exclude);
            (Arc::new(insertion), tag)
        });
        let link = discovery.link_header.then(|| link_header(&announcements, discovery.legacy_link_rel)).flatten();
        let manifest_path =
            HeaderValue::from_str(path("ahp-manifest")).unwrap_or_else(|_| HeaderValue::from_static(ahp::MANIFEST));
        Self {
            link,
            insertion,
            signals: declaration.settings.signals.published(),
            excluded: Excluded::new(&declaration.settings.content.exclude),
            firewall: Arc::new(firewall),
            seen: Seen::default(),
            endpoints,
            callers: Callers::new(&declaration.settings, &learned.keys),
            policies: Policies::new(&declaration.settings),
            manifest,
            manifest_explain: ahp::DIALECT.explain,
            manifest_path,
            plans: {
                let settings = &declaration.settings;
                let all = settings.capabilities.iter().chain(settings.built_in.iter());
                all.map(|capability| Plan::new(capability, settings)).collect()
            },
            budgets: Budgets::new(&declaration.settings.token_budget, &declaration.settings.sessions),
            converse: ahp::Converse::new(declaration, occupied),
            spoken: Spoken::new(declaration).map(Arc::new),
            hash: declaration.hash.clone(),
            settings: declaration.settings.clone(),
        }
    }
}

impl Snapshot {
    /// What the endpoint that a request would reach is called: its path as it was declared, with its places unfilled.
    pub fn place(&self, method: &Method, target: &str) -> Option<&str> {
        self.endpoints.find(&Path::of(target), method).map(Endpoint::declared)
    }

    /// How the endpoint that a request would reach says that it is refused.
    pub fn explain(&self, method: &Method, target: &str) -> Explain {
        let endpoint = self.endpoints.find(&Path::of(target), method);
        endpoint.map_or(problem::reply, |endpoint| endpoint.explain(method))
    }

    /// Whether a target is one of those that nobody is served, whoever asks.
    pub(crate) fn hides(&self, target: &str) -> bool {
        self.hides_path(&Path::of(target))
    }

    /// The same, of a path that was read already.
    pub(crate) fn hides_path(&self, path: &Path<'_>) -> bool {
        self.settings.firewall.hide && firewall::is_hidden_path(path)
    }

    /// Whether a target is one of those that nobody is to read in another form (`content.exclude`).
    pub fn excludes(&self, target: &str) -> bool {
        self.excluded.covers(target)
    }

    /// Whether a GET of a target is answered here, and not by the site.
    pub fn answers(&self, target: &str) -> bool {
        self.hides(target) || self.endpoints.find(&Path::of(target), &Method::GET).is_some()
    }

    /// The document that is published at a path, in its first variant.
    pub(crate) fn document(&self, path: &str) -> Option<Bytes> {
        let endpoint = self.endpoints.find(&Path::of(path), &http::Method::GET)?;
        endpoint.published()?.variants.first().map(Variant::body)
    }

    /// A capability, and how it is carried out.
    pub(crate) fn capability(&self, index: usize) -> Option<(&Capability, &Plan)> {
        self.settings.capability(index).zip(self.plans.get(index))
    }

    /// Whether somebody may ask something whose answer is counted in tokens.
    pub fn counts_tokens(&self) -> bool {
        self.settings.offered().next().is_some()
    }

    /// What is wrong with keys that were fetched or declared, a sentence each.
    pub fn problems(&self) -> &[String] {
        &self.callers.problems
    }

    /// The media type that a client asks a page for to get the handshake's manifest instead.
    pub fn instead_of_page(&self) -> &'static str {
        ahp::MEDIA_TYPE
    }
}

/// One header line, a link-value for each announcement (RFC 8288). One line, because some clients read only the first.
fn link_header(announcements: &[Announcement], legacy: bool) -> Option<HeaderValue> {
    let value = |rel: &str, a: &Announcement| format!("<{}>; rel=\"{rel}\"; type=\"{}\"", a.path, a.media_type);
    let mut values = Vec::new();
    for a in announcements {
        values.push(value(a.rel, a));
        if let (Some(rel), true) = (a.legacy_rel, legacy) {
            values.push(value(rel, a));
        }
    }
    HeaderValue::try_from(values.join(", ")).ok()
}
