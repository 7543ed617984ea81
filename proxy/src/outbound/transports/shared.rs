//! A connection that carries messages of several callers at a time, with any framing.
//!
//! One task reads and writes; callers only wait. So a caller that gives up leaves no half message behind, and a peer
//! that reads nothing delays no caller beyond its own limit.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::harness::{HarnessConnection, Lost};
use tokio::{
    sync::{mpsc, oneshot},
    time::{MissedTickBehavior, interval, timeout},
};

use super::{late, waiting::Waiting};

/// The most messages that wait to be written.
const QUEUE: usize = 64;
/// How long a peer may take to read one message. After that the connection ends.
const TAKEN: Duration = Duration::from_secs(5);
/// The interval of keep-alive messages, where the framing has them.
const ALIVE: Duration = Duration::from_secs(20);

/// The incoming side.
#[async_trait]
pub(super) trait Inlet: Send + 'static {
    /// The next message. An error ends the connection.
    async fn next(&mut self) -> Result<Bytes, String>;
}

/// The outgoing side.
#[async_trait]
pub(super) trait Outlet: Send + 'static {
    /// Writes a whole message.
    async fn put(&mut self, message: Bytes) -> Result<(), String>;

    /// Sends a keep-alive message.
    async fn ping(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A message to write.
struct Sending {
    message: Bytes,
    /// The id of the answer, if a caller waits for it.
    id: Option<String>,
    written: Option<oneshot::Sender<()>>,
}

/// The connection.
pub(super) struct Shared {
    waiting: Arc<Waiting>,
    /// Dropping it ends the task.
    queue: mpsc::Sender<Sending>,
}

impl Shared {
    /// Starts reading and writing. `held` lives until both have ended.
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

/// Writes queued messages. Returns why it stopped.
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
        // The caller has given up, so the message is not sent.
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
impl HarnessConnection for Shared {
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
            tokio::select! {
                biased;
                written = written => written.map_err(|_| self.gone()),
                // A message that is queued at the instant at which the task ends is neither written nor dropped.
                () = self.queue.closed() => Err(self.gone()),
            }
        };
        timeout(within, telling).await.unwrap_or_else(|_| Err(Lost(format!("not taken within {within:?}"))))
    }

    fn is_broken(&self) -> bool {
        self.waiting.is_broken()
    }
}
