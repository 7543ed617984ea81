//! Promise: a trace context that reaches Frontdesk goes on to the site, with our own spans, which go to the collector
//! in the environment; without a collector nothing is changed.

use crate::support::calls::{self, FULL};
use crate::support::collector::{CLIENT, Collector, INTERNAL, SERVER, Span};
use crate::support::page::PAGE;
use crate::support::{Answer, Ask, Desk, Origin, Reply, Request, SOON, Setup, Step, Via, eventually, fast_path_is_off};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

fn parent(flags: &str) -> String {
    format!("00-{TRACE}-{PARENT}-{flags}")
}

async fn site() -> Origin {
    Origin::start(said).await
}

fn said(r: &Request) -> Reply {
    match r.target.as_str() {
        "/broken" => Reply::new(500).body("no"),
        "/missing" => Reply::new(404).body("no"),
        _ => Reply::html(PAGE),
    }
}

fn ask(path: &str, flags: &str) -> Ask {
    Ask::get(path).header("traceparent", &parent(flags)).header("tracestate", "vendor=a, other=b")
}

/// The engine that serves what is plain.
fn engine() -> &'static str {
    if fast_path_is_off() { "pingora" } else { "fast_path" }
}

/// The line of the last request, once it is there.
async fn last_line(desk: &Desk, count: usize) -> serde_json::Value {
    eventually("its line", SOON, async || desk.access_log().len() >= count).await;
    desk.access_log().pop().unwrap_or_default()
}

#[tokio::test]
async fn traces_are_off_unless_asked_for_and_a_context_passes_unchanged() {
    let origin = site().await;
    let desk = Setup::before(&origin).start().await;
    desk.ask(Via::H1, ask("/", "01")).await;
    let seen = origin.last();
    assert_eq!(seen.header("traceparent"), Some(parent("01").as_str()));
    assert_eq!(seen.headers.all("tracestate"), ["vendor=a, other=b"]);
    let line = last_line(&desk, 1).await;
    assert_eq!((&line["trace_id"], &line["span_id"]), (&TRACE.into(), &PARENT.into()), "{line}");
    desk.ask(Via::H1, Ask::get("/").header("traceparent", "00-nonsense")).await;
    assert_eq!(origin.last().header("traceparent"), Some("00-nonsense"), "not ours to judge");
    let line = last_line(&desk, 2).await;
    assert!(line.get("trace_id").is_none() && line.get("span_id").is_none(), "{line}");
    desk.get("/").await;
    assert!(!origin.last().headers.has("traceparent"), "none is made");
}

#[tokio::test]
async fn traces_go_up_to_the_site_and_to_the_collector() {
    let (origin, collector) = (site().await, Collector::start().await);
    let setup =
        collector.told_by(Setup::before(&origin)).env("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test");
    let desk = setup.env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=sesame%20open").start().await;
    let secret = ask("/?q=secret-query", "01").header("Authorization", "Bearer secret-token");
    desk.ask(Via::H1, secret.header("Cookie", "c=secret-cookie").header("User-Agent", "probe/1")).await;
    let ours = collector.with(2, |span| span.trace == TRACE).await;
    let of = |kind| ours.iter().find(|span| span.kind == kind).unwrap_or_else(|| panic!("{ours:?}"));
    let (server, client) = (of(SERVER), of(CLIENT));
    assert_eq!((server.parent.as_str(), client.parent.as_str()), (PARENT, server.id.as_str()));
    assert_eq!((server.name.as_str(), client.name.as_str()), ("GET", "GET"));
    for (name, value) in [
        ("http.request.method", "GET"),
        ("url.path", "/"),
        ("server.address", "site.test"),
        ("http.response.status_code", "200"),
        ("network.protocol.version", "1.1"),
        ("client.address", "127.0.0.1"),
        ("user_agent.original", "probe/1"),
        ("frontdesk.decision", "pass"),
        ("frontdesk.page", "rewritten"),
    ] {
        assert_eq!(server.attribute(name), value, "{name} in {server:?}");
    }
    assert_eq!(client.attribute("url.full"), format!("{}/", origin.url()));
    assert_eq!(client.attribute("server.port"), origin.addr.port().to_string());
    assert_eq!(client.attribute("http.response.status_code"), "200");
    assert_eq!(server.resource.get("service.name").map(String::as_str), Some("frontdesk"));
    assert_eq!(server.resource.get("deployment.environment").map(String::as_str), Some("test"));
    // The site's own spans hang below the one of the question, and the state of others stays.
    let seen = origin.last();
    assert_eq!(seen.header("traceparent"), Some(format!("00-{TRACE}-{}-01", client.id).as_str()));
    assert_eq!(seen.header("tracestate"), Some("vendor=a,other=b"));
    assert_eq!(server.state, "vendor=a,other=b");
    let line = last_line(&desk, 1).await;
    assert_eq!((&line["trace_id"], &line["span_id"]), (&TRACE.into(), &server.id.as_str().into()), "{line}");
    assert_eq!(line["frontdesk.engine"], engine(), "traces change no engine: {line}");
    for request in collector.requests() {
        assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1/traces"));
        assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
        assert_eq!(request.header("x-key"), Some("sesame open"));
        let body = String::from_utf8_lossy(&request.body).into_owned();
        for word in ["secret-query", "secret-token", "secret-cookie", "sesame"] {
            assert!(!body.contains(word), "{word} is in a span");
        }
    }
    desk.metric_reaches("frontdesk_trace_spans_sent_total", 2.0).await;
}

