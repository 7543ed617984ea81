//! A connection that carries the messages of several at a time, whatever frames them.
//!
//! One task reads and writes. Whoever asks only waits: somebody who gives up leaves no half message behind, and a peer that
//! does not take what is sent holds nobody longer than they want to wait.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::harness::{Line, Lost};
use tokio::{
    sync::{mpsc, oneshot},
    time::{MissedTickBehavior, interval, timeout},
};

use super::{late, waiting::Waiting};

/// Messages that wait to be written.
const QUEUE: usize = 64;
/// How long a peer may take to take one message; it is gone after that.
const TAKEN: Duration = Duration::from_secs(5);
/// How often a sign of life is sent, where there is one.
const ALIVE: Duration = Duration::from_secs(20);

/// Where messages come from.
#[async_trait]
pub(super) trait Inlet: Send + 'static {
    /// The next message; an error, in words, ends the connection.
    async fn next(&mut self) -> Result<Bytes, String>;
}

/// Where messages go.
#[async_trait]
pub(super) trait Outlet: Send + 'static {
    /// Writes a message as a whole.
    async fn put(&mut self, message: Bytes) -> Result<(), String>;

    /// Sends a sign of life.
    async fn ping(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A message to be written.
struct Sending {
    message: Bytes,
    /// Whoever waits for the answer to it.
    id: Option<String>,
    written: Option<oneshot::Sender<()>>,
}

/// The connection.
pub(super) struct Shared {
    waiting: Arc<Waiting>,
    /// Dropped with this: the end of the task.
    queue: mpsc::Sender<Sending>,
}

impl Shared {
    /// Begins to read and to write. What is given besides is held to the end of both.
    pub(super) fn start(mut inlet: impl Inlet, outlet: impl Outlet, held: impl Send + 'static) -> Arc<Self> {
        let waiting = Arc::<Waiting>::default();
        let (queue, sendings) = mpsc::channel(QUEUE);
        let theirs = waiting.clone();
        tokio::spawn(async move {
            let reading = async {
                loop {
                    match inlet.next().await {
                        Ok(message) => {
                            if let Err(why) = theirs.hand(message) {
                                return why;
                            }
                        }
                        Err(why) => return why,
                    }
                }
            };
            let why = tokio::select! {
                why = reading => why,
                why = write(sendings, outlet, &theirs) => why,
            };
            theirs.fail(why);
            drop(held);
        });
        Arc::new(Self { waiting, queue })
    }

    async fn queue(&self, sending: Sending) -> Result<(), Lost> {
        self.queue.send(sending).await.map_err(|_| self.gone())
    }

    fn gone(&self) -> Lost {
        Lost(self.waiting.broken().unwrap_or_else(|| "the connection is gone".into()))
    }
}

/// Writes what is queued. Returns why it does not any more.
async fn write(mut sendings: mpsc::Receiver<Sending>, mut outlet: impl Outlet, waiting: &Waiting) -> String {
    let mut alive = interval(ALIVE);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    alive.reset();
    loop {
        let sending = tokio::select! {
            sending = sendings.recv() => sending,
            _ = alive.tick() => match timeout(TAKEN, outlet.ping()).await {
                Ok(Ok(())) => continue,
                Ok(Err(why)) => return why,
                Err(_) => return not_taken(),
            },
        };
        let Some(Sending { message, id, written }) = sending else { return "closed on this side".into() };
        // Whoever asked has given up: an answer would be nobody's.
        if id.is_some_and(|id| !waiting.expects(&id)) {
            continue;
        }
        match timeout(TAKEN, outlet.put(message)).await {
            Ok(Ok(())) => waiting.sent(),
            Ok(Err(why)) => return why,
            Err(_) => return not_taken(),
        }
        if let Some(written) = written {
            let _ = written.send(());
        }
    }
}

fn not_taken() -> String {
    format!("a message was not taken within {TAKEN:?}")
}

#[async_trait]
impl Line for Shared {
    async fn ask(&self, id: &str, message: Bytes, within: Duration) -> Result<Bytes, Lost> {
        let asking = async {
            let mut asker = self.waiting.expect(id)?;
            self.queue(Sending { message, id: Some(id.to_owned()), written: None }).await?;
            asker.answer().await
        };
        timeout(within, asking).await.unwrap_or_else(|_| Err(late(within)))
    }

    async fn tell(&self, message: Bytes, within: Duration) -> Result<(), Lost> {
        let telling = async {
            let (sender, written) = oneshot::channel();
            self.queue(Sending { message, id: None, written: Some(sender) }).await?;
            written.await.map_err(|_| self.gone())
        };
        timeout(within, telling).await.unwrap_or_else(|_| Err(Lost(format!("not taken within {within:?}"))))
    }

    fn is_broken(&self) -> bool {
        self.waiting.is_broken()
    }
}
