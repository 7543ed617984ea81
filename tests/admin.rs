//! Promise: the admin address shows an operator what runs and what happened, and reveals no secret.

use crate::support::page::PAGE;
use crate::support::{Ask, Conn, Desk, Origin, Reply, Request, SOON, Setup, Tls, Via, eventually};

async fn desk() -> (Origin, Desk) {
    let origin =
        Origin::start(|r: &Request| if r.target == "/" { Reply::html(PAGE) } else { Reply::new(404).body("none") })
            .await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    (origin, desk)
}

#[tokio::test]
async fn admin_probes_answer() {
    let (_origin, desk) = desk().await;
    for path in ["/livez", "/healthz", "/live", "/readyz", "/readyz?verbose", "/ready"] {
        assert_eq!(desk.admin_get(path).await.status, 200, "{path}");
        assert_eq!(desk.admin(Ask::head(path)).await.status, 200, "HEAD {path}");
    }
    assert_eq!(desk.admin_get("/nothing/here").await.status, 404);
}

#[tokio::test]
async fn admin_stays_ready_when_the_site_is_down() {
    let dead = format!("http://{}", crate::support::setup::dead_address());
    let desk = Setup::before_urls(&[dead]).start().await;
    assert_eq!(desk.get("/").await.status, 502);
    assert_eq!(desk.admin_get("/readyz").await.status, 200, "one upstream down is not us down");
}

#[tokio::test]
async fn admin_metrics_have_the_promised_names() {
    let (_origin, desk) = desk().await;
    desk.get("/").await;
    desk.get("/missing").await;
    desk.raw("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").await;
    desk.reload().await;
    let response = desk.admin_get("/metrics").await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "text/plain"));
    let text = response.text();
    for name in [
        "frontdesk_http_requests_total",
        "frontdesk_http_request_duration_seconds_bucket",
        "frontdesk_http_request_duration_seconds_sum",
        "frontdesk_http_request_duration_seconds_count",
        "frontdesk_upstream_request_duration_seconds_count",
        "frontdesk_pages_rewritten_total",
        "frontdesk_open_connections",
        "frontdesk_rejections_total",
        "frontdesk_config_last_reload_successful",
        "frontdesk_config_last_reload_success_timestamp_seconds",
        "frontdesk_config_reloads_total",
        "frontdesk_build_info",
        "frontdesk_log_dropped_total",
    ] {
        assert!(text.lines().any(|l| l.starts_with(name)), "no sample of {name}");
    }
    for line in text.lines().filter(|l| l.starts_with("frontdesk_")) {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let family = ["_bucket", "_sum", "_count"].iter().fold(name, |n, end| n.strip_suffix(end).unwrap_or(n));
        let described =
            |word: &str| text.contains(&format!("# {word} {family} ")) || text.contains(&format!("# {word} {name} "));
        assert!(described("HELP") && described("TYPE"), "{name} is not described");
    }
    // The upstreams are named as they are configured; nothing a client sends is a label.
    let of_clients = text.lines().filter(|l| !l.starts_with("frontdesk_upstream_up"));
    assert!(
        of_clients.clone().all(|l| !l.contains("/missing") && !l.contains("127.0.0.1")),
        "no path and no address is a label"
    );
}

#[tokio::test]
async fn admin_metrics_count() {
    let (_origin, desk) = desk().await;
    let requests = desk.metric("frontdesk_http_requests_total").await.unwrap_or(0.0);
    let pages = desk.metric("frontdesk_pages_rewritten_total").await.unwrap_or(0.0);
    for _ in 0..5 {
        desk.get("/").await;
        desk.get("/missing").await;
    }
    desk.metric_reaches("frontdesk_http_requests_total", requests + 10.0).await;
    desk.metric_reaches("frontdesk_pages_rewritten_total", pages + 5.0).await;
    let odd: String = "Q".repeat(12);
    desk.ask(Via::H1, Ask::new(&odd, "/")).await;
    assert!(!desk.admin_get("/metrics").await.text().contains(&odd), "an odd method is no label of its own");
}

#[tokio::test]
async fn admin_config_shows_what_runs_without_its_secrets() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let desk = Setup::before(&origin)
        .set("harness", "url = \"http://127.0.0.1:8900/ahp\"\ntoken = \"${HARNESS_SECRET}\"")
        .set("store", "url = \"memory:\"")
        .set("auth", "type = \"api_key\"")
        .env("HARNESS_SECRET", "hush-hush-1234")
        .tail(&format!("[[auth.api_keys]]\nname = \"partner\"\nsha256 = \"{hash}\"\n"))
        .start()
        .await;
    let response = desk.admin_get("/config").await;
    assert_eq!(response.status, 200);
    let text = response.text();
    assert!(text.contains(&origin.addr.to_string()), "what is running: {text}");
    for secret in ["hush-hush-1234", hash] {
        assert!(!text.contains(secret), "{secret} is shown");
    }
    let shown = response.json();
    assert!(text.to_lowercase().contains("hash"), "its hash: {shown}");
}

#[tokio::test]
async fn admin_refuses_foreign_hosts_and_origins() {
    let (_origin, desk) = desk().await;
    for (host, extra, fine) in [
        (desk.ports.admin.to_string(), "", true),
        (format!("localhost:{}", desk.ports.admin.port()), "", true),
        ("rebound.evil.test".to_owned(), "", false),
        (desk.ports.admin.to_string(), "Origin: http://evil.test\r\n", false),
    ] {
        let mut conn = Conn::open(desk.ports.admin).await;
        conn.send(format!("POST /reload HTTP/1.1\r\nHost: {host}\r\n{extra}Content-Length: 0\r\n\r\n")).await;
        let status = conn.response("POST").await.status;
        assert_eq!(status == 200, fine, "Host: {host}, {extra:?}: {status}");
    }
}

