//! Promise: a site that writes head and body in two pieces is not slower on a reused connection, and what it sends without
//! being asked goes to nobody.
//!
//! Without `TCP_NODELAY` the second piece waits until the first is acknowledged, which a system delays by 40 ms on a
//! connection that was used before.

use crate::support::calls::{call, query};
use crate::support::{Ask, Desk, SOON, Setup, eventually};
use serde_json::json;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Requests one after another.
const REQUESTS: u32 = 20;
/// What they may take in all: half of what they would take if each but the first waited.
const MOST: Duration = Duration::from_millis(20 * REQUESTS as u64);

/// A site that reads each request to its end, and answers by what `answer` writes; gets the head. Its address.
fn site(answer: impl Fn(&str, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at = listener.local_addr().expect("its address");
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || -> io::Result<()> {
                let mut reader = BufReader::new(client.try_clone()?);
                loop {
                    let (mut head, mut length) = (String::new(), 0);
                    while !head.ends_with("\r\n\r\n") {
                        let before = head.len();
                        if reader.read_line(&mut head)? == 0 {
                            return Ok(());
                        }
                        if let Some(said) = head[before..].to_ascii_lowercase().strip_prefix("content-length:") {
                            length = said.trim().parse().unwrap_or(0);
                        }
                    }
                    reader.read_exact(&mut vec![0; length])?;
                    answer(&head, &mut client)?;
                }
            });
        }
    });
    format!("http://{at}")
}

const REAL: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nreal";
const FORGED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";

/// A site that answers in two writes.
fn in_two_pieces() -> String {
    site(|_, client| {
        client.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n")?;
        client.write_all(b"{\"a\": 1}")
    })
}

/// Python's own server, as people run it.
struct Python(Child, String);

impl Python {
    fn start() -> Python {
        let script = "import http.server, sys\n\
            class H(http.server.BaseHTTPRequestHandler):\n\
            \u{20}protocol_version = 'HTTP/1.1'\n\
            \u{20}def do_GET(self):\n\
            \u{20} self.send_response(200); self.send_header('Content-Type', 'application/json')\n\
            \u{20} self.send_header('Content-Length', '8'); self.end_headers(); self.wfile.write(b'{\"a\": 1}')\n\
            \u{20}do_HEAD = do_GET\n\
            \u{20}def log_message(self, *a): pass\n\
            s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)\n\
            print(s.server_address[1], flush=True); s.serve_forever()\n";
        let mut child = Command::new("python3").args(["-c", script]).stdout(Stdio::piped()).spawn().expect("python3");
        let mut port = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut port).expect("its port");
        Python(child, format!("http://127.0.0.1:{}", port.trim()))
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn desk(url: &str, fast_path: bool) -> Desk {
    let read = query("read", "\nupstream = { method = \"GET\", path = \"/api/read\" }");
    let runtime = format!("fast_path = {fast_path}");
    Setup::before_urls(&[url.to_owned()]).set("runtime", &runtime).tail(&read).start().await
}

/// How long the requests take one after another; the best of three, for other work on this machine is no stall.
async fn took(what: &str, mut once: impl AsyncFnMut()) {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let begun = Instant::now();
        for _ in 0..REQUESTS {
            once().await;
        }
        best = best.min(begun.elapsed());
    }
    eprintln!("{what}: {:.2} ms a request", best.as_secs_f64() * 1000.0 / f64::from(REQUESTS));
    assert!(best < MOST, "{what}: {best:?} for {REQUESTS} requests");
}

/// Pages, uploads and calls, by both engines.
async fn all(site: &str, url: &str, uploads: bool) {
    for fast_path in [true, false] {
        let desk = desk(url, fast_path).await;
        let mut conn = desk.conn().await;
        took(&format!("{site}, GET, the fast path: {fast_path}"), async || {
            assert_eq!(conn.ask(&Ask::get("/")).await.status, 200);
        })
        .await;
        if uploads {
            took(&format!("{site}, POST, the fast path: {fast_path}"), async || {
                assert_eq!(conn.ask(&Ask::post("/", "x")).await.status, 200);
            })
            .await;
        }
        took(&format!("{site}, calls, the fast path: {fast_path}"), async || {
            assert_eq!(desk.call(call("/agent/read", &json!({}))).await.status, 200);
        })
        .await;
    }
}

