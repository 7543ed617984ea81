//! Tests of a page that the site cuts off: it passes as far as it came, without a notice, so that it looks incomplete.

use super::*;
use crate::support::{Answer, SOON};

/// A page without the end of its body: only the end of the page could be the place for a notice.
const HALF: &str = "<!doctype html><html><head><title>t</title></head><body><p>Half of a page";

/// What a site sends that breaks off in the middle, by the first word of the path; by the second, in which coding.
fn broken_off(request: &Request) -> Answer {
    let words: Vec<&str> = request.target.split('/').skip(1).collect();
    let coding = if words[1] == "gzip" { Coding::Gzip } else { Coding::Identity };
    let mut body = coding.encode(format!("{HALF}{}", " and more".repeat(500)).as_bytes());
    if coding == Coding::Gzip {
        body.truncate(body.len() - 12);
    }
    let named = coding.name().map(|name| format!("Content-Encoding: {name}\r\n")).unwrap_or_default();
    let head = |framing: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{named}{framing}\r\n\r\n");
    let (head, frame) = match words[0] {
        "length" => (head(&format!("Content-Length: {}", body.len() + 100)), String::new()),
        "chunk" => (head("Transfer-Encoding: chunked"), format!("{:x}\r\n", body.len() + 100)),
        _ => (head("Transfer-Encoding: chunked"), format!("{:x}\r\n", body.len())),
    };
    let end = if words[0] == "chunks" { "\r\n" } else { "" };
    let wire = [head.as_bytes(), frame.as_bytes(), &body, end.as_bytes()].concat();
    Answer::Script(vec![Step::Write(wire), Step::Close])
}

#[tokio::test]
async fn notice_is_not_added_to_what_is_cut_off() {
    let (tls, origin) = (Tls::new(), Origin::start(broken_off).await);
    let desk = Setup::before(&origin).tls(&tls).start().await;
    for path in ["/length/plain", "/chunk/plain", "/chunks/plain", "/length/gzip", "/chunk/gzip", "/chunks/gzip"] {
        // The short way, and the library's.
        for ask in [Ask::get(path), Ask::get(path).header("TE", "trailers")] {
            let ask = ask.header("Accept-Encoding", "gzip");
            let mut conn = desk.conn().await;
            conn.send(ask.bytes()).await;
            let h1 = conn.try_response("GET", SOON).await;
            let h2 = desk.h2(Via::H2Tls).await.try_begin(&ask).await;
            let mut seen = vec![h1];
            if let Ok(begun) = h2 {
                seen.push(Ok(begun.finish().await));
            }
            for response in seen.into_iter().flatten() {
                if response.status == 200 {
                    assert!(!response.complete, "{path}: taken for whole");
                    assert!(!shown(&response).contains("ahp-notice"), "{path}");
                }
            }
        }
    }
}

#[tokio::test]
async fn notice_is_not_added_to_a_compressed_page_that_ends_too_early() {
    // The body is whole; what is in it is not.
    let mut body = Coding::Gzip.encode(format!("{HALF}{}", " and more".repeat(500)).as_bytes());
    body.truncate(body.len() - 12);
    let origin = Origin::start(move |request: &Request| {
        let pieces = if request.target == "/pieces" { 40 } else { body.len() };
        Reply::html(&body).pieces_of(pieces).chunked().header("Content-Encoding", "gzip")
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    for path in ["/whole", "/pieces"] {
        for ask in [Ask::get(path), Ask::get(path).header("TE", "trailers")] {
            let mut conn = desk.conn().await;
            conn.send(ask.header("Accept-Encoding", "gzip").bytes()).await;
            let response = conn.try_response("GET", SOON).await.expect("an answer");
            let shown = shown(&response);
            assert!(shown.contains("Half of a page") && !shown.contains("ahp-notice"), "{path}: {shown}");
        }
    }
}

/// As much of the page as a browser would show.
fn shown(response: &Response) -> String {
    use std::io::Read;
    let mut text = Vec::new();
    match response.header("content-encoding") {
        Some("gzip") => {
            let mut decoder = flate2::read::GzDecoder::new(&response.body[..]);
            let mut byte = [0];
            while let Ok(1) = decoder.read(&mut byte) {
                text.push(byte[0]);
            }
        }
        _ => text.extend_from_slice(&response.body),
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[tokio::test]
async fn notice_is_added_to_a_page_that_ends_with_the_connection() {
    let origin = Origin::start(|_: &Request| Reply::html(HALF).until_close()).await;
    let desk = Setup::before(&origin).start().await;
    for ask in [Ask::get("/"), Ask::get("/").header("TE", "trailers")] {
        let taken = take_out(&desk.ask(Via::H1, ask).await.page());
        assert_eq!((taken.rest.as_str(), taken.notices.len(), taken.notice_at), (HALF, 1, HALF.len()));
    }
}
