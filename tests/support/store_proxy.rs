//! A proxy before a store that can lose answers, or deliver requests after the client has gone.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

pub struct StoreProxy {
    pub addr: SocketAddr,
    way: Arc<Way>,
    accepting: JoinHandle<()>,
}

struct Way {
    store: SocketAddr,
    /// The fault of the next message that contains this text. The client's connection is lost in any case.
    fault: Mutex<Option<(String, Fault)>>,
    asked: AtomicUsize,
    /// The delayed message has been delivered.
    delivered: AtomicBool,
}

#[derive(Clone, Copy)]
enum Fault {
    /// The store gets it, but its answer is lost.
    AnswerLost,
    /// The store gets it after this delay.
    Late(Duration),
}

impl StoreProxy {
    pub async fn before(store: SocketAddr) -> StoreProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("its address");
        let way = Arc::new(Way {
            store,
            fault: Mutex::default(),
            asked: AtomicUsize::default(),
            delivered: AtomicBool::default(),
        });
        let all = way.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let way = all.clone();
                tokio::spawn(async move { way.pass_on(client).await });
            }
        });
        StoreProxy { addr, way, accepting }
    }

    pub fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// The number of requests to the store, each of which waits for the answer before it.
    pub fn asked(&self) -> usize {
        self.way.asked.load(Ordering::Relaxed)
    }

    pub fn lose_the_answer_to(&self, text: &str) {
        *self.way.fault.lock().expect("the fault") = Some((text.to_owned(), Fault::AnswerLost));
    }

    /// Closes the connection on which this text arrives, and delivers the text later.
    pub fn deliver_late(&self, text: &str, later: Duration) {
        *self.way.fault.lock().expect("the fault") = Some((text.to_owned(), Fault::Late(later)));
    }

    pub fn has_delivered(&self) -> bool {
        self.way.delivered.load(Ordering::Relaxed)
    }

    pub fn has_lost(&self) -> bool {
        self.way.fault.lock().expect("the fault").is_none()
    }
}

impl Drop for StoreProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Way {
    async fn pass_on(&self, mut client: TcpStream) {
        let Ok(mut store) = TcpStream::connect(self.store).await else { return };
        let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            tokio::select! {
                read = client.read(&mut asked) => {
                    let Ok(length @ 1..) = read else { return };
                    let message = &asked[..length];
                    self.asked.fetch_add(1, Ordering::Relaxed);
                    let fault = self.fault.lock().expect("the fault").take_if(|(text, _)| contains(message, text));
                    if let Some((_, Fault::Late(later))) = fault {
                        drop(client);
                        sleep(later).await;
                        let _ = store.write_all(message).await;
                        let _ = store.read(&mut answered).await;
                        self.delivered.store(true, Ordering::Relaxed);
                        return;
                    }
                    if store.write_all(message).await.is_err() {
                        return;
                    }
                    if fault.is_some() {
                        // The store has answered, so it has done it.
                        let _ = store.read(&mut answered).await;
                        return;
                    }
                }
                read = store.read(&mut answered) => {
                    let Ok(length @ 1..) = read else { return };
                    if client.write_all(&answered[..length]).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

fn contains(message: &[u8], text: &str) -> bool {
    message.windows(text.len()).any(|part| part == text.as_bytes())
}
