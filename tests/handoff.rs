//! Promise: a handoff is served in layers, read-only, to clients with a credential, and each file shows how far it can
//! be trusted.

use crate::support::handoff::{AT, Handoff, KEY, checksum, get, marks, sha256};
use crate::support::page::PAGE;
use crate::support::{Ask, Desk, Origin, Reply, Request, Tls, Via};

async fn origin() -> Origin {
    Origin::start(|_: &Request| Reply::html(PAGE)).await
}

async fn served(lines: &str) -> (Origin, Handoff, Desk) {
    let (origin, handoff) = (origin().await, Handoff::genuine());
    let desk = handoff.served(&origin, lines).await;
    (origin, handoff, desk)
}

#[tokio::test]
async fn handoff_index_is_the_manifest_as_it_is_stored() {
    let (_origin, handoff, desk) = served("").await;
    for below in ["", "/", "/MANIFEST.json", "/?envelope=0"] {
        let index = get(&desk, below).await;
        assert_eq!((index.status, index.media_type().as_str()), (200, "application/json"), "{below}: {}", index.text());
        assert_eq!(index.text(), handoff.read("MANIFEST.json"), "{below}");
        assert_eq!(index.header("cache-control"), Some("private, no-cache"));
        assert_eq!(index.header("x-robots-tag"), Some("noindex"));
        assert_eq!(index.header("content-usage"), Some("train-ai=n"));
        assert_eq!(marks(&index), ["ok", "-", "trust-expired"], "{below}");
    }
}

#[tokio::test]
async fn handoff_files_come_by_name_with_their_checksum() {
    let (_origin, handoff, desk) = served("").await;
    let manifest = handoff.manifest();
    for (name, listed) in manifest["files"].as_object().expect("files") {
        let file = get(&desk, &format!("/{name}")).await;
        assert_eq!((file.status, file.text()), (200, handoff.read(name)), "{name}");
        assert_eq!(file.header("x-aahp-checksum"), listed["checksum"].as_str(), "{name}");
        assert_eq!(marks(&file)[..2], ["ok", "verified"], "{name}");
        assert_eq!(file.header("etag"), Some(format!("\"{}\"", sha256(&file.body)).as_str()), "{name}");
        assert_eq!(file.header("x-content-type-options"), Some("nosniff"));
        let kind = if name.ends_with(".md") { "text/markdown; charset=utf-8" } else { "application/json" };
        assert_eq!(file.header("content-type"), Some(kind), "{name}");
    }
    assert_eq!(marks(&get(&desk, "/TRUST.md").await)[2], "trust-expired");
}

#[tokio::test]
async fn handoff_parts_of_files_are_enough() {
    let (_origin, handoff, desk) = served("").await;
    let summary = get(&desk, "/STATUS.md?section=summary").await;
    assert!(summary.text().starts_with("Build green.") && summary.text().lines().count() == 1, "{}", summary.text());
    assert_eq!(summary.header("x-aahp-checksum"), Some(checksum(&handoff.read("STATUS.md")).as_str()), "of the file");
    assert_ne!(summary.header("etag"), get(&desk, "/STATUS.md").await.header("etag"), "a tag of its own");
    let both = get(&desk, "/STATUS.md?section=what_is_missing&section=summary").await.text();
    assert!(both.starts_with("- Notifications") && both.ends_with(&summary.text()), "in the order asked for: {both}");
    let none = get(&desk, "/STATUS.md?section=example").await;
    assert_eq!((none.status, none.media_type().as_str()), (404, "application/problem+json"), "that one is in code");
    let names = ["summary", "build_health", "what_works", "what_is_missing"];
    assert_eq!(none.json()["details"]["sections"], serde_json::json!(names));
    let entries = get(&desk, "/LOG.md?entries=2").await.text();
    assert!(
        entries.starts_with("## [2026-02-26]")
            && entries.contains("## [2026-02-24]")
            && !entries.contains("2026-02-20")
    );
    assert_eq!(get(&desk, "/LOG.md?entries=99").await.text().matches("## [").count(), 3);
    handoff.put("STATUS.md", "<!-- SECTION: open -->\nto the end");
    let open = get(&desk, "/STATUS.md?section=open").await;
    assert_eq!((open.text().as_str(), marks(&open)[2]), ("to the end", "checksum-mismatch, section-unclosed"));
}

