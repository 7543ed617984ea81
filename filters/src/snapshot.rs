//! The snapshot: a declaration, compiled into the immutable value that every request reads.
//!
//! Everything that a request would otherwise parse, serialise or allocate each time is prepared here once.

use std::{collections::HashMap, ops::Deref, sync::Arc};

use bytes::Bytes;
use http::{HeaderValue, Method};

#[cfg(feature = "agtp")]
use crate::dialect::agtp::Spoken;
#[cfg(feature = "handoff")]
use crate::handoff;
use crate::{
    content::{crawl::Paths, llms},
    desk::{Compiled, files_endpoint, ticket::Ticket},
    dialect::{
        Announcement, DIALECTS, Entry, Explain, Occupied, Publishing, ahp, api_catalog, cache_control, mcp, openapi,
    },
    discovery::{
        Contents, ai_catalog, auth_md,
        links::{self, Links},
        llms_full,
        not_found::NotFound,
        protected_resource,
        robots::Robots,
        sitemap, skills, webmcp,
    },
    endpoint::Endpoint,
    firewall,
    page::{Insertion, signals::Signals},
    path::Path,
    problem,
    site::Declaration,
};

/// One compiled configuration: the desk's part, and what `decide` needs before the desk. A request takes one snapshot
/// at its start and keeps it to its end.
#[derive(Debug)]
pub struct Snapshot {
    compiled: Compiled,
    /// The added `Link` header; empty when `discovery.link_header` is off.
    pub links: Links,
    /// The permitted uses of the site's content, for pages; `None` when the operator declared none.
    pub signals: Option<Signals>,
    /// What robots.txt says besides; `None`: the site's own is served as it is.
    pub(crate) robots: Option<Robots>,
    /// The answer to agents for a page that does not exist.
    pub not_found: NotFound,
    /// Paths that are not served in another form.
    excluded: Paths,
    /// The AHP manifest and its path, for clients that prefer it to a page.
    pub(crate) manifest: Bytes,
    pub(crate) manifest_path: HeaderValue,
    /// How its refusals are worded.
    pub(crate) manifest_explain: Explain,
    /// The conversation.
    converse: Arc<ahp::Converse>,
    /// AGTP, which answers every path; `None` where it is off.
    #[cfg(feature = "agtp")]
    pub(crate) spoken: Option<Arc<Spoken>>,
}

/// A snapshot gives access to the desk's part.
impl Deref for Snapshot {
    type Target = Compiled;

    fn deref(&self) -> &Compiled {
        &self.compiled
    }
}

/// What was learned from outside since the declaration was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Learned {
    pub occupied: Occupied,
    /// The key set fetched from each of `Settings::key_urls`.
    pub keys: HashMap<String, Bytes>,
    /// The site's pages, where they were crawled.
    pub contents: Option<Arc<Contents>>,
}

impl Snapshot {
    /// The same, as the successor of another snapshot: it keeps what that one remembers of its callers.
    #[must_use]
    pub fn after(mut self, before: &Self) -> Self {
        self.compiled.policies.keep_guesses(&before.compiled.policies);
        self
    }

