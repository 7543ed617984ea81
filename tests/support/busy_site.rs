//! A site that counts the requests it is handling: from the end of a head to the end of the response.
//!
//! `GET /big` gets a body of a chosen length, any other GET `ok`. An upload gets the number of its bytes. For `/pauses`
//! the site first reads nothing for 9 s.

use super::wire::Wire;
use super::{SOON, eventually};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

pub struct BusySite {
    pub addr: SocketAddr,
    busy: Arc<AtomicUsize>,
}

struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl BusySite {
    pub async fn start(big: usize) -> BusySite {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("its address");
        let busy = Arc::<AtomicUsize>::default();
        let count = busy.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let _ = socket.set_nodelay(true);
                tokio::spawn(serve(socket, big, count.clone()));
            }
        });
        BusySite { addr, busy }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The number of requests that it is handling now.
    pub fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    pub async fn becomes_busy_with(&self, requests: usize) {
        let what = format!("the site is busy with {requests} requests");
        eventually(&what, SOON, async || self.busy() == requests).await;
    }
}

async fn serve(socket: TcpStream, big: usize, count: Arc<AtomicUsize>) -> std::io::Result<()> {
    let mut wire = Wire::new(socket);
    while let Some(head) = wire.head().await? {
        count.fetch_add(1, Ordering::Relaxed);
        let _busy = Busy(count.clone());
        let head = String::from_utf8_lossy(&head).into_owned();
        let length = head
            .lines()
            .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        let mut body = Vec::new();
        if head.contains(" /pauses ") {
            tokio::time::sleep(Duration::from_secs(9)).await;
        }
        wire.exactly(length.unwrap_or(0), &mut body, &|_| {}).await?;
        let answer = match () {
            () if head.starts_with("GET /big ") => vec![b'x'; big],
            () if head.starts_with("GET ") => b"ok".to_vec(),
            () => body.len().to_string().into_bytes(),
        };
        let kind = "Content-Type: application/octet-stream";
        let head = format!("HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {}\r\n\r\n", answer.len());
        wire.write(&[head.into_bytes(), answer].concat()).await?;
    }
    Ok(())
}
