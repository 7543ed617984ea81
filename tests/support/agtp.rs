//! An AGTP client that sends exact bytes and returns the response. It knows only the protocol's framing.

use super::ask::Ask;
use super::client::Conn;
use super::desk::Desk;
use super::message::Headers;
use super::soon;
use serde_json::Value;

/// A connection to the AGTP socket.
pub struct AgtpConn {
    pub conn: Conn,
}

/// One response.
#[derive(Clone, Debug)]
pub struct Said {
    pub status: u16,
    pub reason: String,
    pub headers: Headers,
    pub body: Vec<u8>,
}

impl Said {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }
}

impl Ask {
    /// The bytes of the request over AGTP, with a Content-Length if it has a body.
    pub fn frame(&self) -> Vec<u8> {
        let mut head = format!("AGTP/1.0 {} {}\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = &self.body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        [head.as_bytes(), b"\r\n", self.body.as_deref().unwrap_or_default()].concat()
    }
}

impl Desk {
    /// A connection to the desk's AGTP socket, over TLS if it has a certificate.
    pub async fn agtp(&self) -> AgtpConn {
        match &self.tls {
            None => AgtpConn { conn: Conn::open(self.ports.agtp).await },
            Some(tls) => {
                let io = soon("a TLS handshake", tls.connect(self.ports.agtp, &["agtp"])).await;
                AgtpConn { conn: Conn::over(io.expect("a TLS connection")) }
            }
        }
    }

    /// Sends one request on a new connection.
    pub async fn say(&self, ask: Ask) -> Said {
        self.agtp().await.ask(&ask).await
    }
}

impl AgtpConn {
    /// Sends a request and reads its response.
    pub async fn ask(&mut self, ask: &Ask) -> Said {
        self.raw(ask.frame()).await
    }

    /// Sends bytes and reads a response.
    pub async fn raw(&mut self, bytes: impl AsRef<[u8]>) -> Said {
        self.conn.send(bytes).await;
        self.response().await
    }

    /// The next response, framed by its Content-Length.
    pub async fn response(&mut self) -> Said {
        let head = self.conn.until("\r\n\r\n").await;
        let head = String::from_utf8(head).expect("a head of text");
        let (line, rest) = head.split_once("\r\n").expect("a line");
        let mut parts = line.splitn(3, ' ');
        assert_eq!(parts.next(), Some("AGTP/1.0"), "{line:?}");
        let status = parts.next().and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{line:?}"));
        let reason = parts.next().unwrap_or_else(|| panic!("no reason: {line:?}")).to_owned();
        let headers = Headers::parse(rest);
        let [length] = headers.all("content-length")[..] else { panic!("not one Content-Length: {head:?}") };
        let length: usize = length.parse().unwrap_or_else(|_| panic!("Content-Length {length:?}"));
        assert!(!headers.has("transfer-encoding"), "{head:?}");
        assert_eq!(length > 0, headers.has("content-type"), "a body and its type go together: {head:?}");
        let body = self.conn.exactly(length).await;
        Said { status, reason, headers, body }
    }
}
