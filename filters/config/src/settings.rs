//! The declaration with types and defaults: what `compile` and the proxy read instead of TOML.
//!
//! Only tables that something reads have a type here; the others are checked against the table of keys and stay in
//! the document until the work that brings them to life gives them one.

use std::{path::PathBuf, sync::Arc, time::Duration};

use frontdesk_page::{
    Position,
    content::crawl::CrawlSettings,
    signals::{SignalPolicy, Signals},
};

pub use super::{
    settings_agtp::*,
    settings_callers::*,
    settings_capability::*,
    settings_firewall::*,
    settings_handoff::Handoff,
    settings_harness::*,
    settings_network::*,
    units::{Budget, Rate, Span},
};

/// A whole configuration file, resolved: defaults filled in, references replaced, paths absolute.
#[derive(Debug, Clone)]
pub struct Settings {
    pub listen: Listen,
    pub admin: Admin,
    /// Worker threads; 0 means as many as the cgroup's CPU quota (`runtime.threads`).
    pub threads: usize,
    /// Plain requests go past the proxy library (`runtime.fast_path`).
    pub fast_path: bool,
    pub log: Log,
    pub tls: Option<Tls>,
    pub upstream: Upstream,
    pub store: Store,
    pub discovery: Discovery,
    pub paths: Paths,
    pub content: Content,
    pub signals: ContentSignals,
    pub site: Site,
    pub auth: Auth,
    pub rate_limits: RateLimits,
    pub token_budget: TokenBudget,
    pub sessions: Sessions,
    pub policies: Policies,
    /// `provenance.license`.
    pub license: Option<String>,
    /// `data_processing.sharing.third_parties`: who gets personal data, where a capability does not say.
    pub third_parties: Vec<String>,
    /// Whether any is shared, whether or not it is said with whom (`privacy.roles.third_party_sharing` too).
    pub shares: bool,
    pub integrity: Option<Integrity>,
    /// `None`: the contract has no `[cache]`.
    pub contract_cache: Option<ContractCache>,
    /// `None`: nothing is recorded.
    pub audit: Option<Audit>,
    /// Shared: they are the bulk of a declaration, and a Snapshot keeps them too.
    pub capabilities: Arc<[Capability]>,
    /// What is there without being declared. Their places come after those of the declared.
    pub built_in: Arc<[Capability]>,
    pub agtp: Agtp,
    /// `None`: nobody is asked.
    pub harness: Option<Harness>,
    pub firewall: FirewallSettings,
    /// `None`: there is none.
    pub handoff: Option<Handoff>,
    pub protection: Protection,
}

impl Settings {
    /// Whether anything needs the site to be read.
    pub fn reads_site(&self) -> bool {
        self.content.concierge || self.content.llms_txt
    }

    /// How the site is read.
    pub fn crawl(&self) -> CrawlSettings {
        CrawlSettings {
            origin: self.site.origin.clone(),
            preserve_host: self.upstream.preserve_host,
            listen: self.listen.http.iter().chain(&self.listen.https).copied().collect(),
            start: self.content.start.clone(),
            exclude: self.content.exclude.clone(),
            follow: self.content.follow.clone(),
            follow_queries: self.content.follow_queries,
            max_pages: self.content.max_pages,
        }
    }

    /// What can be called, with its place: what is declared, then what is built in.
    pub fn offered(&self) -> impl Iterator<Item = (usize, &Capability)> {
        self.capabilities.iter().chain(self.built_in.iter()).enumerate().filter(|(_, c)| c.exposed)
    }

    /// The capability at a place.
    pub fn capability(&self, index: usize) -> Option<&Capability> {
        self.capabilities.get(index).or_else(|| self.built_in.get(index.checked_sub(self.capabilities.len())?))
    }

    /// Where keys are fetched, each once: the set of token keys and the agents' directories.
    pub fn key_urls(&self) -> Vec<&str> {
        let jwks = match &self.auth.jwks {
            Some(Jwks::Url(url)) => Some(url.as_str()),
            _ => None,
        };
        let directories = self.auth.signed_agents.keys.iter().filter_map(|key| key.directory.as_deref());
        let mut urls: Vec<&str> = jwks.into_iter().chain(directories).collect();
        urls.sort_unstable();
        urls.dedup();
        urls
    }
}

/// `[admin]`.
#[derive(Debug, Clone, Default)]
pub struct Admin {
    /// SHA-256 of the operator's token; `None` when not configured.
    pub token_sha256: Option<[u8; 32]>,
    pub hosts: Vec<String>,
}

/// `[log]`. `level` is one of trace, debug, info, warn, error.
#[derive(Debug, Clone)]
pub struct Log {
    pub level: String,
    pub access: bool,
}