#[tokio::test]
async fn kept_connections_do_not_wait_for_a_second_piece() {
    all("two pieces", &in_two_pieces(), true).await;
}

#[tokio::test]
async fn kept_connections_to_pythons_server_do_not_wait() {
    let python = Python::start();
    all("http.server", &python.1, false).await;
}

#[tokio::test]
async fn kept_connections_are_not_used_while_a_body_may_follow_a_head() {
    // It answers HEAD with a body, a common mistake. Its system sends the body once the head is acknowledged.
    let python = Python::start();
    for fast_path in [true, false] {
        let desk = desk(&python.1, fast_path).await;
        for round in 0..20 {
            assert_eq!(desk.call(Ask::head("/data.json")).await.status, 200);
            let next = desk.call(Ask::get("/data.json")).await;
            assert_eq!((next.status, next.text().as_str()), (200, "{\"a\": 1}"), "{fast_path}: round {round}");
        }
    }
}

/// A site that answers `/odd` by a status without a body, and sends a whole response a moment after it.
fn with_a_late_body(status: &'static str) -> String {
    site(move |head, client| {
        if !head.contains(" /odd ") {
            return client.write_all(REAL);
        }
        client.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes())?;
        std::thread::sleep(Duration::from_millis(1));
        client.write_all(FORGED)
    })
}

#[tokio::test]
async fn kept_connections_are_not_used_while_a_body_may_follow_a_status_without_one() {
    for status in ["304 Not Modified", "204 No Content"] {
        let url = with_a_late_body(status);
        for fast_path in [true, false] {
            let desk = desk(&url, fast_path).await;
            let mut conn = desk.conn().await;
            for round in 0..40 {
                assert_eq!(conn.ask(&Ask::get("/odd")).await.status.to_string(), status[..3]);
                let next = conn.ask(&Ask::get("/data")).await;
                assert_eq!(next.text(), "real", "{status}, {fast_path}: round {round}");
            }
        }
    }
}

/// A site that answers `/odd` twice: the second response comes `after` the first. Counts the second ones.
fn that_answers_twice(second: Arc<AtomicUsize>, after: Duration) -> String {
    site(move |head, client| {
        client.set_nodelay(true)?;
        client.write_all(REAL)?;
        if head.contains(" /odd ") {
            std::thread::sleep(after);
            client.write_all(FORGED)?;
            second.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    })
}

#[tokio::test]
async fn kept_connections_are_not_used_once_something_came_that_nobody_asked_for() {
    let second = Arc::new(AtomicUsize::new(0));
    let url = that_answers_twice(second.clone(), Duration::from_millis(1));
    for fast_path in [true, false] {
        let desk = desk(&url, fast_path).await;
        let mut conn = desk.conn().await;
        for round in 0..20 {
            let before = second.load(Ordering::SeqCst);
            assert_eq!(conn.ask(&Ask::get("/odd")).await.text(), "real");
            eventually("the second response", SOON, async || second.load(Ordering::SeqCst) > before).await;
            assert_eq!(conn.ask(&Ask::get("/data")).await.text(), "real", "{fast_path}: round {round}");
        }
    }
}

/// The first time, nothing tells the second response from the answer to the next request. From then on, all connections
/// of that site wait until what may come has come.
#[tokio::test]
async fn kept_connections_rest_once_a_site_has_answered_twice() {
    let url = that_answers_twice(Arc::default(), Duration::from_millis(10));
    let desk = desk(&url, true).await;
    let mut conn = desk.conn().await;
    let mut wrong = 0;
    for _ in 0..40 {
        conn.ask(&Ask::get("/odd")).await;
        wrong += u32::from(conn.ask(&Ask::get("/data")).await.text() != "real");
    }
    // Without the wait, all 40.
    assert!(wrong <= 3, "{wrong} of 40 got the second response of another");
}
