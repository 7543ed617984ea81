//! Replies that leave in parts while their call is still under way, whichever engine sends them.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::{Reply, Serving, desk::Events};
use http::Version;
use pingora::{Error, ErrorType, Result, http::RequestHeader};
use tokio::sync::{
    mpsc::{Receiver, Sender, channel},
    oneshot,
};

use super::{Front, request_id::named};
use crate::running::Running;

/// What leaves next.
pub(crate) struct Part {
    what: What,
    /// Told once it is written; dropped if it cannot be.
    written: oneshot::Sender<()>,
}

enum What {
    /// The head, and the first of the body.
    Head(Box<Reply>),
    Body(Bytes),
}

/// Whether the reply to a call may leave in parts. Before HTTP/1.1 a client could not tell where its body ends.
pub(crate) fn may_stream(serving: &Serving, request: &RequestHeader) -> bool {
    request.version >= Version::HTTP_11 && serving.serve.streams(&request.headers)
}

/// The way of parts from a call to its client.
pub(crate) fn parts() -> (Sender<Part>, Receiver<Part>) {
    channel(1)
}

/// Has a part written. `false`: the client has left.
async fn put(sender: &Sender<Part>, what: What) -> bool {
    let (written, heard) = oneshot::channel();
    sender.send(Part { what, written }).await.is_ok() && heard.await.is_ok()
}

/// The reply of one call, as the call sees it.
pub(super) struct Outgoing<'a> {
    pub(super) front: &'a Front,
    pub(super) running: &'a Running,
    pub(super) sender: Sender<Part>,
    pub(super) request_id: &'a str,
    pub(super) has_begun: AtomicBool,
}

#[async_trait]
impl Events for Outgoing<'_> {
    async fn begin(&self, head: Reply) -> bool {
        self.has_begun.store(true, Ordering::Relaxed);
        let head = named(head, self.request_id);
        put(&self.sender, What::Head(Box::new(head))).await
    }

    async fn send(&self, part: Bytes) -> bool {
        put(&self.sender, What::Body(part)).await
    }

    fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    fn is_gone(&self) -> bool {
        self.sender.is_closed()
    }

    fn is_outdated(&self) -> bool {
        self.front.live.look(|now| now.snapshot.hash != self.running.snapshot.hash)
    }

    fn is_ending(&self) -> bool {
        self.front.draining.load(Ordering::Relaxed) || self.front.entry.is_closed()
    }
}

/// An engine's way to its client.
#[async_trait]
pub(crate) trait Client: Send {
    /// Writes the head, and the first of the body.
    async fn begin(&mut self, head: Reply) -> Result<()>;

    /// Writes more of the body, the last of it with its end.
    async fn part(&mut self, part: Bytes, last: bool) -> Result<()>;

    /// Returns when the client has left.
    async fn gone(&mut self);
}

/// Waits for a call, and meanwhile writes the parts of its reply. Gives back the reply where nothing of it was written.
/// A call whose client has left goes on to its end, and can see that the client has left. A client that does not read
/// does not delay its call.
///
/// # Errors
///
/// The call's, or that of writing.
pub(crate) async fn carry(
    call: impl Future<Output = Result<Reply>> + Send,
    mut parts: Receiver<Part>,
    client: &mut dyn Client,
) -> Result<Option<Reply>> {
    let mut call = pin!(call);
    let (mut begun, mut failed) = (false, None);
    let reply = loop {
        let part = tokio::select! {
            biased;
            Some(part) = parts.recv() => Some(part),
            // Before the call, so that it does not act on an answer that comes after its client has left.
            () = client.gone(), if begun && failed.is_none() => None,
            reply = &mut call => break reply?,
        };
        let (written, reply) = match part {
            Some(part) => beside(write(part, client, &mut begun), call.as_mut()).await,
            None => (Err(Error::explain(ErrorType::ConnectionClosed, "the client left").into_down()), None),
        };
        if let Err(e) = written {
            failed = Some(e);
            parts.close();
            while parts.try_recv().is_ok() {}
        }
        if let Some(reply) = reply {
            break reply?;
        }
    };
    while let (None, Ok(part)) = (&failed, parts.try_recv()) {
        failed = write(part, client, &mut begun).await.err();
    }
    match (failed, begun) {
        (Some(e), _) => Err(e),
        (None, false) => Ok(Some(reply)),
        (None, true) => client.part(reply.body, true).await.map(|()| None),
    }
}

/// Waits for a write, and runs the call meanwhile. Gives back the call's reply, if it is there by then.
async fn beside<T>(
    write: impl Future<Output = Result<()>> + Send,
    mut call: Pin<&mut (impl Future<Output = T> + Send)>,
) -> (Result<()>, Option<T>) {
    let mut write = pin!(write);
    let mut reply = None;
    loop {
        tokio::select! {
            biased;
            written = &mut write => return (written, reply),
            done = &mut call, if reply.is_none() => reply = Some(done),
        }
    }
}

