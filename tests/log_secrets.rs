//! Promise: no log at any level contains a credential, a body or a site's answer, whatever fails.

use std::net::SocketAddr;

use crate::support::calls::{FULL, action, query};
use crate::support::rates::api_key;
use crate::support::wire::Wire;
use crate::support::{Ask, Desk, Origin, Reply, Request, SOON, Setup, Tls, Via, eventually};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Planted in everything that goes up.
const SENT: &str = "planted-7f31-by-a-client";
/// Planted in everything that the site says.
const SAID: &str = "planted-9c02-by-the-site";

/// A site that answers as its path says, and closes.
struct PlantingOrigin {
    addr: SocketAddr,
    accepting: JoinHandle<()>,
}

impl PlantingOrigin {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port for the origin");
        let addr = listener.local_addr().expect("its address");
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket));
            }
        });
        Self { addr, accepting }
    }
}

impl Drop for PlantingOrigin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Bytes that no proxy can read as an answer, or not to its end.
fn answer(target: &str) -> String {
    let usual = format!("Set-Cookie: session={SAID}\r\nContent-Type: text/html\r\nX-Said: {SAID}\r\n");
    let page = format!("<html><body>{SAID}</body></html>");
    match target {
        t if t.contains("unreadable") => format!("HTTP/1.1 200 OK\r\n{usual}X-Bad\0: {SAID}\r\n\r\n{page}"),
        t if t.contains("garbage") => format!("{SAID}\r\n{SAID}\r\n\r\n"),
        t if t.contains("length") => format!("HTTP/1.1 200 OK\r\n{usual}Content-Length: {SAID}\r\n\r\n{page}"),
        t if t.contains("negative") => format!("HTTP/1.1 200 OK\r\n{usual}Content-Length: -1\r\n\r\n{page}"),
        t if t.contains("chunk") => {
            format!("HTTP/1.1 200 OK\r\n{usual}Transfer-Encoding: chunked\r\n\r\n{SAID}\r\n{page}")
        }
        t if t.contains("short") => format!("HTTP/1.1 200 OK\r\n{usual}Content-Length: 9000\r\n\r\n{page}"),
        t if t.contains("long") => format!("HTTP/1.1 200 OK\r\n{usual}Content-Length: 3\r\n\r\nabc{page}"),
        t if t.contains("json") => {
            let body = format!("{{\"password\":\"{SAID}\",\"x\":1");
            format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        }
        _ => format!("HTTP/1.1 200 OK\r\n{usual}Content-Length: {}\r\n\r\n{page}", page.len()),
    }
}

async fn serve(socket: TcpStream) {
    use tokio::io::AsyncWriteExt;
    let (read, mut write) = socket.into_split();
    let mut wire = Wire::new(tokio::io::join(read, tokio::io::sink()));
    while let Ok(Some(head)) = wire.head().await {
        let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let length = text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next()?.parse().ok());
        if wire.exactly(length.unwrap_or(0), &mut Vec::new(), &|_| {}).await.is_err() {
            return;
        }
        let answer = answer(text.split(' ').nth(1).unwrap_or("/"));
        let _ = write.write_all(answer.as_bytes()).await;
        if !answer.contains("Content-Length: 4") {
            return;
        }
    }
}

fn planted(ask: Ask) -> Ask {
    let ask = ask.header("Authorization", &format!("Bearer {SENT}")).header("Cookie", &format!("session={SENT}"));
    ask.header("X-Api-Key", SENT).header("X-Any", SENT)
}

async fn desk(origin: &PlantingOrigin) -> Desk {
    let read = "\nupstream = { method = \"GET\", path = \"/api/json\" }";
    let act = "\nupstream = { method = \"POST\", path = \"/api/unreadable\" }";
    let elsewhere = "\nupstream = { method = \"GET\", url = \"https://127.0.0.1:9/x/{q}\" }\ninput_schema = \
                     { type = \"object\", properties = { q = { type = \"string\" } } }";
    let capabilities = query("read.it", read) + &action("act.now", act) + &query("read.elsewhere", elsewhere);
    let setup = Setup::before_urls(&[format!("http://{}", origin.addr)])
        .set("site", "name = \"Example\"\norigin = \"https://site.test\"")
        .set("log", "level = \"trace\"")
        .set("listen", "h2c = true")
        .tls(&Tls::new())
        .tail(&api_key("full", FULL, ""))
        .tail(&capabilities);
    let desk = setup.start().await;
    let level = desk.admin(Ask::new("PUT", "/log?level=trace")).await;
    assert!(level.status < 300, "{}", level.text());
    desk
}

fn assert_nothing_planted(desk: &Desk) {
    for (name, log) in [("standard error", desk.stderr()), ("the access log", desk.stdout())] {
        for secret in [SENT, SAID, FULL] {
            let line = log.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret} is in {name}");
        }
    }
}

const TARGETS: [&str; 9] =
    ["/fine", "/unreadable", "/garbage", "/length", "/negative", "/chunk", "/short", "/long", "/unreadable.md"];

