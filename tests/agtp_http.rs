//! Promise: AGTP also works over HTTP, and no request of another client is mistaken for it.

use crate::support::calls::upstream_calls;
use crate::support::lamps::{self, ENDPOINTS, FULL, hosting, lookup, negotiating, open, signing, with};
use crate::support::verbs::{
    CALLER, MANIFEST, anonymous, assert_refusal, assert_says, assert_told, assert_unconfirmed, endpoint, record,
    sha256, verb,
};
use crate::support::{Ask, Desk, Origin, Response, Setup, Tls, Via};
use serde_json::json;

/// Verbs of the catalog that are methods of HTTP, by registration or by use.
const SHARED: [&str; 15] = [
    "BIND",
    "CHECKIN",
    "CHECKOUT",
    "LINK",
    "MERGE",
    "NOTIFY",
    "PURGE",
    "QUERY",
    "REPORT",
    "SEARCH",
    "SUBSCRIBE",
    "UNBIND",
    "UNLINK",
    "UNSUBSCRIBE",
    "UPDATE",
];

/// Whether the site said this itself.
fn is_the_sites(response: &Response) -> bool {
    response.header("x-from") == Some("the-site") && !response.headers.has("server-id")
}

#[track_caller]
fn assert_the_sites(response: &Response, what: &str) {
    assert!(is_the_sites(response), "{what}: {} {:?} {}", response.status, response.headers, response.text());
}

#[track_caller]
fn assert_ours(response: &Response, what: &str) {
    assert_eq!(response.headers.all("server-id"), ["shop.test"], "{what}: {} {}", response.status, response.text());
    let control = response.headers.tokens("cache-control");
    assert!(control.contains(&"no-store".to_owned()), "{what}: {control:?}");
}

/// The site behind a desk that speaks AGTP only if `lines` say so.
async fn plain(lines: &str) -> (Origin, Desk) {
    let origin = Origin::start(lamps::says()).await;
    let desk = Setup::before(&origin).tail(lines).start().await;
    (origin, desk)
}

#[tokio::test]
async fn http_a_verb_of_its_own_is_ours_wherever_it_goes() {
    let (origin, desk) = open().await;
    for (method, target, status) in [
        ("FETCH", "/lamps/featured", 200),
        ("FETCH", "/lamps/L1", 401),
        ("BOOK", "/catalog", 405),
        ("BOOK", "/index.html", 404),
        ("BOOK", "/search", 460),
        ("RESERVE", "/lamps/L1/hold", 401),
        ("DISCOVER", "/methods", 200),
        ("CLASSIFY", "/.well-known/agent.json", 404),
    ] {
        // Nothing but the verb tells.
        let response = desk.call(Ask::new(method, target)).await;
        assert_eq!(response.status, status, "{method} {target}: {}", response.text());
        assert_ours(&response, target);
    }
    assert!(origin.asked().is_empty(), "the site never sees a verb");
    let seen = upstream_calls(&origin);
    assert!(seen.len() == 1 && seen[0].method == "GET", "{seen:?}");
}

#[tokio::test]
async fn http_methods_that_are_https_too_stay_the_sites_unless_an_agent_speaks() {
    let (origin, desk) = open().await;
    for method in SHARED {
        for target in ["/catalog", "/dav/collection", "/search"] {
            let what = format!("{method} {target}");
            let plain = Ask::new(method, target).header("Content-Type", "text/xml").body("<x/>");
            assert_the_sites(&desk.call(plain.clone()).await, &what);
            let seen = origin.last();
            assert_eq!(
                (seen.method.as_str(), seen.target.as_str(), seen.body.as_slice()),
                (method, target, &b"<x/>"[..])
            );
            assert_the_sites(&desk.call(plain.accept("*/*, application/json")).await, &what);
        }
    }
    let before = origin.asked().len();
    for method in SHARED {
        for (how, ask) in [
            ("a name", Ask::new(method, "/nowhere").header("Agent-ID", CALLER)),
            ("a body", Ask::new(method, "/nowhere").header("Content-Type", "application/vnd.agtp+json").body("{}")),
            ("an answer", Ask::new(method, "/nowhere").accept("application/vnd.agtp+json")),
            (
                "another type",
                Ask::new(method, "/nowhere").accept("text/html;q=0.1, application/vnd.agtp.manifest+json"),
            ),
        ] {
            let response = desk.call(ask).await;
            assert_eq!(response.status, 404, "{method} by {how}: {}", response.text());
            assert_ours(&response, method);
        }
    }
    assert_eq!(origin.asked().len(), before);
}

