//! Promise: a page equals the site's own except for one notice at the end of its body and the links at the end of its
//! head, with any coding, framing, chunking and protocol.

#[path = "notice/cut_off.rs"]
mod cut_off;
#[path = "notice/end_of_body.rs"]
mod end_of_body;
#[path = "notice/start_of_body.rs"]
mod start_of_body;

use crate::support::origin::Speaks;
use crate::support::page::{PAGE, assert_rewritten, assert_rewritten_at_start, big, take_out};
use crate::support::{Ask, Coding, Conn, Desk, H2Conn, Origin, Reply, Request, Response, Setup, Step, Tls, Via};

const CODINGS: &str = "gzip, deflate, br, zstd";

/// `/page/CODING/FRAMING`: PAGE (or a big one) as the path says.
fn as_the_path_says(request: &Request) -> Reply {
    let words: Vec<&str> = request.target.split('/').skip(1).collect();
    let coding = Coding::ALL[words[1].parse::<usize>().expect("a coding's number")];
    let page = if words[0] == "big" { big(200_000) } else { PAGE.to_owned() };
    let reply = Reply::html(coding.encode(page.as_bytes()));
    let reply = match coding.name() {
        Some(name) => reply.header("Content-Encoding", name),
        None => reply,
    };
    match words[2] {
        "length" => reply,
        "chunked" => reply.pieces_of(61).chunked(),
        "close" => reply.until_close(),
        "trailers" => reply.trailer("X-Checksum", "abc"),
        "bytes" => reply.pieces_of(1).chunked(),
        at => reply.split_at(at.parse().expect("an offset")),
    }
}

fn check(page: &str, coding: Coding, response: &Response, when: &str) {
    assert_whole(coding, response, when);
    assert_rewritten(page, &response.page(), when);
}

fn assert_whole(coding: Coding, response: &Response, when: &str) {
    assert_eq!(response.status, 200, "{when}");
    assert!(response.complete, "cut short, {when}");
    assert_eq!(response.header("content-encoding"), coding.name(), "the coding the site chose, {when}");
}

/// Keep-alive connections over HTTP/1.1 and HTTP/2 to the same desk.
struct Both {
    h1: Conn,
    h2: H2Conn,
}

impl Both {
    async fn to(desk: &Desk) -> Both {
        Both { h1: desk.conn().await, h2: desk.h2(Via::H2Tls).await }
    }

