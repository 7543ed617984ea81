//! Requests that are sent before the ones before them are answered: in order, whatever they say.

use super::*;

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
