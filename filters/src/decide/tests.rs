//! Decisions by caller, with in-memory counters.

use crate::Learned;
use crate::Snapshot;
use std::{path::Path, sync::atomic::Ordering, time::Duration};

use http::{HeaderMap, HeaderName, Method};

use super::{Decided, Decision, Request, decide};
use crate::{
    caller::Proof,
    site::{declare_text, testing::Nowhere},
    state::{
        Amount,
        testing::{Home, run},
    },
};

/// SHA-256 of "test" and of "other".
const KEYS: &str = r#"
[auth]
type = "api_key"
[[auth.api_keys]]
name = "partner-a"
sha256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
rate_limit = "5/minute"
[[auth.api_keys]]
name = "partner-b"
sha256 = "d9298a10d1b0735837dc4bd85dac641b0f3cef27a47e5d53a54f2f3f5b2fcffa"
"#;

const HOLD: &str = r#"
[[capabilities]]
id = "bookings.hold"
type = "prepare_action"
method = "POST"
endpoint = "/agent/hold"
risk_level = "low"
auth = "optional"
requires_user_confirmation = true
"#;

fn snapshot(rest: &str) -> Snapshot {
    let text = format!("[upstream]\nurl = \"http://127.0.0.1:3000\"\n{rest}");
    let declared = declare_text(Path::new("/site.toml"), &text, &Nowhere).unwrap_or_else(|e| panic!("{e}"));
    Snapshot::compile(&declared, &Learned::default())
}

async fn ask(snapshot: &Snapshot, home: &Home, line: &str, from: &str, headers: &[(&str, &str)]) -> Decided {
    let (method, target) = line.split_once(' ').unwrap();
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap()))
        .collect();
    let request = Request {
        method: &method.parse::<Method>().unwrap(),
        target,
        headers: &headers,
        address: from.parse().unwrap(),
        authority: "example.com",
        tls: false,
        now: 1_800_000_000,
        harness: None,
        token_server: None,
        records: None,
    };
    decide(snapshot, home, &request).await
}

/// Stands for a dialect that answers once the body is read.
const SERVED: u16 = 1;

/// The status, 0 for a request that passes, and the reason.
fn outcome(decided: &Decided) -> (u16, &str) {
    match &decided.decision {
        Decision::Pass | Decision::Make(_) => (0, ""),
        Decision::Answer(reply) => (reply.status.as_u16(), ""),
        Decision::Refuse(reply, reason) => (reply.status.as_u16(), reason),
        Decision::Serve(_) => (SERVED, ""),
    }
}

fn header(decided: &Decided, name: &str) -> String {
    let headers = match &decided.decision {
        Decision::Answer(reply) | Decision::Refuse(reply, _) => &reply.headers,
        Decision::Serve(serving) => &serving.standing,
        Decision::Pass | Decision::Make(_) => return String::new(),
    };
    let found = headers.iter().find(|(n, _)| n.as_str() == name);
    found.map(|(_, v)| v.to_str().unwrap().to_owned()).unwrap_or_default()
}

const CONVERSE: &str = "POST /agent/converse";
const HERE: &str = "192.0.2.1";

#[test]
fn an_address_has_its_limit_and_hears_of_it() {
    run(async {
        let (snapshot, home) = (snapshot("[rate_limits]\nanonymous = \"2/minute\"\n"), Home::new());
        let first = ask(&snapshot, &home, CONVERSE, HERE, &[]).await;
        assert_eq!(outcome(&first), (SERVED, ""));
        assert_eq!(header(&first, "x-ratelimit-limit"), "2");
        assert_eq!(header(&first, "x-ratelimit-remaining"), "1");
        assert_eq!(header(&first, "x-ratelimit-window"), "60");
        assert_eq!(header(&first, "ratelimit-policy"), "\"anonymous\";q=2;w=60");
        assert_eq!(header(&first, "ratelimit"), "\"anonymous\";r=1;t=60");
        let _ = ask(&snapshot, &home, CONVERSE, HERE, &[]).await;
        let third = ask(&snapshot, &home, CONVERSE, HERE, &[]).await;
        assert_eq!(outcome(&third), (429, "rate_limited"));
        assert_eq!(header(&third, "x-ratelimit-remaining"), "0");
        assert_eq!(header(&third, "retry-after"), "60");
        assert_eq!(header(&third, "x-ratelimit-reset"), header(&first, "x-ratelimit-reset"));
        assert_eq!(outcome(&ask(&snapshot, &home, CONVERSE, "192.0.2.2", &[]).await), (SERVED, ""));
        // Content and pages are counted separately.
        assert_eq!(outcome(&ask(&snapshot, &home, "GET /.well-known/agent.json", HERE, &[]).await), (200, ""));
        assert_eq!(outcome(&ask(&snapshot, &home, "GET /", HERE, &[]).await), (0, ""));
    });
}

