//! Promise: a late answer is delivered to the agent's callback URL, and no client can make the desk call an address
//! that only the desk can reach (AHP §13, SSRF).

use crate::support::calls::{FULL, action, call, site};
use crate::support::{Ask, Desk, Origin, Ports, Reply, Request, SOON, Via, eventually};
use serde_json::{Value, json};
use std::time::Duration;

/// Takes a while, and answers.
fn later() -> String {
    action(
        "reports.make",
        "\nupstream = { method = \"POST\", path = \"/api/report\" }\nahp = { action_type = \"async\" }",
    )
}

async fn site_behind() -> Origin {
    Origin::start(|r: &Request| match r.target.as_str() {
        "/api/report" => Reply::json(r#"{"pages":3}"#),
        _ => Reply::new(404).body("none"),
    })
    .await
}

async fn desk(origin: &Origin, allow: bool) -> Desk {
    let setup = site(origin, &later());
    if allow { setup.set("sessions", "allow_http_callbacks = true").start().await } else { setup.start().await }
}

fn report(url: &str) -> Ask {
    let body = json!({ "capability": "reports_make", "query": "one", "context": { "callback_url": url } });
    call("/agent/converse", &body).bearer(FULL)
}

/// Somewhere that callbacks go, or must not.
async fn listener(reply: Reply) -> Origin {
    Origin::start(move |_: &Request| reply.clone()).await
}

#[tokio::test]
async fn callbacks_bring_the_answer() {
    let (origin, there) = (site_behind().await, listener(Reply::new(204)).await);
    let desk = desk(&origin, true).await;
    let url = format!("{}/hook?id=7", there.url());
    let accepted = desk.ask(Via::H1, report(&url)).await;
    assert_eq!(accepted.json()["status"], "accepted", "{}", accepted.text());
    assert_eq!(accepted.json()["callback"], json!({ "method": "POST", "url": url }));
    eventually("the answer", SOON, async || !there.requests().is_empty()).await;
    let told = there.requests().pop().expect("a callback");
    assert_eq!((told.method.as_str(), told.target.as_str()), ("POST", "/hook?id=7"));
    assert_eq!(told.header("content-type"), Some("application/json"));
    let body: Value = serde_json::from_slice(&told.body).expect("JSON");
    assert_eq!(body["status"], "success", "{body}");
    for secret in ["authorization", "x-ahp-key", "x-frontdesk-caller", "cookie", "x-forwarded-for"] {
        assert!(told.header(secret).is_none(), "{secret}: {:?}", told.headers);
    }
    assert!(!format!("{:?}", told.headers).contains(FULL));
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(there.requests().len(), 1, "once");
}

#[tokio::test]
async fn callbacks_never_reach_what_only_the_desk_can() {
    let (origin, there) = (site_behind().await, listener(Reply::new(204)).await);
    let desk = desk(&origin, false).await;
    let port = there.addr.port();
    for url in [
        format!("http://127.0.0.1:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("https://localhost:{port}/"),
        format!("https://a.localhost:{port}/"),
        format!("https://2130706433:{port}/"),
        format!("https://0x7f000001:{port}/"),
        format!("https://0177.0.0.1:{port}/"),
        format!("https://127.1:{port}/"),
        format!("https://0.0.0.0:{port}/"),
        format!("https://[::1]:{port}/"),
        format!("https://[::ffff:127.0.0.1]:{port}/"),
        format!("https://[::ffff:7f00:1]:{port}/"),
        format!("https://[64:ff9b::7f00:1]:{port}/"),
        format!("https://[2002:7f00:1::]:{port}/"),
        "https://169.254.169.254/latest/meta-data/".to_owned(),
        "https://[fd00:ec2::254]/latest/meta-data/".to_owned(),
        "https://10.0.0.1/".to_owned(),
        "https://192.168.1.1/".to_owned(),
        format!("https://user:pass@127.0.0.1:{port}/"),
        "http://example.com/".to_owned(),
        "ftp://example.com/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "https://site.test/agent/converse".to_owned(),
        "not a url".to_owned(),
        "https://example.com/hook\r\nX-Injected: 1".to_owned(),
        "https://example.com/hook\n".to_owned(),
        "\rhttps://example.com/hook".to_owned(),
        "https://exam\tple.com/hook".to_owned(),
        " https://example.com/hook".to_owned(),
        "https://example.com/ho ok".to_owned(),
        "https://example.com/\u{2028}hook".to_owned(),
        "https://example.com/\u{85}hook".to_owned(),
        "https://example.com/\u{7f}hook".to_owned(),
        "https:\\\\example.com\\hook".to_owned(),
    ] {
        let response = desk.ask(Via::H1, report(&url)).await;
        assert_eq!(
            (response.status, &response.json()["code"]),
            (400, &json!("invalid_request")),
            "{url}: {}",
            response.text()
        );
    }
    // A name that leads there is found out when it is looked up: the call is taken, and nothing arrives.
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((there.connections(), there.requests().len()), (0, 0), "a listener was reached");
    assert!(origin.requests().iter().all(|r| r.target != "/api/report"), "nothing was carried out");
}

#[tokio::test]
async fn callbacks_never_come_back_to_the_desk_or_the_site() {
    let origin = site_behind().await;
    let desk = desk(&origin, true).await;
    let Ports { http, admin, .. } = desk.ports;
    for url in [
        format!("http://127.0.0.1:{}/agent/converse", http.port()),
        format!("http://localhost:{}/agent/converse", http.port()),
        format!("http://127.0.0.2:{}/agent/converse", http.port()),
        format!("http://[::ffff:127.0.0.1]:{}/reload", admin.port()),
        format!("http://127.0.0.1:{}/reload", admin.port()),
        format!("http://127.0.0.1:{}/api/stolen", origin.addr.port()),
    ] {
        let told = desk.ask(Via::H1, report(&url)).await;
        if !url.contains("localhost") {
            assert_eq!(told.json()["code"], "invalid_request", "of an address it is known at once: {}", told.text());
            continue;
        }
        assert_eq!(told.json()["status"], "accepted", "{url}: {}", told.text());
        let poll = told.json()["poll"].as_str().expect("where").to_owned();
        eventually("its end", SOON, async || {
            let answer = desk.ask(Via::H1, Ask::get(&poll).bearer(FULL)).await.json();
            answer["status"] == "success"
        })
        .await;
    }
    eventually("the log", SOON, async || desk.stderr().contains("could not deliver an answer")).await;
    assert!(origin.requests().iter().all(|r| r.target != "/api/stolen"), "the site was called");
    let log = desk.access_log();
    assert!(log.iter().all(|line| !line.to_string().contains("frontdesk/")), "the desk called itself");
    assert!(!desk.stderr().contains("127.0.0.2"), "where to is its owner's");
}

#[tokio::test]
async fn callbacks_follow_nothing_and_wait_for_nobody() {
    let (origin, hidden) = (site_behind().await, listener(Reply::new(204)).await);
    let desk = desk(&origin, true).await;
    let elsewhere = Reply::new(307).header("Location", &format!("{}/moved", hidden.url()));
    let there = listener(elsewhere).await;
    desk.ask(Via::H1, report(&there.url())).await;
    eventually("the log", SOON, async || desk.stderr().contains("could not deliver an answer")).await;
    assert_eq!((there.requests().len(), hidden.requests().len()), (1, 0), "a redirect is an answer like any other");
    // Takes the connection, and says nothing.
    let slow = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", slow.local_addr().expect("its address"));
    let begun = std::time::Instant::now();
    desk.ask(Via::H1, report(&url)).await;
    assert!(begun.elapsed() < Duration::from_secs(3), "nobody waits for it");
    eventually("given up", SOON, async || desk.stderr().matches("could not deliver an answer").count() >= 2).await;
    assert!(begun.elapsed() < Duration::from_secs(9), "{:?}", begun.elapsed());
}
