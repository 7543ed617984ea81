//! Promise: the site decides whether a page is compressed, as without Frontdesk, and the client can always read it.

use crate::support::page::{PAGE, assert_rewritten, assert_untouched, big, take_out};
use crate::support::{Ask, Coding, Desk, Origin, Reply, Request, Response, SOON, Setup, Via};

#[tokio::test]
async fn encodings_go_up_as_the_client_named_them_but_for_what_cannot_be_undone() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).start().await;
    for (sent, expected) in [
        (None, vec![]),
        (Some("gzip"), vec!["gzip"]),
        (Some("gzip, deflate, br, zstd"), vec!["gzip", "deflate", "br", "zstd"]),
        (Some("gzip, dcb, br"), vec!["gzip", "br"]),
        (Some("dcz, gzip;q=0.5, identity;q=0"), vec!["gzip;q=0.5", "identity;q=0"]),
        (Some("br;q=1.0, gzip;q=0.8"), vec!["br;q=1.0", "gzip;q=0.8"]),
        (Some("identity"), vec!["identity"]),
    ] {
        let ask = Ask::get("/");
        let ask = if let Some(sent) = sent { ask.header("Accept-Encoding", sent) } else { ask };
        desk.ask(Via::H1, ask).await;
        let up = origin.last().headers.tokens("accept-encoding");
        let up: Vec<String> = up.iter().map(|t| t.replace(' ', "")).collect();
        assert_eq!(up, expected, "for a client that sent {sent:?}");
    }
}

#[tokio::test]
async fn encodings_are_never_added_to_what_the_site_sent_plain() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).start().await;
    let response = desk.ask(Via::H1, Ask::get("/").header("Accept-Encoding", "gzip, br")).await;
    assert!(!response.headers.has("content-encoding"), "BREACH: we never start to compress");
    assert_rewritten(PAGE, &response.text(), "plain");
}

#[tokio::test]
async fn encodings_gzip_of_several_members() {
    let (first, second) = PAGE.split_at(PAGE.len() / 3);
    let body = [Coding::Gzip.encode(first.as_bytes()), Coding::Gzip.encode(second.as_bytes())].concat();
    let origin = Origin::start(move |_: &Request| Reply::html(&body).header("Content-Encoding", "gzip")).await;
    let desk = Setup::before(&origin).start().await;
    let response = desk.ask(Via::H1, Ask::get("/").header("Accept-Encoding", "gzip")).await;
    assert_rewritten(PAGE, &response.page(), "two members");
}

#[tokio::test]
async fn encodings_under_their_old_names_and_in_any_case() {
    for name in ["x-gzip", "GZIP", "Gzip"] {
        let origin = Origin::start(move |_: &Request| {
            Reply::html(Coding::Gzip.encode(PAGE.as_bytes())).header("Content-Encoding", name)
        })
        .await;
        let desk = Setup::before(&origin).start().await;
        let response = desk.ask(Via::H1, Ask::get("/").header("Accept-Encoding", "gzip, x-gzip")).await;
        assert!(response.complete);
        let page = String::from_utf8(Coding::Gzip.decode(&response.body)).expect("text");
        assert_rewritten(PAGE, &page, name);
    }
}

#[tokio::test]
async fn encodings_of_large_pages_stream_through() {
    let page = big(3_000_000);
    for coding in Coding::ALL {
        let coded = coding.encode(page.as_bytes());
        let origin = Origin::start(move |_: &Request| {
            let reply = Reply::html(&coded).pieces_of(16_000).chunked();
            if let Some(name) = coding.name() { reply.header("Content-Encoding", name) } else { reply }
        })
        .await;
        let desk = Setup::before(&origin).start().await;
        let ask = Ask::get("/").header("Accept-Encoding", "gzip, deflate, br, zstd");
        let response = desk.ask(Via::H1, ask).await;
        assert_eq!(response.header("content-encoding"), coding.name());
        assert_rewritten(&page, &response.page(), &format!("3 MB of {coding:?}"));
    }
}

#[tokio::test]
async fn encodings_corrupt_from_the_site_do_not_look_whole() {
    for coding in [Coding::Gzip, Coding::Br, Coding::Zstd] {
        let mut coded = coding.encode(big(400_000).as_bytes());
        let middle = coded.len() / 2;
        for byte in &mut coded[middle..middle + 64] {
            *byte = !*byte;
        }
        let sent = coded.clone();
        let name = coding.name().expect("a coding");
        let origin = Origin::start(move |_: &Request| Reply::html(&sent).header("Content-Encoding", name)).await;
        let desk = Setup::before(&origin).start().await;
        let mut conn = desk.conn().await;
        conn.send(Ask::get("/").header("Accept-Encoding", name).bytes()).await;
        // Cut, refused with an error, or passed on as broken as it came: never a whole page with a hole.
        if let Ok(response) = conn.try_response("GET", crate::support::SOON).await
            && response.complete
            && response.status == 200
        {
            assert!(coding.try_decode(&response.body).is_err() || response.body == coded, "{coding:?} healed itself");
        }
        assert_eq!(desk.admin_get("/livez").await.status, 200);
        assert!(desk.get("/").await.status >= 200, "and the next client is answered");
    }
}

