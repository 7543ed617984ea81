//! Replies that leave in parts while their call is still under way, whichever engine sends them.

use std::{
    future::Future,
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::{Reply, Serving, desk::Events};
use http::Version;
use pingora::{Result, http::RequestHeader};
use tokio::sync::{
    mpsc::{Receiver, Sender, channel},
    oneshot,
};

use super::{Front, serve::named};

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
}

/// Waits for a call, and meanwhile writes the parts of its reply. Gives back the reply where nothing of it was written.
/// A call whose client has left goes on to its end.
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
            Some(part) = parts.recv() => part,
            reply = &mut call => break reply?,
        };
        if let Err(e) = write(part, client, &mut begun).await {
            failed = Some(e);
            // The call hears of it when it sends the next.
            parts.close();
            while parts.try_recv().is_ok() {}
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
    use http::StatusCode;
    use pingora::{Error, ErrorType};

    use super::*;

    /// Keeps what is written, until it has left.
    #[derive(Default)]
    struct Written {
        parts: Vec<String>,
        leaves_after: Option<usize>,
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
            self.take(&part)?;
            if last { self.take(b"end") } else { Ok(()) }
        }
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
}
