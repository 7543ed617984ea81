//! Tests of pages: their rewriting, and their heads.

use super::{both, by_the_long_way, script};
use crate::support::{
    Answer, Ask, Coding, Origin, Request, Setup, Step, Via,
    page::{PAGE, assert_rewritten, big},
};

/// Heads of pages, without the type that all of them have.
#[rustfmt::skip]
const HEADS: [(&str, &str); 19] = [
    ("a length and promises", "Content-Length: 18\r\nAccept-Ranges: bytes\r\nETag: \"a\"\r\nDigest: sha-256=x\r\ncontent-md5: x\r\nRepr-Digest: x\r\n"),
    ("a weak tag", "ETag: W/\"a\"\r\nContent-Length: 18\r\n"),
    ("a tag that is none", "ETag: a\r\nContent-Length: 18\r\n"),
    ("two tags", "ETag: \"a\"\r\netag: \"b\"\r\nContent-Length: 18\r\n"),
    ("a tag in letters that are not ASCII", "ETag: \"\u{e4}\"\r\nContent-Length: 18\r\n"),
    ("a date", "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 18\r\n"),
    ("a date that is none", "Last-Modified: yesterday\r\nContent-Length: 18\r\n"),
    ("something else that it varies by", "Vary: Cookie\r\nContent-Length: 18\r\n"),
    ("it varies already", "Vary: Cookie, accept\r\nContent-Length: 18\r\n"),
    ("it varies by everything", "Vary: *\r\nContent-Length: 18\r\n"),
    ("signals of its own", "content-signal: ai-train=yes\r\nContent-Length: 18\r\n"),
    ("names that belong to the hop", "Connection: ETag, keep-alive\r\nETag: \"a\"\r\nContent-Length: 18\r\n"),
    ("a hop's own lines", "Keep-Alive: timeout=5\r\nConnection: keep-alive\r\nContent-Length: 18\r\n"),
    ("a folded line", "ETag: \"a\"\r\nX-A: b\r\n c\r\nContent-Length: 18\r\n"),
    ("two types", "Content-Type: text/plain\r\nContent-Length: 18\r\n"),
    ("not to be changed", "Cache-Control: public\r\ncache-control: max-age=1, No-Transform\r\nContent-Length: 18\r\n"),
    ("an unknown coding", "Content-Encoding: pack200\r\nContent-Length: 18\r\n"),
    ("two codings", "Content-Encoding: identity\r\nContent-Encoding: identity\r\nContent-Length: 18\r\n"),
    ("a Date", "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: 18\r\n"),
];

/// Types and statuses that make a difference.
const KINDS: [(&str, &str); 5] = [
    ("200 OK", "text/html; charset=utf-8"),
    ("200 OK", "TEXT/HTML"),
    ("200 OK", "text/html; charset=utf-16"),
    ("404 Not Found", " text/html"),
    ("200 OK", "application/xhtml+xml"),
];