#[tokio::test]
async fn traces_say_what_failed() {
    let (origin, collector) = (site().await, Collector::start().await);
    let desk = collector.told_by(Setup::before(&origin)).start().await;
    desk.get("/broken").await;
    desk.get("/missing").await;
    let ours = collector.with(4, |_| true).await;
    let of = |kind, path: &str| {
        let server =
            ours.iter().find(|span| span.kind == SERVER && span.attribute("url.path") == path).expect("a span");
        ours.iter().find(|span| span.kind == kind && span.trace == server.trace).expect("its own").clone()
    };
    assert!(of(SERVER, "/broken").failed && of(CLIENT, "/broken").failed);
    assert!(!of(SERVER, "/missing").failed && of(CLIENT, "/missing").failed, "whose mistake it is");
    assert_eq!(of(CLIENT, "/missing").attribute("error.type"), "404");
    assert!(of(SERVER, "/broken").parent.is_empty() && of(SERVER, "/broken").trace != of(SERVER, "/missing").trace);

    let dead = format!("http://{}", crate::support::setup::dead_address());
    let desk = collector.told_by(Setup::before_urls(&[dead])).start().await;
    assert_eq!(desk.get("/gone").await.status, 502);
    let server = collector.with(1, |span| span.attribute("url.path") == "/gone").await.remove(0);
    let client = collector.with(1, |span| span.parent == server.id).await.remove(0);
    assert!(server.failed && client.failed && !client.attribute("error.type").is_empty(), "{client:?}");
    assert!(client.attribute("http.response.status_code").is_empty(), "the 502 is ours: {client:?}");
}

