//! Tests of connections that several callers share: a WebSocket and a Unix socket, with the same promises.

use std::{sync::Arc, time::Duration};

use frontdesk_filters::harness::{HarnessConnection, Lost};
use futures_util::{SinkExt, StreamExt};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, UnixListener},
    sync::mpsc,
};
use tokio_tungstenite::{
    accept_hdr_async,
    tungstenite::{
        Message,
        handshake::server::{Request, Response},
    },
};

use super::{LONG, SHORT, answer, breaks, line, question, way, why};

/// A scripted peer: the messages it received, and the ones it sends. It closes when the sender is dropped.
struct Peer {
    hears: mpsc::UnboundedReceiver<String>,
    says: mpsc::UnboundedSender<String>,
}

impl Peer {
    async fn heard(&mut self) -> String {
        tokio::time::timeout(LONG, self.hears.recv()).await.unwrap().unwrap()
    }

    fn say(&self, text: impl Into<String>) {
        self.says.send(text.into()).unwrap();
    }
}

/// A WebSocket, and the head of its opening request.
async fn socket() -> (Arc<dyn HarnessConnection>, Peer, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://localhost:{}/talk?k=QUERY", listener.local_addr().unwrap().port());
    let (heard, hears) = mpsc::unbounded_channel();
    let (says, mut said) = mpsc::unbounded_channel::<String>();
    let head = Arc::<Mutex<String>>::default();
    let seen = head.clone();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        #[allow(clippy::result_large_err)] // The library's own type.
        let note = |request: &Request, response: Response| {
            *seen.lock() = format!("{} {:?}", request.uri(), request.headers());
            Ok(response)
        };
        let mut socket = accept_hdr_async(stream, note).await.unwrap();
        loop {
            tokio::select! {
                text = said.recv() => match text {
                    Some(text) => socket.send(Message::text(text)).await.unwrap(),
                    None => return drop(socket.close(None).await),
                },
                message = socket.next() => match message {
                    Some(Ok(Message::Text(text))) => drop(heard.send(text.to_string())),
                    Some(Ok(_)) => {}
                    _ => return,
                },
            }
        }
    });
    let line = line(&url).await;
    let head = head.lock().clone();
    (line, Peer { hears, says }, head)
}

/// A Unix socket.
async fn unix() -> (Arc<dyn HarnessConnection>, Peer) {
    let dir = std::env::temp_dir().join(format!("frontdesk-lines-{}", uuid::Uuid::now_v7()));
    std::fs::create_dir(&dir).unwrap();
    let path = dir.join("s");
    let listener = UnixListener::bind(&path).unwrap();
    let (heard, hears) = mpsc::unbounded_channel();
    let (says, mut said) = mpsc::unbounded_channel::<String>();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (from, mut to) = stream.into_split();
        let mut lines = BufReader::new(from).lines();
        loop {
            tokio::select! {
                text = said.recv() => match text {
                    Some(text) => to.write_all(format!("{text}\n").as_bytes()).await.unwrap(),
                    None => return,
                },
                line = lines.next_line() => match line {
                    Ok(Some(line)) => drop(heard.send(line)),
                    _ => return,
                },
            }
        }
    });
    let line = line(&format!("unix:{}", path.display())).await;
    std::fs::remove_dir_all(dir).unwrap();
    (line, Peer { hears, says })
}

async fn several_ask(line: Arc<dyn HarnessConnection>, mut peer: Peer) {
    let ask = |id: &'static str| {
        let line = line.clone();
        tokio::spawn(async move { line.ask(id, question(id), LONG).await })
    };
    let (a, b, c) = (ask("a"), ask("b"), ask("c"));
    for _ in 0..3 {
        peer.heard().await;
    }
    // Noise, unknown ids, and no id at all.
    for noise in ["", "noise", "[1]", r#"{"id":null}"#, r#"{"id":1}"#, r#"{"result":1}"#, &answer("x")] {
        peer.say(noise);
    }
    for id in ["c", "a", "b"] {
        peer.say(answer(id));
    }
    assert_eq!(a.await.unwrap().unwrap(), answer("a"));
    assert_eq!(b.await.unwrap().unwrap(), answer("b"));
    assert_eq!(c.await.unwrap().unwrap(), answer("c"));

    // A message without an answer counts as sent when it is on its way. An answer that is too late is ignored.
    line.tell(question("t"), LONG).await.unwrap();
    assert_eq!(peer.heard().await.as_bytes(), question("t"));
    assert!(why(&line.ask("d", question("d"), SHORT).await).contains("no answer within"));
    peer.heard().await;
    peer.say(answer("d"));
    let again = {
        let line = line.clone();
        tokio::spawn(async move { line.ask("e", question("e"), LONG).await })
    };
    peer.heard().await;
    assert!(!line.is_broken());

    // All waiting callers learn of an end at once, and so do later ones.
    let before = std::time::Instant::now();
    drop(peer);
    assert!(again.await.unwrap().is_err());
    assert!(before.elapsed() < LONG / 2);
    breaks(&line).await;
    assert!(line.ask("f", question("f"), LONG).await.is_err());
    assert!(line.tell(question("g"), LONG).await.is_err());
}

#[tokio::test]
async fn several_ask_over_a_websocket() {
    let (line, peer, head) = socket().await;
    assert!(head.starts_with("/talk?k=QUERY "), "{head}");
    assert!(
        head.to_lowercase().contains(r#""authorization": "bearer secret""#) || head.contains("Sensitive"),
        "{head}"
    );
    several_ask(line, peer).await;
}

#[tokio::test]
async fn several_ask_over_a_unix_socket() {
    let (line, peer) = unix().await;
    several_ask(line, peer).await;
}

#[tokio::test]
async fn a_message_stays_one_line() {
    let (line, mut peer) = unix().await;
    line.tell("{\n\"a\":\r\n1}".into(), LONG).await.unwrap();
    assert_eq!(peer.heard().await, "{ \"a\":  1}");
}

#[tokio::test]
async fn what_is_too_long_ends_the_connection() {
    let long = "x".repeat(super::super::MOST + 2);
    let (line, peer, _) = socket().await;
    peer.say(long.clone());
    breaks(&line).await;
    let (line, peer) = unix().await;
    peer.say(long);
    breaks(&line).await;
}

#[tokio::test]
async fn a_door_that_does_not_open_says_why() {
    // A server that listens and does not answer.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let Err(Lost(why)) = way(&format!("ws://127.0.0.1:{port}/?k=QUERY")).open(SHORT).await else { panic!("open") };
    assert!(why.contains("no connection within"), "{why}");
    // A server that does not speak TLS.
    let mute = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    for scheme in ["ws", "wss"] {
        let Err(Lost(why)) = way(&format!("{scheme}://127.0.0.1:{port}/?k=QUERY")).open(LONG).await else {
            panic!("open")
        };
        assert!(!why.is_empty() && !why.contains("SECRET") && !why.contains("QUERY"), "{why}");
    }
    mute.abort();
    assert!(way("unix:/nowhere/at/all").open(LONG).await.is_err());
}