#[tokio::test]
async fn admin_with_a_token_asks_for_it_where_it_is_due() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    // The hash of "test".
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let desk = Setup::before(&origin).set("admin", &format!("token_sha256 = \"{hash}\"")).start().await;
    for path in ["/livez", "/readyz", "/metrics"] {
        assert_eq!(desk.admin_get(path).await.status, 200, "{path} never needs one");
    }
    assert!(!desk.admin_get("/config").await.text().contains(hash));
}

#[tokio::test]
async fn admin_is_not_on_the_public_address() {
    let (origin, desk) = desk().await;
    for path in ["/metrics", "/livez", "/readyz", "/config", "/reload"] {
        desk.get(path).await;
        assert_eq!(origin.last().target, path, "that path is the site's");
    }
}

#[tokio::test]
async fn access_log_has_one_json_line_a_request() {
    let (_origin, desk) = desk().await;
    let secret = Ask::get("/seen?token=hush").header("Authorization", "Bearer hush").header("Cookie", "sid=hush");
    desk.ask(Via::H1, secret).await;
    desk.ask(Via::H2Tls, Ask::get("/seen-too")).await;
    desk.get("/.well-known/agent.json").await;
    eventually("three lines", SOON, async || desk.access_log().len() >= 3).await;
    let out = desk.stdout();
    assert!(!out.contains("hush"), "no query, no credentials: {out}");
    let lines = desk.access_log();
    let line =
        lines.iter().find(|l| l.to_string().contains("\"/seen\"")).unwrap_or_else(|| panic!("no /seen in {out}"));
    let text = line.to_string();
    for part in ["GET", "404", "127.0.0.1"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert_eq!(out.lines().count(), lines.len(), "every line is JSON: {out}");
    assert_eq!(out.matches("/seen-too").count(), 1, "one line a request");
}

#[tokio::test]
async fn access_log_can_be_switched_off() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).set("log", "access = false").start().await;
    desk.get("/").await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert!(desk.access_log().is_empty());
}

#[tokio::test]
async fn access_log_that_nobody_reads_stops_no_worker() {
    use std::process::{Command, Stdio};
    let origin = Origin::start(|_: &Request| Reply::json("{}")).await;
    let dir = crate::support::Dir::new();
    let ports = crate::support::Ports::free();
    dir.write("frontdesk.toml", Setup::before(&origin).text(&ports));
    // Standard output is a pipe that is never read: full after 64 KB.
    let mut child = Command::new(crate::support::desk::binary())
        .args(["run", "--config", "frontdesk.toml"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary");
    let served = async {
        eventually("it listens", SOON, async || tokio::net::TcpStream::connect(ports.http).await.is_ok()).await;
        let mut conn = Conn::open(ports.http).await;
        for _ in 0..3000 {
            if conn.ask(&Ask::get("/")).await.status != 200 {
                return false;
            }
        }
        true
    };
    let served = tokio::time::timeout(SOON * 6, served).await;
    let _ = child.kill();
    let _ = child.wait();
    assert!(served == Ok(true), "a full pipe held up a worker");
}

#[tokio::test]
async fn access_log_names_the_forwarded_client_of_every_answer() {
    let origin =
        Origin::start(|r: &Request| if r.target == "/" { Reply::html(PAGE) } else { Reply::new(404).body("none") })
            .await;
    let desk = Setup::before(&origin).set("listen", "trusted_proxies = [\"127.0.0.0/8\"]").start().await;
    let asks = [
        (Ask::get("/"), 200),
        (Ask::get("/.well-known/agent.json"), 200),
        (Ask::get("/inline").accept("application/agent+json"), 200),
        (Ask::new("DELETE", "/.well-known/agent-interface.toml"), 405),
        (Ask::get("/.well-known/agent.json;x"), 404),
        (Ask::get("/large").header("X-Long", &"x".repeat(40_000)), 431),
    ];
    for (n, (ask, status)) in asks.iter().enumerate() {
        let forwarded = ask.clone().header("X-Forwarded-For", &format!("203.0.113.{n}"));
        assert_eq!(desk.ask(Via::H1, forwarded).await.status, *status, "{}", ask.target);
    }
    eventually("a line each", SOON, async || desk.access_log().len() >= asks.len()).await;
    let lines = desk.access_log();
    for (n, (ask, _)) in asks.iter().enumerate() {
        let line = lines.iter().find(|l| l["url.path"] == ask.target.as_str());
        let line = line.unwrap_or_else(|| panic!("no line of {} in {lines:#?}", ask.target));
        assert_eq!(line["client.address"], format!("203.0.113.{n}"), "{line}");
    }
}

/// The pages of the manual are there as plain text, where the operator's page and its refusals lead.
#[tokio::test]
async fn admin_has_the_manual() {
    let (_origin, desk) = desk().await;
    let list = desk.admin_get("/manual").await;
    assert!(list.status == 200 && list.text().contains("runbook-reasons"), "{}", list.text());
    let page = desk.admin_get("/manual/runbook").await;
    assert!(page.text().starts_with("# Runbook") && page.text().contains("### FrontdeskDown"));
    let reason = desk.admin_get("/explain/store_away").await.text();
    assert!(reason.contains("it means: the store cannot be reached"), "{reason}");
    let line = desk.admin_get("/explain/connection%20could%20not%20be%20accepted").await.text();
    assert!(line.contains("raise the limit on open files"), "{line}");
    for path in ["/manual/nothing", "/manual/../config", "/explain/", "/explain/no_such_reason"] {
        assert_eq!(desk.admin_get(path).await.status, 404, "{path}");
    }
}
