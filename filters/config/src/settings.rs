//! The typed declaration with defaults, which the compiler and the proxy read.
//!
//! Only tables that are used have a type here. The others are checked against the table of keys and stay in the
//! document.

use std::{path::PathBuf, sync::Arc, time::Duration};

use frontdesk_page::{
    Position,
    content::crawl::CrawlSettings,
    signals::{SignalPolicy, Signals},
};

pub use super::{
    capability_kind::{AuthNeed, BuiltIn, CapabilityKind},
    settings_agtp::*,
    settings_call::*,
    settings_callers::*,
    settings_capability::*,
    settings_firewall::*,
    settings_handoff::Handoff,
    settings_harness::*,
    settings_login::*,
    settings_network::*,
    settings_paths::*,
    units::{Budget, Rate, Span},
};

/// A complete configuration: defaults filled in, references replaced, paths absolute.
#[derive(Debug, Clone)]
pub struct Settings {
    pub listen: Listen,
    pub admin: Admin,
    /// Worker threads; 0 means the cgroup's CPU quota (`runtime.threads`).
    pub threads: usize,
    /// Plain requests take the fast path instead of pingora (`runtime.fast_path`).
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
    /// `data_processing.sharing.third_parties`: the recipients of personal data, where a capability names none.
    pub third_parties: Vec<String>,
    /// Whether personal data is shared, with named recipients or not (`privacy.roles.third_party_sharing` too).
    pub shares: bool,
    pub integrity: Option<Integrity>,
    /// `None`: the contract has no `[cache]`.
    pub contract_cache: Option<ContractCache>,
    /// `None`: there is no audit log.
    pub audit: Option<Audit>,
    /// Shared, because they are the bulk of a declaration and a snapshot keeps them too.
    pub capabilities: Arc<[Capability]>,
    /// The built-in capabilities. Their indices follow those of the declared.
    pub built_in: Arc<[Capability]>,
    pub agtp: Agtp,
    /// `None`: there is no harness.
    pub harness: Option<Harness>,
    pub firewall: FirewallSettings,
    /// `None`: there is no handoff.
    pub handoff: Option<Handoff>,
    pub protection: Protection,
}

impl Settings {
    /// Whether any feature needs the site's pages.
    pub fn reads_site(&self) -> bool {
        self.content.concierge || self.content.llms_txt
    }

    /// How the site is crawled.
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

    /// Everything that can be called, with its index: the declared capabilities, then the built-in ones.
    pub fn offered(&self) -> impl Iterator<Item = (usize, &Capability)> {
        self.capabilities.iter().chain(self.built_in.iter()).enumerate().filter(|(_, c)| c.exposed)
    }

    /// The capability with this index.
    pub fn capability(&self, index: usize) -> Option<&Capability> {
        self.capabilities.get(index).or_else(|| self.built_in.get(index.checked_sub(self.capabilities.len())?))
    }

