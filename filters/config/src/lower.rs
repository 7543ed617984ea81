//! Builds typed settings from the checked tree, with defaults.
//!
//! The defaults are defined here; `conf/frontdesk.toml` shows them, and a test compares the two. Nothing fails here,
//! because the tree was checked and a missing value has its default.

use std::{path::Path, time::Duration};

use super::{
    built_in, forms, lower_agtp,
    lower_callers::{auth, digest, rate_limits, sessions, store, token_budget},
    lower_capability::{capability, shares},
    lower_firewall, lower_harness,
    raw::{Files, Item},
    schemas::Schemas,
    settings::*,
    settings_handoff, units,
    view::View,
};
use frontdesk_page::Position;

/// The default address for people's requests.
pub(super) const HTTP: &str = "127.0.0.1:8080";
/// The default address for the operator's requests.
pub(super) const ADMIN: &str = "127.0.0.1:9901";

/// The default path of files that the site answered with (`paths.files`).
pub const FILES: &str = "/agent/files";

/// The default paths of the endpoints that come with `[auth.login]`.
pub const LOGIN_PATHS: [(&str, &str); 2] = [("links", "/agent/links"), ("oauth", "/agent/oauth")];

/// The default paths of the agent endpoints.
pub const PATHS: [(&str, &str); 6] = [
    ("converse", "/agent/converse"),
    ("mcp", "/mcp"),
    ("a2a", "/a2a"),
    ("openapi", "/openapi.json"),
    ("capabilities", "/capabilities"),
    ("confirm", "/agent/confirm"),
];

/// The settings of a checked tree.
pub(super) fn lower(root: &Item, base: &Path, files: &Files, schemas: &Schemas) -> Settings {
    let table = |name| View { item: root.get(name), base };
    let capabilities = root.get("capabilities").map(Item::items).unwrap_or_default();
    Settings {
        listen: listen(table("listen")),
        admin: admin(table("admin")),
        threads: table("runtime").count("threads", 0),
        fast_path: table("runtime").flag("fast_path", true),
        log: Log { level: table("log").text_or("level", "info"), access: table("log").flag("access", true) },
        tls: root.get("tls").and_then(|_| {
            let tls = table("tls");
            Some(Tls { cert: tls.file("cert")?, key: tls.file("key")? })
        }),
        upstream: upstream(table("upstream")),
        store: store(table("store")),
        discovery: discovery(table("discovery")),
        paths: paths(table("paths")),
        content: content(table("content")),
        signals: signals(table("content_signals")),
        site: site(table("site")),
        auth: auth(table("auth"), files, table("site").text("origin").as_deref()),
        rate_limits: rate_limits(table("rate_limits")),
        token_budget: token_budget(table("token_budget")),
        sessions: sessions(table("sessions")),
        policies: policies(table("policies")),
        license: table("provenance").text("license"),
        third_parties: {
            let processing = table("data_processing");
            View { item: processing.get("sharing"), ..processing }.texts("third_parties")
        },
        shares: [&["data_processing", "sharing", "third_parties"][..], &["privacy", "roles", "third_party_sharing"]]
            .into_iter()
            .any(|path| shares(root.at(path))),
        integrity: integrity(table("integrity"), files),
        contract_cache: root.get("cache").map(|_| ContractCache {
            max_age_seconds: table("cache").number("max_age_seconds", 3600),
            stale_while_revalidate_seconds: table("cache").number("stale_while_revalidate_seconds", 86400),
        }),
        audit: root.get("audit").and_then(|_| audit(table("audit"))),
        built_in: built_in::of(table("content").flag("concierge", true), capabilities),
        capabilities: capabilities
            .iter()
            .filter_map(|item| capability(View { item: Some(item), base }, table("confirmation"), schemas))
            .collect(),
        harness: lower_harness::harness(table("harness")),
        agtp: lower_agtp::agtp(table("agtp"), lower_agtp::is_spoken(root), files),
        firewall: lower_firewall::firewall(table("firewall"), table("site").text("contact"), files),
        handoff: settings_handoff::lower(table("handoff")),
        protection: protection(table("protection")),
    }
}