#[tokio::test]
async fn http_its_own_methods_are_never_ours() {
    let (origin, desk) = open().await;
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "FROBNICATE", "fetch"] {
        let ask = Ask::new(method, "/catalog").header("Agent-ID", CALLER).accept("application/vnd.agtp+json");
        let ask = if ["GET", "OPTIONS"].contains(&method) { ask } else { ask.body("{}") };
        assert_the_sites(&desk.call(ask).await, method);
        assert_eq!(origin.last().method, method);
    }
    let head = desk.call(Ask::head("/catalog").header("Agent-ID", CALLER)).await;
    assert_the_sites(&head, "HEAD");
}

#[tokio::test]
async fn http_says_nothing_about_who_calls_but_by_the_agents_own_header() {
    let (origin, desk) = open().await;
    for (name, value) in
        [("X-Agent-Id", CALLER), ("User-Agent", "agent/1.0"), ("From", "agent@site.test"), ("AICP-Agent", CALLER)]
    {
        let ask = anonymous("FETCH", "/lamps/L1").header(name, value);
        assert_says(&desk.call(ask).await, 401, "reason", "agent-unauthenticated", name);
    }
    let shared = Ask::new("QUERY", "/catalog").header("X-Agent-Id", CALLER);
    assert_the_sites(&desk.call(shared).await, "nor does it make a verb ours");
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn http_trace_and_connect_are_never_ours() {
    // Both are verbs of the catalog. What a proxy makes of them is another promise; it is not AGTP.
    let (origin, desk) = open().await;
    for method in ["TRACE", "CONNECT"] {
        for target in ["/catalog", "site.test:443"] {
            let head = format!(
                "{method} {target} HTTP/1.1\r\nHost: site.test\r\nAgent-ID: {CALLER}\r\nX-Asked-By: test\r\n\r\n"
            );
            let mut conn = desk.conn().await;
            conn.send(head).await;
            if let Ok(response) = conn.try_response("GET", std::time::Duration::from_secs(5)).await {
                assert!(!response.headers.has("server-id"), "{method} {target}: {:?}", response.headers);
                assert!(!response.media_type().contains("agtp"), "{method} {target}: {:?}", response.headers);
            }
        }
    }
    assert!(upstream_calls(&origin).is_empty());
}

#[tokio::test]
async fn http_a_site_that_did_not_ask_for_agtp_has_none() {
    let (origin, desk) = plain("").await;
    for method in ["BOOK", "FETCH", "DISCOVER", "QUERY", "SEARCH", "PROPOSE"] {
        for ask in [Ask::new(method, "/room"), verb(method, "/room"), verb(method, "/search").json(&json!({}))] {
            assert_the_sites(&desk.call(ask).await, method);
            assert_eq!(origin.last().method, method);
        }
    }
    assert_eq!(origin.last().header("agent-id"), Some(CALLER), "other traffic is what it was");
    assert_the_sites(&desk.get("/.well-known/agtp").await, "the bootstrap document");
}

#[tokio::test]
async fn http_one_capability_with_agtp_is_enough() {
    let (_origin, desk) = plain(&lookup("lamps.search", "QUERY /catalog", "path = \"/api/items\"", "")).await;
    let response = desk.call(verb("QUERY", "/catalog")).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert!(response.headers.has("server-id") && response.json()["items"].is_array());
    let manifest = desk.published().await;
    assert!(endpoint(&manifest, "QUERY /catalog").is_some());
    let other = desk.call(Ask::new("BOOK", "/room")).await;
    assert_eq!(other.status, 404, "{}", other.text());
}

#[tokio::test]
async fn http_answers_are_nobodys_to_keep() {
    let (_origin, desk) = with(hosting).await;
    for (what, ask, status) in [
        ("done", verb("QUERY", "/catalog"), 200),
        ("an action", verb("CREATE", "/wishes").json(&json!({ "lamp_id": "L1" })), 200),
        ("accepted", verb("REQUEST", "/people").json(&json!({ "question": "Red?" })), 202),
        ("a number of the 200s", verb("FETCH", "/hours"), 262),
        ("no name", anonymous("FETCH", "/lamps/L1"), 401),
        ("nowhere", verb("BOOK", "/nowhere"), 404),
        ("not so", verb("BOOK", "/catalog"), 405),
        ("invalid", verb("QUERY", "/catalog?colour=red"), 422),
        ("no scope", verb("FETCH", "/hours").scopes("a:b"), 455),
        ("a verb in it", verb("BOOK", "/search"), 460),
        ("no proposal", verb("PROPOSE", "/").json(&json!({})), 463),
    ] {
        let response = desk.call(ask).await;
        assert_eq!(response.status, status, "{what}: {}", response.text());
        assert_ours(&response, what);
        assert!(!response.headers.has("etag"), "{what}: {:?}", response.headers);
        record(&response, what);
    }
}

#[tokio::test]
async fn http_the_record_is_one_chain_with_the_sockets_and_hashes_what_was_asked() {
    let (_origin, desk) = with(signing).await;
    let first = desk.call(verb("QUERY", "/catalog")).await;
    let second = desk.speak(verb("QUERY", "/catalog")).await;
    let third = desk.call(verb("QUERY", "/catalog")).await;
    let (one, two) = (first.header("audit-id").expect("one"), second.header("audit-id").expect("two"));
    assert_eq!(record(&second, "the second")["previous_audit_id"], one);
    let third = record(&third, "the third");
    assert_eq!(third["previous_audit_id"], two);
    assert_eq!(third["requesting_agent_id"], CALLER);
    let hash = third["request_hash"].as_str().expect("a request hash");
    assert!(hash.len() == 64 && hash != sha256(""), "{third}");
}

#[tokio::test]
async fn http_consent_to_negotiation_does_not_get_through() {
    let (origin, desk) = with(|setup| negotiating(setup, "")).await;
    let asked = verb("FIND", "/cheapest?category=desk").bearer(FULL).scopes("rcns:negotiate");
    let asked = asked.header("Allow-RCNS", "true");
    let response = desk.call(asked.clone()).await;
    assert_refusal(&response, 404, "as if it had not been said");
    assert!(!response.headers.has("rcns-attempt-id"), "{:?}", response.headers);
    assert!(upstream_calls(&origin).is_empty());
    // The same on the socket is heard, and a contract made there is used from here.
    let body = assert_told(&desk.speak(asked).await, 461, "on the socket");
    let id = body["synthesis_id"].as_str().expect("a synthesis_id");
    let presented = verb("FIND", "/cheapest?category=desk").bearer(FULL).header("Contract-Synthesized", id);
    assert_told(&desk.call(presented).await, 200, "with the contract");
    // Where RCNS is off that is not told either.
    let (_origin, desk) = open().await;
    let response = desk.call(verb("FIND", "/cheapest").header("Allow-RCNS", "true")).await;
    assert_refusal(&response, 404, "off");
    // And the site does not get it on a page.
    let (origin, desk) = open().await;
    desk.call(Ask::get("/index.html").header("Allow-RCNS", "true")).await;
    assert_eq!(origin.last().target, "/index.html");
}

#[tokio::test]
async fn http_says_the_same_over_every_version_and_transport() {
    let origin = Origin::start(lamps::says()).await;
    let setup = lamps::before(&origin).tls(&Tls::new()).set("listen", "h2c = true");
    let desk = setup.start().await;
    for via in [Via::H1, Via::H1Tls, Via::H2Tls, Via::H2c] {
        let what = format!("{via:?}");
        let told = desk.ask(via, verb("QUERY", "/catalog?category=desk")).await;
        assert_eq!(assert_told(&told, 200, &what)["items"][0]["id"], "L1", "{what}");
        assert_ours(&told, &what);
        let made = desk.ask(via, verb("CREATE", "/wishes").json(&json!({ "lamp_id": "L1" }))).await;
        assert!(assert_told(&made, 200, &what)["wish"].is_string(), "{what}");
        for (ask, status) in [
            (verb("FETCH", "/hours"), 262),
            (anonymous("FETCH", "/lamps/L1"), 401),
            (verb("BOOK", "/nowhere"), 404),
            (verb("BOOK", "/catalog"), 405),
            (verb("FETCH", "/hours").scopes("a:b"), 455),
            (verb("BOOK", "/search"), 460),
        ] {
            assert_refusal(&desk.ask(via, ask).await, status, &what);
        }
        let manifest = desk.ask(via, anonymous("DISCOVER", "/")).await;
        assert_eq!((manifest.status, manifest.media_type().as_str()), (200, MANIFEST), "{what}");
        // What is the site's stays so.
        assert_the_sites(&desk.ask(via, Ask::new("SEARCH", "/catalog").body("<x/>")).await, &what);
        assert_the_sites(&desk.ask(via, Ask::get("/catalog").header("Agent-ID", CALLER)).await, &what);
    }
}

#[tokio::test]
async fn http_speaks_as_the_socket_does() {
    let (_origin, desk) = open().await;
    for ask in [
        verb("QUERY", "/catalog?category=desk"),
        verb("FETCH", "/hours"),
        verb("FETCH", "/hours").scopes("a:b"),
        verb("BOOK", "/nowhere"),
        verb("BOOK", "/catalog"),
        verb("BOOK", "/check-out"),
        verb("QUERY", "/catalog?colour=red"),
        verb("QUERY", "/catalog?category=chairs"),
        verb("DISCOVER", "/methods"),
        verb("DISCOVER", "/"),
        anonymous("DISCOVER", "/"),
        anonymous("FETCH", "/lamps/L1"),
    ] {
        let what = format!("{} {}", ask.method, ask.target);
        let (over_http, over_socket) = (desk.call(ask.clone()).await, desk.speak(ask).await);
        assert_eq!(over_http.status, over_socket.status, "{what}");
        assert_eq!(over_http.media_type(), over_socket.media_type(), "{what}");
        assert_eq!(over_http.json(), over_socket.json(), "{what}");
    }
}

#[tokio::test]
async fn http_a_confirmation_travels_as_it_does_elsewhere() {
    let (origin, desk) = open().await;
    let hold = || verb("RESERVE", "/lamps/L1/hold").bearer(FULL).scopes("shop:hold").key("k-1");
    let asked = desk.call(hold()).await;
    assert_ours(&asked, "262");
    let token = assert_unconfirmed(&asked, "a hold");
    assert!(asked.json()["confirmation"]["summary"].as_str().is_some_and(|s| s.contains("L1")), "{}", asked.text());
    assert_told(&desk.call(hold().confirmed(&token)).await, 200, "confirmed");
    assert_eq!(upstream_calls(&origin).len(), 1);
}

#[tokio::test]
async fn http_the_bootstrap_document_says_where_the_socket_is() {
    let (_origin, desk) = open().await;
    let response = desk.get("/.well-known/agtp").await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "application/json"), "{}", response.text());
    let body = response.json();
    assert_eq!(body["agtp_version"], "1.0", "{body}");
    assert!(body["endpoint"].as_str().is_some_and(|e| e.starts_with("agtp://")), "{body}");
    let head = desk.call(Ask::head("/.well-known/agtp")).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    let post = desk.call(Ask::post("/.well-known/agtp", "{}")).await;
    assert!([404, 405].contains(&post.status), "{}", post.status);
}

