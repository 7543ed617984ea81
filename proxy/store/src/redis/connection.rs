//! A connection whose commands fail as soon as it has ended.
//!
//! The library can lose a command that is sent at the instant at which the connection ends. The command is on its way
//! into a queue whose reader has just emptied it for the last time, so it is neither sent nor refused, and its caller
//! would wait until its timeout. A command here also waits for the end of the connection.

use std::{
    future::{Future, poll_fn},
    io,
    pin::{Pin, pin},
    task::Poll,
};

use redis::{
    Cmd, Pipeline, RedisFuture, RedisResult, Value,
    aio::{ConnectionLike, MultiplexedConnection},
};
use tokio::sync::watch;

/// A handle of a connection. Clones share the connection.
#[derive(Clone)]
pub struct Connection {
    inner: MultiplexedConnection,
    ended: watch::Receiver<bool>,
}

impl Connection {
    /// `ended`: becomes true when the connection has ended.
    pub fn new(inner: MultiplexedConnection, ended: watch::Receiver<bool>) -> Self {
        Self { inner, ended }
    }

    /// Whether the server or the network has closed it.
    pub fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Completes when it has ended.
    pub fn end(&self) -> impl Future<Output = ()> + Send + 'static {
        end(self.ended.clone())
    }
}

impl ConnectionLike for Connection {
    fn req_packed_command<'a>(&'a mut self, command: &'a Cmd) -> RedisFuture<'a, Value> {
        Box::pin(answer_or_end(self.inner.req_packed_command(command), self.ended.clone()))
    }

    fn req_packed_commands<'a>(
        &'a mut self,
        pipeline: &'a Pipeline,
        offset: usize,
        count: usize,
    ) -> RedisFuture<'a, Vec<Value>> {
        Box::pin(answer_or_end(self.inner.req_packed_commands(pipeline, offset, count), self.ended.clone()))
    }

    fn get_db(&self) -> i64 {
        self.inner.get_db()
    }
}

async fn end(mut ended: watch::Receiver<bool>) {
    // An error means that the link was dropped, which ends it too.
    let _ = ended.wait_for(|ended| *ended).await;
}

/// The answer, also one that came just before the end; or an I/O error if the connection ends without one.
async fn answer_or_end<T>(
    mut answer: impl Future<Output = RedisResult<T>> + Unpin + Send,
    ended: watch::Receiver<bool>,
) -> RedisResult<T> {
    let mut end = pin!(end(ended));
    poll_fn(move |context| {
        if let Poll::Ready(answer) = Pin::new(&mut answer).poll(context) {
            return Poll::Ready(answer);
        }
        if end.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        // It may have come between the two looks.
        match Pin::new(&mut answer).poll(context) {
            Poll::Ready(answer) => Poll::Ready(answer),
            Poll::Pending => Poll::Ready(Err(io::Error::from(io::ErrorKind::BrokenPipe).into())),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_is_taken_and_a_lost_command_fails_at_the_end() {
        let (ends, ended) = watch::channel(false);
        let answered = answer_or_end(std::future::ready(Ok(7)), ended.clone()).await;
        assert_eq!(answered.unwrap(), 7);
        let lost = tokio::spawn(answer_or_end(std::future::pending::<RedisResult<()>>(), ended.clone()));
        tokio::task::yield_now().await;
        assert!(!lost.is_finished());
        ends.send_replace(true);
        assert!(lost.await.unwrap().unwrap_err().is_io_error());
        // An answer counts although the connection has ended.
        assert_eq!(answer_or_end(std::future::ready(Ok(8)), ended.clone()).await.unwrap(), 8);
        // So does one that came between the two looks.
        let mut looks = 0;
        let late = poll_fn(move |_| {
            looks += 1;
            if looks == 1 { Poll::Pending } else { Poll::Ready(Ok(9)) }
        });
        assert_eq!(answer_or_end(late, ended).await.unwrap(), 9);
    }
}