fn listen(view: View) -> Listen {
    let addresses = |key, default: &str| -> Vec<_> {
        let texts = view.get(key).map_or_else(|| vec![default.to_owned()], |_| view.texts(key));
        texts.iter().filter_map(|text| forms::read_address(text).ok()).collect()
    };
    let admin = addresses("admin", ADMIN).first().copied();
    Listen {
        http: addresses("http", HTTP),
        h2c: view.flag("h2c", false),
        https: addresses("https", ""),
        agtp: addresses("agtp", "").first().copied(),
        admin: admin.unwrap_or_else(|| (std::net::Ipv4Addr::LOCALHOST, 9901).into()),
        trusted_proxies: view.texts("trusted_proxies").iter().filter_map(|t| forms::read_network(t).ok()).collect(),
        proxy_protocol: view.flag("proxy_protocol", false),
        upgrade_socket: view.file("upgrade_socket"),
    }
}

fn admin(view: View) -> Admin {
    Admin { token_sha256: view.text("token_sha256").and_then(|hex| digest(&hex)), hosts: view.texts("hosts") }
}

fn upstream(view: View) -> Upstream {
    let urls = if view.get("url").is_some() { view.texts("url") } else { view.texts("urls") };
    Upstream {
        urls: urls.iter().filter_map(|url| forms::read_origin(url).ok()).collect(),
        preserve_host: view.flag("preserve_host", true),
        via: view.flag("via", false),
        rewrite_redirects: view.flag("rewrite_redirects", true),
        http2: match view.text("http2").as_deref() {
            Some("prior-knowledge") => UpstreamHttp2::PriorKnowledge,
            Some("off") => UpstreamHttp2::Off,
            _ => UpstreamHttp2::Auto,
        },
        ca: view.file("ca"),
        server_name: view.text("server_name"),
        client_cert: view.file("client_cert"),
        client_key: view.file("client_key"),
        connect_timeout: view.duration("connect_timeout", "1s"),
        read_timeout: view.duration("read_timeout", "30s"),
        max_requests: view.count("max_requests", 0),
        health_path: view.text("health_path"),
        health_interval: view.duration("health_interval", "5s"),
    }
}

fn discovery(view: View) -> Discovery {
    Discovery {
        link_header: view.flag("link_header", true),
        links: view.flag("links", true),
        robots: view.flag("robots", true),
        sitemap: view.flag("sitemap", true),
        auth_md: view.flag("auth_md", true),
        server_card: view.flag("server_card", true),
        skills: view.flag("skills", true),
        webmcp: view.flag("webmcp", false),
        legacy_link_rel: view.flag("legacy_link_rel", false),
        notice: view.flag("notice", true),
        notice_position: match view.text("notice_position").as_deref() {
            Some("start") => Position::Start,
            _ => Position::End,
        },
        accept: match view.text("accept").as_deref() {
            Some("redirect") => AcceptAnswer::Redirect,
            _ => AcceptAnswer::Inline,
        },
        agent_card: view.flag("agent_card", true),
        ours_wins: view.text("on_conflict").as_deref() == Some("frontdesk"),
        manifest_max_age: view.duration("manifest_max_age", "1h"),
        stale_while_revalidate: view.duration("stale_while_revalidate", "24h"),
    }
}

fn paths(view: View) -> Paths {
    let [converse, mcp, a2a, openapi, capabilities, confirm] =
        PATHS.map(|(key, default)| AgentPath { path: view.text_or(key, default), chosen: view.get(key).is_some() });
    let files = AgentPath { path: view.text_or("files", FILES), chosen: view.get("files").is_some() };
    let [links, oauth] = LOGIN_PATHS
        .map(|(key, default)| AgentPath { path: view.text_or(key, default), chosen: view.get(key).is_some() });
    Paths { converse, mcp, a2a, openapi, capabilities, confirm, files, links, oauth }
}