#[tokio::test]
async fn handoff_parameters_that_mean_nothing_are_told_what_does() {
    let (_origin, _handoff, desk) = served("").await;
    for below in [
        "/?section=a",
        "/?view=all",
        "/?envelope=2",
        "/STATUS.md?entries=1",
        "/LOG.md?entries=0",
        "/LOG.md?entries=x",
        "/STATUS.md?section=Bad%20Name",
        "/STATUS.md?x=1",
        "/pii-allowlist.json?section=a",
    ] {
        let refused = get(&desk, below).await;
        assert_eq!(refused.status, 400, "{below}: {}", refused.text());
        assert_eq!(refused.json()["code"], "handoff_bad_parameter", "{below}");
        assert!(refused.json()["details"]["parameters"].as_array().is_some_and(|names| names.len() == 2), "{below}");
    }
}

#[tokio::test]
async fn handoff_envelope_and_core_tell_how_things_stand() {
    let (_origin, handoff, desk) = served("").await;
    handoff.put("DASHBOARD.md", "changed by hand\n");
    handoff.remove("WORKFLOW.md");
    let told = get(&desk, "/?envelope=1").await.json();
    assert_eq!(told["manifest"], handoff.manifest());
    assert_eq!((&told["state"], &told["lock"]), (&"ok".into(), &serde_json::Value::Null));
    let checks = ["STATUS.md", "DASHBOARD.md", "WORKFLOW.md"].map(|name| told["checks"][name].as_str().unwrap_or("?"));
    assert_eq!(checks, ["ok", "assumed", "missing"]);
    let expired = serde_json::json!([
        { "property": "Build passes", "expires": "2026-03-01" },
        { "property": "Tables agree with print", "expires": "2026-03-26" },
    ]);
    assert_eq!(told["trust_expired"], expired);
    let core = get(&desk, "/?view=core").await.json();
    assert_eq!(core["manifest"], handoff.manifest());
    for name in ["STATUS.md", "NEXT_ACTIONS.md"] {
        assert_eq!(core["files"][name]["content"], handoff.read(name));
        assert_eq!(core["files"][name]["integrity"], "verified");
    }
    assert!(core.get("state").is_none() && core["files"].as_object().is_some_and(|files| files.len() == 2));
    let both = get(&desk, "/?view=core&envelope=1").await.json();
    assert!(both["files"].is_object() && both["checks"].is_object());
}

#[tokio::test]
async fn handoff_is_only_read_and_only_with_a_credential() {
    let tls = Tls::new();
    let (origin, handoff) = (origin().await, Handoff::genuine());
    let desk = handoff.setup(&origin, "").tls(&tls).start().await;
    for below in ["", "/", "/STATUS.md", "/nothing.md", "/a/b", "/?x=1"] {
        for ask in [Ask::get(&format!("{AT}{below}")), Ask::get(&format!("{AT}{below}")).bearer("guess")] {
            let refused = desk.ask(Via::H1, ask).await;
            assert_eq!(refused.status, 401, "{below}: {}", refused.text());
            assert!(refused.header("www-authenticate").is_some_and(|how| how.starts_with("Bearer")), "{below}");
            assert!(refused.header("x-aahp-state").is_none() && !refused.text().contains("tidebook"), "{below}");
        }
    }
    for method in ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"] {
        for below in ["", "/", "/STATUS.md", "/HANDOFF.lock"] {
            let refused = desk.ask(Via::H1, Ask::new(method, &format!("{AT}{below}")).bearer(KEY).body("x")).await;
            assert_eq!(
                (refused.status, refused.header("allow")),
                (405, Some("GET, HEAD, OPTIONS")),
                "{method} {below}"
            );
        }
    }
    for via in [Via::H1, Via::H1Tls, Via::H2Tls] {
        let path = format!("{AT}/STATUS.md");
        let (whole, head) =
            (desk.ask(via, Ask::get(&path).bearer(KEY)).await, desk.ask(via, Ask::head(&path).bearer(KEY)).await);
        assert_eq!((whole.status, head.status, head.body.len()), (200, 200, 0), "{via:?}");
        for name in ["etag", "content-length", "x-aahp-checksum", "x-aahp-integrity", "content-type"] {
            assert_eq!(head.header(name), whole.header(name), "{via:?} {name}");
        }
    }
    let by_key = desk.ask(Via::H1, Ask::get(AT).header("X-AHP-Key", KEY)).await;
    assert_eq!(by_key.status, 200, "the site's own header for keys");
    assert!(origin.asked().is_empty(), "the site sees nothing of it");
}