#[test]
fn what_is_not_valid_counts_against_the_address_and_nobody_else() {
    run(async {
        let (snapshot, home) = (snapshot(&format!("[rate_limits]\nanonymous = \"2/minute\"\n{KEYS}")), Home::new());
        let bad = [("X-AHP-Key", "wrong")];
        assert_eq!(outcome(&ask(&snapshot, &home, CONVERSE, HERE, &bad).await), (401, "key_unknown"));
        assert_eq!(outcome(&ask(&snapshot, &home, "GET /.well-known/agent.json", HERE, &bad).await).0, 401);
        assert_eq!(outcome(&ask(&snapshot, &home, CONVERSE, HERE, &bad).await), (429, "rate_limited"));
        assert_eq!(outcome(&ask(&snapshot, &home, CONVERSE, HERE, &[]).await), (SERVED, ""), "who presents none");
        let there = "192.0.2.3";
        let good = ask(&snapshot, &home, CONVERSE, there, &[("Authorization", "Bearer test")]).await;
        assert_eq!((outcome(&good).0, good.caller.proof), (SERVED, Proof::Key));
        assert_eq!(header(&good, "x-ratelimit-limit"), "5", "the key's own limit");
        let other = ask(&snapshot, &home, CONVERSE, there, &[("X-AHP-Key", "other")]).await;
        assert_eq!((outcome(&other).0, other.caller.name.as_deref()), (SERVED, Some("partner-b")));
        assert_eq!(header(&other, "x-ratelimit-remaining"), "119");
        // On a page the caller is merely anonymous.
        let page = ask(&snapshot, &home, "GET /", HERE, &bad).await;
        assert_eq!((outcome(&page).0, page.caller.proof), (0, Proof::None));
        let both = [("X-AHP-Key", "test"), ("Authorization", "Bearer wrong")];
        assert_eq!(outcome(&ask(&snapshot, &home, CONVERSE, "192.0.2.9", &both).await), (401, "key_unknown"));
        // A foreign credential is no guess at our keys: other schemes are for the site.
        let basic = [("Authorization", "Basic dGVzdDp0ZXN0")];
        assert_eq!(outcome(&ask(&snapshot, &home, CONVERSE, "192.0.2.8", &basic).await).0, SERVED);
    });
}

#[test]
fn beyond_the_limit_of_wrong_credentials_a_right_one_is_refused_alike() {
    run(async {
        let limits = "[rate_limits]\nanonymous = \"3/minute\"\n";
        let (snapshot, home) = (snapshot(&format!("{limits}{HOLD}{KEYS}")), Home::new());
        let (wrong, right) = ([("X-AHP-Key", "wrong")], [("X-AHP-Key", "test")]);
        let told = |decided: &Decided| match &decided.decision {
            Decision::Refuse(reply, reason) => {
                (reply.status.as_u16(), *reason, reply.headers.clone(), reply.body.clone())
            }
            other => panic!("{other:?}"),
        };
        for _ in 0..3 {
            assert_eq!(outcome(&ask(&snapshot, &home, CONVERSE, HERE, &wrong).await).0, 401);
        }
        for line in [CONVERSE, "POST /agent/hold", "GET /.well-known/agent.json", "POST /mcp"] {
            let refused = told(&ask(&snapshot, &home, line, HERE, &wrong).await);
            assert_eq!((refused.0, refused.1), (429, "rate_limited"), "{line}");
            assert_eq!(told(&ask(&snapshot, &home, line, HERE, &right).await), refused, "{line}");
        }
        let elsewhere = ask(&snapshot, &home, CONVERSE, "192.0.2.7", &right).await;
        assert_eq!(outcome(&elsewhere), (SERVED, ""));
        assert_eq!(header(&elsewhere, "x-ratelimit-remaining"), "4", "nothing was taken from the key's own limit");
    });
}

#[test]
fn wrong_keys_on_pages_are_guesses_too() {
    run(async {
        let (snapshot, home) = (snapshot(&format!("[rate_limits]\nanonymous = \"3/minute\"\n{KEYS}")), Home::new());
        let (wrong, right) = ([("X-AHP-Key", "wrong")], [("X-AHP-Key", "test")]);
        for (line, proof) in [("GET /", Proof::Key), ("GET /a.md", Proof::Key), ("POST /form", Proof::None)] {
            let page = ask(&snapshot, &home, line, HERE, &wrong).await;
            assert_eq!((outcome(&page), page.caller.proof), ((0, ""), Proof::None), "{line}");
            let page = ask(&snapshot, &home, line, HERE, &right).await;
            assert_eq!((outcome(&page), page.caller.proof), ((0, ""), proof), "{line}: the site is told");
        }
        let by_bearer = ask(&snapshot, &home, "GET /", HERE, &[("Authorization", "Bearer test")]).await;
        assert_eq!((outcome(&by_bearer), by_bearer.caller.proof), ((0, ""), Proof::None), "however it is presented");
        assert_eq!(outcome(&ask(&snapshot, &home, CONVERSE, HERE, &right).await), (429, "rate_limited"));
        let elsewhere = ask(&snapshot, &home, "GET /", "192.0.2.7", &right).await;
        assert_eq!(elsewhere.caller.proof, Proof::Key);
    });
}