async fn write(part: Part, client: &mut dyn Client, begun: &mut bool) -> Result<()> {
    match part.what {
        What::Head(head) => {
            *begun = true;
            client.begin(*head).await?;
        }
        What::Body(part) => client.part(part, false).await?,
    }
    // A call that was broken off does not wait for it.
    let _ = part.written.send(());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::StatusCode;

    use super::*;

    /// Keeps what is written, until it has left.
    #[derive(Default)]
    struct Written {
        parts: Vec<String>,
        leaves_after: Option<usize>,
        /// It says that it leaves, instead of failing at a write.
        says_so: bool,
        /// How long it takes to read a part.
        slow: Duration,
    }

    impl Written {
        fn take(&mut self, part: &[u8]) -> Result<()> {
            if self.leaves_after == Some(self.parts.len()) {
                return Error::e_explain(ErrorType::WriteError, "left");
            }
            self.parts.push(String::from_utf8_lossy(part).into_owned());
            Ok(())
        }
    }

    #[async_trait]
    impl Client for Written {
        async fn begin(&mut self, head: Reply) -> Result<()> {
            self.take(&head.body)
        }

        async fn part(&mut self, part: Bytes, last: bool) -> Result<()> {
            tokio::time::sleep(self.slow).await;
            self.take(&part)?;
            if last { self.take(b"end") } else { Ok(()) }
        }

        async fn gone(&mut self) {
            if !self.says_so || self.leaves_after != Some(self.parts.len()) {
                std::future::pending::<()>().await;
            }
        }
    }

    /// A part whose call does not wait until it is written.
    fn part(what: What) -> Part {
        Part { what, written: oneshot::channel().0 }
    }

    fn reply(body: &'static str) -> Reply {
        Reply::new(StatusCode::OK, "text/event-stream", body)
    }

    /// A call that sends so many parts; and whether it was told at once that its client has left.
    async fn carried(sends: usize, client: &mut Written) -> (Result<Option<Reply>>, bool) {
        let (sender, receiver) = parts();
        let leaves_after = client.leaves_after.unwrap_or(usize::MAX);
        let (told, heard) = oneshot::channel();
        let call = async move {
            let (mut is_there, mut told_in_time) = (true, true);
            for n in 0..sends {
                let what = if n == 0 { What::Head(Box::new(reply("head"))) } else { What::Body(format!("{n}").into()) };
                is_there &= put(&sender, what).await;
                told_in_time &= is_there == (n < leaves_after);
            }
            let _ = told.send(!is_there && told_in_time);
            Ok(reply("last"))
        };
        (carry(call, receiver, client).await, heard.await.unwrap())
    }

    #[tokio::test]
    async fn parts_leave_in_order_and_the_reply_is_the_last() {
        let mut client = Written::default();
        let (left, _) = carried(9, &mut client).await;
        assert!(left.unwrap().is_none());
        assert_eq!(client.parts, ["head", "1", "2", "3", "4", "5", "6", "7", "8", "last", "end"]);
        let mut client = Written::default();
        let whole = carried(0, &mut client).await.0.unwrap();
        assert_eq!((whole.map(|reply| reply.body), client.parts.len()), (Some("last".into()), 0));
    }

    #[tokio::test]
    async fn a_call_goes_on_and_is_told_when_its_client_leaves() {
        let mut client = Written { leaves_after: Some(2), ..Written::default() };
        let (left, was_told) = carried(9, &mut client).await;
        assert!(left.is_err() && was_told);
        assert_eq!(client.parts, ["head", "1"]);
    }

    #[tokio::test]
    async fn a_call_that_sends_nothing_sees_that_its_client_has_left() {
        let (sender, receiver) = parts();
        let (told, heard) = tokio::sync::oneshot::channel();
        let call = async move {
            let _ = sender.send(part(What::Head(Box::new(reply("head"))))).await;
            let closed = tokio::time::timeout(Duration::from_secs(5), sender.closed()).await;
            let _ = told.send(closed.is_ok());
            Ok(reply("last"))
        };
        let mut client = Written { leaves_after: Some(1), says_so: true, ..Written::default() };
        assert!(carry(call, receiver, &mut client).await.is_err());
        assert!(heard.await.unwrap(), "the call was told");
        assert_eq!(client.parts, ["head"]);
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_does_not_delay_its_call() {
        let (sender, receiver) = parts();
        let (told, heard) = tokio::sync::oneshot::channel();
        let call = async move {
            let _ = sender.send(part(What::Head(Box::new(reply("head"))))).await;
            let _ = sender.send(part(What::Body("1".into()))).await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            let _ = told.send(tokio::time::Instant::now());
            Ok(reply("last"))
        };
        let mut client = Written { slow: Duration::from_millis(300), ..Written::default() };
        let began = tokio::time::Instant::now();
        assert!(carry(call, receiver, &mut client).await.unwrap().is_none());
        assert!(heard.await.unwrap() - began < Duration::from_millis(200), "the call did not wait for the client");
        assert_eq!(client.parts, ["head", "1", "last", "end"]);
    }
}
