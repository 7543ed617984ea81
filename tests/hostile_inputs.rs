//! Promise: no input reaches another path, host, header or name of the site than its declared place, and none blocks
//! the desk for others.

use crate::support::hostile::{Dice, assert_one_head, headers, pairs, parts};
use crate::support::origin::MARK;
use crate::support::{Ask, Coding, Desk, Origin, Reply, Request, Response, SOON, Setup, Tls, Via};
use serde_json::{Map, Value, json};

const ROUNDS: usize = 800;
const INPUT: &str = "{\"city\":\"a\",\"room\":\"b\"}";

fn declared(name: &str, kind: &str, call: &str, upstream: &str) -> String {
    format!(
        "\n[[capabilities]]\nid = \"place.{name}\"\ntype = \"{kind}\"\ndescription = \"Does.\"\n{call}\n\
         risk_level = \"low\"\nauth = \"none\"\nrequires_user_confirmation = false\n\
         upstream = {{ {upstream}, rename_input = {{ q = \"search\" }}, headers = {{ X-Channel = \"agents\" }} }}\n"
    )
}

async fn site() -> (Origin, Desk) {
    let origin = Origin::start(|_: &Request| Reply::json("{\"ok\":true}")).await;
    let post = |name: &str| format!("method = \"POST\"\nendpoint = \"/agent/{name}\"");
    let to = |method: &str, more: &str| format!("method = \"{method}\", path = \"/api/{{city}}/rooms/{{room}}{more}");
    let show = "method = \"GET\"\nendpoint = \"/agent/show/{city}/rooms/{room}\"";
    let desk = Setup::before(&origin)
        .set("protection", "max_input = \"16KB\"")
        .tls(&Tls::new())
        .tail(&declared("read", "query", &post("read"), &to("GET", "?fixed=1\"")))
        .tail(&declared("json", "commit_action", &post("json"), &to("POST", "\"")))
        .tail(&declared("form", "commit_action", &post("form"), &to("POST", "\", body = \"form\"")))
        .tail(&declared("show", "resource", show, &to("GET", "\"")))
        .start()
        .await;
    (origin, desk)
}

fn post(name: &str, body: impl AsRef<[u8]>) -> Ask {
    Ask::post(&format!("/agent/{name}"), body).header("Content-Type", "application/json")
}

fn normal(name: &str) -> Ask {
    if name == "show" { Ask::get("/agent/show/Rome/rooms/7?q=sea") } else { post(name, INPUT) }
}

/// What was asked for, but for what the desk looks up for itself.
fn calls(origin: &Origin) -> Vec<Request> {
    let ours = |r: &Request| r.headers.has("x-channel") || ["api", "evil"].iter().any(|word| r.target.contains(word));
    let own = ["/openapi.json", "/.well-known/api-catalog"];
    let all = origin.requests().into_iter();
    all.filter(|r| !own.contains(&r.target.as_str()) && (ours(r) || r.headers.has(MARK))).collect()
}

async fn assert_well(desk: &Desk, origin: &Origin) {
    for name in ["read", "json", "form", "show"] {
        let before = calls(origin).len();
        let answer = desk.ask(Via::H1, normal(name)).await;
        assert_eq!(answer.status, 200, "a normal call of {name}: {}", answer.text());
        assert_eq!(calls(origin).len(), before + 1, "{name}");
    }
}

