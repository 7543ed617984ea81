//! A way to a store that can lose answers: what a client sends arrives, and what comes back does not.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub struct StoreProxy {
    pub addr: SocketAddr,
    /// The answer to the next message that has this in it is lost, and with it the connection.
    loses: Arc<Mutex<Option<String>>>,
    asked: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl StoreProxy {
    pub async fn before(store: SocketAddr) -> StoreProxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("its address");
        let loses: Arc<Mutex<Option<String>>> = Arc::default();
        let (wanted, asked) = (loses.clone(), Arc::<AtomicUsize>::default());
        let count = asked.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(passed_on(client, store, wanted.clone(), count.clone()));
            }
        });
        StoreProxy { addr, loses, asked, accepting }
    }

    pub fn url(&self) -> String {
        format!("redis://{}", self.addr)
    }

    /// How often something was sent to the store, by whoever waits for an answer before it sends the next.
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }

    pub fn lose_the_answer_to(&self, text: &str) {
        *self.loses.lock().expect("the text") = Some(text.to_owned());
    }

    pub fn has_lost(&self) -> bool {
        self.loses.lock().expect("the text").is_none()
    }
}

impl Drop for StoreProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn passed_on(
    mut client: TcpStream,
    store: SocketAddr,
    loses: Arc<Mutex<Option<String>>>,
    count: Arc<AtomicUsize>,
) {
    let Ok(mut store) = TcpStream::connect(store).await else { return };
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(length @ 1..) = read else { return };
                let message = &asked[..length];
                count.fetch_add(1, Ordering::Relaxed);
                let is_lost = loses.lock().expect("the text").take_if(|text| contains(message, text)).is_some();
                if store.write_all(message).await.is_err() {
                    return;
                }
                if is_lost {
                    // Once the store has answered, it has done it.
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

fn contains(message: &[u8], text: &str) -> bool {
    message.windows(text.len()).any(|part| part == text.as_bytes())
}