    /// Compiles a checked declaration.
    pub fn compile(declaration: &Declaration, learned: &Learned) -> Self {
        let elsewhere = declaration.settings.discovery.ours_wins.then(|| learned.occupied.but_for_documents());
        let occupied = elsewhere.as_ref().unwrap_or(&learned.occupied);
        let mut compiled = Compiled::new(declaration, &learned.keys);
        let converse = Arc::new(ahp::Converse::new(declaration, occupied));
        let publishing = Publishing { declaration, occupied, converse: &converse };
        let (mut announcements, mut entries) = (Vec::new(), Vec::new());
        let endpoints = &mut compiled.endpoints;
        let mut manifest = Bytes::new();
        for dialect in DIALECTS {
            let published = (dialect.publish)(&publishing);
            if dialect.name == ahp::DIALECT.name {
                manifest = published.documents.first().map(|d| d.variants[0].body()).unwrap_or_default();
            }
            announcements.extend(published.announcement);
            entries.extend(published.entries);
            published.documents.into_iter().for_each(|d| endpoints.add(Endpoint::document(d, dialect.explain)));
            published.endpoints.into_iter().for_each(|endpoint| endpoints.add(endpoint));
        }
        #[cfg(feature = "harness-gateway")]
        if let Some(path) = declaration.settings.harness.as_ref().and_then(|harness| harness.gateway_path.as_deref()) {
            endpoints.add(frontdesk_harness_gateway::endpoint(path));
        }
        let discovery = &declaration.settings.discovery;
        let path = |rel| announcements.iter().find(|a| a.rel == rel).map_or("/", |a| a.path.as_str());
        let answered = declaration.settings.offered().next().is_some();
        let settings = &declaration.settings;
        let full = llms_full::is_there(settings, occupied).then_some(llms_full::PATH);
        let ways = llms::LlmsAddresses {
            manifest: Some(path("ahp-manifest")),
            converse: answered.then(|| ahp::converse_path(declaration, occupied)),
            full,
            auth_md: auth_md::is_there(settings, occupied).then_some(auth_md::PATH),
        };
        let contents = learned.contents.as_deref();
        let firewall = compiled.firewall.clone();
        let access = auth_md::LlmsAddresses {
            manifest: path("ahp-manifest"),
            contract: path("agent-interface"),
            llms: llms::endpoint(settings, occupied),
            metadata: protected_resource::path(settings, occupied),
        };
        let cache_control = cache_control(declaration);
        let mcp = mcp::path(declaration, occupied);
        let metadata = protected_resource::documents(settings, occupied, mcp, &cache_control);
        metadata.into_iter().for_each(|ours| endpoints.add(Endpoint::document(ours, problem::reply)));
        let ours = [
            auth_md::document(settings, occupied, access, &cache_control),
            llms_full::document(settings, occupied, learned.contents.as_ref(), &firewall),
            sitemap::document(settings, occupied, contents, &firewall),
        ];
        ours.into_iter().flatten().for_each(|ours| endpoints.add(Endpoint::document(ours, problem::reply)));
        let site_map = sitemap::path(settings, occupied, contents).map(str::to_owned);
        entries.extend(site_map.as_deref().map(sitemap::entry));
        entries.extend(llms::entry(settings, occupied));
        entries.extend(llms_full::entry(settings, occupied));
        entries.extend(auth_md::entry(settings, occupied));
        entries.extend(protected_resource::entry(settings, occupied));
        let not_found =
            NotFound::new(learned.contents.clone(), llms::endpoint(settings, occupied), site_map.as_deref(), firewall);
        if let Some(ours) = llms::document(&declaration.settings, occupied, contents, ways, &compiled.firewall) {
            endpoints.add(Endpoint::document(ours, problem::reply));
        }
        if let Some(list) = api_catalog::document(declaration, occupied, &announcements) {
            endpoints.add(Endpoint::document(list, problem::reply));
        }
        if let Some(files) = files_endpoint(&declaration.settings) {
            endpoints.add(files);
        }
        let confirmed = frontdesk_confirm::endpoints(&declaration.settings);
        confirmed.into_iter().for_each(|endpoint| endpoints.add(endpoint));
        let login = frontdesk_login::endpoints(&declaration.settings);
        login.into_iter().for_each(|endpoint| endpoints.add(endpoint));
        #[cfg(feature = "handoff")]
        declaration.settings.handoff.iter().flat_map(handoff::endpoints).for_each(|endpoint| endpoints.add(endpoint));
        let script = webmcp::document(&declaration.settings, occupied, openapi::published::path(declaration, occupied));
        let has_script = script.is_some();
        script.into_iter().for_each(|script| endpoints.add(Endpoint::document(script, problem::reply)));
        compiled.insertion = discovery.notice.then(|| {
            let insertion = Insertion::standard(
                path("ahp-manifest"),
                path("agent-interface"),
                declaration.settings.content.markdown,
            )
            .at(discovery.notice_position);
            let insertion = if has_script { insertion.with_script(webmcp::element()) } else { insertion };
            let insertion = insertion.with_forms(webmcp::forms(declaration));
            let tag = insertion.tag(&declaration.settings.content.exclude);
            (Arc::new(insertion), tag)
        });
        if compiled.endpoints.find(&Path::of(api_catalog::PATH), &Method::GET).is_some()
            || occupied.contains(api_catalog::PATH)
        {
            entries.push(links::api_catalog());
        }
        publish_skills(declaration, occupied, &announcements, &mut entries, &mut compiled);
        if let Some(catalog) = ai_catalog::document(
            &declaration.settings,
            occupied,
            &[announced(&announcements, &compiled), entries.clone()].concat(),
        ) {
            compiled.endpoints.add(Endpoint::document(catalog, problem::reply));
        }
        let links = links(declaration, &announcements, &entries);
        let manifest_path =
            HeaderValue::from_str(path("ahp-manifest")).unwrap_or_else(|_| HeaderValue::from_static(ahp::MANIFEST));
        Self {
            links,
            signals: declaration.settings.signals.published(),
            robots: Robots::new(&declaration.settings, site_map),
            not_found,
            excluded: Paths::in_any_case(&declaration.settings.content.exclude),
            manifest,
            manifest_explain: ahp::DIALECT.explain,
            manifest_path,
            converse,
            #[cfg(feature = "agtp")]
            spoken: Spoken::new(declaration).map(Arc::new),
            compiled,
        }
    }
}

impl Snapshot {
    /// Says in a challenge of the desk where the metadata of the resource is, where an authorization server gives tokens
    /// for it: ours or another.
    pub fn name_metadata(&self, reply: &mut crate::Reply, target: &str) {
        let ours = self.settings.auth.login.as_ref().map(|login| login.issuer.as_str());
        if let Some(site) = ours.or(self.settings.site.origin.as_deref()) {
            protected_resource::name_in(reply, &self.settings, site.trim_end_matches('/'), target);
        }
    }

    /// The declared path of the endpoint that a request reaches, with its placeholders.
    pub fn place(&self, method: &Method, target: &str) -> Option<&str> {
        self.endpoints.find(&Path::of(target), method).map(Endpoint::declared)
    }

