//! A site that answers each request after its head and never reads a body, as Python's `http.server` does without
//! `do_POST`. It takes the body for the next request.

use super::dir::Dir;
use super::wire::Wire;
use super::{SOON, eventually};
use std::collections::HashSet;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};

/// A scripted one.
pub struct HeadOnlySite {
    pub addr: SocketAddr,
    /// The heads so far, each with the number of its connection.
    seen: Arc<Mutex<Vec<(usize, String)>>>,
    open: Arc<Mutex<HashSet<usize>>>,
}

impl HeadOnlySite {
    /// `answer`: the whole response to a request line, or `None` for one that names the request line.
    pub async fn start(answer: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static) -> HeadOnlySite {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("its address");
        let (seen, open) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<Mutex<HashSet<_>>>::default());
        let (log, set, answer) = (seen.clone(), open.clone(), Arc::new(answer));
        tokio::spawn(async move {
            let mut number = 0;
            while let Ok((socket, _)) = listener.accept().await {
                let _ = socket.set_nodelay(true);
                number += 1;
                let (log, set, answer) = (log.clone(), set.clone(), answer.clone());
                tokio::spawn(async move {
                    set.lock().expect("the connections").insert(number);
                    let mut wire = Wire::new(socket);
                    while let Ok(Some(head)) = wire.head().await {
                        let head = String::from_utf8_lossy(&head).into_owned();
                        let line = head.lines().next().unwrap_or_default().to_owned();
                        let reply = answer(&line).unwrap_or_else(|| {
                            let body = format!("this answers {line}");
                            let length = body.len();
                            format!(
                                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}"
                            )
                            .into_bytes()
                        });
                        log.lock().expect("the log").push((number, head));
                        if wire.write(&reply).await.is_err() {
                            break;
                        }
                    }
                    set.lock().expect("the connections").remove(&number);
                });
            }
        });
        HeadOnlySite { addr, seen, open }
    }

    /// The request lines so far.
    pub fn lines(&self) -> Vec<String> {
        let seen = self.seen.lock().expect("the log");
        seen.iter().filter_map(|(_, head)| head.lines().next()).map(str::to_owned).collect()
    }

    /// The number of open connections.
    pub fn open(&self) -> usize {
        self.open.lock().expect("the connections").len()
    }

    /// The number of the connection that carried this request line.
    pub fn connection_of(&self, line: &str) -> usize {
        let seen = self.seen.lock().expect("the log");
        seen.iter().find(|(_, head)| head.starts_with(line)).expect("such a request").0
    }

    /// Whether the connection that carried this request line is still open.
    pub fn keeps_connection_of(&self, line: &str) -> bool {
        let number = self.connection_of(line);
        self.open.lock().expect("the connections").contains(&number)
    }
}

/// Python's `http.server`. It answers POST and PUT with a redirect, GET with the requested path, and `GET /asked` with
/// all paths so far.
pub struct PythonSite {
    pub addr: SocketAddr,
    process: Child,
    _dir: Dir,
}

const SCRIPT: &str = r#"
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

asked = []

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.send_response(302)
        self.send_header("Location", "/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_PUT = do_POST

    def do_GET(self):
        asked.append(self.path)
        body = ("this answers GET " + self.path if self.path != "/asked" else " ".join(asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
server.serve_forever()
"#;

impl PythonSite {
    pub async fn start() -> PythonSite {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
        let dir = Dir::new();
        let script = dir.write("site.py", SCRIPT);
        let process = Command::new("python3")
            .arg(script)
            .arg(free.port().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3 runs the site");
        eventually("http.server listens", SOON, async || TcpStream::connect(free).await.is_ok()).await;
        PythonSite { addr: free, process, _dir: dir }
    }
}

impl Drop for PythonSite {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
