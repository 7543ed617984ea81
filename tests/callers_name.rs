//! Promise: with `identity = "caller"` the site gets the caller's own credential, and nobody else ever gets anything
//! that belongs to that caller.

use crate::support::calls::{FULL, assert_answer, assert_fault, call, declare, last_upstream, site, upstream_calls};
use crate::support::handshake::{asking, question, session, with};
use crate::support::jwks::TokenKey;
use crate::support::rpc::{self, post};
use crate::support::{Ask, Desk, Dir, Origin, Reply, Request, SOON, Setup, Via, calls, eventually};
use serde_json::{Value, json};

/// An API that knows two people by their tokens, keys or cookies, and nobody else.
async fn api() -> Origin {
    Origin::start(|r: &Request| {
        let shown = ["authorization", "x-api-key", "cookie"].map(|name| r.header(name).unwrap_or_default().to_owned());
        let who =
            ["ada", "bob"].into_iter().find(|who| shown.iter().any(|line| line.contains(&format!("{who}-secret"))));
        match (r.target.split('?').next().unwrap_or_default(), who) {
            ("/api/news", _) => Reply::json(json!({ "shown": shown.concat() }).to_string()),
            (_, None) if shown.concat().contains("forbidden") => Reply::new(403).body("no"),
            (_, None) => Reply::new(401).header("WWW-Authenticate", "Bearer").body("who?"),
            ("/api/orders", Some(who)) => Reply::json(json!({ "orders": [format!("order-of-{who}")] }).to_string())
                .header("Set-Cookie", "sid=new"),
            (_, Some(who)) => Reply::new(201)
                .header("Content-Type", "application/json")
                .body(json!({ "booked_for": who }).to_string()),
        }
    })
    .await
}

const OWN: &str = ", identity = \"caller\" }";

fn capabilities() -> String {
    let read = |id: &str, path: &str, more: &str, identity: &str| {
        let lines =
            format!("\nrisk_level = \"low\"\n{more}\nupstream = {{ method = \"GET\", path = \"{path}\"{identity}");
        declare(id, "query", &lines)
    };
    let act = |id: &str, confirmed: bool| {
        let lines = format!(
            "\nrisk_level = \"medium\"\nauth = \"required\"\nrequires_user_confirmation = {confirmed}\n\
             upstream = {{ method = \"POST\", path = \"/api/bookings\"{OWN}"
        );
        declare(id, "commit_action", &lines)
    };
    read("orders", "/api/orders", "auth = \"required\"\ncache_ttl_seconds = 600", OWN)
        + &read(
            "open",
            "/api/orders",
            "auth = \"optional\"\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 600",
            OWN,
        )
        + &read("news", "/api/news", "auth = \"optional\"", " }")
        + &act("book", false)
        + &act("buy", true)
}

fn setup(origin: &Origin) -> Setup {
    let all = "unverified = \"site\"\nforward = [\"Authorization\", \"X-Api-Key\", \"Cookie\"]";
    site(origin, &capabilities()).set("auth", all)
}

async fn desk() -> (Origin, Desk) {
    let origin = api().await;
    let desk = setup(&origin).start().await;
    (origin, desk)
}

fn orders() -> Ask {
    call("/agent/orders", &json!({}))
}

const ADA: &str = "ada-secret-token";
const BOB: &str = "bob-secret-token";

#[tokio::test]
async fn callers_name_the_site_gets_the_credential_as_it_came() {
    let (origin, desk) = desk().await;
    for (name, value) in [
        ("Authorization", "Bearer ada-secret-token"),
        ("Authorization", "Basic ada-secret"),
        ("X-Api-Key", "ada-secret"),
        ("Cookie", "theme=dark; sid=ada-secret"),
    ] {
        let response = desk.call(orders().header(name, value)).await;
        let data = assert_answer(&response, 200, value)["data"].clone();
        assert_eq!(data, json!({ "orders": ["order-of-ada"] }), "{name}");
        let seen = last_upstream(&origin);
        assert_eq!(seen.header(name), Some(value));
        assert_eq!(seen.header("x-frontdesk-verified"), Some("none"), "nothing here verified it");
        assert!(!response.headers.has("set-cookie"));
    }
    // A key of ours is no business of the site's, and what is for the site goes on beside it.
    let both = orders().header("X-AHP-Key", FULL).header("X-Api-Key", "bob-secret");
    assert_eq!(assert_answer(&desk.call(both).await, 200, "both")["data"]["orders"][0], "order-of-bob");
    assert_eq!(last_upstream(&origin).header("x-ahp-key"), None);
    // Nor in another spelling, or in another header.
    for (name, value) in [("Authorization", format!("Token {FULL}")), ("X-Api-Key", FULL.to_owned())] {
        let before = upstream_calls(&origin).len();
        assert_eq!(desk.call(orders().header(name, &value)).await.status, 401, "{name}");
        assert_eq!(upstream_calls(&origin).len(), before, "{name}");
    }
    let key_alone = desk.call(orders().bearer(FULL)).await;
    assert_eq!(key_alone.status, 401, "the site does not know it: {}", key_alone.text());
    assert_eq!(last_upstream(&origin).header("authorization"), None);
}

