//! Promise: an agent gets exactly the number of calls that the headers and the manifest announce, also with concurrent
//! callers.

use crate::support::page::PAGE;
use crate::support::rates::{
    LET_THROUGH, act, api_key, assert_limited, at_once, capability, converse, count, is_let_through, rate,
};
use crate::support::{Ask, Origin, Reply, Request, Response, Setup, Tls, Via};

const KEY: &str = "hush-hush";

async fn setup(rates: &[(&str, &str)]) -> (Origin, Setup) {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let setup = Setup::before(&origin).limits(rates);
    (origin, setup)
}

fn statuses(responses: &[Response]) -> Vec<u16> {
    responses.iter().map(|r| r.status).collect()
}

#[tokio::test]
async fn limits_count_down_and_then_refuse() {
    let (_origin, setup) = setup(&[("anonymous", "5/minute")]).await;
    let desk = setup.start().await;
    let mut resets = Vec::new();
    for used in 1..=5 {
        let response = desk.ask(Via::H1, converse()).await;
        assert_eq!(response.status, LET_THROUGH);
        let rate = rate(&response, "a call");
        assert_eq!((rate.limit, rate.remaining, rate.window), (5, 5 - used, 60));
        resets.push(rate.reset);
    }
    for _ in 0..3 {
        let response = desk.ask(Via::H1, converse()).await;
        assert_limited(&response, "ip", "beyond the limit");
        resets.push(rate(&response, "beyond the limit").reset);
    }
    let (first, last) = (resets.iter().min().expect("some"), resets.iter().max().expect("some"));
    assert!(last - first <= 1, "one window from its first call on: {resets:?}");
}

#[tokio::test]
async fn limits_are_declared_in_the_manifests() {
    let (_origin, setup) = setup(&[("anonymous", "7/minute"), ("authenticated", "70/hour")]).await;
    let desk = setup.start().await;
    let declared = desk.get("/.well-known/agent.json").await.json();
    assert_eq!(declared["rate_limits"]["unauthenticated"]["requests"], "7/minute");
    assert_eq!(declared["rate_limits"]["authenticated"]["requests"], "70/hour");
    assert_eq!(rate(&desk.ask(Via::H1, converse()).await, "converse").limit, 7);
}

#[tokio::test]
async fn limits_refuse_in_the_callers_dialect() {
    let (_origin, setup) = setup(&[("anonymous", "1/minute"), ("content", "1/minute")]).await;
    let desk = setup.tail(&capability("fares.search", "query", "/agent/fares")).start().await;
    desk.ask(Via::H1, converse()).await;
    desk.get("/.well-known/agent.json").await;
    for ask in [
        converse(),
        Ask::get("/agent/converse/status/abc"),
        act("/capabilities/fares_search"),
        Ask::get("/openapi.json"),
        Ask::get("/.well-known/agent.json"),
    ] {
        let response = desk.ask(Via::H1, ask.clone()).await;
        assert_limited(&response, "ip", &ask.target);
        assert_eq!(response.media_type(), "application/json", "{}", ask.target);
        let body = response.json();
        assert_eq!(
            (&body["status"], &body["code"]),
            (&"error".into(), &"rate_limited".into()),
            "{}: {body}",
            ask.target
        );
        assert!(body["message"].is_string(), "{}: {body}", ask.target);
    }
    for ask in [act("/agent/fares"), Ask::get("/.well-known/agent-interface.toml")] {
        let response = desk.ask(Via::H1, ask.clone()).await;
        assert_limited(&response, "ip", &ask.target);
        assert_eq!(response.media_type(), "application/aom+json", "{}", ask.target);
        assert_eq!(response.json()["error"]["code"], "rate_limited", "{}", ask.target);
    }
    let response = desk.ask(Via::H1, act("/mcp")).await;
    assert_limited(&response, "ip", "/mcp");
    assert_eq!(response.media_type(), "application/json");
    let body = response.json();
    assert!(body["jsonrpc"] == "2.0" && body["error"]["data"]["code"] == "rate_limited", "{body}");
}

