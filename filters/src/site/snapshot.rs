//! compile: a declaration becomes the Snapshot, the immutable thing that every request reads.
//!
//! Whatever a request would have to parse, serialise or allocate again and again is prepared here, once.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use http::HeaderValue;

use super::{Capability, Declaration, Settings};
use crate::{
    caller::Callers,
    desk::Plan,
    dialect::{Announcement, DIALECTS, Explain, Occupied, ahp},
    endpoint::{Endpoint, Endpoints},
    limits::Policies,
    page::Insertion,
};

/// One configuration, compiled. A request takes one at its start and keeps it to its last byte.
#[derive(Debug)]
pub struct Snapshot {
    pub settings: Settings,
    /// SHA-256 of everything the declaration was made from, in hex.
    pub hash: String,
    /// The added `Link` header; `None` when `discovery.link_header` is off.
    pub link: Option<HeaderValue>,
    /// What goes into pages and the hash of it; `None` when `discovery.notice` is off.
    pub insertion: Option<(Arc<Insertion>, String)>,
    /// Every path that is ours.
    pub endpoints: Endpoints,
    /// Who is known here, and how they prove it.
    pub(crate) callers: Callers,
    pub(crate) policies: Policies,
    /// The handshake's manifest, for a page whose client prefers it, and where it is.
    pub(crate) manifest: Bytes,
    pub(crate) manifest_path: HeaderValue,
    /// How it is refused.
    pub(crate) manifest_explain: Explain,
    /// How each capability is carried out, in the order of the settings.
    plans: Vec<Plan>,
}

/// What was learned about the world outside since the declaration was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Learned {
    pub occupied: Occupied,
    /// What was fetched from each of [`Settings::key_urls`].
    pub keys: HashMap<String, Bytes>,
}

impl Snapshot {
    /// Compiles a declaration that has passed every check.
    pub fn compile(declaration: &Declaration, learned: &Learned) -> Self {
        let nothing = Occupied::default();
        let occupied = if declaration.settings.discovery.ours_wins { &nothing } else { &learned.occupied };
        let mut announcements = Vec::new();
        let mut endpoints = Endpoints::default();
        let mut manifest = Bytes::new();
        for dialect in DIALECTS {
            let published = (dialect.publish)(declaration, occupied);
            if dialect.name == ahp::DIALECT.name {
                manifest = published.documents.first().map(|d| d.variants[0].body()).unwrap_or_default();
            }
            announcements.push(published.announcement);
            published.documents.into_iter().for_each(|d| endpoints.add(Endpoint::document(d, dialect.explain)));
            published.endpoints.into_iter().for_each(|endpoint| endpoints.add(endpoint));
        }
        let discovery = &declaration.settings.discovery;
        let path = |rel| announcements.iter().find(|a| a.rel == rel).map_or("/", |a| a.path.as_str());
        let insertion = discovery.notice.then(|| {
            let insertion = Insertion::standard(path("ahp-manifest"), path("agent-interface"));
            let tag = insertion.tag();
            (Arc::new(insertion), tag)
        });
        let link = discovery.link_header.then(|| link_header(&announcements, discovery.legacy_link_rel)).flatten();
        let manifest_path =
            HeaderValue::from_str(path("ahp-manifest")).unwrap_or_else(|_| HeaderValue::from_static(ahp::MANIFEST));
        Self {
            link,
            insertion,
            endpoints,
            callers: Callers::new(&declaration.settings, &learned.keys),
            policies: Policies::new(&declaration.settings),
            manifest,
            manifest_explain: ahp::DIALECT.explain,
            manifest_path,
            plans: declaration.settings.capabilities.iter().map(|c| Plan::new(c, &declaration.settings)).collect(),
            hash: declaration.hash.clone(),
            settings: declaration.settings.clone(),
        }
    }
}

impl Snapshot {
    /// How the endpoint that a request would reach says that it is refused.
    pub fn explain(&self, method: &http::Method, target: &str) -> Explain {
        let endpoint = self.endpoints.find(target, &crate::path::canonical(target), method);
        endpoint.map_or(crate::problem::reply, |endpoint| endpoint.explain(method))
    }

    /// A capability, and how it is carried out.
    pub(crate) fn capability(&self, index: usize) -> Option<(&Capability, &Plan)> {
        self.settings.capabilities.get(index).zip(self.plans.get(index))
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