#[test]
fn what_may_be_the_sites_own_is_no_guess_on_a_page() {
    run(async {
        let (snapshot, home) = (snapshot(&format!("[rate_limits]\nanonymous = \"3/minute\"\n{KEYS}")), Home::new());
        for _ in 0..9 {
            let _ = ask(&snapshot, &home, "GET /", HERE, &[("Authorization", "Bearer the-sites-own")]).await;
            let both = [("X-AHP-Key", "test"), ("Authorization", "Bearer the-sites-own")];
            let _ = ask(&snapshot, &home, "GET /", HERE, &both).await;
        }
        let right = ask(&snapshot, &home, "GET /", HERE, &[("X-AHP-Key", "test")]).await;
        assert_eq!(right.caller.proof, Proof::Key);
        assert_eq!(outcome(&ask(&snapshot, &home, CONVERSE, HERE, &[("X-AHP-Key", "test")]).await).0, SERVED);
    });
}

#[test]
fn anonymous_calls_lock_no_credential_out() {
    run(async {
        let (snapshot, home) = (snapshot(&format!("[rate_limits]\nanonymous = \"1/minute\"\n{KEYS}")), Home::new());
        let statuses =
            [ask(&snapshot, &home, CONVERSE, HERE, &[]).await, ask(&snapshot, &home, CONVERSE, HERE, &[]).await];
        assert_eq!(statuses.map(|decided| outcome(&decided).0), [SERVED, 429]);
        let wrong = ask(&snapshot, &home, CONVERSE, HERE, &[("X-AHP-Key", "wrong")]).await;
        assert_eq!(outcome(&wrong).0, 401, "it is told what is wrong");
        assert_eq!(outcome(&ask(&snapshot, &home, CONVERSE, "192.0.2.2", &[("X-AHP-Key", "test")]).await).0, SERVED);
    });
}

#[test]
fn what_is_left_on_a_page_does_not_tell_whether_a_credential_is_valid() {
    run(async {
        let (snapshot, home) = (snapshot(KEYS), Home::new());
        let mut left = Vec::new();
        for key in ["wrong", "test", "wrong"] {
            let headers = [("X-AHP-Key", key), ("Accept", "application/agent+json")];
            left.push(header(&ask(&snapshot, &home, "GET /", HERE, &headers).await, "x-ratelimit-remaining"));
        }
        assert_eq!(left, ["119", "118", "117"]);
    });
}

#[test]
fn of_several_limits_the_tightest_speaks() {
    run(async {
        let limits = "[rate_limits]\nanonymous = \"9/minute\"\nactions = \"3/hour\"\nper_agent = \"2/minute\"\n";
        let (snapshot, home) = (snapshot(&format!("{limits}{HOLD}")), Home::new());
        let hold = "POST /agent/hold";
        let first = ask(&snapshot, &home, hold, HERE, &[("AICP-Agent", "Ex/1.0")]).await;
        assert_eq!(header(&first, "x-ratelimit-limit"), "2");
        let declared = "\"anonymous\";q=9;w=60, \"actions\";q=3;w=3600, \"per-agent\";q=2;w=60";
        assert_eq!(header(&first, "ratelimit-policy"), declared);
        assert_eq!(
            header(&first, "ratelimit"),
            "\"anonymous\";r=8;t=60, \"actions\";r=2;t=3600, \"per-agent\";r=1;t=60"
        );
        let _ = ask(&snapshot, &home, hold, HERE, &[("AICP-Agent", "Ex/1.0")]).await;
        let third = ask(&snapshot, &home, hold, HERE, &[("AICP-Agent", "Ex/1.0")]).await;
        assert_eq!(outcome(&third), (429, "rate_limited"));
        let Decision::Refuse(reply, _) = &third.decision else { panic!("not refused") };
        let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(
            (body["error"]["scope"].as_str(), body["error"]["retry_after"].as_u64()),
            (Some("agent"), Some(60)),
            "{body}"
        );
        // Another name has its own counter, and the refused request was not charged.
        let other = ask(&snapshot, &home, hold, HERE, &[("AICP-Agent", "Other")]).await;
        assert_eq!((outcome(&other).0, header(&other, "x-ratelimit-remaining").as_str()), (SERVED, "0"));
        assert_eq!(header(&ask(&snapshot, &home, hold, HERE, &[]).await, "x-ratelimit-window"), "3600");
    });
}

