//! Promise: when a request stalls, the party that caused the wait gets the error and is the one that is counted.

use crate::support::{Desk, Origin, Reply, Request, Setup, Step};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

#[tokio::test]
async fn stalls_a_slow_upload_is_not_a_slow_head() {
    let origin = Origin::start(|r: &Request| Reply::json(r.body.len().to_string())).await;
    let desk = Setup::before(&origin).set("protection", "header_timeout = \"1s\"").start().await;
    let mut conn = desk.conn().await;
    conn.send("POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 4\r\n\r\n").await;
    for byte in ["a", "b", "c", "d"] {
        tokio::time::sleep(Duration::from_millis(600)).await;
        conn.send(byte).await;
    }
    assert_eq!(conn.response("POST").await.text(), "4");
}

/// Whose time-out it was: of the client, that does not send what it announced, or of the site, that does not answer.
#[tokio::test]
async fn stalls_an_upload_that_stalls_is_not_the_sites_failure() {
    let origin = Origin::start(|_: &Request| vec![Step::Stall]).await;
    let desk = Setup::before(&origin).set("upstream", "read_timeout = \"1s\"");
    let desk = desk.set("protection", "idle_timeout = \"2s\"").start().await;
    let stalled = "POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 4\r\n\r\nab";
    let whole = "POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 4\r\n\r\nabcd";
    for (request, status) in [(stalled, 408), (whole, 504)] {
        let mut conn = desk.conn().await;
        conn.send(request).await;
        assert_eq!(conn.response("POST").await.status, status, "{request}");
    }
    let at_desk =
        "POST /agent/converse HTTP/1.1\r\nHost: s\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n{";
    let mut conn = desk.conn().await;
    conn.send(at_desk).await;
    assert_eq!(conn.response("POST").await.status, 408, "{at_desk}");
    desk.metric_reaches("frontdesk_upstream_errors_total{reason=\"upstream_timeout\"}", 1.0).await;
    desk.metric_reaches("frontdesk_rejections_total{reason=\"request_timeout\"}", 2.0).await;
    assert_eq!(desk.metric("frontdesk_upstream_errors_total").await, Some(1.0));
}

/// A site that says so much once it has a head, reads no body, and says nothing more; and a desk in front of it.
async fn desk_before(said: &'static str) -> Desk {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = [0; 1024];
            if socket.read(&mut head).await.is_ok_and(|n| head[..n].starts_with(b"POST")) {
                socket.write_all(said.as_bytes()).await.expect("written");
            }
            held.push(socket);
        }
    });
    Setup::before_urls(&[url]).set("upstream", "read_timeout = \"1s\"").start().await
}

/// The client has a part of its answer, and the site owes the rest: what has yet to be sent does not matter any more.
#[tokio::test]
async fn stalls_of_a_site_that_has_begun_to_answer_are_the_sites() {
    let desk = desk_before("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc").await;
    let mut conn = desk.conn().await;
    conn.send("POST / HTTP/1.1\r\nHost: s\r\nContent-Length: 10\r\n\r\nab").await;
    desk.metric_reaches("frontdesk_upstream_errors_total{reason=\"upstream_timeout\"}", 1.0).await;
    assert!(desk.metric("frontdesk_rejections_total{reason=\"request_timeout\"}").await.is_none_or(|n| n == 0.0));
}

/// A body that is held back is owed from when the site says that it wants it.
#[tokio::test]
async fn stalls_of_a_body_that_is_held_back_are_whose_turn_it_is() {
    let held_back = "POST / HTTP/1.1\r\nHost: s\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n";
    let clients = "frontdesk_rejections_total{reason=\"request_timeout\"}";
    let sites = "frontdesk_upstream_errors_total{reason=\"upstream_timeout\"}";
    for (said, whose, failed) in [("", sites, 1.0), ("HTTP/1.1 100 Continue\r\n\r\n", clients, 0.0)] {
        let desk = desk_before(said).await;
        let mut conn = desk.conn().await;
        conn.send(held_back).await;
        desk.metric_reaches(whose, 1.0).await;
        assert_eq!(desk.metric("frontdesk_upstream_errors_total").await, Some(failed), "{said}");
    }
}