/// It was refused, or the origin has it in the declared shape.
///
/// A value that is folded away, or adds a segment, makes the path another page's: that one is the site's business.
fn judge(name: &str, input: &Map<String, Value>, answer: &Response, seen: &[Request], usual: &Request) {
    let what = format!("{name}, {}: {} {}", Value::Object(input.clone()), answer.status, answer.text());
    assert!(answer.status < 500, "{what}");
    let values = ["city", "room"].map(|key| input[key].as_str().expect("a text"));
    let leaves = |v: &&str| [".", "..", ""].contains(v) || v.contains(['/', '\\', ';']);
    let leaving = values.iter().any(leaves);
    if seen.iter().any(|r| r.headers.has(MARK)) {
        assert!(name == "show" && leaving && seen.len() == 1, "passed on: {what}");
        return;
    }
    if answer.status >= 300 {
        assert!(seen.is_empty(), "refused and carried out: {what}");
        return;
    }
    let [request] = seen else { panic!("{} requests: {what}", seen.len()) };
    assert_one_head(request);
    assert_eq!(headers(request), headers(usual), "{what}");
    assert_eq!((&request.method, &request.version), (&usual.method, &usual.version), "{what}");
    let (segments, query) = parts(&request.target);
    assert_eq!(segments, ["api", values[0], "rooms", values[1]], "{what}");
    let apart = |v: &&str| [".", "..", ""].contains(v) || v.contains(['/', '\\']);
    assert!(!values.iter().any(apart), "a value leaves its place: {what}");
    let rest = input.iter().filter(|(key, _)| !["city", "room"].contains(&key.as_str()));
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let renamed = |key: &str| if key == "q" { "search".to_owned() } else { key.to_owned() };
    let mut expected: Vec<_> = rest.map(|(key, value)| (renamed(key), text(value))).collect();
    let mut got = match name {
        "json" => {
            let body: Map<String, Value> = serde_json::from_slice(&request.body).expect("a JSON object");
            body.iter().map(|(key, value)| (key.clone(), text(value))).collect()
        }
        "form" => pairs(std::str::from_utf8(&request.body).expect("a form")),
        _ => query.clone(),
    };
    if name == "read" {
        expected.push(("fixed".into(), "1".into()));
    } else if name != "show" {
        assert!(query.is_empty(), "{what}");
    }
    got.sort();
    expected.sort();
    assert_eq!(got, expected, "{what}");
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { (b as char).to_string() } else { format!("%{b:02X}") })
        .collect()
}