#[tokio::test]
async fn traces_honour_what_was_decided_before() {
    let (origin, collector) = (site().await, Collector::start().await);
    let setup = collector.told_by(Setup::before(&origin)).env("OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
    let desk = setup.env("OTEL_TRACES_SAMPLER_ARG", "0").start().await;
    desk.ask(Via::H1, ask("/not", "00")).await;
    let seen = origin.last().header("traceparent").unwrap_or_default().to_owned();
    assert!(seen.starts_with(&format!("00-{TRACE}-")) && seen.ends_with("-00"), "{seen}");
    assert!(!seen.contains(PARENT), "a place of its own: {seen}");
    let line = last_line(&desk, 1).await;
    assert_eq!(line["trace_id"], TRACE, "in the log all the same: {line}");
    desk.get("/none").await;
    let seen = origin.last().header("traceparent").unwrap_or_default().to_owned();
    assert!(seen.ends_with("-00") && !seen.contains(TRACE), "{seen}");
    desk.ask(Via::H1, ask("/sampled", "01")).await;
    let spans = collector.with(2, |span| span.trace == TRACE).await;
    assert!(spans.iter().any(|span| span.attribute("url.path") == "/sampled"), "{spans:?}");
    assert!(collector.spans().iter().all(|span| !["/not", "/none"].contains(&span.attribute("url.path"))));
}

#[tokio::test]
async fn traces_take_a_share_where_a_ratio_says_so() {
    let (origin, collector) = (site().await, Collector::start().await);
    let setup = collector.told_by(Setup::before(&origin)).env("OTEL_TRACES_SAMPLER", "traceidratio");
    let mut desk = setup.env("OTEL_TRACES_SAMPLER_ARG", "0.5").start().await;
    for n in 0..100 {
        // The client's flags do not decide.
        desk.ask(Via::H1, Ask::get(&format!("/{n}")).header("traceparent", &format!("00-{n:032x}-{PARENT}-01"))).await;
        desk.get("/").await;
    }
    desk.signal(libc::SIGINT);
    desk.wait_exit(SOON).await;
    let roots = collector.spans().iter().filter(|span| span.kind == SERVER && span.parent.is_empty()).count();
    // All or none of 100 would be one in 2^100.
    assert!((1..100).contains(&roots), "{roots} of 100");
}

#[tokio::test]
async fn traces_ignore_what_is_malformed() {
    let (origin, collector) = (site().await, Collector::start().await);
    let desk = collector.told_by(Setup::before(&origin)).start().await;
    for wrong in [
        "",
        "00-1-2-01",
        &parent("01").to_uppercase(),
        &format!("{}-more", parent("01")),
        &parent("01").replace("00-", "ff-"),
    ] {
        let ask = Ask::get("/").header("traceparent", wrong).header("tracestate", "vendor=a");
        assert_eq!(desk.ask(Via::H1, ask).await.status, 200, "{wrong}");
        let seen = origin.last();
        let told = seen.header("traceparent").unwrap_or_default().to_owned();
        assert!(told.len() == 55 && told.starts_with("00-") && !told.contains(TRACE), "{wrong}: {told}");
        assert_eq!(seen.headers.all("traceparent").len(), 1, "{wrong}");
        assert!(!seen.headers.has("tracestate"), "{wrong}: it goes with its parent");
    }
}

#[tokio::test]
async fn traces_hold_what_the_desk_did() {
    let origin =
        Origin::start(|_: &Request| Reply::new(200).header("Content-Type", "application/json").body("{}")).await;
    let collector = Collector::start().await;
    let declared = calls::query("flights.search", "\nupstream = { method = \"POST\", path = \"/api/flights\" }");
    let desk = collector.told_by(calls::site(&origin, &declared)).start().await;
    let call = calls::call("/agent/flights/search", &serde_json::json!({})).header("traceparent", &parent("01"));
    let reply = desk.call(call.header("Authorization", &format!("Bearer {FULL}"))).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let spans = collector.with(3, |span| span.trace == TRACE).await;
    let of = |kind| spans.iter().find(|span| span.kind == kind).unwrap_or_else(|| panic!("{spans:?}"));
    let (server, desk_span, client) = (of(SERVER), of(INTERNAL), of(CLIENT));
    assert_eq!(desk_span.parent, server.id);
    assert_eq!(client.parent, desk_span.id);
    assert_eq!(desk_span.name, format!("desk {}", desk_span.attribute("frontdesk.capability")));
    assert_eq!(desk_span.attribute("frontdesk.outcome"), "done");
    assert!(!desk_span.attribute("frontdesk.dialect").is_empty(), "{desk_span:?}");
    let told = format!("00-{TRACE}-{}-01", client.id);
    assert_eq!(calls::last_upstream(&origin).headers.all("traceparent"), [told.as_str()]);
    assert_eq!(desk_span.attribute("frontdesk.capability"), "flights.search");
    let body: String = collector.requests().iter().map(|r| String::from_utf8_lossy(&r.body).into_owned()).collect();
    assert!(!body.contains(FULL), "no credential is in a span");
}

#[tokio::test]
async fn traces_are_dropped_and_counted_while_the_collector_is_away() {
    let origin = site().await;
    let dead = format!("http://{}", crate::support::setup::dead_address());
    let mut desk = Setup::before(&origin)
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &dead)
        .env("OTEL_EXPORTER_OTLP_TIMEOUT", "300")
        .env("OTEL_BSP_SCHEDULE_DELAY", "20")
        .env("OTEL_BSP_MAX_QUEUE_SIZE", "8")
        .start()
        .await;
    for _ in 0..50 {
        assert_eq!(desk.get("/").await.status, 200);
    }
    desk.metric_reaches("frontdesk_trace_spans_dropped_total{reason=\"undelivered\"}", 1.0).await;
    desk.metric_reaches("frontdesk_trace_spans_dropped_total{reason=\"queue_full\"}", 1.0).await;
    assert_eq!(desk.metric("frontdesk_trace_spans_sent_total").await, Some(0.0));
    let said = desk.stderr();
    assert_eq!(said.matches("traces cannot be delivered").count(), 1, "once: {said}");
    desk.signal(libc::SIGINT);
    let (status, _) = desk.wait_exit(Duration::from_secs(10)).await;
    assert!(status.success(), "it ends all the same");
}