#[tokio::test]
async fn http_endpoints_of_agtp_are_no_paths_of_the_site() {
    let (origin, desk) = open().await;
    for pair in ENDPOINTS {
        let path = pair.split_once(' ').expect("a pair").1.replace("{lamp_id}", "L1").replace("{part_id}", "foot");
        assert_the_sites(&desk.get(&path).await, pair);
        assert_eq!(origin.last().target, path, "a page of the same name is the site's");
    }
}

#[tokio::test]
async fn http_bodies_that_are_too_long_are_refused_before_the_site_is_asked() {
    let (origin, desk) = with(|setup| setup.set("protection", "max_input = \"8KB\"")).await;
    let note = "n".repeat(20_000);
    let response = desk.call(verb("CREATE", "/wishes").json(&json!({ "lamp_id": "L1", "note": note }))).await;
    assert!([400, 413, 422].contains(&response.status), "{} {}", response.status, response.text());
    assert_ours(&response, "too long");
    assert!(upstream_calls(&origin).is_empty());
    let fits = json!({ "lamp_id": "L1", "note": "n".repeat(4000) });
    assert_told(&desk.call(verb("CREATE", "/wishes").json(&fits)).await, 200, "one that fits");
    assert_says(
        &desk.call(anonymous("CREATE", "/wishes").json(&fits)).await,
        401,
        "reason",
        "agent-unauthenticated",
        "no name",
    );
}