#[tokio::test]
async fn callers_name_other_capabilities_carry_nothing() {
    let (origin, desk) = desk().await;
    let news = desk.call(call("/agent/news", &json!({})).bearer(ADA).header("Cookie", "sid=ada-secret")).await;
    assert_eq!(assert_answer(&news, 200, "news")["data"]["shown"], "");
    assert_eq!(upstream_calls(&origin).len(), 1);
    // Where a credential of ours is required, one for the site does not do.
    let setup = setup(&origin).tail(&calls::action("ours", "\nupstream = { method = \"POST\", path = \"/api/ours\" }"));
    let desk = setup.start().await;
    assert_fault(&desk.call(call("/agent/ours", &json!({})).bearer(ADA)).await, 401, "auth_required", "ours");
    assert_eq!(upstream_calls(&origin).len(), 1);
}

#[tokio::test]
async fn callers_name_without_a_credential_the_site_is_not_asked() {
    let (origin, desk) = desk().await;
    let refused = desk.call(orders()).await;
    assert_fault(&refused, 401, "auth_required", "nothing shown");
    assert!(refused.header("www-authenticate").is_some());
    assert_eq!(upstream_calls(&origin).len(), 0);
}

#[tokio::test]
async fn callers_name_the_sites_refusal_is_told_and_leaves_no_trace() {
    let (origin, desk) = desk().await;
    let refused = desk.call(orders().bearer("stale")).await;
    assert_fault(&refused, 401, "auth_required", "stale");
    let challenge = refused.header("www-authenticate").unwrap_or_default();
    assert!(challenge.contains("error=\"invalid_token\""), "{challenge}");
    assert_fault(&desk.call(orders().bearer("forbidden")).await, 403, "forbidden", "forbidden");
    // A booking that the site turned away was not made: the key is still free.
    let booking = |token: &str| call("/agent/book", &json!({})).bearer(token).header("Idempotency-Key", "k-1");
    assert_fault(&desk.call(booking("stale")).await, 401, "auth_required", "a booking");
    let asked = upstream_calls(&origin).len();
    assert_fault(&desk.call(booking("stale")).await, 401, "auth_required", "again");
    assert_eq!(upstream_calls(&origin).len(), asked + 1, "no record answers for the site");
    assert_answer(&desk.call(booking(ADA)).await, 201, "with a good one");
}

#[tokio::test]
async fn callers_name_nothing_of_one_caller_is_anothers() {
    let (origin, desk) = desk().await;
    // Caches, also of an answer that is declared public.
    for endpoint in ["/agent/orders", "/agent/open"] {
        for (token, who) in [(ADA, "ada"), (BOB, "bob"), (ADA, "ada")] {
            let response = desk.call(call(endpoint, &json!({})).bearer(token)).await;
            assert_eq!(
                assert_answer(&response, 200, who)["data"]["orders"][0],
                format!("order-of-{who}"),
                "{endpoint}"
            );
            assert!(!response.headers.tokens("cache-control").contains(&"public".to_owned()), "{endpoint}");
        }
    }
    assert_eq!(upstream_calls(&origin).len(), 4, "each caller's own answer is cached");
    // An agent with one key of ours for two people.
    for who in ["ada", "bob"] {
        let ask = orders().header("X-AHP-Key", FULL).header("Cookie", &format!("sid={who}-secret"));
        assert_eq!(assert_answer(&desk.call(ask).await, 200, who)["data"]["orders"][0], format!("order-of-{who}"));
    }
    // Idempotency keys.
    for (token, who) in [(ADA, "ada"), (BOB, "bob")] {
        let ask = call("/agent/book", &json!({})).bearer(token).header("Idempotency-Key", "one-key");
        assert_eq!(assert_answer(&desk.call(ask).await, 201, who)["data"]["booked_for"], who);
    }
    // Confirmations.
    let buy = || call("/agent/buy", &json!({})).header("Idempotency-Key", "buy-1");
    let asked = desk.call(buy().bearer(ADA)).await;
    let token = calls::confirmation_token(&asked);
    let stolen = desk.call(buy().bearer(BOB).header("AICP-Confirmation", &token)).await;
    assert_ne!(stolen.status, 201, "{}", stolen.text());
    let stolen = desk.call(buy().header("X-Api-Key", "ada-secret").header("AICP-Confirmation", &token)).await;
    assert_ne!(stolen.status, 201, "another credential is another caller: {}", stolen.text());
}

#[tokio::test]
async fn callers_name_sessions_belong_to_what_was_shown() {
    let (_origin, desk) = desk().await;
    let ask = |token: &str, more: Value| asking(&with(question("orders", "my orders"), more)).bearer(token);
    let first = desk.ask(Via::H1, ask(ADA, json!({}))).await;
    assert!(first.text().contains("order-of-ada"), "{}", first.text());
    let id = session(&first.json());
    let same = desk.ask(Via::H1, ask(ADA, json!({ "session_id": id }))).await;
    assert_eq!(session(&same.json()), id);
    let other = desk.ask(Via::H1, ask(BOB, json!({ "session_id": id }))).await;
    assert!(!other.text().contains("order-of-ada"), "{}", other.text());
    assert_ne!(other.json()["session_id"], json!(id));
}