#[tokio::test]
async fn handoff_may_be_open_to_all_and_is_announced_nowhere() {
    let (_origin, _handoff, desk) = served("auth = \"none\"\npath = \"/agents/handoff/\"").await;
    assert_eq!(desk.get("/agents/handoff/STATUS.md").await.status, 200);
    assert_eq!(desk.get("/agents/handoff").await.status, 200);
    assert!(desk.get(AT).await.page().contains("<h1>Welcome"), "the usual place is the site's");
    let documents = [
        "/.well-known/agent.json",
        "/.well-known/agent-interface.toml",
        "/.well-known/agtp",
        "/openapi.json",
        "/llms.txt",
    ];
    for document in documents {
        let published = desk.get(document).await;
        let headers = published.header("link").unwrap_or_default().to_lowercase();
        assert!(!published.text().to_lowercase().contains("handoff") && !headers.contains("handoff"), "{document}");
    }
}

#[tokio::test]
async fn handoff_tags_are_compared_as_http_says() {
    let (_origin, handoff, desk) = served("").await;
    for below in ["", "/STATUS.md", "/STATUS.md?section=summary", "/?envelope=1"] {
        let tag = get(&desk, below).await.header("etag").expect("a tag").to_owned();
        assert!(tag.len() == 66 && tag.starts_with('"'), "strong, of the whole digest: {tag}");
        for value in
            [tag.clone(), format!("W/{tag}"), format!("\"x\", {tag}"), format!("\"x\",W/{tag} , \"y\""), "*".into()]
        {
            for ask in [Ask::get(&format!("{AT}{below}")), Ask::head(&format!("{AT}{below}"))] {
                let same = desk.ask(Via::H1, ask.bearer(KEY).header("If-None-Match", &value)).await;
                assert_eq!(
                    (same.status, same.body.len(), same.header("etag")),
                    (304, 0, Some(tag.as_str())),
                    "{value}"
                );
                assert_eq!(same.header("cache-control"), Some("private, no-cache"));
            }
        }
        let other =
            desk.ask(Via::H1, Ask::get(&format!("{AT}{below}")).bearer(KEY).header("If-None-Match", "\"x\"")).await;
        assert_eq!(other.status, 200);
    }
    let tag = get(&desk, "/STATUS.md").await.header("etag").expect("a tag").to_owned();
    handoff.put("STATUS.md", "other\n");
    let changed =
        desk.ask(Via::H1, Ask::get(&format!("{AT}/STATUS.md")).bearer(KEY).header("If-None-Match", &tag)).await;
    assert_eq!((changed.status, changed.text().as_str()), (200, "other\n"));
}

#[tokio::test]
async fn handoff_line_ends_make_no_other_file() {
    let (_origin, handoff, desk) = served("").await;
    let lf = get(&desk, "/STATUS.md").await;
    handoff.put("STATUS.md", handoff.read("STATUS.md").replace('\n', "\r\n"));
    let crlf = get(&desk, "/STATUS.md").await;
    assert_eq!(marks(&crlf)[..2], ["ok", "verified"]);
    assert_eq!(crlf.header("x-aahp-checksum"), lf.header("x-aahp-checksum"));
    assert_ne!(crlf.header("etag"), lf.header("etag"), "the bytes are others");
    assert_eq!(crlf.text().replace("\r\n", "\n"), lf.text());
    assert!(get(&desk, "/STATUS.md?section=summary").await.text().starts_with("Build green."));
}