fn content(view: View) -> Content {
    let texts = |key, default: &[&str]| match view.get(key) {
        Some(_) => view.texts(key),
        None => default.iter().map(|text| (*text).to_owned()).collect(),
    };
    Content {
        llms_txt: view.text_or("llms_txt", "auto") == "auto",
        concierge: view.flag("concierge", true),
        markdown: view.flag("markdown", true),
        front_matter: view.flag("front_matter", true),
        llms_full: view.flag("llms_full", true),
        start: texts("start", &["/sitemap.xml", "/llms.txt", "/"]),
        exclude: texts("exclude", &["/admin/*"]),
        follow: texts("follow", &[]),
        follow_queries: view.flag("follow_queries", false),
        max_pages: view.count("max_pages", 2_000),
        answer_tokens: view.number("answer_tokens", 1_500),
        refresh: view.duration("refresh", "15m"),
        refresh_is_chosen: view.get("refresh").is_some(),
        rate: units::rate(&view.text_or("rate", "2/second")).unwrap_or(Rate { count: 2, span: Span::Second }),
        index: view.text("index").filter(|path| !path.is_empty()).map(|path| view.base.join(path)),
        semantic: semantic(View { item: view.get("semantic"), base: view.base }),
        model: chat_model(View { item: view.get("model"), base: view.base }),
    }
}

fn semantic(view: View) -> Option<SemanticModel> {
    let filled = |key| view.text(key).filter(|text| !text.is_empty());
    let (model, url) = (filled("model").map(|path| view.base.join(path)), filled("url"));
    (model.is_some() || url.is_some()).then(|| SemanticModel {
        model,
        url,
        name: view.text_or("name", ""),
        key: view.text_or("key", ""),
    })
}

fn chat_model(view: View) -> Option<ChatModel> {
    Some(ChatModel {
        url: view.text("url")?,
        name: view.text_or("name", ""),
        key: view.text_or("key", ""),
        timeout: view.duration("timeout", "20s"),
        tokens_per_day: view.number("tokens_per_day", 1_000_000),
    })
}

fn signals(view: View) -> ContentSignals {
    ContentSignals {
        told: view.item.is_some(),
        ai_train: view.get("ai_train").and_then(Item::bool),
        ai_input: view.flag("ai_input", true),
        search: view.flag("search", true),
        attribution_required: view.flag("attribution_required", true),
    }
}

fn site(view: View) -> Site {
    Site {
        name: view.text("name"),
        origin: view.text("origin"),
        description: view.text("description"),
        operator: view.text("operator"),
        contact: view.text("contact"),
    }
}

fn audit(view: View) -> Option<Audit> {
    view.flag("enabled", true).then(|| Audit {
        path: view.base.join(view.text_or("path", "audit.jsonl")),
        retention: view.text("retention").and_then(|text| units::retention(&text)),
        max_size: view.size("rotate_size", "64MB"),
        max_age: view.duration("rotate_age", "24h"),
    })
}

fn policies(view: View) -> Policies {
    let cache = View { item: view.get("cache"), ..view };
    Policies {
        anonymous_access: view.flag("anonymous_access", true),
        automated_monitoring: match view.text("automated_monitoring").as_deref() {
            Some("requires_auth" | "allowed_with_auth") => Monitoring::RequiresAuth,
            Some("disallowed") => Monitoring::Disallowed,
            _ => Monitoring::Allowed,
        },
        max_ttl: match cache.flag("allowed", true) {
            false => Some(Duration::ZERO),
            true => cache.get("max_ttl_seconds").map(|_| Duration::from_secs(cache.number("max_ttl_seconds", 0))),
        },
        declared: view.item.map(Item::json),
    }
}

fn integrity(view: View, files: &Files) -> Option<Integrity> {
    let key = files.get(&view.file("key")?)?;
    Some(Integrity { key: key.as_slice().into(), key_id: view.text("key_id") })
}

fn protection(view: View) -> Protection {
    Protection {
        max_connections: view.count("max_connections", 20_000),
        client_share: view.count("client_share", 50),
        header_timeout: view.duration("header_timeout", "10s"),
        idle_timeout: view.duration("idle_timeout", "60s"),
        max_header: view.size("max_header", "32KB"),
        max_recoding: view.count("max_recoding", 256),
        max_input: view.size("max_input", "64KB"),
        max_answer: view.size("max_answer", "4MB"),
        min_rate: view.size("min_rate", "500B") as u64,
        transfer_timeout: view.duration("transfer_timeout", "1h"),
        shutdown_delay: view.duration("shutdown_delay", "0s"),
        shutdown_timeout: view.duration("shutdown_timeout", "10s"),
    }
}