    /// How the endpoint that a request reaches words a refusal.
    pub fn explain(&self, method: &Method, target: &str) -> Explain {
        let endpoint = self.endpoints.find(&Path::of(target), method);
        endpoint.map_or(problem::reply, |endpoint| endpoint.explain(method))
    }

    /// Whether a target is hidden from every client.
    pub(crate) fn hides(&self, target: &str) -> bool {
        self.hides_path(&Path::of(target))
    }

    /// The same for a parsed path.
    pub(crate) fn hides_path(&self, path: &Path<'_>) -> bool {
        self.settings.firewall.hide && firewall::is_hidden_path(path)
    }

    /// Whether a target is excluded from other forms (`content.exclude`).
    pub fn excludes(&self, target: &str) -> bool {
        self.excluded.covers(target)
    }

    /// Whether Frontdesk answers a GET of a target, and not the site.
    pub fn answers(&self, target: &str) -> bool {
        self.hides(target) || self.endpoints.find(&Path::of(target), &Method::GET).is_some()
    }

    /// Whether any answer is counted in tokens.
    pub fn counts_tokens(&self) -> bool {
        self.settings.offered().next().is_some()
    }

    /// Problems with fetched or declared keys, one sentence each.
    pub fn problems(&self) -> &[String] {
        &self.callers.problems
    }

    /// The callback's URL and body for a later answer; `None` where there is no callback.
    pub fn delivery<'t>(&self, ticket: &'t Ticket) -> Option<(&'t str, Bytes)> {
        // AHP answers the questions of all dialects.
        ahp::delivery(&self.converse, ticket)
    }
}

/// Adds the agent skills, which name the addresses of everything else.
fn publish_skills(
    declaration: &Declaration,
    occupied: &Occupied,
    announcements: &[Announcement],
    entries: &mut Vec<Entry>,
    compiled: &mut Compiled,
) {
    let settings = &declaration.settings;
    let answered = settings.offered().next().is_some();
    let there = |path: &str| entries.iter().any(|entry| entry.path == path);
    let manifest = announcements.iter().find(|announced| announced.rel == "ahp-manifest");
    let operations = &settings.paths.capabilities;
    let ways = skills::LlmsAddresses {
        converse: answered.then(|| ahp::converse_path(declaration, occupied).to_owned()),
        mcp: mcp::path(declaration, occupied).map(str::to_owned),
        llms: there(llms::PATH).then(|| llms::PATH.to_owned()),
        operations: occupied.leaves(operations).then(|| operations.path.clone()),
        manifest: manifest.map(|announced| announced.path.clone()),
        auth_md: there(AUTH_MD).then(|| AUTH_MD.to_owned()),
    };
    let documents = skills::documents(settings, occupied, &ways);
    entries.extend((!documents.is_empty()).then(skills::entry));
    documents.into_iter().for_each(|document| compiled.endpoints.add(Endpoint::document(document, problem::reply)));
}

/// How to get a credential.
const AUTH_MD: &str = "/auth.md";

/// The announced documents as entries of a list, with the media types in which they are served.
fn announced(announcements: &[Announcement], compiled: &Compiled) -> Vec<Entry> {
    let served = |path: &str| {
        let document = compiled.endpoints.find(&Path::of(path), &Method::GET).and_then(Endpoint::published);
        document.and_then(|document| document.variants.first()).map(|variant| variant.media_type)
    };
    let title = |rel| match rel {
        "ahp-manifest" => ("ahp", "What can be asked and called here (AHP manifest)"),
        "agent-interface" => ("aicp", "The contract of what can be called here (AICP)"),
        other => (other, other),
    };
    let entries = announcements.iter().map(|announced| {
        let (name, title) = title(announced.rel);
        let media_type = served(&announced.path).unwrap_or(announced.media_type);
        Entry { name, rel: None, path: announced.path.clone(), media_type, title }
    });
    entries.collect()
}

/// One header line with a link-value for each announcement, and on pages one for each entry (RFC 8288). One line, because
/// some clients read only the first.
fn links(declaration: &Declaration, announcements: &[Announcement], entries: &[Entry]) -> Links {
    let discovery = &declaration.settings.discovery;
    if !discovery.link_header {
        return Links::default();
    }
    let value = |rel: &str, a: &Announcement| format!("<{}>; rel=\"{rel}\"; type=\"{}\"", a.path, a.media_type);
    let mut values = Vec::new();
    for a in announcements {
        values.push(value(a.rel, a));
        if let (Some(rel), true) = (a.legacy_rel, discovery.legacy_link_rel) {
            values.push(value(rel, a));
        }
    }
    if !discovery.links {
        return Links::of_demanded(&values);
    }
    // The order in which they are left out if the paths are long: the last first.
    let place = |entry: &&Entry| match entry.rel {
        Some("describedby") => 0,
        Some("api-catalog") => 1,
        Some("service-desc") => 2,
        _ => 3,
    };
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by_key(place);
    Links::new(&values, entries.into_iter(), declaration.settings.content.markdown)
}
