//! An HTTP/2 client, over TLS by ALPN or in cleartext by prior knowledge.

use super::ask::Ask;
use super::message::{Framing, Headers, Response};
use super::soon;
use super::tls::Tls;
use super::wire::Io;
use bytes::Bytes;
use std::net::SocketAddr;
use tokio::net::TcpStream;

#[derive(Clone)]
pub struct H2Conn {
    sender: h2::client::SendRequest<Bytes>,
    scheme: &'static str,
}

/// A response whose body is still arriving.
pub struct H2Incoming {
    pub response: Response,
    stream: h2::RecvStream,
}

impl H2Conn {
    pub async fn open_tls(addr: SocketAddr, tls: &Tls) -> H2Conn {
        let stream = soon("a TLS handshake", tls.connect(addr, &["h2"])).await.expect("a TLS connection");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]), "ALPN");
        H2Conn::over(stream, "https").await
    }

    pub async fn open_cleartext(addr: SocketAddr) -> H2Conn {
        let socket = soon("connecting", TcpStream::connect(addr)).await.expect("a connection");
        H2Conn::over(socket, "http").await
    }

    async fn over(io: impl Io + 'static, scheme: &'static str) -> H2Conn {
        // A large window, so that the client does not delay a large body.
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(1 << 20).initial_connection_window_size(1 << 22);
        let (sender, connection) = soon("the HTTP/2 preface", builder.handshake(io)).await.expect("HTTP/2");
        tokio::spawn(async move {
            let _ = connection.await;
        });
        H2Conn { sender, scheme }
    }

    pub async fn ask(&mut self, ask: &Ask) -> Response {
        self.begin(ask).await.finish().await
    }

    /// Returns the response's head. The caller reads the body.
    pub async fn begin(&mut self, ask: &Ask) -> H2Incoming {
        self.try_begin(ask).await.unwrap_or_else(|e| panic!("no response to {} {}: {e}", ask.method, ask.target))
    }

    pub async fn try_begin(&mut self, ask: &Ask) -> Result<H2Incoming, h2::Error> {
        let host = ask.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case("host"));
        let host = host.map_or("site.test", |(_, v)| v);
        let mut request = http::Request::builder()
            .method(ask.method.as_str())
            .uri(format!("{}://{host}{}", self.scheme, ask.target))
            .version(http::Version::HTTP_2);
        for (name, value) in ask.headers.iter().filter(|(n, _)| !n.eq_ignore_ascii_case("host")) {
            request = request.header(name.to_ascii_lowercase(), value);
        }
        let request = request.body(()).expect("a request that HTTP/2 can say");
        let mut ready = soon("room for a stream", self.sender.clone().ready()).await?;
        let nothing = ask.body.is_none() && ask.trailers.is_empty();
        let (response, mut send) = ready.send_request(request, nothing)?;
        if let Some(body) = &ask.body {
            send.send_data(Bytes::copy_from_slice(body), ask.trailers.is_empty())?;
        }
        if !ask.trailers.is_empty() {
            let mut trailers = http::HeaderMap::new();
            for (name, value) in &ask.trailers {
                let name = http::HeaderName::from_bytes(name.as_bytes()).expect("a trailer's name");
                trailers.append(name, value.parse().expect("a trailer's value"));
            }
            send.send_trailers(trailers)?;
        }
        let (parts, stream) = soon("a response over HTTP/2", response).await?.into_parts();
        let response = Response {
            version: "HTTP/2".into(),
            status: parts.status.as_u16(),
            headers: Headers::of(&parts.headers),
            body: Vec::new(),
            framing: Framing::H2,
            trailers: Headers::default(),
            informational: Vec::new(),
            complete: true,
        };
        Ok(H2Incoming { response, stream })
    }
}

impl H2Incoming {
    /// Reads until the body contains `mark`.
    pub async fn until(&mut self, mark: &str) {
        while super::wire::find(&self.response.body, mark.as_bytes()).is_none() {
            assert!(self.more().await, "ended without {mark:?}: {}", self.response.text());
        }
    }

    /// Reads until the body has more than `length` bytes.
    pub async fn until_longer_than(&mut self, length: usize) {
        while self.response.body.len() <= length {
            assert!(self.more().await, "ended after {} bytes", self.response.body.len());
        }
    }

    pub async fn finish(mut self) -> Response {
        while self.more().await {}
        if self.response.complete {
            match soon("trailers", self.stream.trailers()).await {
                Ok(trailers) => self.response.trailers = trailers.map(|t| Headers::of(&t)).unwrap_or_default(),
                Err(_) => self.response.complete = false,
            }
        }
        self.response
    }

    async fn more(&mut self) -> bool {
        match soon("data over HTTP/2", self.stream.data()).await {
            None => false,
            Some(Err(_)) => {
                self.response.complete = false;
                false
            }
            Some(Ok(data)) => {
                let _ = self.stream.flow_control().release_capacity(data.len());
                self.response.body.extend_from_slice(&data);
                true
            }
        }
    }
}