    async fn ask(&mut self, ask: &Ask) -> [(&'static str, Response); 2] {
        [("HTTP/1.1", self.h1.ask(ask).await), ("HTTP/2", self.h2.ask(ask).await)]
    }
}

async fn every_combination(speaks: Speaks) {
    let (tls, origin) = (Tls::new(), Origin::speaking(speaks, as_the_path_says).await);
    let desk = Setup::before(&origin).tls(&tls).start().await;
    let framings: &[&str] = if speaks == Speaks::H2 {
        &["length", "chunked", "trailers", "bytes"]
    } else {
        &["length", "chunked", "close", "trailers", "bytes"]
    };
    let mut both = Both::to(&desk).await;
    for (size, page) in [("page", PAGE.to_owned()), ("big", big(200_000))] {
        for (number, coding) in Coding::ALL.into_iter().enumerate() {
            for framing in framings.iter().filter(|f| size == "page" || **f == "length" || **f == "close") {
                let ask = Ask::get(&format!("/{size}/{number}/{framing}")).header("Accept-Encoding", CODINGS);
                for (client, response) in both.ask(&ask).await {
                    check(&page, coding, &response, &format!("{client}, {size}, {coding:?}, {framing}"));
                }
            }
        }
    }
}

#[tokio::test]
async fn notice_for_every_client_coding_and_framing_from_an_http1_site() {
    every_combination(Speaks::H1).await;
}

#[tokio::test]
async fn notice_for_every_client_coding_and_framing_from_an_http2_site() {
    every_combination(Speaks::H2).await;
}

async fn every_split(speaks: Speaks) {
    let (tls, origin) = (Tls::new(), Origin::speaking(speaks, as_the_path_says).await);
    let desk = Setup::before(&origin).tls(&tls).start().await;
    let mut both = Both::to(&desk).await;
    for (number, coding) in Coding::ALL.into_iter().enumerate() {
        // Every byte of a plain page; every ninth of a compressed one.
        let coded = coding.encode(PAGE.as_bytes()).len();
        let (end, step) = if coding == Coding::Identity { (PAGE.len(), 1) } else { (coded, 9) };
        for at in (1..end).step_by(step) {
            let ask = Ask::get(&format!("/page/{number}/{at}")).header("Accept-Encoding", CODINGS);
            for (client, response) in both.ask(&ask).await {
                check(PAGE, coding, &response, &format!("{client}, {coding:?}, split at {at}"));
            }
        }
    }
}

#[tokio::test]
async fn notice_with_the_page_split_at_every_byte_from_an_http1_site() {
    every_split(Speaks::H1).await;
}

#[tokio::test]
async fn notice_with_the_page_split_at_every_byte_from_an_http2_site() {
    every_split(Speaks::H2).await;
}

#[tokio::test]
async fn notice_with_the_response_head_split_at_every_byte() {
    let whole = Reply::html(PAGE);
    let whole = [whole.head(), PAGE.as_bytes().to_vec()].concat();
    let head = whole.len() - PAGE.len();
    let origin = Origin::start(move |request: &Request| {
        let at: usize = request.target[1..].parse().expect("an offset");
        let (first, second) = whole.split_at(at);
        let pause = Step::Pause(std::time::Duration::from_millis(1));
        vec![Step::Write(first.to_vec()), pause, Step::Write(second.to_vec()), Step::KeepAlive]
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let mut conn = desk.conn().await;
    for at in 1..head + 10 {
        let response = conn.ask(&Ask::get(&format!("/{at}"))).await;
        check(PAGE, Coding::Identity, &response, &format!("split at {at}"));
    }
}

#[tokio::test]
async fn notice_says_what_exists_and_is_hidden_from_people() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).start().await;
    let taken = take_out(&desk.get("/").await.page());
    let notice = &taken.notices[0];
    let open = &notice[..=notice.find('>').expect("an opening tag")];
    assert!(open.starts_with("<div class=\"ahp-notice\"") && open.contains("aria-label=\"AI Agent Notice\""), "{open}");
    assert!(open.ends_with(" hidden>"), "the attribute: {open}");
    assert!(!taken.notices.concat().contains("style"), "a strict Content-Security-Policy allows no style: {notice}");
    assert!(notice.contains("/.well-known/agent.json"), "{notice}");
    for order in ["you must", "you should", "ignore ", "must not"] {
        assert!(!notice.to_lowercase().contains(order), "declarative, not {order:?}: {notice}");
    }
    for (relation, href) in
        [("ahp-manifest", "/.well-known/agent.json"), ("agent-interface", "/.well-known/agent-interface.toml")]
    {
        let named = |link: &&String| link.contains(&format!("rel=\"{relation}\"")) && link.contains(href);
        assert!(taken.links.iter().any(|l| named(&l)), "{relation} → {href} in {:?}", taken.links);
    }
}

#[tokio::test]
async fn notice_of_the_sites_own_takes_the_place_of_ours() {
    let own = "<section class=\"ahp-notice\" aria-label=\"AI Agent Notice\" hidden>The site's own words.</section>";
    // As far into the page as one likes, and in as many pieces.
    for (size, at) in [(PAGE.len(), "<h1>"), (PAGE.len(), "</body>"), (200_000, "</body>")] {
        let page = big(size).replace(at, &format!("{own}{at}"));
        let origin = Origin::start(move |_: &Request| Reply::html(&page).pieces_of(1000).chunked()).await;
        let desk = Setup::before(&origin).start().await;
        let got = desk.get("/").await.page();
        assert_eq!(take_out(&got).notices, [own], "{size} bytes, before {at}");
    }
}

#[tokio::test]
async fn notice_is_on_error_pages_too() {
    let origin = Origin::start(|r: &Request| {
        let mut reply = Reply::html(PAGE);
        reply.status = r.target[1..].parse().expect("a status");
        reply
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    for status in [400, 401, 403, 404, 410, 500, 503] {
        let response = desk.get(&format!("/{status}")).await;
        assert_eq!(response.status, status);
        assert_rewritten(PAGE, &response.page(), &format!("on a {status}"));
    }
}

#[tokio::test]
async fn notice_can_be_switched_off() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).set("discovery", "notice = false").start().await;
    assert_eq!(desk.get("/").await.text(), PAGE);
}