#[tokio::test]
async fn short_way_makes_the_same_of_heads_of_pages() {
    let origin = Origin::start(|request: &Request| {
        let place = |at: usize| request.target.split('/').nth(at).and_then(|place| place.parse::<usize>().ok());
        let (head, kind) = (place(1).and_then(|row| HEADS.get(row)), place(2).and_then(|row| KINDS.get(row)));
        let (Some((_, head)), Some((status, kind))) = (head, kind) else {
            return script("=HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n");
        };
        script(&format!("=HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{head}\r\n<body>hello</body>"))
    })
    .await;
    let desk =
        Setup::before(&origin).set("listen", "h2c = true").tail("[content_signals]\nai_train = false\n").start().await;
    let mut different = Vec::new();
    for (row, (what, _)) in HEADS.iter().enumerate() {
        for (kind, (status, named)) in KINDS.iter().enumerate() {
            for via in [Via::H1, Via::H2c] {
                let what = format!("{what}, {status} {named}, over {via:?}");
                let ask = Ask::get(&format!("/{row}/{kind}"));
                different.extend(both(&desk, &origin, via, &ask, &what).await);
            }
        }
    }
    for via in [Via::H1, Via::H2c] {
        different.extend(both(&desk, &origin, via, &Ask::get("/empty"), &format!("an empty page over {via:?}")).await);
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[tokio::test]
async fn short_way_tags_what_has_not_changed_as_the_long_one() {
    let origin = Origin::start(|request: &Request| match request.headers.get("if-none-match") {
        Some("\"a\"") => script("=HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nVary: Cookie\r\n\r\n"),
        _ => script("=HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"a\"\r\nContent-Length: 6\r\n\r\n<body>"),
    })
    .await;
    let desk = Setup::before(&origin).set("listen", "h2c = true").start().await;
    let tag = desk.get("/").await.headers.get("etag").unwrap().to_owned();
    assert!(tag.contains(";fd="), "{tag}");
    for via in [Via::H1, Via::H2c] {
        let ask = Ask::get("/").header("If-None-Match", &tag);
        let answer = desk.ask(via, ask.clone()).await;
        assert_eq!((answer.status, answer.headers.get("etag")), (304, Some(tag.as_str())), "{via:?}");
        assert_eq!(both(&desk, &origin, via, &ask, &format!("304 over {via:?}")).await, None);
    }
}

#[tokio::test]
async fn short_way_makes_the_same_of_pages() {
    for coding in [Coding::Identity, Coding::Gzip, Coding::Br] {
        for size in [20, 999, 1 << 20] {
            let origin = Origin::start(move |_: &Request| {
                let body = coding.encode(PAGE.as_bytes());
                let named = coding.name().map(|name| format!("Content-Encoding: {name}\r\n")).unwrap_or_default();
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"a\"\r\nVary: Cookie\r\n{named}");
                let chunks =
                    body.chunks(size).flat_map(|c| [format!("{:x}\r\n", c.len()).as_bytes(), c, b"\r\n"].concat());
                let chunks: Vec<u8> = chunks.collect();
                let wire = [head.as_bytes(), b"Transfer-Encoding: chunked\r\n\r\n", &chunks, b"0\r\n\r\n"].concat();
                Answer::Script(vec![Step::Write(wire), Step::KeepAlive])
            })
            .await;
            let desk = Setup::before(&origin).set("listen", "h2c = true").start().await;
            let ask = Ask::get("/").header("Accept-Encoding", coding.name().unwrap_or("identity"));
            for via in [Via::H1, Via::H2c] {
                let mut pages = Vec::new();
                for ask in [ask.clone(), by_the_long_way(ask.clone(), via)] {
                    let response = desk.ask(via, ask).await;
                    assert!(response.complete && response.page().contains("ahp-notice"), "{coding:?} {size} {via:?}");
                    let mut headers = response.headers.0.clone();
                    headers.retain(|(name, _)| !name.eq_ignore_ascii_case("date"));
                    headers.sort();
                    pages.push((headers, response.page()));
                }
                assert_eq!(pages[0], pages[1], "{coding:?} in chunks of {size}, over {via:?}");
            }
        }
    }
}

#[tokio::test]
async fn short_way_tells_no_length_of_another_page_with_a_304() {
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: \"e\"\r\nContent-Length: 40\r\n\r\n<html><body>a page of 40 bytes. .</html>";
    let same = "HTTP/1.1 304 Not Modified\r\nETag: \"e\"\r\nContent-Length: 40\r\nX-End: 1\r\n\r\n";
    let origin = Origin::start(move |request: &Request| match request.header("if-none-match") {
        Some("\"e\"") => script(same),
        _ => script(page),
    })
    .await;
    let desk = Setup::before(&origin).start().await;
    let tag = desk.get("/").await.header("etag").expect("a tag").to_owned();
    for ask in [Ask::get("/"), Ask::get("/").header("TE", "trailers")] {
        let again = desk.ask(Via::H1, ask.header("If-None-Match", &tag)).await;
        assert_eq!((again.status, again.header("etag"), again.header("x-end")), (304, Some(&*tag), Some("1")));
        assert_eq!(again.header("content-length"), None, "the page is longer here");
    }
}

#[tokio::test]
async fn short_way_touches_nothing_that_is_of_two_kinds() {
    let wire = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Type: application/octet-stream\r\nContent-Length: 40\r\n\r\n<html><body>a page of 40 bytes. .</html>";
    let origin = Origin::start(move |_: &Request| script(wire)).await;
    let desk = Setup::before(&origin).start().await;
    for ask in [Ask::get("/"), Ask::get("/").header("TE", "trailers")] {
        let response = desk.ask(Via::H1, ask).await;
        assert_eq!(response.text(), "<html><body>a page of 40 bytes. .</html>");
    }
}

/// Pages that end in different ways, and where the notice stands in them.
fn endings() -> Vec<(String, &'static str)> {
    let open = PAGE.split_once("</body>").expect("a body").0;
    vec![
        (PAGE.to_owned(), "</body>"),
        (big(150_000), "</body>"),
        (format!("{open}</body>{}", "<!-- and more -->".repeat(1000)), "</body>"),
        (format!("{open}<script>'</body>'</script></HTML>"), "</HTML>"),
        (open.to_owned(), ""),
        (format!("{open}<"), "<"),
    ]
}

#[tokio::test]
async fn short_way_puts_the_notice_at_the_end_as_the_long_one() {
    let pages = endings();
    let served = pages.clone();
    let origin = Origin::start(move |request: &Request| {
        let words: Vec<&str> = request.target.split('/').skip(1).collect();
        let page = &served[words[0].parse::<usize>().expect("a number")].0;
        let coding = Coding::ALL[words[1].parse::<usize>().expect("a number")];
        let body = coding.encode(page.as_bytes());
        let named = coding.name().map(|name| format!("Content-Encoding: {name}\r\n")).unwrap_or_default();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{named}");
        let wire = match words[2] {
            "length" => [format!("{head}Content-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat(),
            "close" => [format!("{head}Connection: close\r\n\r\n").as_bytes(), &body].concat(),
            size => {
                let chunks = body.chunks(size.parse().expect("a size"));
                let chunks = chunks.flat_map(|c| [format!("{:x}\r\n", c.len()).as_bytes(), c, b"\r\n"].concat());
                let chunks: Vec<u8> = chunks.collect();
                [format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes(), &chunks, b"0\r\n\r\n"].concat()
            }
        };
        let then = if words[2] == "close" { Step::Close } else { Step::KeepAlive };
        Answer::Script(vec![Step::Write(wire), then])
    })
    .await;
    let desk = Setup::before(&origin).set("listen", "h2c = true").start().await;
    for (row, (page, ending)) in pages.iter().enumerate() {
        for coding in 0..Coding::ALL.len() {
            for framing in ["length", "close", "100", "65536"] {
                let ask = Ask::get(&format!("/{row}/{coding}/{framing}"))
                    .header("Accept-Encoding", "gzip, deflate, br, zstd");
                for via in [Via::H1, Via::H2c] {
                    let what = format!("page {row}, {:?}, {framing}, over {via:?}", Coding::ALL[coding]);
                    let mut seen = Vec::new();
                    for ask in [ask.clone(), by_the_long_way(ask.clone(), via)] {
                        let response = desk.ask(via, ask).await;
                        assert!(response.complete, "{what}");
                        seen.push(response.page());
                    }
                    assert!(seen[0] == seen[1], "{what}");
                    if *ending == "</body>" {
                        assert_rewritten(page, &seen[0], &what);
                    } else {
                        assert!(seen[0].ends_with(&format!("</div>{ending}")), "{what}: {}", seen[0]);
                    }
                }
            }
        }
    }
}
