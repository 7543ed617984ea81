//! Tests of upgraded connections: WebSocket, refused, silent, and answered at once.

use super::*;

#[tokio::test]
async fn protocols_websocket_messages_come_back() {
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::tungstenite::Message;
    let origin = Origin::start(|_: &Request| vec![Step::WebSocketEcho]).await;
    let tls = Tls::new();
    let desk = Setup::before(&origin).tls(&tls).start().await;
    for io in [desk.conn().await.into_io(), crate::support::Conn::open_tls(desk.ports.https, &tls).await.into_io()] {
        let (mut socket, _) = soon("a WebSocket handshake", tokio_tungstenite::client_async("ws://site.test/chat", io))
            .await
            .expect("101");
        for message in [Message::text("hello <body>"), Message::binary(vec![0; 200_000]), Message::text("")] {
            socket.send(message.clone()).await.expect("sending");
            let back = soon("the echo", socket.next()).await.expect("a message").expect("a sound one");
            assert_eq!(back, message);
        }
        socket.close(None).await.expect("closing");
    }
}

#[tokio::test]
async fn protocols_websocket_refused_by_the_site_is_refused_for_the_client() {
    let origin = Origin::start(|_: &Request| Reply::new(403).body("no")).await;
    let desk = Setup::before(&origin).start().await;
    let io = desk.conn().await.into_io();
    let refused = soon("an answer", tokio_tungstenite::client_async("ws://site.test/chat", io)).await;
    match refused {
        Err(tokio_tungstenite::tungstenite::Error::Http(response)) => assert_eq!(response.status().as_u16(), 403),
        other => panic!("not a 403: {:?}", other.map(|_| "101").map_err(|e| e.to_string())),
    }
}

/// A site that switches to something else than was asked for is not understood by anybody.
#[tokio::test]
async fn protocols_that_nobody_asked_for_are_not_switched_to() {
    for (answered, passed) in [
        ("Upgrade: websocket\r\n", true),
        ("Upgrade: WebSocket\r\n", true),
        ("", true),
        ("Upgrade: h2c\r\n", false),
        ("Upgrade: websocket, tls/1.2\r\n", false),
    ] {
        let head = format!("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n{answered}\r\n");
        let origin = Origin::start(move |_: &Request| vec![Step::Write(head.clone().into_bytes()), Step::Stall]).await;
        let desk = Setup::before(&origin).start().await;
        let mut conn = desk.conn().await;
        conn.send("GET /chat HTTP/1.1\r\nHost: site.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n").await;
        conn.until(if passed { "HTTP/1.1 101 " } else { "HTTP/1.1 502 " }).await;
    }
}

#[tokio::test]
async fn protocols_websocket_may_be_silent_for_long() {
    use futures_util::{SinkExt, StreamExt};
    use tokio_tungstenite::tungstenite::Message;
    let origin = Origin::start(|_: &Request| vec![Step::WebSocketEcho]).await;
    let desk = Setup::before(&origin)
        .set("upstream", "read_timeout = \"1s\"")
        .set("protection", "idle_timeout = \"1s\"")
        .start()
        .await;
    let io = desk.conn().await.into_io();
    let (mut socket, _) =
        soon("a WebSocket handshake", tokio_tungstenite::client_async("ws://site.test/chat", io)).await.expect("101");
    for message in ["before", "after"] {
        socket.send(Message::text(message)).await.expect("sending");
        let back = soon("the echo", socket.next()).await.expect("a message").expect("a sound one");
        assert_eq!(back, Message::text(message));
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
}

/// Answers before it was asked: the answer to the handshake and the end of the request meet in the proxy.
#[tokio::test]
async fn protocols_an_upgrade_answered_at_once_goes_on() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let site = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = site.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((mut io, _)) = site.accept().await {
            tokio::spawn(async move {
                let head = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
                io.write_all(head.as_bytes()).await.expect("writing");
                let mut piece = [0; 4096];
                let mut seen = Vec::new();
                while !seen.windows(4).any(|end| end == b"\r\n\r\n") {
                    let size = io.read(&mut piece).await.expect("reading");
                    assert!(size > 0, "a whole head");
                    seen.extend_from_slice(&piece[..size]);
                }
                let size = io.read(&mut piece).await.unwrap_or(0);
                let _ = io.write_all(&piece[..size]).await;
            });
        }
    });
    let desk = Setup::before_urls(&[format!("http://127.0.0.1:{port}")]).start().await;
    for round in 0..150 {
        let mut io = desk.conn().await.into_io();
        let ask = "GET /chat HTTP/1.1\r\nHost: site.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                   Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        io.write_all(ask.as_bytes()).await.expect("writing");
        let mut seen = Vec::new();
        let mut piece = [0; 4096];
        while !seen.windows(4).any(|end| end == b"\r\n\r\n") {
            let size = soon("the handshake", io.read(&mut piece)).await.expect("reading");
            assert!(size > 0, "round {round}: closed in the head");
            seen.extend_from_slice(&piece[..size]);
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
        io.write_all(b"ping").await.expect("writing");
        let size = soon("the echo", io.read(&mut piece)).await.expect("reading");
        assert_eq!(&piece[..size], b"ping", "round {round}");
    }
}