/// `[discovery]`.
#[derive(Debug, Clone)]
pub struct Discovery {
    pub link_header: bool,
    pub legacy_link_rel: bool,
    pub notice: bool,
    /// Where in the body of a page the notice stands.
    pub notice_position: Position,
    pub accept: AcceptAnswer,
    /// `on_conflict = "frontdesk"`: ours is served even where the site has a document of its own.
    pub ours_wins: bool,
    pub manifest_max_age: Duration,
    pub stale_while_revalidate: Duration,
}

/// `discovery.accept`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptAnswer {
    Inline,
    Redirect,
}

/// `[paths]`.
#[derive(Debug, Clone)]
pub struct Paths {
    pub converse: AgentPath,
    pub mcp: AgentPath,
    pub openapi: AgentPath,
    pub capabilities: AgentPath,
}

impl Paths {
    /// Each of them.
    pub fn all(&self) -> [&AgentPath; 4] {
        [&self.converse, &self.mcp, &self.openapi, &self.capabilities]
    }
}

/// Where an agent endpoint is.
#[derive(Debug, Clone)]
pub struct AgentPath {
    /// Begins with a slash.
    pub path: String,
    /// The operator wrote it; a default gives way to something of the site's own.
    pub chosen: bool,
}

/// `[content]`, as far as it is read.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// `llms_txt = "auto"`: one is generated where the site has none.
    pub llms_txt: bool,
    /// Questions are answered from the site's own pages.
    pub concierge: bool,
    /// Pages are had as Markdown too.
    pub markdown: bool,
    /// Where reading the site begins: paths, perhaps with queries.
    pub start: Vec<String>,
    /// What is never read: paths, with `*` for anything.
    pub exclude: Vec<String>,
    /// Links to these paths are followed whatever page they stand on: paths, with `*` for anything.
    pub follow: Vec<String>,
    /// Links with a query are followed, unless they act.
    pub follow_queries: bool,
    /// How many pages are kept.
    pub max_pages: usize,
    /// How much of the site an answer to a question quotes, in tokens.
    pub answer_tokens: u64,
    /// How fast the site is read.
    pub rate: Rate,
    /// How often the site is read anew, and the well-known paths are probed for documents of the site's own.
    pub refresh: Duration,
    /// The operator wrote `refresh`; else the site is read less often where that costs it much.
    pub refresh_is_chosen: bool,
}

/// `[content_signals]`.
#[derive(Debug, Clone, Copy)]
pub struct ContentSignals {
    /// The operator wrote the table: what it says is told outside the manifest too.
    pub told: bool,
    pub ai_train: bool,
    pub ai_input: bool,
    pub search: bool,
    pub attribution_required: bool,
}

impl ContentSignals {
    /// What is told to crawlers; `None` where the operator did not write the table.
    pub fn published(&self) -> Option<Signals> {
        let Self { told, ai_train, ai_input, search, .. } = *self;
        if told { Signals::new(SignalPolicy { ai_train, ai_input, search }) } else { None }
    }
}

/// `[policies]`.
#[derive(Debug, Clone)]
pub struct Policies {
    /// Whether an agent endpoint may be called by nobody in particular.
    pub anonymous_access: bool,
    pub automated_monitoring: Monitoring,
    /// `policies.cache`: the longest time that answers are kept; `None`: no bound is declared.
    pub max_ttl: Option<Duration>,
    /// All that was written.
    pub declared: Option<serde_json::Value>,
}

/// `policies.automated_monitoring`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Monitoring {
    Allowed,
    RequiresAuth,
    Disallowed,
}

/// `[integrity]`: what the contract is signed with.
#[derive(Clone)]
pub struct Integrity {
    /// The bytes of the file.
    pub key: Arc<[u8]>,
    pub key_id: Option<String>,
}

impl std::fmt::Debug for Integrity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Integrity({:?})", self.key_id)
    }
}

/// `[site]`; `None` where the operator wrote nothing.
#[derive(Debug, Clone, Default)]
pub struct Site {
    pub name: Option<String>,
    pub origin: Option<String>,
    pub description: Option<String>,
    pub operator: Option<String>,
    pub contact: Option<String>,
}

/// `[cache]`: the freshness of the contract (AICP §6.9), in seconds.
#[derive(Debug, Clone, Copy)]
pub struct ContractCache {
    pub max_age_seconds: u64,
    pub stale_while_revalidate_seconds: u64,
}

/// `[audit]`, where it is there and enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// Absolute.
    pub path: PathBuf,
    /// How long a file that was put aside is kept; `None`: for ever.
    pub retention: Option<Duration>,
    /// `rotate_size`: a file is put aside before it grows beyond so many bytes.
    pub max_size: usize,
    /// `rotate_age`: a file is put aside when its first line is older than this.
    pub max_age: Duration,
}
