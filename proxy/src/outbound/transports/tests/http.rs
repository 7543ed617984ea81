//! Tests of messages over HTTP: the bytes on the wire, and the checks of the answers.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{LONG, SHORT, answer, line, question, why};
use frontdesk_filters::harness::Lost;

/// The server's reaction to one request.
#[derive(Clone)]
enum Does {
    Answers(&'static str, String),
    /// Sends this and closes.
    Breaks(&'static str),
    Hangs,
}

struct Server {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

/// A server with one reaction for each request, on any connection.
async fn server(does: Vec<Does>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://localhost:{}/ask?k=QUERY", listener.local_addr().unwrap().port());
    let (requests, connections) = (Arc::<Mutex<Vec<_>>>::default(), Arc::<AtomicUsize>::default());
    let (seen, opened) = (requests.clone(), connections.clone());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            opened.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(serve(stream, seen.clone(), does.clone()));
        }
    });
    Server { url, requests, connections }
}

async fn serve(mut stream: TcpStream, seen: Arc<Mutex<Vec<String>>>, does: Vec<Does>) {
    let mut buffer = Vec::new();
    loop {
        let request = loop {
            let text = String::from_utf8_lossy(&buffer).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|l| l.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
                if body.len() >= length.unwrap_or(0) {
                    break text;
                }
            }
            let mut piece = [0; 4096];
            match stream.read(&mut piece).await {
                Ok(0) | Err(_) => return,
                Ok(n) => buffer.extend_from_slice(&piece[..n]),
            }
        };
        buffer.clear();
        let turn = seen.lock().len();
        seen.lock().push(request);
        match does.get(turn).cloned().unwrap_or(Does::Hangs) {
            Does::Answers(status, body) => {
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nlocation: /x\r\n\r\n", body.len());
                stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
            }
            Does::Breaks(text) => {
                stream.write_all(text.as_bytes()).await.unwrap();
                return;
            }
            Does::Hangs => std::future::pending().await,
        }
    }
}

#[tokio::test]
async fn posts_over_one_connection() {
    let server = server(vec![
        Does::Answers("200 OK", answer("a")),
        Does::Answers("204 No Content", String::new()),
        Does::Answers("200 OK", answer("b")),
    ])
    .await;
    let line = line(&server.url).await;
    assert_eq!(line.ask("a", question("a"), LONG).await.unwrap(), answer("a"));
    line.tell(question("t"), LONG).await.unwrap();
    assert_eq!(line.ask("b", question("b"), LONG).await.unwrap(), answer("b"));
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    let seen = server.requests.lock();
    let (head, body) = seen[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /ask?k=QUERY HTTP/1.1\r\n"), "{head}");
    let lower = head.to_lowercase();
    for field in ["content-type: application/json", "authorization: bearer secret", "host: localhost:"] {
        assert_eq!(lower.matches(field).count(), 1, "{field} in {head}");
    }
    assert_eq!(body.as_bytes(), question("a"));
    assert!(!line.is_broken());
}

#[tokio::test]
async fn only_a_whole_answer_of_success_is_one() {
    let long = "x".repeat(super::super::MOST + 1);
    for (does, about) in [
        (Does::Answers("302 Found", answer("a")), "302"),
        (Does::Answers("500 Internal Server Error", answer("a")), "500"),
        (Does::Answers("200 OK", long), "more than"),
        (Does::Breaks("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"id\":"), ""),
        (Does::Breaks("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{\"id\"\r\n"), ""),
        (Does::Breaks("not HTTP at all\r\n\r\n"), ""),
        (Does::Breaks(""), ""),
        (Does::Hangs, "no answer within"),
    ] {
        let server = server(vec![does]).await;
        let within = if about.starts_with("no answer") { SHORT } else { LONG };
        let answered = line(&server.url).await.ask("a", question("a"), within).await;
        let why = why(&answered);
        assert!(why.contains(about), "{why}");
        assert!(!why.contains("SECRET") && !why.contains("QUERY"), "{why}");
        assert_eq!(server.requests.lock().len(), 1, "{why}: nothing is sent twice, and nothing followed");
    }
}

#[tokio::test]
async fn the_answer_to_an_event_does_not_matter() {
    let server = server(vec![Does::Answers("500 Internal Server Error", "no".into())]).await;
    line(&server.url).await.tell(question("t"), LONG).await.unwrap();
    assert_eq!(server.requests.lock().len(), 1);
}

#[tokio::test]
async fn nobody_there_is_said_so() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let line = line(&url).await;
    assert!(line.ask("a", Bytes::new(), LONG).await.is_err());
    assert!(line.tell(Bytes::new(), LONG).await.is_err());
}

#[tokio::test]
async fn a_connection_closed_in_the_meantime_is_not_used() {
    let server = server(vec![
        Does::Breaks("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"),
        Does::Answers("200 OK", answer("b")),
    ])
    .await;
    let line = line(&server.url).await;
    assert_eq!(line.ask("a", question("a"), LONG).await.unwrap(), "{}");
    tokio::time::sleep(SHORT).await;
    assert_eq!(line.ask("b", question("b"), LONG).await.unwrap(), answer("b"));
    assert_eq!(server.requests.lock().len(), 2);
}

#[tokio::test]
async fn nothing_is_the_first_message_of_a_new_connection_but_a_greeting() {
    let server = server(vec![
        Does::Answers("200 OK", answer("greeting")),
        Does::Answers("200 OK", answer("a")),
        // The connection ends here, and another begins.
        Does::Breaks("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"),
        Does::Answers("200 OK", answer("greeting")),
        Does::Answers("200 OK", answer("c")),
        // The connection ends in the middle of an answer.
        Does::Breaks("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"),
        Does::Answers("200 OK", answer("greeting")),
        Does::Answers("200 OK", answer("e")),
    ])
    .await;
    let line = line(&server.url).await;
    line.greet("g", question("greeting"), LONG).await.unwrap();
    line.ask("a", question("a"), LONG).await.unwrap();
    line.ask("b", question("b"), LONG).await.unwrap();
    for (lost, next) in [("c", "c"), ("d", "e")] {
        if lost == "d" {
            assert!(line.ask(lost, question(lost), LONG).await.is_err());
        }
        let sent = server.requests.lock().len();
        for _ in 0..2 {
            assert_eq!(line.ask(next, question(next), LONG).await, Err(Lost::ungreeted()));
            assert_eq!(line.tell(question(next), LONG).await, Err(Lost::ungreeted()));
        }
        assert_eq!(server.requests.lock().len(), sent, "nothing was sent");
        line.greet("g", question("greeting"), LONG).await.unwrap();
        assert_eq!(line.ask(next, question(next), LONG).await.unwrap(), answer(next));
    }
}
