//! Tests of pipelining: requests sent ahead are answered in order.

use super::*;
use crate::support::gate::Gate;
use crate::support::{Answer, eventually};

/// Sends all of it at once; the answers are the methods and targets, in this order.
async fn pipelines(requests: &[Vec<u8>], answers: &[String]) {
    let origin = Origin::start(|r: &Request| Reply::json(format!("{} {} {}", r.method, r.target, r.body.len()))).await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    for mut conn in [desk.conn().await, crate::support::Conn::open_tls(desk.ports.https, &tls).await] {
        conn.send(requests.concat()).await;
        for answer in answers {
            assert_eq!(&conn.response("GET").await.text(), answer);
        }
        assert_eq!(conn.ask(&Ask::get("/after")).await.text(), "GET /after 0", "and it goes on");
    }
}

#[tokio::test]
async fn protocols_pipelined_requests_are_answered_in_order() {
    let origin = Origin::start(|r: &Request| Reply::json(format!("{:?}", r.target))).await;
    let desk = Setup::before(&origin).start().await;
    let mut conn = desk.conn().await;
    let three: Vec<u8> = ["/1", "/2", "/3"].iter().flat_map(|p| Ask::get(p).bytes()).collect();
    conn.send(three).await;
    for path in ["/1", "/2", "/3"] {
        assert_eq!(conn.response("GET").await.text(), format!("{path:?}"));
    }
}

#[tokio::test]
async fn protocols_pipelined_requests_may_say_anything() {
    for value in ["pipelined_prefix: None", "pipelined_prefix: Some(", "pipelined_prefix: None }"] {
        for (first, second) in [("X", "X"), ("X", "Y"), ("Y", "X")] {
            let ask = |path: &str, name: &str| match name {
                "X" => Ask::get(path).header("X", value).bytes(),
                _ => Ask::get(path).bytes(),
            };
            pipelines(&[ask("/1", first), ask("/2", second)], &["GET /1 0".into(), "GET /2 0".into()]).await;
        }
    }
}

#[tokio::test]
async fn protocols_pipelined_behind_a_body() {
    let chunked = Ask::new("POST", "/3").header("Transfer-Encoding", "chunked").body("3\r\nabc\r\n0\r\n\r\n");
    let requests = [Ask::post("/1", "hello").bytes(), Ask::get("/2").bytes(), chunked.bytes(), Ask::get("/4").bytes()];
    let answers = ["POST /1 5", "GET /2 0", "POST /3 3", "GET /4 0"].map(String::from);
    pipelines(&requests, &answers).await;
}

#[tokio::test]
async fn protocols_pipelined_by_the_fifty() {
    let requests: Vec<Vec<u8>> =
        (0..50).map(|n| Ask::get(&format!("/{n}")).header("X-Padding", &"p".repeat(300)).bytes()).collect();
    let answers: Vec<String> = (0..50).map(|n| format!("GET /{n} 0")).collect();
    pipelines(&requests, &answers).await;
}

/// The next request comes while the site is still at the first one, whichever engine serves that.
#[tokio::test]
async fn protocols_pipelined_while_the_first_is_under_way() {
    let gate = Gate::closed();
    let held = gate.clone();
    let origin = Origin::start(move |r: &Request| match r.target.as_str() {
        "/slow" => {
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{}", r.body.len());
            Answer::from(vec![Step::Wait(held.clone()), Step::Write(answer.into_bytes()), Step::KeepAlive])
        }
        _ => Reply::json(format!("{} {}", r.target, r.body.len())).into(),
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    for (what, first) in [
        ("plain", Ask::get("/slow")),
        ("by the library", Ask::get("/slow").header("Keep-Alive", "timeout=9")),
        ("with a body", Ask::post("/slow", "hello")),
        ("an upgrade that is not made", Ask::get("/slow").header("Connection", "Upgrade").header("Upgrade", "x")),
    ] {
        let mut conn = desk.conn().await;
        let before = origin.requests().len();
        conn.send(first.bytes()).await;
        eventually("the site has it", SOON, async || origin.requests().len() > before).await;
        conn.send([Ask::post("/next", "abc").bytes(), Ask::get("/last").bytes()].concat()).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        gate.open();
        let size = first.body.as_ref().map_or(0, Vec::len);
        assert_eq!(conn.response("GET").await.text(), size.to_string(), "{what}");
        assert_eq!(conn.response("POST").await.text(), "/next 3", "{what}");
        assert_eq!(conn.response("GET").await.text(), "/last 0", "{what}");
        gate.close();
    }
}