#[tokio::test]
async fn traces_that_wait_are_sent_at_the_end() {
    let (origin, collector) = (site().await, Collector::start().await);
    let setup = collector.told_by(Setup::before(&origin)).env("OTEL_BSP_SCHEDULE_DELAY", "600000");
    let mut desk = setup.env("OTEL_SERVICE_NAME", "shop-front").start().await;
    desk.get("/last").await;
    desk.signal(libc::SIGTERM);
    desk.wait_exit(SOON).await;
    let spans: Vec<Span> = collector.spans();
    let last = spans.iter().find(|span| span.attribute("url.path") == "/last").unwrap_or_else(|| panic!("{spans:?}"));
    assert_eq!(last.resource.get("service.name").map(String::as_str), Some("shop-front"));
}

#[tokio::test]
async fn traces_say_clearly_what_is_not_spoken_and_serve_all_the_same() {
    let (origin, collector) = (site().await, Collector::start().await);
    let desk = collector.told_by(Setup::before(&origin)).env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc").start().await;
    assert_eq!(desk.ask(Via::H1, ask("/", "01")).await.status, 200);
    assert_eq!(origin.last().header("traceparent"), Some(parent("01").as_str()), "as if nothing had been asked for");
    let said = desk.stderr();
    assert!(said.contains("only http/protobuf") && said.contains("OTEL_EXPORTER_OTLP_PROTOCOL"), "{said}");
    for (name, value) in [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")] {
        let desk = collector.told_by(Setup::before(&origin)).env(name, value).start().await;
        desk.get("/").await;
        assert!(!origin.last().headers.has("traceparent"), "{name}");
        assert!(!desk.stderr().contains("tracing is off"), "{name} is no mistake");
    }
    assert!(collector.requests().is_empty(), "nothing was sent");
}

#[tokio::test]
async fn traces_are_made_whatever_a_request_came_over() {
    let (origin, setup) = crate::agtp_wire::site().await;
    let collector = Collector::start().await;
    let desk = collector.told_by(setup.set("listen", "h2c = true")).start().await;
    let said = desk.say(crate::agtp_wire::asking("secret-input").header("traceparent", &parent("01"))).await;
    assert_eq!(said.status, 200, "{}", said.text());
    let spans = collector.with(3, |span| span.trace == TRACE).await;
    let of = |kind| spans.iter().find(|span| span.kind == kind).unwrap_or_else(|| panic!("{spans:?}"));
    assert_eq!((of(SERVER).parent.as_str(), of(SERVER).name.as_str()), (PARENT, "HTTP"));
    assert_eq!(of(SERVER).attribute("http.request.method"), "_OTHER");
    assert_eq!(of(SERVER).attribute("http.request.method_original"), "QUERY");
    assert_eq!((&of(INTERNAL).parent, &of(CLIENT).parent), (&of(SERVER).id, &of(INTERNAL).id));
    let told = format!("00-{TRACE}-{}-01", of(CLIENT).id);
    assert_eq!(crate::agtp_wire::calls(&origin)[0].headers.all("traceparent"), [told.as_str()]);
    let line = last_line(&desk, 1).await;
    assert_eq!((&line["trace_id"], &line["span_id"]), (&TRACE.into(), &of(SERVER).id.as_str().into()), "{line}");
    let sent: String = collector.requests().iter().map(|r| String::from_utf8_lossy(&r.body).into_owned()).collect();
    assert!(!sent.contains("secret-input"), "what was asked is in no span");

    desk.ask(Via::H2c, Ask::get("/over-h2")).await;
    let server = collector.with(1, |span| span.attribute("url.path") == "/over-h2").await.remove(0);
    assert_eq!(server.attribute("network.protocol.version"), "2");
}

#[tokio::test]
async fn traces_hold_a_page_that_was_made() {
    let (origin, collector) = (site().await, Collector::start().await);
    let desk = collector.told_by(Setup::before(&origin)).start().await;
    let ask = ask("/page.md", "01").accept("text/markdown");
    assert_eq!(desk.ask(Via::H1, ask).await.status, 200);
    let client = collector.with(1, |span| span.kind == CLIENT && span.trace == TRACE).await.remove(0);
    assert_eq!(client.attribute("http.response.status_code"), "200");
    let told = format!("00-{TRACE}-{}-01", client.id);
    assert!(
        origin.requests().iter().any(|r| r.headers.all("traceparent") == [told.as_str()]),
        "{:?}",
        origin.requests()
    );
}

