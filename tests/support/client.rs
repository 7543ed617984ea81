//! An HTTP/1.1 client that sends exact bytes and returns everything it received, framing included.

use super::ask::Ask;
use super::message::{Framing, Headers, Response, bodiless};
use super::tls::Tls;
use super::wire::{Chunks, Wire};
use super::{SOON, soon};
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};

pub struct Conn {
    wire: Wire,
}

impl Conn {
    pub async fn open(addr: SocketAddr) -> Conn {
        let socket = soon("connecting", TcpStream::connect(addr)).await.expect("a connection");
        socket.set_nodelay(true).expect("TCP_NODELAY");
        Conn { wire: Wire::new(socket) }
    }

    /// Connects from 127.0.0.`host`, as another client address.
    pub async fn open_from(host: u8, addr: SocketAddr) -> Conn {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(SocketAddr::from((Ipv4Addr::new(127, 0, 0, host), 0))).expect("a loopback address");
        let socket = soon("connecting", socket.connect(addr)).await.expect("a connection");
        Conn { wire: Wire::new(socket) }
    }

    pub async fn open_tls(addr: SocketAddr, tls: &Tls) -> Conn {
        let stream = soon("a TLS handshake", tls.connect(addr, &["http/1.1"])).await.expect("a TLS connection");
        Conn { wire: Wire::new(stream) }
    }

    /// Writes bytes. A peer that has closed is no error here: the read shows it.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = soon("sending", self.wire.write(bytes.as_ref())).await;
    }

    pub async fn ask(&mut self, ask: &Ask) -> Response {
        self.send(ask.bytes()).await;
        self.response(&ask.method).await
    }

    /// The next response, or a failed test.
    pub async fn response(&mut self, method: &str) -> Response {
        self.try_response(method, SOON).await.unwrap_or_else(|e| panic!("no response to {method}: {e}"))
    }

    /// The next response with its interim ones, or the reason there was none.
    pub async fn try_response(&mut self, method: &str, limit: Duration) -> Result<Response, String> {
        match tokio::time::timeout(limit, self.read_response(method)).await {
            Ok(done) => done,
            Err(_) => Err(format!("nothing complete within {limit:?}")),
        }
    }

    async fn read_response(&mut self, method: &str) -> Result<Response, String> {
        let mut informational = Vec::new();
        loop {
            let head = self.wire.head().await.map_err(|e| e.to_string())?.ok_or("closed without a byte")?;
            let head = String::from_utf8_lossy(&head).into_owned();
            let (line, rest) = head.split_once("\r\n").unwrap_or((&head, ""));
            let (version, status) = line.split_once(' ').ok_or_else(|| format!("not a status line: {line:?}"))?;
            let status = status.get(..3).and_then(|s| s.parse().ok()).ok_or_else(|| format!("no status: {line:?}"))?;
            let headers = Headers::parse(rest);
            if (100..200).contains(&status) && status != 101 {
                informational.push((status, headers));
                continue;
            }
            let version = version.to_owned();
            let mut response = Response {
                version,
                status,
                headers,
                body: Vec::new(),
                framing: Framing::Nothing,
                trailers: Headers::default(),
                informational,
                complete: true,
            };
            if method != "HEAD" && !bodiless(status) {
                self.read_body(&mut response).await;
            }
            return Ok(response);
        }
    }

    async fn read_body(&mut self, response: &mut Response) {
        let quiet = |_: usize| {};
        if response.headers.tokens("transfer-encoding").contains(&"chunked".to_owned()) {
            let mut chunks = Chunks::default();
            response.complete = self.wire.chunks(&mut chunks, &quiet).await.is_ok();
            response.framing = Framing::Chunked(chunks.sizes);
            response.body = chunks.body;
            response.trailers = chunks.trailers;
        } else if let Some(length) = response.header("content-length") {
            let length = length.parse().unwrap_or_else(|_| panic!("Content-Length {length:?}"));
            response.framing = Framing::Length(length);
            response.complete = self.wire.exactly(length, &mut response.body, &quiet).await.is_ok();
        } else {
            response.framing = Framing::Close;
            response.complete = self.wire.rest(&mut response.body).await.is_ok();
        }
    }

    /// A client over an existing stream.
    pub fn over(io: impl super::wire::Io + 'static) -> Conn {
        Conn { wire: Wire::new(io) }
    }

    /// Closes the sending side, and keeps reading.
    pub async fn end_sending(&mut self) {
        let _ = soon("the end of sending", self.wire.io.shutdown()).await;
    }

    /// Reads so many raw bytes.
    pub async fn exactly(&mut self, size: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let read = soon("a body", self.wire.exactly(size, &mut bytes, &|_| {})).await;
        read.unwrap_or_else(|e| panic!("{} of {size} bytes: {e}", bytes.len()));
        bytes
    }

    /// Reads raw bytes up to and including `mark`.
    pub async fn until(&mut self, mark: impl AsRef<[u8]>) -> Vec<u8> {
        let mark = mark.as_ref();
        let what = format!("{:?} on the wire", String::from_utf8_lossy(mark));
        soon(&what, self.wire.until(mark)).await.unwrap_or_else(|e| panic!("{what}: {e}"))
    }

    /// Reads until the peer ends the connection in any way. Returns the bytes and the time.
    pub async fn until_closed(&mut self, limit: Duration) -> (Vec<u8>, Duration) {
        let (begun, mut all) = (Instant::now(), Vec::new());
        match tokio::time::timeout(limit, self.wire.rest(&mut all)).await {
            Err(_) => panic!("still open after {limit:?}, having said {:?}", String::from_utf8_lossy(&all)),
            Ok(Err(e)) if e.kind() == ErrorKind::InvalidData => panic!("while waiting for the end: {e}"),
            Ok(_) => (all, begun.elapsed()),
        }
    }

    /// Whether the peer sends nothing and stays connected for `time`.
    pub async fn stays_open(&mut self, time: Duration) -> bool {
        let mut all = Vec::new();
        tokio::time::timeout(time, self.wire.rest(&mut all)).await.is_err() && all.is_empty()
    }

    pub fn into_io(self) -> Box<dyn super::wire::Io> {
        self.wire.into_parts().1
    }
}
