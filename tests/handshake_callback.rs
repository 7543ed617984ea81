//! Promise: a requested callback comes once, and only to public addresses.

use crate::support::calls::FULL;
use crate::support::handshake::{OPERATOR, asking, assert_error, assert_reply, polling, question, saying, with};
use crate::support::{Ask, Desk, Origin, Reply, Request, SOON, Via, agency, eventually};
use serde_json::{Value, json};
use std::time::Duration;

fn calling(capability: &str, url: &str) -> Value {
    with(question(capability, "A report of everything"), json!({ "context": { "callback_url": url } }))
}

/// A callback receiver, and its requests.
async fn agent(reply: fn() -> Reply) -> Origin {
    Origin::start(move |_: &Request| reply()).await
}

async fn with_callbacks() -> (Origin, Desk) {
    let origin = Origin::start(agency::says).await;
    let desk = agency::before(&origin).set("sessions", "allow_http_callbacks = true").start().await;
    (origin, desk)
}

async fn called(agent: &Origin) -> Request {
    eventually("a call back", SOON, async || !agent.requests().is_empty()).await;
    agent.requests().remove(0)
}

#[tokio::test]
async fn clause_28_an_answer_is_sent_where_it_was_asked_for() {
    let (_origin, desk) = with_callbacks().await;
    let agent = agent(|| Reply::new(204)).await;
    let url = format!("{}/done?of=mine", agent.url());
    let reply = assert_reply(&desk.ask(Via::H1, asking(&calling("report_make", &url)).bearer(FULL)).await, "accepted");
    assert_eq!((&reply["status"], &reply["callback"]["url"]), (&json!("accepted"), &json!(url)), "§6.4: {reply}");
    assert_eq!(reply["callback"]["method"], "POST", "{reply}");
    let call = called(&agent).await;
    assert_eq!((call.method.as_str(), call.target.as_str()), ("POST", "/done?of=mine"));
    assert_eq!(call.header("content-type"), Some("application/json"));
    let told: Value = serde_json::from_slice(&call.body).expect("JSON");
    assert_eq!(told["status"], "success", "{told}");
    assert_eq!(told["response"]["answer"], "The report has 12 pages.", "{told}");
    let polled = desk.ask(Via::H1, polling(&reply).bearer(FULL)).await.json();
    assert_eq!(
        (&told["response"], &told["session_id"]),
        (&polled["response"], &polled["session_id"]),
        "as who polls is told"
    );
    let all = format!("{:?} {told}", call.headers);
    assert!(!all.contains(FULL), "the agent's credential goes nowhere: {all}");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(agent.requests().len(), 1, "once");
}

#[tokio::test]
async fn clause_28_a_persons_answer_is_sent_too() {
    let (_origin, desk) = with_callbacks().await;
    let agent = agent(|| Reply::new(200)).await;
    let ask = asking(&calling("quote_ask", &agent.url())).bearer(FULL);
    assert_reply(&desk.ask(Via::H1, ask).await, "accepted");
    assert!(agent.requests().is_empty(), "not before there is an answer");
    let waiting = desk.admin(Ask::get("/desk").bearer(OPERATOR)).await.json();
    let id = waiting[0]["id"].as_str().expect("an id").to_owned();
    let word = Ask::post(&format!("/desk/{id}"), r#"{"decision":"reject","reason":"We are full."}"#).bearer(OPERATOR);
    assert_eq!(desk.admin(word).await.status, 200);
    let told: Value = serde_json::from_slice(&called(&agent).await.body).expect("JSON");
    assert_eq!(told["status"], "failed", "{told}");
}

#[tokio::test]
async fn clause_28_an_address_inside_is_refused() {
    let (_origin, desk) = agency::open().await;
    for url in [
        "http://example.com/done",
        "https://user:secret@example.com/",
        "https://127.0.0.1/",
        "https://127.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0177.0.0.1/",
        "https://localhost/",
        "https://LOCALHOST./",
        "https://0.0.0.0/",
        "https://10.0.0.1/",
        "https://172.16.0.1/",
        "https://192.168.1.1/",
        "https://100.64.0.1/",
        "https://169.254.169.254/latest/meta-data/",
        "https://[::1]/",
        "https://[::]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[fe80::1]/",
        "https://[fc00::1]/",
        "https://224.0.0.1/",
        "https://255.255.255.255/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "javascript:alert(1)",
        "//example.com/",
        "/agent/converse",
        "https://",
        "not an address",
        "",
    ] {
        let ask = saying(calling("report_make", url).to_string()).bearer(FULL);
        assert_error(&desk.ask(Via::H1, ask).await, 400, "invalid_request", url);
    }
}

#[tokio::test]
async fn clause_28_what_frontdesk_and_the_site_listen_on_is_never_called() {
    let (origin, desk) = with_callbacks().await;
    let places = [desk.ports.http, desk.ports.admin, origin.addr];
    for place in places {
        for url in [format!("http://{place}/called-back"), format!("http://localhost:{}/called-back", place.port())] {
            let reply =
                assert_reply(&desk.ask(Via::H1, asking(&calling("report_make", &url)).bearer(FULL)).await, &url);
            // Refused at once, or promised and then not called.
            assert!(reply["status"] == "accepted" || reply["code"] == "invalid_request", "{url}: {reply}");
        }
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(origin.requests().iter().all(|r| !r.target.contains("called-back")), "the site was called back");
    assert!(!desk.stdout().contains("called-back"), "Frontdesk was called back");
}

#[tokio::test]
async fn clause_28_nobody_is_followed_elsewhere() {
    let (_origin, desk) = with_callbacks().await;
    let inner = agent(|| Reply::new(200)).await;
    let inner_url = inner.url();
    let agent =
        Origin::start(move |_: &Request| Reply::new(307).header("Location", &format!("{inner_url}/inside"))).await;
    let ask = asking(&calling("report_make", &agent.url())).bearer(FULL);
    assert_reply(&desk.ask(Via::H1, ask).await, "accepted");
    called(&agent).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(inner.requests().is_empty(), "a redirect was followed");
}

#[tokio::test]
async fn clause_28_an_agent_that_cannot_be_reached_may_still_poll() {
    let (_origin, desk) = with_callbacks().await;
    let url = format!("http://{}/", crate::support::setup::dead_address());
    let reply = assert_reply(&desk.ask(Via::H1, asking(&calling("report_make", &url)).bearer(FULL)).await, "accepted");
    assert_eq!(reply["status"], "accepted", "{reply}");
    eventually("the answer", SOON, async || {
        desk.ask(Via::H1, polling(&reply).bearer(FULL)).await.json()["status"] == "success"
    })
    .await;
}
