//! The files in conf/ are valid, complete, and show the defaults.

use frontdesk_config::testing::{known_keys, written_keys};

use super::*;
use crate::extensions::EXTENSIONS;

#[test]
fn the_two_line_file_is_enough() {
    let declared = declare_here(MINIMAL).unwrap();
    assert!(declared.warnings.is_empty() && declared.references.is_empty());
    let settings = declared.settings;
    assert_eq!(settings.listen.http, ["127.0.0.1:8080".parse().unwrap()]);
    assert_eq!(settings.listen.admin, "127.0.0.1:9901".parse().unwrap());
    assert!(settings.listen.https.is_empty() && settings.listen.agtp.is_none() && settings.tls.is_none());
    assert!(settings.listen.trusted_proxies.is_empty() && settings.upstream.preserve_host);
    assert_eq!(settings.auth.kind, AuthKind::None);
    assert_eq!(settings.upstream.urls, [UpstreamUrl { tls: false, host: "127.0.0.1".into(), port: 3000 }]);
    assert_eq!(*declared.contract, Node::Table(vec![]));
}

#[test]
fn the_full_file_is_accepted() {
    let declared = declare_in(FRONTDESK, &Pretended::with_keys()).unwrap_or_else(|refused| panic!("{refused}"));
    // It shows the defaults, and has actions in its contract.
    let warned: Vec<_> = declared.warnings.iter().map(|warning| warning.key.as_str()).collect();
    assert_eq!(warned, ["store.url"]);
    assert_eq!(declared.settings.capabilities.len(), 3);
    let schema = declared.settings.capabilities[1].input_schema.as_ref().unwrap();
    assert_eq!(schema["required"][0], "fare_id");
    let names: Vec<_> = declared.references.iter().map(|path| path.to_str().unwrap()).collect();
    let keys = ["jwks.json", "signing-key.pem", "tls.crt", "tls.key"].map(|name| format!("/conf/keys/{name}"));
    assert_eq!(names, keys);
}

#[test]
fn the_full_file_shows_the_defaults() {
    let full = declare_in(FRONTDESK, &Pretended::with_keys()).unwrap().settings;
    let least = declare_here(MINIMAL).unwrap().settings;
    let defaults = |settings: &Settings| {
        let Settings { listen, upstream, threads, log, discovery, paths, content, signals, .. } = settings;
        let Settings { rate_limits, token_budget, protection, store, sessions, fast_path, .. } = settings;
        // Whether they are announced elsewhere depends on whether they were written.
        let signals = ContentSignals { told: true, ..*signals };
        // The same holds for whether the operator chose it.
        let content = Content { refresh_is_chosen: true, ..content.clone() };
        let paths = paths.all().map(|path| path.path.as_str());
        format!(
            "{:#?}",
            (
                (&listen.http, listen.h2c, listen.admin, listen.proxy_protocol, threads, log, discovery, paths),
                (content, signals, protection, store, sessions, token_budget),
                (&rate_limits.anonymous, &rate_limits.authenticated, &rate_limits.actions, &rate_limits.content),
                (upstream.preserve_host, upstream.rewrite_redirects, upstream.http2),
                (upstream.connect_timeout, upstream.read_timeout),
                (upstream.health_interval, upstream.max_requests, fast_path),
            )
        )
    };
    assert_eq!(defaults(&full), defaults(&least));
}

#[test]
fn every_key_is_in_the_full_file_and_the_other_way_round() {
    // "# key = value" and "# [table]" are keys too.
    let uncommented: String = FRONTDESK
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest) if rest.starts_with('[') => rest,
            Some(rest)
                if rest.split_once(" = ").is_some_and(|(key, _)| {
                    key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
                }) =>
            {
                rest
            }
            _ => line,
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    let outside = Pretended::with_keys();
    let unknown: Vec<_> =
        refused_in(&uncommented, &outside).into_iter().filter(|line| line.contains("unknown")).collect();
    assert_eq!(unknown, Vec::<String>::new());

    let known = known_keys(EXTENSIONS);
    let written = written_keys(&uncommented, &outside, EXTENSIONS);
    assert_eq!(known.difference(&written).collect::<Vec<_>>(), Vec::<&String>::new(), "not in conf/frontdesk.toml");
    assert_eq!(written.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new(), "not in the table of keys");
}
