//! HTTP/2 clients that read slowly, so that their responses wait in the desk.

use super::message::Request;
use super::origin::Origin;
use super::reply::Reply;
use super::tls::Tls;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::task::JoinHandle;

/// The streams of one connection.
const STREAMS: usize = 8;

pub struct SlowReaders {
    length: usize,
    connection: JoinHandle<Result<(), h2::Error>>,
    reading: Vec<JoinHandle<usize>>,
}

impl SlowReaders {
    /// A site whose responses have so many bytes.
    pub async fn origin(length: usize) -> Origin {
        let kind = "application/octet-stream";
        Origin::start(move |_: &Request| Reply::new(200).header("Content-Type", kind).body(vec![b'x'; length])).await
    }

    /// Starts all readers. Each pauses for `pause` after a part of its response.
    pub async fn begin(desk: SocketAddr, tls: &Tls, length: usize, pause: Duration) -> SlowReaders {
        let socket = tls.connect(desk, &["h2"]).await.expect("a TLS connection");
        // The smallest window for the whole connection.
        let (sender, connection) = h2::client::handshake(socket).await.expect("HTTP/2");
        let connection = tokio::spawn(connection);
        let mut answers = Vec::new();
        for n in 0..STREAMS {
            let request = http::Request::get(format!("https://site.test/{n}")).body(()).expect("a request");
            let mut sender = sender.clone().ready().await.expect("room for a stream");
            answers.push(sender.send_request(request, true).expect("sent").0);
        }
        let mut reading = Vec::new();
        for answer in answers {
            let mut stream = answer.await.expect("a head").into_body();
            // Without this sender the connection would end.
            let sender = sender.clone();
            reading.push(tokio::spawn(async move {
                let mut read = 0;
                while let Some(part) = stream.data().await {
                    let part = part.unwrap_or_else(|e| panic!("{e} after {read} bytes"));
                    read += part.len();
                    tokio::time::sleep(pause).await;
                    stream.flow_control().release_capacity(part.len()).expect("taken");
                }
                drop(sender);
                read
            }));
        }
        SlowReaders { length, connection, reading }
    }

    /// Whether every reader gets its whole response.
    pub async fn read_all(self) {
        for reading in self.reading {
            assert_eq!(reading.await.expect("all of it"), self.length);
        }
        self.connection.abort();
    }
}