async fn barrage(name: &str, seed: u64, via: Via) {
    let (origin, desk) = site().await;
    assert_eq!(desk.ask(via, normal(name)).await.status, 200);
    let usual = calls(&origin).pop().expect("a normal call");
    let (mut dice, mut carried) = (Dice::new(seed), 0);
    for _ in 0..ROUNDS {
        let mut input = Map::new();
        for key in ["city", "room"] {
            input.insert(key.to_owned(), if dice.below(2) == 0 { "Rome".into() } else { dice.value().into() });
        }
        for _ in 0..dice.below(4) {
            let key = if dice.below(3) == 0 { "q".to_owned() } else { dice.name() };
            input.entry(key).or_insert(dice.value().into());
        }
        let place = |key: &str| encoded(input[key].as_str().expect("a text"));
        let ask = if name == "show" {
            let rest = input.iter().filter(|(key, _)| !["city", "room"].contains(&key.as_str()));
            let rest: Vec<_> =
                rest.map(|(k, v)| format!("{}={}", encoded(k), encoded(v.as_str().expect("a text")))).collect();
            Ask::get(&format!("/agent/show/{}/rooms/{}?{}", place("city"), place("room"), rest.join("&")))
        } else {
            post(name, Value::Object(input.clone()).to_string())
        };
        let before = calls(&origin).len();
        let answer = desk.ask(via, ask).await;
        let seen = calls(&origin).split_off(before);
        carried += usize::from(!seen.is_empty());
        judge(name, &input, &answer, &seen, &usual);
    }
    assert!(carried > ROUNDS / 20, "{carried} of {ROUNDS} were carried out: the rest says nothing");
    assert_well(&desk, &origin).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_inputs_stay_in_their_place_of_a_query() {
    barrage("read", 1, Via::H1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_inputs_stay_in_their_place_of_a_json_body() {
    barrage("json", 2, Via::H1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_inputs_stay_in_their_place_of_a_form() {
    barrage("form", 3, Via::H1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_inputs_stay_in_their_place_of_a_path() {
    barrage("show", 4, Via::H1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_inputs_stay_in_their_place_over_http_2() {
    barrage("json", 5, Via::H2Tls).await;
}

#[tokio::test]
async fn hostile_inputs_do_not_take_the_place_of_another() {
    let (origin, desk) = site().await;
    for (name, more) in [
        ("read", json!({ "fixed": "2" })),
        ("read", json!({ "fixed": ["2", "3"] })),
        ("read", json!({ "q": "mine", "search": "theirs" })),
        ("read", json!({ "search": "theirs" })),
        ("form", json!({ "q": "mine", "search": "theirs" })),
        ("json", json!({ "q": "mine", "search": "theirs" })),
        ("json", json!({ "city": { "x": 1 } })),
        ("json", json!({ "city": null, "room": true })),
        ("read", json!({ "deep": { "a": [1, { "b": "&fixed=2" }] }, "list": ["x&fixed=3", "y"] })),
        ("form", json!({ "deep": { "a": ["&x=1"] } })),
    ] {
        let mut input = json!({ "city": "a", "room": "b" });
        input.as_object_mut().expect("an object").extend(more.as_object().expect("one too").clone());
        let before = calls(&origin).len();
        let answer = desk.ask(Via::H1, post(name, input.to_string())).await;
        assert!(answer.status < 500, "{input}: {}", answer.text());
        for request in calls(&origin).split_off(before) {
            let (segments, query) = parts(&request.target);
            assert_eq!((answer.status, segments.len()), (200, 4), "{input}: {}", request.target);
            let form = if name == "form" { pairs(&String::from_utf8_lossy(&request.body)) } else { Vec::new() };
            let all: Vec<_> = query.iter().chain(&form).collect();
            let values = |key: &str| all.iter().filter(|(n, _)| n == key).map(|(_, v)| v.as_str()).collect::<Vec<_>>();
            assert!(name != "read" || values("fixed") == ["1"], "{input}: {}", request.target);
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let sent: Vec<_> = values("search").into_iter().chain(body["search"].as_str()).collect();
            assert!(sent.len() <= 1 && (input.get("q").is_none() || sent == ["mine"]), "{input}: {sent:?}");
        }
    }
    assert_well(&desk, &origin).await;
}

#[tokio::test]
async fn hostile_inputs_spell_an_endpoint_and_are_not_passed_on() {
    let (origin, desk) = site().await;
    #[rustfmt::skip]
    let spellings = [
        "/agent/show/Rome/rooms/7/", "//agent/show/Rome/rooms/7", "/agent//show/Rome/rooms/7", "/agent/./show/Rome/rooms/7",
        "/x/../agent/show/Rome/rooms/7", "/agent/show/x/../Rome/rooms/7", "/%61gent/show/Rome/rooms/7",
        "/agent%2fshow/Rome/rooms/7", "/agent/show%2FRome%2Frooms%2F7", "/agent/show/Rome/rooms;x=1/7",
        "/agent;a/show;b/Rome;c/rooms;d/7;e", "/agent\\show\\Rome\\rooms\\7", "/agent/show/Rome/%72ooms/7",
        "/x/%2e%2e/agent/show/Rome/rooms/7", "/agent/show/Rome/rooms/7/.", "/agent/show/Rome/rooms/7/x/..",
        "/agent/show/Rome/rooms/7%2f", "/agent/show/a%00b/rooms/7", "/agent/show/%ff%fe/rooms/7", "/agent/show/Rome/rooms/7",
        "/agent/json", "/agent/json/", "/agent/json;x", "//agent/json", "/agent/%6ason", "/./agent/json", "/agent/x/../json",
    ];
    for method in ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "X"] {
        for target in spellings {
            let mut conn = desk.conn().await;
            conn.send(Ask::new(method, target).bytes()).await;
            let answer = conn.try_response(method, SOON).await.unwrap_or_else(|e| panic!("{method} {target}: {e}"));
            assert!(answer.status < 500, "{method} {target}: {}", answer.status);
            assert!(origin.asked().is_empty(), "passed on: {method} {target}");
        }
    }
    assert_well(&desk, &origin).await;
}

#[tokio::test]
async fn hostile_inputs_of_bodies_are_refused_or_understood() {
    let (origin, desk) = site().await;
    let deep = |open: &str, close: &str| {
        format!("{{\"city\":\"a\",\"room\":\"b\",\"x\":{}1{}}}", open.repeat(1500), close.repeat(1500))
    };
    let odd = |more: &str| format!("{{\"city\":\"a\",\"room\":\"b\"{more}}}").into_bytes();
    let typed = |kind: &str, body: &str| Ask::post("/agent/json", body).header("Content-Type", kind);
    for (what, refused, ask) in [
        ("deep lists", true, post("json", deep("[", "]"))),
        ("deep objects", true, post("json", deep("{\"a\":", "}"))),
        ("unclosed", true, post("json", "[".repeat(10_000))),
        ("truncated", true, post("json", &INPUT[..9])),
        ("two values", true, post("json", format!("{INPUT}{INPUT}"))),
        ("not UTF-8", true, post("json", b"{\"city\":\"\xff\",\"room\":\"b\"}")),
        ("half a surrogate", true, post("json", "{\"city\":\"\\ud800\",\"room\":\"b\"}")),
        ("a list", true, post("json", "[1]")),
        ("null", true, post("json", "null")),
        ("NaN", true, post("json", odd(",\"n\":NaN"))),
        ("a number beyond all", true, post("json", odd(",\"n\":1e999"))),
        ("a coding", true, post("json", Coding::Gzip.encode(INPUT.as_bytes())).header("Content-Encoding", "gzip")),
        ("a mark of byte order", false, post("json", format!("\u{feff}{INPUT}"))),
        ("another type", false, typed("text/plain", INPUT)),
        ("a form", false, typed("application/x-www-form-urlencoded", "city=a&room=b")),
        ("a name twice", false, post("json", odd(",\"city\":\"..\""))),
        ("an equal name twice", false, post("json", odd(",\"n\":1,\"n\":2"))),
    ] {
        let before = calls(&origin).len();
        let answer = desk.ask(Via::H1, ask).await;
        let seen = calls(&origin).split_off(before);
        let fine = (400..500).contains(&answer.status) || (!refused && answer.status == 200);
        assert!(fine, "{what}: {} {}", answer.status, answer.text());
        assert_eq!(seen.len(), usize::from(answer.status == 200), "{what}");
        let whole =
            |r: &Request| r.target == "/api/a/rooms/b" && String::from_utf8_lossy(&r.body).matches("\"n\"").count() < 2;
        assert!(seen.iter().all(whole), "{what}: {seen:?}");
    }
    assert_well(&desk, &origin).await;
}

#[tokio::test]
async fn hostile_inputs_have_a_bound() {
    let (origin, desk) = site().await;
    let of = |size: usize| INPUT.replace('}', &format!(",\"x\":\"{}\"}}", "x".repeat(size - INPUT.len() - 7)));
    for via in [Via::H1, Via::H2Tls] {
        assert_eq!(of(16 * 1024).len(), 16 * 1024);
        assert_eq!(desk.ask(via, post("json", of(16 * 1024))).await.status, 200, "at the bound, {via:?}");
        for size in [16 * 1024 + 1, 60_000] {
            assert_eq!(desk.ask(via, post("json", of(size))).await.status, 413, "{size}, {via:?}");
        }
    }
    assert_eq!(calls(&origin).len(), 2);
    let head = "POST /agent/json HTTP/1.1\r\nHost: site.test\r\nContent-Type: application/json\r\n";
    let mut endless = desk.conn().await;
    endless.send(format!("{head}Transfer-Encoding: chunked\r\n\r\n")).await;
    for _ in 0..5 {
        endless.send(format!("1000\r\n{}\r\n", "[".repeat(4096))).await;
    }
    assert_eq!(endless.response("POST").await.status, 413, "chunks without end are not waited for");
    let mut polite = desk.conn().await;
    polite.send(format!("{head}Expect: 100-continue\r\nContent-Length: 9000000\r\n\r\n")).await;
    let answer = polite.response("POST").await;
    assert_eq!((answer.status, answer.informational.len()), (413, 0), "nobody is invited to send what is too long");
    let mut polite = desk.conn().await;
    polite.send(format!("{head}Expect: 100-continue\r\nContent-Length: {}\r\n\r\n", INPUT.len())).await;
    assert!(polite.until("\r\n\r\n").await.starts_with(b"HTTP/1.1 100"));
    polite.send(INPUT).await;
    assert_eq!(polite.response("POST").await.status, 200);
    assert_well(&desk, &origin).await;
}

#[tokio::test]
async fn hostile_inputs_that_come_slowly_hold_nobody_up() {
    let (origin, desk) = site().await;
    let (first, last) = INPUT.split_at(9);
    let mut slow = Vec::new();
    for _ in 0..100 {
        let mut conn = desk.conn().await;
        let head =
            format!("POST /agent/json HTTP/1.1\r\nHost: site.test\r\nContent-Length: {}\r\n\r\n{first}", INPUT.len());
        conn.send(head).await;
        slow.push(conn);
    }
    assert_well(&desk, &origin).await;
    assert_eq!(calls(&origin).len(), 4, "half a body is not carried out");
    slow[0].send(last).await;
    let late = slow[0].response("POST").await;
    assert_eq!((late.status, calls(&origin).len()), (200, 5), "late, and whole");
    drop(slow);
    assert_well(&desk, &origin).await;
}

#[tokio::test]
async fn hostile_inputs_smuggle_no_second_request() {
    let (origin, desk) = site().await;
    let evil = "GET /agent/show/evil/rooms/evil HTTP/1.1\r\nHost: site.test\r\n\r\n";
    let (size, chunked) = (INPUT.len(), format!("{:x}\r\n{INPUT}\r\n0\r\n\r\n", INPUT.len()));
    for framing in [
        format!("Content-Length: {size}\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n{chunked}"),
        format!("Content-Length: {size}\r\nContent-Length: {}\r\n\r\n{INPUT}", size + 1),
        format!("Content-Length: +{size}\r\n\r\n{INPUT}"),
        format!("Content-Length: 0x{size:x}\r\n\r\n{INPUT}"),
        format!("Transfer-Encoding: xchunked\r\n\r\n{chunked}"),
        format!("Transfer-Encoding: chunked, identity\r\n\r\n{chunked}"),
        format!("Transfer-Encoding : chunked\r\n\r\n{chunked}"),
        format!("Transfer-Encoding: chunked\r\n\r\n-17\r\n{INPUT}\r\n0\r\n\r\n"),
        format!("Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n{INPUT}\r\n0\r\n\r\n"),
    ] {
        let before = calls(&origin).len();
        let mut conn = desk.conn().await;
        conn.send(format!("POST /agent/json HTTP/1.1\r\nHost: site.test\r\n{framing}{evil}")).await;
        if let Ok(first) = conn.try_response("POST", SOON).await {
            assert!(first.status < 500, "{framing:?}: {}", first.status);
        }
        // Whatever was read as a second request would be answered on this connection.
        conn.send("GET /x HTTP/1.1\r\nHost: site.test\r\nConnection: close\r\n\r\n").await;
        drop(conn);
        let seen = calls(&origin).split_off(before);
        let carried = seen.iter().filter(|r| r.target.starts_with("/api/a/")).count();
        assert!(carried <= 1 && seen.iter().all(|r| r.headers.all("content-length").len() <= 1), "{framing:?}");
    }
    assert_well(&desk, &origin).await;
}