#[tokio::test]
async fn logs_at_trace_hold_nothing_that_was_sent_or_said() {
    let origin = PlantingOrigin::start().await;
    for fast in [true, false] {
        // What has a body, or comes over TLS, goes the library's way.
        let desk = desk(&origin).await;
        for via in [Via::H1, Via::H2Tls, Via::H2c] {
            for target in TARGETS {
                let ask = planted(Ask::new(if fast { "GET" } else { "POST" }, target));
                let ask = if fast { ask } else { ask.body(format!("{{\"secret\":\"{SENT}\"}}")) };
                try_to(&desk, via, ask).await;
            }
        }
        let chunked = format!(
            "POST /unreadable HTTP/1.1\r\nHost: a\r\nCookie: s={SENT}\r\nTransfer-Encoding: chunked\r\n\r\n18\r\n{SENT}\r\n0\r\n\r\n"
        );
        let raw = [
            chunked.clone(),
            chunked.replace("18\r\n", &format!("{SENT}\r\n")),
            format!("GET /fine HTTP/1.1\r\nHost: a\r\nCookie: s={SENT}\r\nBad\0Name: {SENT}\r\n\r\n"),
            format!("GET /fine HTTP/1.1\r\nHost: a\r\nCookie: s={SENT}\r\n{SENT}\r\n\r\n"),
            format!("{SENT} {SENT}\r\nAuthorization: Bearer {SENT}\r\n\r\n"),
            format!("POST /fine HTTP/1.1\r\nHost: a\r\nContent-Length: {SENT}\r\n\r\n"),
            format!("POST /fine HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n{SENT}"),
        ];
        for bytes in raw {
            let mut conn = desk.conn().await;
            conn.send(bytes).await;
            conn.end_sending().await;
            let _ = conn.try_response("POST", SOON).await;
        }
        for endpoint in ["/agent/read/it", "/agent/act/now", "/agent/read/elsewhere", "/agent/converse", "/mcp"] {
            for key in [FULL, SENT] {
                let body = format!("{{\"q\":\"{SENT}\",\"query\":\"{SENT}\"}}");
                let ask = Ask::post(endpoint, body).header("Content-Type", "application/json");
                try_to(&desk, Via::H1, ask.header("X-AHP-Key", key).header("Cookie", SENT)).await;
            }
        }
        // There is something to look through.
        desk.says("a request failed").await;
        desk.says("because of").await;
        let lines = TARGETS.len() * 3 + 10;
        eventually("a line for each request", SOON, async || desk.access_log().len() >= lines).await;
        assert_nothing_planted(&desk);
    }
}

/// The reader meets addresses with tokens in their queries: as links, as lists, in redirects and where the site fails.
#[tokio::test]
async fn logs_of_the_reader_hold_no_value_of_a_query() {
    let origin = Origin::start(|request: &Request| {
        let target = request.target.as_str();
        let page = |links: &str| Reply::html(format!("<title>{target}</title><main><p>Words.</p>{links}</main>"));
        match target.split('?').next().unwrap_or_default() {
            "/robots.txt" => Reply::new(404),
            "/sitemap.xml" => Reply::new(200).header("Content-Type", "text/plain").body(format!(
                "http://site.test/fails?code={SENT}\nhttp://site.test/moved?code={SENT}\n\
                 http://site.test/away?code={SENT}\nhttp://site.test/gone?{SENT}\nhttp://site.test/act?code={SENT}\n"
            )),
            "/" => page(&format!(
                "<a href=\"/list?page={SENT}\">next</a><a href=\"/?delete={SENT}\">x</a>\
                 <a href=\"/in/page?code={SENT}\">y</a>"
            )),
            "/fails" => Reply::new(500),
            "/moved" => Reply::new(302).header("Location", &format!("/fails?code={SENT}&again=1")),
            "/away" => {
                Reply::new(302).header("Location", &format!("https://u:{SENT}@elsewhere.test/x?code={SENT}#{SENT}"))
            }
            "/act" => Reply::new(302).header("Location", &format!("/logout?code={SENT}")),
            _ => Reply::new(404),
        }
    })
    .await;
    let setup = Setup::before(&origin).set("site", "origin = \"http://site.test\"").set("log", "level = \"trace\"");
    let desk =
        setup.reading("rate = \"200/second\"\nrefresh = \"1s\"\nstart = [\"/sitemap.xml\", \"/\"]").start().await;
    for said in [
        "address=\"/fails?code=*\"",
        "location=\"/fails?code=*&again=*\"",
        "location=\"https://elsewhere.test/x?code=*\"",
        "address=\"/gone?*\"",
        "link=/list?page=* page=/",
    ] {
        desk.says(said).await;
    }
    eventually("the first reading", SOON, async || desk.admin_get("/readyz?verbose").await.text().contains("content:"))
        .await;
    let ready = desk.admin_get("/readyz?verbose").await.text();
    assert!(!ready.contains(SENT), "{ready}");
    assert_nothing_planted(&desk);
}

/// Whatever becomes of it: the connection may be cut.
async fn try_to(desk: &Desk, via: Via, ask: Ask) {
    match via {
        Via::H1 => {
            let mut conn = desk.conn().await;
            conn.send(ask.bytes()).await;
            let _ = conn.try_response(&ask.method, SOON).await;
        }
        _ => {
            if let Ok(incoming) = desk.h2(via).await.try_begin(&ask).await {
                incoming.finish().await;
            }
        }
    }
}
