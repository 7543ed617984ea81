//! An origin that records every byte, and parses HTTP/1.1 as strictly as possible.
//!
//! It refuses everything else, so that a proxy that forwards something irregular is noticed.

use super::wire::find;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The bytes of one connection since the last look.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    pub bytes: Vec<u8>,
    /// The peer has closed it.
    pub ended: bool,
}

/// A request that has exactly one reading.
#[derive(Clone, Debug, PartialEq)]
pub struct Exact {
    pub method: String,
    pub target: String,
    pub body: Vec<u8>,
}

pub struct ExactOrigin {
    pub addr: SocketAddr,
    heard: Arc<Mutex<Vec<Heard>>>,
    accepting: JoinHandle<()>,
}

impl ExactOrigin {
    pub async fn start() -> ExactOrigin {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port for the origin");
        let addr = listener.local_addr().expect("its address");
        let heard = Arc::<Mutex<Vec<Heard>>>::default();
        let shared = heard.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let _ = socket.set_nodelay(true);
                let place = {
                    let mut all = shared.lock().expect("what was heard");
                    all.push(Heard::default());
                    all.len() - 1
                };
                tokio::spawn(serve(socket, shared.clone(), place));
            }
        });
        ExactOrigin { addr, heard, accepting }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// Takes the bytes that have arrived.
    pub fn heard(&self) -> Vec<Heard> {
        let all = self.heard.lock().expect("what was heard");
        all.iter().filter(|heard| !heard.bytes.is_empty()).cloned().collect()
    }

    /// Drops the bytes that have arrived.
    pub fn forget(&self) {
        for heard in self.heard.lock().expect("what was heard").iter_mut() {
            heard.bytes.clear();
        }
    }
}

impl Drop for ExactOrigin {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn serve(mut socket: TcpStream, all: Arc<Mutex<Vec<Heard>>>, place: usize) {
    let (mut unread, mut piece) = (Vec::new(), [0; 16 * 1024]);
    while let Ok(size @ 1..) = socket.read(&mut piece).await {
        unread.extend_from_slice(&piece[..size]);
        all.lock().expect("what was heard")[place].bytes.extend_from_slice(&piece[..size]);
        let answer = loop {
            match exactly(&unread) {
                Ok(Some((request, length))) => {
                    unread.drain(..length);
                    let body = format!("{{\"served\":\"{} {}\"}}", request.method, request.target);
                    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length:";
                    let answer = format!("{head} {}\r\n\r\n{body}", body.len());
                    if socket.write_all(answer.as_bytes()).await.is_err() {
                        break Err(());
                    }
                }
                Ok(None) => break Ok(()),
                Err(_) => {
                    let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").await;
                    break Err(());
                }
            }
        };
        if answer.is_err() {
            break;
        }
    }
    all.lock().expect("what was heard")[place].ended = true;
}

/// The first request and its length; `None` if it is incomplete; an error if it has any other reading.
pub fn exactly(bytes: &[u8]) -> Result<Option<(Exact, usize)>, String> {
    let Some(end) = find(bytes, b"\r\n\r\n") else {
        return if bytes.len() > 1 << 20 { Err("a head without an end".into()) } else { Ok(None) };
    };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| "a head that is not text")?;
    let (line, fields) = head.split_once("\r\n").unwrap_or((head, ""));
    let [method, target, "HTTP/1.1"] = line.split(' ').collect::<Vec<_>>()[..] else {
        return Err(format!("a request line: {line:?}"));
    };
    let token = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
    };
    if !token(method) || target.is_empty() || !target.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!("a request line: {line:?}"));
    }
    let (mut hosts, mut lengths, mut codings) = (0, Vec::new(), Vec::new());
    for field in fields.split("\r\n").filter(|_| !fields.is_empty()) {
        let (name, value) = field.split_once(':').ok_or_else(|| format!("a field: {field:?}"))?;
        let control = |c: char| c.is_control() && c != '\t';
        if !token(name) || value.contains(control) {
            return Err(format!("a field: {field:?}"));
        }
        let value = value.trim_matches([' ', '\t']);
        match &*name.to_ascii_lowercase().replace('_', "-") {
            "host" => hosts += 1,
            "content-length" => lengths.push((name, value)),
            "transfer-encoding" => codings.push((name, value)),
            "connection" if value.to_ascii_lowercase().contains("content-length") => {
                return Err(format!("a length of one hop: {field:?}"));
            }
            _ => {}
        }
    }
    let spelled = |(name, _): &(&str, &str)| !name.contains('_');
    if hosts != 1 || lengths.len() + codings.len() > 1 || !lengths.iter().chain(&codings).all(spelled) {
        return Err(format!("not one host and one framing: {head:?}"));
    }
    let body = &bytes[end + 4..];
    let done = |body: &[u8], used: usize| {
        let exact = Exact { method: method.into(), target: target.into(), body: body.to_vec() };
        Ok(Some((exact, end + 4 + used)))
    };
    match (lengths.first(), codings.first()) {
        (None, None) => done(b"", 0),
        (Some((_, length)), _) => {
            let digits = !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit());
            let length: usize =
                length.parse().ok().filter(|_| digits).ok_or_else(|| format!("a length: {length:?}"))?;
            body.get(..length).map_or(Ok(None), |body| done(body, length))
        }
        (None, Some((_, coding))) if coding.eq_ignore_ascii_case("chunked") => match chunks(body)? {
            Some((whole, used)) => done(&whole, used),
            None => Ok(None),
        },
        (None, Some((_, coding))) => Err(format!("a coding: {coding:?}")),
    }
}

/// A body of plain chunks: no extensions, no trailers, no leading zeros.
fn chunks(bytes: &[u8]) -> Result<Option<(Vec<u8>, usize)>, String> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let Some(line) = find(&bytes[at..], b"\r\n") else {
            return if bytes.len() - at > 16 { Err("a chunk's size without an end".into()) } else { Ok(None) };
        };
        let digits = String::from_utf8_lossy(&bytes[at..at + line]).into_owned();
        let plain = digits == "0" || !digits.starts_with('0') && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let size = usize::from_str_radix(&digits, 16).ok().filter(|_| plain && digits.len() < 9);
        let size = size.ok_or_else(|| format!("a chunk's size: {digits:?}"))?;
        at += line + 2;
        let Some(chunk) = bytes.get(at..at + size + 2) else { return Ok(None) };
        if !chunk.ends_with(b"\r\n") {
            return Err(format!("a chunk of {size} that does not end: {:?}", String::from_utf8_lossy(chunk)));
        }
        body.extend_from_slice(&chunk[..size]);
        at += size + 2;
        if size == 0 {
            return Ok(Some((body, at)));
        }
    }
}