#[tokio::test]
async fn encodings_that_are_not_what_they_say_pass_or_fail_but_never_hang() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE).header("Content-Encoding", "gzip")).await;
    let desk = Setup::before(&origin).start().await;
    let mut conn = desk.conn().await;
    conn.send(Ask::get("/").header("Accept-Encoding", "gzip").bytes()).await;
    if let Ok(response) = conn.try_response("GET", crate::support::SOON).await
        && response.complete
        && response.status == 200
    {
        assert_untouched(PAGE.as_bytes(), &response.body, "plain text that calls itself gzip");
    }
    assert_eq!(desk.admin_get("/livez").await.status, 200);
}

/// It has an end, and nobody takes it for whole.
#[track_caller]
fn assert_cut(answer: Result<Response, String>, what: &str) {
    match answer {
        Ok(response) => assert!(!response.complete || response.status >= 500, "{what}: {}", response.status),
        Err(why) => assert!(!why.contains("nothing complete"), "{what}: {why}"),
    }
}

#[tokio::test]
async fn encodings_bombs_are_cut() {
    // 512 MB of one letter, a few hundred kilobytes on the wire.
    let bomb = {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(b"<!doctype html><html><head></head><body>").expect("in memory");
        let block = vec![b'a'; 1 << 20];
        for _ in 0..512 {
            encoder.write_all(&block).expect("in memory");
        }
        encoder.finish().expect("in memory")
    };
    let origin = Origin::start(move |_: &Request| Reply::html(&bomb).header("Content-Encoding", "gzip")).await;
    // Nobody reads the site beside it: a vocabulary that is loaded for that takes as much.
    let desk = Setup::before(&origin).reading("concierge = false\nllms_txt = \"off\"").start().await;
    let before = desk.rss_kb();
    let mut conn = desk.conn().await;
    conn.send(Ask::get("/").header("Accept-Encoding", "gzip").bytes()).await;
    let answer = conn.try_response("GET", SOON * 2).await;
    assert_cut(answer, "512 MB");
    assert!(desk.rss_peak_kb() < before + 8_000, "{} → {} KB", before, desk.rss_peak_kb());
}

/// A table whose rows differ in a number.
fn table(rows: usize) -> String {
    let icon =
        "<svg viewBox=\"0 0 24 24\"><path d=\"M3 17.25V21h3.75L17.81 9.94l-3.75-3.75L3 17.25z\"/></svg>".repeat(12);
    let row = |n| format!("<tr><td>{n}</td><td class=\"status ok\">{icon}</td></tr>\n");
    let rows: String = (0..rows).map(row).collect();
    format!("<!doctype html><html><head><title>t</title></head><body><table>{rows}</table></body></html>")
}

/// A desk before a site that has this page alone, in each coding; and how much it grows.
async fn coded(page: &str) -> Vec<(String, &'static str, Origin, Desk)> {
    let mut all = Vec::new();
    for (coding, name) in Coding::ALL.into_iter().filter_map(|coding| Some((coding, coding.name()?))) {
        let encoded = coding.encode(page.as_bytes());
        let what = format!("{name} at {}:1", page.len() / encoded.len());
        let origin = Origin::start(move |_: &Request| Reply::html(&encoded).header("Content-Encoding", name)).await;
        let desk = Setup::before(&origin).start().await;
        all.push((what, name, origin, desk));
    }
    all
}

#[tokio::test]
async fn encodings_a_long_table_that_is_alike_is_no_bomb() {
    let page = table(3_000);
    for (what, name, _origin, desk) in coded(&page).await {
        for ask in [Ask::get("/"), Ask::post("/", "a=1")] {
            let response = desk.ask(Via::H1, ask.header("Accept-Encoding", name)).await;
            assert_eq!(response.status, 200, "{what}");
            let taken = take_out(&response.page());
            let whole = taken.rest == page && taken.notices.len() == 1;
            assert!(whole, "{what}: {} of {} bytes", taken.rest.len(), page.len());
        }
    }
}

#[tokio::test]
async fn encodings_a_bomb_in_one_piece_is_not_taken_for_a_page() {
    let page = format!("<!doctype html><html><head></head><body>{}", "a".repeat(20 << 20));
    for (what, name, _origin, desk) in coded(&page).await {
        for ask in [Ask::get("/"), Ask::post("/", "a=1")] {
            let mut conn = desk.conn().await;
            let method = ask.method.clone();
            conn.send(ask.header("Accept-Encoding", name).bytes()).await;
            assert_cut(conn.try_response(&method, SOON).await, &what);
        }
    }
}

#[tokio::test]
async fn encodings_beyond_max_recoding_pass_as_they_are() {
    let origin = Origin::start(|_: &Request| {
        Reply::html(Coding::Gzip.encode(PAGE.as_bytes())).header("Content-Encoding", "gzip")
    })
    .await;
    let desk = Setup::before(&origin).set("protection", "max_recoding = 0").start().await;
    let response = desk.ask(Via::H1, Ask::get("/").header("Accept-Encoding", "gzip")).await;
    assert_eq!(response.page(), PAGE);
}
