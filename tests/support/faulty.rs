//! An origin that works until the test sets a fault, and works again afterwards.

use super::wire::Wire;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The fault of the next responses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ill {
    ClosesBeforeTheHead,
    ResetsBeforeTheHead,
    ResetsInTheHead,
    StallsBeforeTheHead,
    StallsInTheHead,
    StallsInTheBody,
    Garbage,
    /// Sends less than its Content-Length.
    TooShort,
    /// Sends more than its Content-Length. The rest would be taken for the next response.
    TooLong,
    DiesInALength,
    DiesInAChunk,
    /// An invalid size where the second chunk begins.
    LiesInAChunk,
    ManyHeaders,
    HugeHeader,
    EndlessHead,
}

pub const ILLS: [Ill; 15] = [
    Ill::ClosesBeforeTheHead,
    Ill::ResetsBeforeTheHead,
    Ill::ResetsInTheHead,
    Ill::StallsBeforeTheHead,
    Ill::StallsInTheHead,
    Ill::StallsInTheBody,
    Ill::Garbage,
    Ill::TooShort,
    Ill::TooLong,
    Ill::DiesInALength,
    Ill::DiesInAChunk,
    Ill::LiesInAChunk,
    Ill::ManyHeaders,
    Ill::HugeHeader,
    Ill::EndlessHead,
];

pub struct FaultyOrigin {
    pub addr: SocketAddr,
    ill: Arc<Mutex<Option<Ill>>>,
    accepting: JoinHandle<()>,
    serving: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl FaultyOrigin {
    pub async fn start() -> FaultyOrigin {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port for the origin");
        let addr = listener.local_addr().expect("its address");
        let ill = Arc::<Mutex<Option<Ill>>>::default();
        let serving = Arc::<Mutex<Vec<JoinHandle<()>>>>::default();
        let (shared, connections) = (ill.clone(), serving.clone());
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let connection = tokio::spawn(serve(socket, shared.clone()));
                connections.lock().expect("the connections").push(connection);
            }
        });
        FaultyOrigin { addr, ill, accepting, serving }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Closes all connections.
    pub fn hang_up(&self) {
        self.serving.lock().expect("the connections").drain(..).for_each(|connection| connection.abort());
    }

    /// Sets the fault from now on.
    pub fn is(&self, ill: Option<Ill>) {
        *self.ill.lock().expect("how it is") = ill;
    }
}

impl Drop for FaultyOrigin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// The body names the request's path, so that a response that went to another client is noticed.
fn body(target: &str) -> String {
    let path = target.split('?').next().unwrap_or_default();
    match path.ends_with(".html") {
        true => format!("<!doctype html><html><head><title>A</title></head><body><p>{path}</p></body></html>"),
        false => format!("{{\"path\":\"{path}\"}}"),
    }
}

async fn serve(socket: TcpStream, ill: Arc<Mutex<Option<Ill>>>) {
    let _ = socket.set_nodelay(true);
    let (read, mut write) = socket.into_split();
    let mut wire = Wire::new(tokio::io::join(read, tokio::io::sink()));
    while let Ok(Some(head)) = wire.head().await {
        let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
        let length = text.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next()?.parse().ok());
        if wire.exactly(length.unwrap_or(0), &mut Vec::new(), &|_| {}).await.is_err() {
            return;
        }
        let target = text.split(' ').nth(1).unwrap_or("/").to_owned();
        let ours = target.starts_with("/.well-known/") || target == "/openapi.json";
        let now = ill.lock().expect("how it is").filter(|_| !ours);
        let body = body(&target);
        let kind = if target.ends_with(".html") { "text/html; charset=utf-8" } else { "application/json" };
        let begin = format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n");
        let of = |length: usize| format!("{begin}Content-Length: {length}\r\n\r\n");
        let (first, rest) = body.split_at(body.len() / 2);
        let chunk = format!("{begin}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n", first.len());
        let (text, then) = match now {
            None => (of(body.len()) + &body, Then::GoesOn),
            Some(Ill::ClosesBeforeTheHead) => (String::new(), Then::Closes),
            Some(Ill::ResetsBeforeTheHead) => (String::new(), Then::Resets),
            Some(Ill::ResetsInTheHead) => (begin, Then::Resets),
            Some(Ill::StallsBeforeTheHead) => (String::new(), Then::Stalls),
            Some(Ill::StallsInTheHead) => (begin, Then::Stalls),
            Some(Ill::StallsInTheBody) => (of(body.len()) + first, Then::Stalls),
            Some(Ill::Garbage) => ("\u{16}\u{3}\u{1} SECRET garbage\r\n\r\n\r\n".into(), Then::GoesOn),
            Some(Ill::TooShort) => (of(body.len() + 500) + &body, Then::Closes),
            Some(Ill::TooLong) => {
                let stray = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n\"SECRET\"";
                (of(body.len()) + &body + stray, Then::GoesOn)
            }
            Some(Ill::DiesInALength) => (of(body.len()) + first, Then::Resets),
            Some(Ill::DiesInAChunk) => (format!("{chunk}{:x}\r\n{}", rest.len(), &rest[..5]), Then::Closes),
            Some(Ill::LiesInAChunk) => (format!("{chunk}zz\r\n{rest}\r\n0\r\n\r\n"), Then::GoesOn),
            Some(Ill::ManyHeaders) => {
                let many: String = (0..5_000).map(|n| format!("X-{n}: y\r\n")).collect();
                (begin + &many + "Content-Length: 2\r\n\r\n{}", Then::GoesOn)
            }
            Some(Ill::HugeHeader) => {
                (begin + "X-Huge: " + &"y".repeat(3 << 20) + "\r\nContent-Length: 2\r\n\r\n{}", Then::GoesOn)
            }
            Some(Ill::EndlessHead) => (begin, Then::GoesOnAndOn),
        };
        let _ = write.write_all(text.as_bytes()).await;
        match then {
            Then::GoesOn => {}
            Then::Closes => return,
            Then::Stalls => std::future::pending().await,
            Then::Resets => {
                // Closing like this sends a reset.
                let _ = write.as_ref().set_zero_linger();
                write.forget();
                return;
            }
            Then::GoesOnAndOn => {
                while write.write_all(b"X-More: y\r\n".repeat(1_000).as_slice()).await.is_ok() {}
                return;
            }
        }
    }
}

enum Then {
    GoesOn,
    Closes,
    Stalls,
    Resets,
    GoesOnAndOn,
}