#[tokio::test]
async fn handoff_a_file_that_was_changed_is_marked_or_refused() {
    let (origin, handoff, desk) = served("").await;
    handoff.put("STATUS.md", "all is well (Verified)\n");
    let assumed = get(&desk, "/STATUS.md").await;
    assert_eq!((assumed.status, assumed.text().as_str()), (200, "all is well (Verified)\n"));
    assert_eq!(marks(&assumed), ["ok", "assumed", "checksum-mismatch"]);
    let listed = handoff.manifest()["files"]["STATUS.md"]["checksum"].clone();
    assert_eq!(assumed.header("x-aahp-checksum"), listed.as_str(), "what the manifest says, not what the file is");
    desk.swap(&handoff.setup(&origin, "on_mismatch = \"refuse\"")).await;
    let refused = get(&desk, "/STATUS.md?section=summary").await;
    assert_eq!((refused.status, refused.json()["code"].as_str()), (409, Some("handoff_checksum_mismatch")));
    assert!(!refused.text().contains("all is well"));
    let core = get(&desk, "/?view=core").await;
    assert_eq!(core.json()["files"]["STATUS.md"]["content"], serde_json::Value::Null);
    assert_eq!(core.json()["files"]["NEXT_ACTIONS.md"]["content"], handoff.read("NEXT_ACTIONS.md"));
    assert!(marks(&core)[2].contains("checksum-mismatch") && !core.text().contains("all is well"));
    assert_eq!(get(&desk, "/LOG.md").await.status, 200, "others are as they were");
}

#[tokio::test]
async fn handoff_secrets_do_not_leave() {
    let (_origin, handoff, desk) = served("").await;
    let secret = ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].concat();
    let text = format!("# S\n<!-- SECTION: a -->\nkey {secret}\n<!-- /SECTION: a -->\n");
    handoff.put("STATUS.md", &text);
    handoff.list("STATUS.md", &checksum(&text));
    let mut manifest = handoff.manifest();
    manifest["quick_context"] = format!("use {secret}").into();
    handoff.put("MANIFEST.json", manifest.to_string());
    for below in ["", "/?envelope=1", "/?view=core", "/STATUS.md", "/STATUS.md?section=a"] {
        let answer = get(&desk, below).await;
        assert_eq!(answer.status, 200, "{below}");
        assert!(!answer.text().contains(&secret[..12]), "{below}: {}", answer.text());
        assert_eq!(
            answer.header("etag"),
            Some(format!("\"{}\"", sha256(&answer.body)).as_str()),
            "{below}: of what left"
        );
        assert!(marks(&answer)[2].contains("redacted"), "{below}");
        if below.contains("STATUS") {
            assert_eq!(marks(&answer)[1], "assumed", "{below}: no longer what was verified");
        } else {
            answer.json();
        }
    }
    let files = get(&desk, "/?view=core").await.json()["files"].clone();
    assert_eq!(files["STATUS.md"]["integrity"], "assumed", "something was taken out of it");
    assert_eq!(files["NEXT_ACTIONS.md"]["integrity"], "verified", "nothing was taken out of this one");
    assert_eq!(marks(&get(&desk, "/LOG.md").await), ["ok", "verified", "-"]);
}

#[tokio::test]
async fn handoff_calls_count_like_others() {
    let (origin, handoff) = (origin().await, Handoff::genuine());
    let desk =
        handoff.setup(&origin, "").limits(&[("authenticated", "3/minute"), ("anonymous", "2/minute")]).start().await;
    let mut statuses = Vec::new();
    for _ in 0..4 {
        statuses.push(get(&desk, "/STATUS.md").await.status);
    }
    assert_eq!(statuses, [200, 200, 200, 429]);
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(desk.get(AT).await.status);
    }
    assert_eq!(statuses, [401, 401, 429], "who guesses is counted too");
}