/// The spans of one trace and what the site received of it, without what differs from run to run.
fn shown(trace: &str, spans: &[Span], seen: Option<&Request>) -> Vec<String> {
    let named = |id: &str| match spans.iter().find(|span| span.id == id) {
        Some(span) => format!("span of kind {}", span.kind),
        None if id == PARENT => "the sender's".to_owned(),
        None => format!("another of {} digits", id.len()),
    };
    let mut shown = Vec::new();
    for span in spans {
        let Span { name, kind, state, failed, parent, attributes, .. } = span;
        let of_this_run = ["frontdesk.config", "server.port", "url.full"];
        let attributes: Vec<_> = attributes.iter().filter(|(name, _)| !of_this_run.contains(&name.as_str())).collect();
        shown.push(format!("{kind} {name} {state:?} {failed} below {}: {attributes:?}", named(parent)));
    }
    shown.sort();
    for told in seen.iter().flat_map(|seen| seen.headers.all("traceparent")) {
        let parts: Vec<&str> = told.split('-').collect();
        assert_eq!((parts.len(), parts[1] == trace), (4, true), "{told}");
        shown.push(format!("the site: {} {} {}", parts[0], named(parts[2]), parts[3]));
    }
    shown.extend(seen.iter().flat_map(|seen| seen.headers.all("tracestate")).map(|told| format!("the site: {told}")));
    shown
}

/// What one engine records of each kind of request, and tells the site.
async fn recorded(fast_path: bool) -> Vec<Vec<String>> {
    // It closes a connection that it kept without a word about the first request for /again.
    let again = AtomicUsize::new(0);
    let answers = move |r: &Request| match r.target.as_str() {
        "/again" if again.fetch_add(1, Ordering::Relaxed) == 0 => Answer::from(vec![Step::Close]),
        _ => said(r).into(),
    };
    let (origin, collector) = (Origin::start(answers).await, Collector::start().await);
    let read = calls::query("read", "\nupstream = { method = \"GET\", path = \"/api/read\" }");
    let setup = calls::site(&origin, &read).set("listen", "h2c = true");
    let desk = collector.told_by(setup).set("runtime", &format!("fast_path = {fast_path}")).start().await;
    let call = calls::call("/agent/read", &serde_json::json!({}));
    let asked: Vec<(Via, Ask, &str, usize)> = vec![
        (Via::H1, Ask::get("/page?q=1").header("User-Agent", "probe/1"), "01", 2),
        (Via::H2c, Ask::get("/over-h2"), "01", 2),
        (Via::H1, Ask::new("HEAD", "/head"), "01", 2),
        (Via::H1, Ask::get("/missing"), "01", 2),
        (Via::H1, Ask::get("/broken"), "03", 2),
        (Via::H1, Ask::get("/not-sampled"), "00", 0),
        (Via::H1, Ask::get("/cookies").header("Cookie", "a=1").header("Cookie", "b=2"), "01", 2),
        (Via::H1, Ask::get("/.well-known/agent.json"), "01", 1),
        (Via::H1, call, "01", 3),
        (Via::H1, Ask::get("/again"), "01", 2),
    ];
    let mut all = Vec::new();
    for (n, (via, ask, flags, count)) in asked.into_iter().enumerate() {
        let (trace, path) = (format!("{:032x}", n + 1), ask.target.clone());
        let path = path.split('?').next().unwrap_or_default();
        let ask = ask.header("TraceParent", &format!("00-{trace}-{PARENT}-{flags}"));
        desk.ask(via, ask.header("tracestate", "vendor=a").header("tracestate", "other=b")).await;
        let spans = if count > 0 { collector.with(count, |span| span.trace == trace).await } else { Vec::new() };
        assert_eq!(spans.len(), count, "{path}: {spans:?}");
        let engine = if fast_path { "fast_path" } else { "pingora" };
        let line = || desk.access_log().into_iter().find(|line| line["url.path"] == *path);
        eventually("its line", SOON, async || line().is_some()).await;
        assert_eq!(line().expect("its line")["frontdesk.engine"], engine, "{path}");
        let seen = origin
            .requests()
            .into_iter()
            .rfind(|seen| seen.headers.all("traceparent").iter().any(|told| told.contains(&trace)));
        let shown = shown(&trace, &spans, seen.as_ref());
        assert!(!shown.is_empty(), "{path}");
        all.push(shown);
    }
    all
}

#[tokio::test]
async fn traces_are_the_same_on_both_engines() {
    let (fast, pingora) = (recorded(true).await, recorded(false).await);
    for (fast, pingora) in fast.iter().zip(&pingora) {
        assert_eq!(fast, pingora);
    }
    let again = fast.last().expect("the request that was sent again").join("\n");
    assert!(again.contains("resend_count\", \"1\""), "{again}");
}
