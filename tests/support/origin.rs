//! The scripted origin: it answers exactly as the test says, and records the requests.
//!
//! Requests of the desk itself (probes of well-known paths, health checks, a crawl) reach it too; `asked()` omits them.
//! It answers 404 to a request for /.well-known/ that no test made, unless the origin `owns_well_known`.

use super::message::{Headers, Request};
use super::reply::{Answer, How, Piece, Reply, Step};
use super::tls::Tls;
use super::wire::{Chunks, Wire};
use std::io::Result;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// The header that marks a test's own requests.
pub const MARK: &str = "X-Asked-By";

pub type Handler = Arc<dyn Fn(&Request) -> Answer + Send + Sync>;

#[derive(Clone, Copy, PartialEq)]
pub enum Speaks {
    H1,
    /// HTTP/2 in cleartext, by prior knowledge.
    H2,
    /// TLS, with the protocol that ALPN chooses.
    Tls,
}

pub struct Origin {
    pub addr: SocketAddr,
    pub speaks: Speaks,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

pub struct State {
    handler: Handler,
    log: Mutex<Vec<Request>>,
    connections: AtomicUsize,
    pub body_bytes: AtomicUsize,
    owns_well_known: AtomicBool,
}

impl Origin {
    pub async fn start<A: Into<Answer>>(handler: impl Fn(&Request) -> A + Send + Sync + 'static) -> Origin {
        Origin::speaking(Speaks::H1, handler).await
    }

    pub async fn start_h2<A: Into<Answer>>(handler: impl Fn(&Request) -> A + Send + Sync + 'static) -> Origin {
        Origin::speaking(Speaks::H2, handler).await
    }

    pub async fn start_tls<A: Into<Answer>>(
        tls: &Tls,
        handler: impl Fn(&Request) -> A + Send + Sync + 'static,
    ) -> Origin {
        Origin::accepting(tls.acceptor(), handler).await
    }

    /// An origin with this TLS acceptor.
    pub async fn accepting<A: Into<Answer>>(
        acceptor: TlsAcceptor,
        handler: impl Fn(&Request) -> A + Send + Sync + 'static,
    ) -> Origin {
        Origin::listening(Speaks::Tls, Some(acceptor), handler).await
    }

    /// An origin with this protocol, in cleartext.
    pub async fn speaking<A: Into<Answer>>(
        speaks: Speaks,
        handler: impl Fn(&Request) -> A + Send + Sync + 'static,
    ) -> Origin {
        Origin::listening(speaks, None, handler).await
    }

    async fn listening<A: Into<Answer>>(
        speaks: Speaks,
        acceptor: Option<TlsAcceptor>,
        handler: impl Fn(&Request) -> A + Send + Sync + 'static,
    ) -> Origin {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port for the origin");
        let addr = listener.local_addr().expect("its address");
        let state = Arc::new(State {
            handler: Arc::new(move |request| handler(request).into()),
            log: Mutex::default(),
            connections: AtomicUsize::new(0),
            body_bytes: AtomicUsize::new(0),
            owns_well_known: AtomicBool::new(false),
        });
        let shared = state.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let _ = socket.set_nodelay(true);
                shared.connections.fetch_add(1, Ordering::Relaxed);
                let (state, acceptor) = (shared.clone(), acceptor.clone());
                tokio::spawn(async move {
                    // A broken connection is part of the test.
                    let _ = connection(socket, speaks, acceptor, state).await;
                });
            }
        });
        Origin { addr, speaks, state, accepting }
    }

    /// From now on every request for /.well-known/ goes to the handler.
    pub fn owns_well_known(self) -> Origin {
        self.state.owns_well_known.store(true, Ordering::Relaxed);
        self
    }

    pub fn url(&self) -> String {
        let scheme = if self.speaks == Speaks::Tls { "https" } else { "http" };
        format!("{scheme}://{}", self.addr)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state.log.lock().expect("the log").clone()
    }

    /// The requests that tests made.
    pub fn asked(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|r| r.headers.has(MARK)).collect()
    }

    /// The last request that a test made.
    pub fn last(&self) -> Request {
        self.asked().pop().expect("the origin was asked nothing")
    }

    pub fn connections(&self) -> usize {
        self.state.connections.load(Ordering::Relaxed)
    }

    /// The same once Frontdesk has asked for all that it asks for by itself when it starts.
    pub async fn settled(&self) -> usize {
        let mut last = 0;
        super::eventually("settled", super::SOON, async || {
            tokio::time::sleep(std::time::Duration::from_millis(300)).await;
            std::mem::replace(&mut last, self.connections()) == last
        })
        .await;
        last
    }

    /// The request body bytes received so far, including incomplete bodies.
    pub fn body_bytes(&self) -> usize {
        self.state.body_bytes.load(Ordering::Relaxed)
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl State {
    pub fn answer(&self, request: &Request) -> Answer {
        self.log.lock().expect("the log").push(request.clone());
        let ours = request.target.starts_with("/.well-known/") && !request.headers.has(MARK);
        if ours && !self.owns_well_known.load(Ordering::Relaxed) {
            return Reply::new(404).body("nothing here").into();
        }
        (self.handler)(request)
    }
}

async fn connection(socket: TcpStream, speaks: Speaks, acceptor: Option<TlsAcceptor>, state: Arc<State>) -> Result<()> {
    let Some(acceptor) = acceptor else {
        return if speaks == Speaks::H2 {
            super::origin_h2::serve(socket, state).await
        } else {
            serve(Wire::new(socket), state).await
        };
    };
    let stream = acceptor.accept(socket).await?;
    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
        super::origin_h2::serve(stream, state).await
    } else {
        serve(Wire::new(stream), state).await
    }
}

