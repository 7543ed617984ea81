//! A client that reads the events of a reply while it comes.

use super::ask::Ask;
use super::client::Conn;
use super::desk::Desk;
use super::message::Headers;
use serde_json::Value;

pub struct Events {
    conn: Conn,
}

impl Events {
    /// Sends a request whose reply has to be a stream of events.
    pub async fn of(desk: &Desk, ask: &Ask) -> Events {
        Box::pin(Events::or_json(desk, ask)).await.unwrap_or_else(|reply| panic!("no stream of events: {reply}"))
    }

    /// Sends a request whose reply is a stream of events, or else JSON, which is given as the error.
    pub async fn or_json(desk: &Desk, ask: &Ask) -> Result<Events, Value> {
        let mut conn = desk.conn().await;
        conn.send(ask.bytes()).await;
        let head = String::from_utf8_lossy(&conn.until("\r\n\r\n").await).into_owned();
        let (line, rest) = head.split_once("\r\n").expect("a status line");
        let headers = Headers::parse(rest);
        let header = |name: &str| headers.tokens(name).join(",");
        if header("content-type") == "application/json" {
            let length = header("content-length").parse().unwrap_or_else(|_| panic!("no length: {head}"));
            let body = conn.exactly(length).await;
            return Err(serde_json::from_slice(&body).unwrap_or_else(|e| panic!("{e}: {head}")));
        }
        assert!(line.starts_with("HTTP/1.1 200"), "{head}");
        assert_eq!(header("content-type"), "text/event-stream", "{head}");
        assert_eq!(header("transfer-encoding"), "chunked", "{head}");
        assert!(header("cache-control").contains("no-store"), "{head}");
        Ok(Events { conn })
    }

    /// The next message. Comments are passed over.
    pub async fn next(&mut self) -> Value {
        self.conn.until("event: message\ndata: ").await;
        let data = self.conn.until("\n\n").await;
        let data = String::from_utf8_lossy(&data).replace("\ndata: ", "\n");
        serde_json::from_str(&data).unwrap_or_else(|e| panic!("{e}: {data}"))
    }

    /// Waits for the end of the reply, with nothing before it.
    pub async fn end(mut self) -> Conn {
        let rest = self.conn.until("0\r\n\r\n").await;
        let rest = String::from_utf8_lossy(&rest).into_owned();
        assert!(!rest.contains("data:"), "{rest}");
        self.conn
    }
}