    /// The authorization servers whose keys are found by their metadata: all whose tokens are not verified by `auth.jwks` or
    /// an introspection. A token has to be meant for this site (RFC 8707), so without a known audience there are none.
    pub fn issuers(&self) -> Vec<Issuer<'_>> {
        let auth = &self.auth;
        let audiences: Vec<String> = match (&auth.audience, self.site.origin.as_deref()) {
            (Some(audience), _) => vec![audience.clone()],
            (None, Some(origin)) => {
                let origin = origin.trim_end_matches('/');
                vec![origin.to_owned(), format!("{origin}/"), format!("{origin}{}", self.paths.mcp.path)]
            }
            (None, None) => return Vec::new(),
        };
        let is_known = |url: &str| {
            auth.introspection.is_some()
                || auth.login.as_ref().is_some_and(|login| login.issuer == url)
                || auth.jwks.is_some() && auth.issuer.as_deref() == Some(url)
        };
        let urls = auth.authorization_servers.iter().map(String::as_str).filter(|url| !is_known(url));
        urls.map(|url| Issuer { url, audiences: audiences.clone() }).collect()
    }

    /// Whether tokens of some issuer are verified here.
    pub fn verifies_tokens(&self) -> bool {
        self.auth.jwks.is_some() || !self.issuers().is_empty()
    }

    /// Where keys are fetched from, each once: the URL of the token key set, the issuers with metadata, and the agents'
    /// directories.
    pub fn key_urls(&self) -> Vec<&str> {
        let jwks = match &self.auth.jwks {
            Some(Jwks::Url(url)) => Some(url.as_str()),
            _ => None,
        };
        let directories = self.auth.signed_agents.keys.iter().filter_map(|key| key.directory.as_deref());
        let issuers = self.issuers().into_iter().map(|issuer| issuer.url);
        let mut urls: Vec<&str> = jwks.into_iter().chain(issuers).chain(directories).collect();
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
    /// robots.txt names known agents and the sitemap, where the site's own does not.
    pub robots: bool,
    /// A sitemap of the pages that were read, where the site has none.
    pub sitemap: bool,
    /// How agents get access, in Markdown, where the site has nothing of the kind.
    pub auth_md: bool,
    /// Pages name more than the manifest and the contract in `Link`.
    pub links: bool,
    /// The MCP server card, ai-catalog.json and mcp.json.
    pub server_card: bool,
    /// The agent skills.
    pub skills: bool,
    /// A script on pages that offers the capabilities to an agent in the browser.
    pub webmcp: bool,
    pub legacy_link_rel: bool,
    pub notice: bool,
    /// Where in a page's body the notice stands.
    pub notice_position: Position,
    pub accept: AcceptAnswer,
    /// Publish an A2A agent card.
    pub agent_card: bool,
    /// `on_conflict = "frontdesk"`: Frontdesk's documents are served even where the site has its own.
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

/// The parts of `[content]` that are used.
#[derive(Debug, Clone, PartialEq)]
pub struct Content {
    /// `llms_txt = "auto"`: generate one where the site has none.
    pub llms_txt: bool,
    /// Answer questions from the site's pages.
    pub concierge: bool,
    /// Serve pages as Markdown too.
    pub markdown: bool,
    /// Markdown begins with what the page says of itself.
    pub front_matter: bool,
    /// All pages in one text, where the site has none.
    pub llms_full: bool,
    /// Where the crawl begins: paths, with optional queries.
    pub start: Vec<String>,
    /// Paths that are never crawled, with `*` for anything.
    pub exclude: Vec<String>,
    /// Paths to which links are always followed, with `*` for anything.
    pub follow: Vec<String>,
    /// Follow links with a query, unless they have side effects.
    pub follow_queries: bool,
    /// Maximum pages that are kept.
    pub max_pages: usize,
    /// How much of the site an answer to a question quotes, in tokens.
    pub answer_tokens: u64,
    /// How fast the site is read.
    pub rate: Rate,
    /// How often the site is crawled again, and the well-known paths probed for the site's own documents.
    pub refresh: Duration,
    /// The operator set `refresh`. Otherwise a crawl that costs the site much is repeated less often.
    pub refresh_is_chosen: bool,
    /// The directory in which pages and index survive a restart; `None`: they do not.
    pub index: Option<PathBuf>,
    /// `[content.semantic]`; `None`: answers are found by words alone.
    pub semantic: Option<SemanticModel>,
    /// `[content.model]`; `None`: answers are quotations.
    pub model: Option<ChatModel>,
}

/// `[content.semantic]`: where the vectors of passages and questions come from. One of `model` and `url` is there.
#[derive(Debug, Clone, PartialEq)]
pub struct SemanticModel {
    /// The directory of a model that runs in the process.
    pub model: Option<PathBuf>,
    /// An embeddings endpoint in OpenAI's form.
    pub url: Option<String>,
    pub name: String,
    /// Sent as a bearer token; empty: none.
    pub key: String,
}

/// `[content.model]`: a chat endpoint in OpenAI's form.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatModel {
    pub url: String,
    pub name: String,
    /// Sent as a bearer token; empty: none.
    pub key: String,
    pub timeout: Duration,
    /// What the model may read and write in a day, in tokens.
    pub tokens_per_day: u64,
}

/// `[content_signals]`.
#[derive(Debug, Clone, Copy)]
pub struct ContentSignals {
    /// The operator wrote the table, so pages carry it too.
    pub told: bool,
    /// `None`: nothing is said of training.
    pub ai_train: Option<bool>,
    pub ai_input: bool,
    pub search: bool,
    pub attribution_required: bool,
}

impl ContentSignals {
    /// The signals for crawlers on pages; `None` where the operator did not write the table.
    pub fn published(&self) -> Option<Signals> {
        if self.told { self.of_robots() } else { None }
    }

    /// What is said in robots.txt and the manifest where the operator did not write the table, for the operator.
    pub fn by_default(&self) -> Option<String> {
        let signals = self.of_robots().filter(|_| !self.told)?;
        let said = signals.told().next()?.2.to_str().ok()?.to_owned();
        Some(format!("{said}; nothing is said of training. [content_signals] changes that"))
    }

    /// The signals in robots.txt, defaults included.
    pub fn of_robots(&self) -> Option<Signals> {
        let Self { ai_train, ai_input, search, .. } = *self;
        Signals::new(SignalPolicy { ai_train, ai_input, search })
    }
}

/// `[policies]`.
#[derive(Debug, Clone)]
pub struct Policies {
    /// Whether agent endpoints accept anonymous callers.
    pub anonymous_access: bool,
    pub automated_monitoring: Monitoring,
    /// `policies.cache`: maximum cache time of answers; `None`: no maximum.
    pub max_ttl: Option<Duration>,
    /// The whole table.
    pub declared: Option<serde_json::Value>,
}

/// `policies.automated_monitoring`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Monitoring {
    Allowed,
    RequiresAuth,
    Disallowed,
}

/// `[integrity]`: the key that signs the contract.
#[derive(Clone)]
pub struct Integrity {
    /// The bytes of the key file.
    pub key: Arc<[u8]>,
    pub key_id: Option<String>,
}

impl std::fmt::Debug for Integrity {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Integrity({:?})", self.key_id)
    }
}

/// `[site]`; its fields are `None` where the operator wrote nothing.
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

/// `[audit]`, where it is present and enabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Audit {
    /// Absolute.
    pub path: PathBuf,
    /// How long a rotated file is kept; `None`: for ever.
    pub retention: Option<Duration>,
    /// `rotate_size`: rotate a file before it exceeds this many bytes.
    pub max_size: usize,
    /// `rotate_age`: rotate a file when its first line is older than this.
    pub max_age: Duration,
}