async fn serve(mut wire: Wire, state: Arc<State>) -> Result<()> {
    while let Some(raw_head) = wire.head().await? {
        let request = receive(&mut wire, raw_head, &state).await?;
        let last = request.headers.tokens("connection").contains(&"close".to_owned());
        match state.answer(&request) {
            Answer::Reply(reply) => {
                let closes = reply.closes();
                say(&mut wire, &request.method, reply).await?;
                if closes || last {
                    return Ok(());
                }
            }
            Answer::Script(steps) => match perform(wire, &request, steps).await? {
                Some(kept) => wire = kept,
                None => return Ok(()),
            },
        }
    }
    Ok(())
}

async fn receive(wire: &mut Wire, raw_head: Vec<u8>, state: &State) -> Result<Request> {
    let head = String::from_utf8_lossy(&raw_head).into_owned();
    let (line, rest) = head.split_once("\r\n").unwrap_or((&head, ""));
    let mut words = line.split(' ').map(str::to_owned);
    let mut request = Request {
        method: words.next().unwrap_or_default(),
        target: words.next().unwrap_or_default(),
        version: words.next().unwrap_or_default(),
        headers: Headers::parse(rest),
        body: Vec::new(),
        trailers: Headers::default(),
        raw_head,
    };
    if request.header("expect").is_some_and(|e| e.eq_ignore_ascii_case("100-continue")) {
        wire.write(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    let came = |size: usize| {
        state.body_bytes.fetch_add(size, Ordering::Relaxed);
    };
    if request.headers.tokens("transfer-encoding").contains(&"chunked".to_owned()) {
        let mut chunks = Chunks::default();
        wire.chunks(&mut chunks, &came).await?;
        request.body = chunks.body;
        request.trailers = chunks.trailers;
    } else if let Some(length) = request.header("content-length").and_then(|l| l.parse().ok()) {
        wire.exactly(length, &mut request.body, &came).await?;
    }
    Ok(request)
}

async fn say(wire: &mut Wire, method: &str, reply: Reply) -> Result<()> {
    wire.write(&reply.head()).await?;
    if !reply.has_body(method) {
        return Ok(());
    }
    let chunked = reply.how == How::Chunked;
    for piece in reply.pieces {
        match piece {
            Piece::Bytes(bytes) if bytes.is_empty() => {}
            Piece::Bytes(bytes) if chunked => {
                let framed = [format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
                wire.write(&framed).await?;
            }
            Piece::Bytes(bytes) => wire.write(&bytes).await?,
            Piece::Pause(time) => tokio::time::sleep(time).await,
            Piece::Wait(gate) => gate.wait().await,
            Piece::HangUp => return Ok(()),
        }
    }
    if chunked {
        let trailers: String = reply.trailers.iter().map(|(n, v)| format!("{n}: {v}\r\n")).collect();
        wire.write(format!("0\r\n{trailers}\r\n").as_bytes()).await?;
    }
    Ok(())
}

/// Runs a script. Returns the connection if it stays open.
async fn perform(mut wire: Wire, request: &Request, steps: Vec<Step>) -> Result<Option<Wire>> {
    for step in steps {
        match step {
            Step::Write(bytes) => wire.write(&bytes).await?,
            Step::Pause(time) => tokio::time::sleep(time).await,
            Step::Wait(gate) => gate.wait().await,
            Step::Close => return Ok(None),
            Step::Stall => std::future::pending().await,
            Step::KeepAlive => return Ok(Some(wire)),
            Step::RawEcho(protocol) => {
                let head =
                    format!("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n\r\n");
                wire.write(head.as_bytes()).await?;
                echo(wire).await?;
                return Ok(None);
            }
            Step::WebSocketEcho => {
                websocket(wire, request).await?;
                return Ok(None);
            }
        }
    }
    Ok(None)
}

async fn echo(wire: Wire) -> Result<()> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let (first, mut io) = wire.into_parts();
    io.write_all(&first).await?;
    let mut piece = [0; 4096];
    loop {
        let size = io.read(&mut piece).await?;
        if size == 0 {
            return Ok(());
        }
        io.write_all(&piece[..size]).await?;
    }
}

async fn websocket(mut wire: Wire, request: &Request) -> Result<()> {
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::tungstenite::{handshake::derive_accept_key, protocol::Role};
    let key = derive_accept_key(request.header("sec-websocket-key").unwrap_or_default().as_bytes());
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: {key}\r\n\r\n"
    );
    wire.write(head.as_bytes()).await?;
    let (first, io) = wire.into_parts();
    let mut socket = tokio_tungstenite::WebSocketStream::from_partially_read(io, first, Role::Server, None).await;
    while let Some(Ok(message)) = socket.next().await {
        if message.is_close() || socket.send(message).await.is_err() {
            break;
        }
    }
    Ok(())
}
