//! Promise: a common web server behaves the same for a visitor with and without Frontdesk in front.

use crate::support::web_server::WebServer;
use crate::support::{Ask, Conn, Desk, Setup, Via};

/// A site with files that are worth compressing.
fn files() -> Vec<(&'static str, String)> {
    let lines = |line: &str| (0..400).map(|n| line.replace('#', &n.to_string())).collect::<String>();
    vec![
        (
            "index.html",
            format!(
                "<!doctype html><html><head><title>Site</title></head><body>{}</body></html>",
                lines("<p>Paragraph # of the page.</p>\n")
            ),
        ),
        ("style.css", lines(".rule-# { color: red; margin: #px }\n")),
        ("script.js", lines("function f#() { return # }\n")),
        ("data.json", format!("[{}0]", lines("{\"number\": #},\n"))),
    ]
}

async fn desk_before(server: &WebServer) -> Desk {
    Setup::before_urls(&[server.url()]).reading("concierge = false\nllms_txt = \"off\"").start().await
}

fn as_a_browser(path: &str) -> Ask {
    Ask::get(path).header("Accept-Encoding", "gzip, deflate, br, zstd").header("Accept", "text/html,*/*;q=0.8")
}

/// Asks directly and through Frontdesk, and compares what goes over the wire.
async fn compresses_as_without(server: &WebServer, name: &str) {
    let desk = desk_before(server).await;
    for path in ["/", "/style.css", "/script.js", "/data.json"] {
        let direct = Conn::open(server.addr).await.ask(&as_a_browser(path)).await;
        assert_eq!((direct.status, direct.header("content-encoding")), (200, Some("gzip")), "{name} {path}, directly");
        for more in ["X-Plain", "Max-Forwards"] {
            let through = desk.ask(Via::H1, as_a_browser(path).header(more, "1")).await;
            assert_eq!(through.header("content-encoding"), Some("gzip"), "{name} {path}");
            let room = if path == "/" { 600 } else { 0 };
            let (before, after) = (direct.body.len(), through.body.len());
            assert!(after <= before + room, "{name} {path}: {before} bytes directly, {after} through Frontdesk");
        }
    }
}

#[tokio::test]
async fn nginx_compresses_as_it_does_without() {
    let files = files();
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    compresses_as_without(&WebServer::nginx(&files).await, "nginx").await;
}

#[tokio::test]
async fn apache_compresses_as_it_does_without() {
    let files = files();
    let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    compresses_as_without(&WebServer::apache(&files).await, "Apache").await;
}