#[tokio::test]
async fn limits_count_manifests_by_themselves() {
    let (_origin, setup) = setup(&[("anonymous", "2/minute"), ("content", "3/minute")]).await;
    let desk = setup.start().await;
    assert_eq!(desk.let_through(4, &converse()).await, 2);
    let manifests = ["/.well-known/agent.json", "/.well-known/agent-interface.toml", "/.well-known/agent-interface"];
    for (used, path) in (1..).zip(manifests) {
        let response = desk.get(path).await;
        assert_eq!(response.status, 200, "{path}");
        let rate = rate(&response, path);
        assert_eq!((rate.limit, rate.remaining), (3, 3 - used), "{path}");
    }
    for path in manifests {
        assert_limited(&desk.get(path).await, "ip", path);
        let again = desk.ask(Via::H1, Ask::head(path)).await;
        assert_eq!((again.status, again.body.len()), (429, 0), "HEAD {path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_hold_for_64_callers_at_once() {
    let (_origin, setup) = setup(&[("anonymous", "20/minute"), ("authenticated", "33/minute")]).await;
    let desk = setup.tail(&api_key("partner-a", KEY, "")).start().await;
    let responses = at_once(&[&desk], vec![converse(); 64]).await;
    assert_eq!(count(&statuses(&responses)), 20, "anonymous");
    let mut left: Vec<u64> =
        responses.iter().filter(|r| r.status == LET_THROUGH).map(|r| rate(r, "at once").remaining).collect();
    left.sort_unstable();
    assert_eq!(left, (0..20).collect::<Vec<_>>(), "everybody was told something else");
    let responses = at_once(&[&desk], vec![converse().header("X-AHP-Key", KEY); 64]).await;
    assert_eq!(count(&statuses(&responses)), 33, "with a key");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_hold_for_64_streams_of_one_connection() {
    let (_origin, setup) = setup(&[("anonymous", "20/minute")]).await;
    let desk = setup.tls(&Tls::new()).start().await;
    let conn = desk.h2(Via::H2Tls).await;
    let streams: Vec<_> = (0..64)
        .map(|_| {
            let mut conn = conn.clone();
            tokio::spawn(async move { conn.ask(&converse()).await.status })
        })
        .collect();
    let mut all = Vec::new();
    for stream in streams {
        all.push(stream.await.expect("a stream"));
    }
    assert_eq!(count(&all), 20);
}

#[tokio::test]
async fn limits_of_actions_come_on_top() {
    let (_origin, setup) = setup(&[("actions", "3/minute"), ("authenticated", "8/minute")]).await;
    let kinds = ["query", "prepare_action", "commit_action", "destructive_action"];
    let declared: String = kinds.iter().map(|k| capability(&format!("a.{k}"), k, &format!("/agent/{k}"))).collect();
    let desk = setup.tail(&api_key("partner-a", KEY, "")).tail(&declared).start().await;
    let call = |kind: &str| act(&format!("/agent/{kind}")).header("X-AHP-Key", KEY);
    for (used, kind) in (1..).zip(&kinds[1..]) {
        let response = desk.ask(Via::H1, call(kind)).await;
        assert!(is_let_through(response.status), "{kind}: {}", response.status);
        let rate = rate(&response, kind);
        assert_eq!((rate.limit, rate.remaining), (3, 3 - used), "{kind}: the tightest speaks");
    }
    for kind in &kinds[1..] {
        assert_limited(&desk.ask(Via::H1, call(kind)).await, "agent", kind);
    }
    let query = desk.ask(Via::H1, call("query")).await;
    assert!(is_let_through(query.status), "reading goes on");
    assert_eq!(rate(&query, "query").limit, 8);
}

#[tokio::test]
async fn limits_count_pages_only_where_the_operator_says_so() {
    let (origin, setup) = setup(&[("anonymous", "2/minute"), ("content", "2/minute")]).await;
    let desk = setup.clone().start().await;
    for _ in 0..10 {
        assert_eq!(desk.get("/").await.status, 200);
    }
    assert_eq!(desk.let_through(3, &converse()).await, 2, "pages were not counted");
    let rates = [("anonymous", "2/minute"), ("site", "3/minute")];
    let desk = Setup::before(&origin).limits(&rates).start().await;
    let statuses = desk.statuses((0..5).map(|n| Ask::get(&format!("/{n}")))).await;
    assert_eq!(statuses, [200, 200, 200, 429, 429]);
    let refused = desk.get("/").await;
    let wait = refused.header("retry-after").and_then(|w| w.parse::<u64>().ok());
    assert!(wait.is_some_and(|w| (1..=61).contains(&w)), "{:?}", refused.headers);
    assert_eq!(desk.let_through(3, &converse()).await, 2, "agent endpoints are not pages");
    assert_eq!(desk.get("/.well-known/agent.json").await.status, 200, "nor are manifests");
}

#[tokio::test]
async fn limits_that_refuse_are_metered_by_reason_only() {
    const REJECTIONS: &str = "frontdesk_rejections_total";
    let (_origin, setup) = setup(&[("anonymous", "2/minute")]).await;
    let setup = setup.set("listen", "trusted_proxies = [\"127.0.0.1/32\"]").tail(&api_key("partner-a", KEY, ""));
    let desk = setup.start().await;
    let from = |ask: Ask| ask.header("X-Forwarded-For", "203.0.113.77").header("AICP-Agent", "SomeClaim/1.0");
    let before = desk.metric(REJECTIONS).await.unwrap_or(0.0);
    assert_eq!(desk.ask(Via::H1, from(converse()).header("X-AHP-Key", "wrong-4711")).await.status, 401);
    let after_401 = desk.admin_get("/metrics").await.text();
    assert_eq!(desk.metric(REJECTIONS).await, Some(before + 1.0), "a 401");
    assert_eq!(desk.statuses([from(converse()), from(converse())]).await, [LET_THROUGH; 2]);
    for _ in 0..3 {
        assert_eq!(desk.ask(Via::H1, from(converse())).await.status, 429);
    }
    assert_eq!(desk.metric(REJECTIONS).await, Some(before + 4.0), "three 429s");
    let text = desk.admin_get("/metrics").await.text();
    let unknown = Ask::post("/agent/converse", r#"{"capability":"nothing","query":"?"}"#);
    let unknown = unknown.header("Content-Type", "application/json").header("X-AHP-Key", KEY);
    assert_eq!(desk.ask(Via::H1, from(unknown)).await.status, 400);
    assert_eq!(desk.metric(REJECTIONS).await, Some(before + 5.0), "what somebody known is refused at the desk");
    let samples =
        |text: &str| -> Vec<String> { text.lines().filter(|l| l.starts_with(REJECTIONS)).map(str::to_owned).collect() };
    let for_the_rate: Vec<_> = samples(&text).into_iter().filter(|l| !samples(&after_401).contains(l)).collect();
    assert!(for_the_rate.iter().map(|l| l.rsplit(' ').next()).all(|n| n == Some("3")), "a reason of its own: {text}");
    let text = desk.admin_get("/metrics").await.text();
    for secret in ["203.0.113", KEY, "wrong-4711", "partner-a", "SomeClaim"] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
}

#[tokio::test]
async fn limits_refuse_before_the_body_has_come() {
    let (origin, setup) = setup(&[("anonymous", "1/minute")]).await;
    let desk = setup.start().await;
    assert_eq!(desk.let_through(1, &converse()).await, 1);
    for length in ["Content-Length: 1000000000", "Transfer-Encoding: chunked"] {
        let mut conn = desk.conn().await;
        let head = format!("POST /agent/converse HTTP/1.1\r\nHost: site.test\r\n{length}\r\n\r\n");
        conn.send(format!("{head}5\r\n")).await;
        assert_limited(&conn.response("POST").await, "ip", length);
    }
    assert!(origin.asked().is_empty());
}