#[test]
fn without_counts_the_desk_is_closed_and_the_page_is_open() {
    run(async {
        let (snapshot, home) = (snapshot("[rate_limits]\nsite = \"1/minute\"\n"), Home::new());
        assert_eq!(outcome(&ask(&snapshot, &home, "GET /", HERE, &[]).await), (0, ""));
        assert_eq!(outcome(&ask(&snapshot, &home, "GET /", HERE, &[]).await), (429, "rate_limited"));
        home.away.store(true, Ordering::Relaxed);
        assert_eq!(outcome(&ask(&snapshot, &home, "GET /", HERE, &[]).await), (0, ""));
        let away = ask(&snapshot, &home, CONVERSE, HERE, &[]).await;
        assert_eq!(outcome(&away), (503, "store_away"));
        assert_eq!(header(&away, "retry-after"), "5");
        let manifest = ask(&snapshot, &home, "GET /.well-known/agent.json", HERE, &[]).await;
        assert_eq!((outcome(&manifest).0, header(&manifest, "x-ratelimit-limit").as_str()), (200, ""));
    });
}

#[test]
fn anonymous_callers_are_not_served_where_that_was_declared() {
    run(async {
        let (snapshot, home) = (snapshot(&format!("[policies]\nanonymous_access = false\n{KEYS}")), Home::new());
        let nobody = ask(&snapshot, &home, CONVERSE, HERE, &[]).await;
        assert_eq!(outcome(&nobody), (401, "auth_required"));
        assert_eq!(header(&nobody, "www-authenticate"), "Bearer realm=\"agents\"");
        assert_eq!(outcome(&ask(&snapshot, &home, CONVERSE, HERE, &[("X-AHP-Key", "test")]).await).0, SERVED);
        assert_eq!(outcome(&ask(&snapshot, &home, "GET /.well-known/agent.json", HERE, &[]).await).0, 200);
    });
}

#[test]
fn an_endpoint_is_answered_in_one_spelling_and_its_methods() {
    run(async {
        let (snapshot, home) = (snapshot(HOLD), Home::new());
        for (line, status) in [
            ("POST /agent/hold", SERVED),
            ("POST /agent//hold", 404),
            ("POST /agent/%68old", 404),
            ("POST /agent/hold/", 404),
            ("GET /agent/hold", 405),
            ("GET /agent/hold?x=1", 405),
            ("OPTIONS /agent/hold", 204),
            ("GET /agent/converse/status/abc", SERVED),
            ("POST /agent/converse/status/abc", 405),
            ("GET /agent/converse/./status/abc", 404),
            ("GET /agent/converse/other", SERVED),
            ("GET /capabilities/bookings_hold", 405),
            ("GET /capabilities/careers", 0),
            ("POST /capabilities/nothing", SERVED),
            ("HEAD /openapi.json", 200),
            ("POST /openapi.json", 405),
            ("POST /capabilities/bookings_hold", SERVED),
            ("POST /mcp", SERVED),
            ("GET /mcp", 405),
            ("GET /agent/holds", 0),
            ("GET /mcps", 0),
        ] {
            assert_eq!(outcome(&ask(&snapshot, &home, line, HERE, &[]).await).0, status, "{line}");
        }
        assert_eq!(header(&ask(&snapshot, &home, "GET /mcp", HERE, &[]).await, "allow"), "POST, OPTIONS");
    });
}

#[test]
fn an_endpoint_with_a_placeholder_is_one_for_every_value() {
    run(async {
        let (snapshot, home) = (snapshot(&HOLD.replace("/agent/hold", "/agent/holds/{id}")), Home::new());
        for (line, status) in [
            ("POST /agent/holds/1", SERVED),
            ("GET /agent/holds/1", 405),
            ("POST /agent/holds/%31", SERVED),
            ("POST /agent//holds/1", 404),
            ("POST /agent/holds", 0),
        ] {
            assert_eq!(outcome(&ask(&snapshot, &home, line, HERE, &[]).await).0, status, "{line}");
        }
    });
}

#[test]
fn a_window_that_has_ended_begins_anew() {
    let home = Home::new();
    let snapshot = snapshot("[rate_limits]\nanonymous = \"1/second\"\n");
    let caller = crate::caller::Caller::at(HERE.parse().unwrap());
    let (limits, len) = snapshot.policies.held_for_nothing(&caller).limits();
    let at = |millis| home.slab.take(&limits[..len], Amount::ONE, Duration::from_millis(millis)).granted;
    assert_eq!((at(0), at(999), at(1000), at(1999)), (Some(1), None, Some(1), None));
}