#[tokio::test]
async fn callers_name_over_mcp_and_in_a_body() {
    let (origin, desk) = desk().await;
    let mcp = |token: &str| post(rpc::call("orders", json!({ "query": "my orders" })).to_string()).bearer(token);
    for (token, who) in [(ADA, "ada"), (BOB, "bob")] {
        let answer = desk.ask(Via::H1, mcp(token)).await;
        assert!(answer.text().contains(&format!("order-of-{who}")), "{}", answer.text());
    }
    let refused = desk.ask(Via::H1, mcp("stale")).await;
    assert!(refused.text().contains("credential"), "{}", refused.text());
    let beside =
        json!({ "name": "orders", "arguments": { "query": "mine" }, "_meta": { "auth": format!("Bearer {ADA}") } });
    let answer = desk.ask(Via::H1, post(rpc::message("tools/call", beside).to_string())).await;
    assert!(answer.text().contains("order-of-ada"), "{}", answer.text());
    assert_eq!(last_upstream(&origin).header("authorization"), Some("Bearer ada-secret-token"));
}

#[tokio::test]
async fn callers_name_no_page_elsewhere_acts_for_a_visitor() {
    let (origin, desk) = desk().await;
    for (name, value) in [("Origin", "https://evil.test"), ("Sec-Fetch-Site", "cross-site")] {
        let forged = call("/agent/book", &json!({})).header("Cookie", "sid=ada-secret").header(name, value);
        assert_eq!(desk.call(forged).await.status, 401, "{name}");
    }
    assert_eq!(upstream_calls(&origin).len(), 0);
}

#[tokio::test]
async fn callers_name_by_default_only_what_is_verified_goes_on() {
    let origin = Origin::start(|r: &Request| {
        Reply::json(json!({ "shown": r.header("authorization"), "cookie": r.header("cookie") }).to_string())
    })
    .await;
    let key = TokenKey::ed("k1");
    let setup = calls::believing(site(&origin, &capabilities()), &key);
    let desk = setup.start().await;
    assert_eq!(desk.call(orders().bearer(ADA)).await.status, 401);
    assert_eq!(upstream_calls(&origin).len(), 0);
    let token = calls::token(&key, "ada", "", json!({}));
    let verified = desk.call(orders().bearer(&token).header("Cookie", "sid=ada-secret")).await;
    assert_answer(&verified, 200, "verified");
    let seen = last_upstream(&origin);
    assert_eq!((seen.header("authorization"), seen.header("cookie")), (Some(&*format!("Bearer {token}")), None));
    // A token of the known issuer that has expired is refused here, also where others go on.
    let setup = calls::believing(self::setup(&origin), &key);
    let desk = setup.start().await;
    let expired = calls::token(&key, "ada", "", json!({ "exp": 1_000_000_000 }));
    assert_eq!(desk.call(orders().bearer(&expired)).await.status, 401);
    assert_eq!(upstream_calls(&origin).len(), 1);
    assert_eq!(desk.call(orders().bearer("opaque")).await.status, 200);
}

#[tokio::test]
async fn callers_name_invented_credentials_share_the_limit_of_their_address() {
    let origin = api().await;
    let desk = setup(&origin).limits(&[("anonymous", "5/minute")]).start().await;
    let mut statuses = Vec::new();
    for n in 0..8 {
        statuses.push(desk.call(orders().bearer(&format!("invented-{n}"))).await.status);
    }
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 3, "{statuses:?}");
}

#[tokio::test]
async fn callers_name_no_log_and_no_record_holds_it() {
    let origin = api().await;
    let kept = Dir::new();
    let store = format!("url = \"file:{}\"", kept.path().display());
    let mut setup = setup(&origin).set("audit", "path = \"audit.jsonl\"").set("store", &store);
    setup.env.push(("RUST_LOG".into(), "trace".into()));
    let desk = setup.start().await;
    for _ in 0..2 {
        let ask = call("/agent/book", &json!({})).bearer(ADA).header("Cookie", "sid=ada-secret");
        desk.call(ask.header("Idempotency-Key", "k")).await;
        desk.ask(Via::H1, asking(&question("orders", "mine")).bearer(ADA)).await;
    }
    eventually("the access log", SOON, async || desk.stdout().contains("/agent/book")).await;
    let metrics = desk.admin_get("/metrics").await.text() + &desk.admin_get("/config").await.text();
    for (what, text) in [("stdout", desk.stdout()), ("stderr", desk.stderr()), ("admin", metrics)] {
        assert!(!text.contains("ada-secret"), "{what}");
    }
    let files = [desk.dir.files(), kept.files()].concat();
    for (path, bytes) in &files {
        assert!(!bytes.windows(10).any(|part| part == b"ada-secret"), "{}", path.display());
    }
    assert!(files.len() > 2, "the store and the audit log were read");
}
