//! The thread on which configurations are made and taken apart: always the same one, and no worker.
//!
//! Memory belongs to the thread that asked the allocator for it. What another thread lets go of is given back only once
//! the first one has something to do again, and what a worker lets go of it keeps for small things of its own: each
//! configuration would leave some of its memory behind. Besides, a large one takes milliseconds to take apart.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, LazyLock,
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use tokio::{runtime::Handle, sync::oneshot};

use crate::sys::give_back;

/// How often is looked whether somebody still uses what is to be taken apart.
const LOOKED: Duration = Duration::from_millis(200);

type Used = Arc<dyn Any + Send + Sync>;

enum Work {
    Make(Box<dyn FnOnce() + Send>),
    TakeApart(Used),
}

/// Where work is sent to. Without a thread nobody receives it, and whoever waits is told so.
static THREAD: LazyLock<mpsc::Sender<Work>> = LazyLock::new(|| {
    let (sender, work) = mpsc::channel::<Work>();
    let thread = thread::Builder::new().name("configurations".to_owned()).spawn(move || {
        work_on(&work);
    });
    if let Err(e) = thread {
        tracing::error!(error = %e, "there is no thread for new configurations: the running one stays");
    }
    sender
});

fn work_on(work: &Receiver<Work>) {
    let mut used: Vec<Used> = Vec::new();
    loop {
        let next =
            if used.is_empty() { work.recv().map_err(RecvTimeoutError::from) } else { work.recv_timeout(LOOKED) };
        let made = match next {
            // What fails is told as an error to whoever waits, and does not take the thread with it.
            Ok(Work::Make(make)) => catch_unwind(AssertUnwindSafe(make)).is_ok(),
            Ok(Work::TakeApart(thing)) => {
                used.push(thing);
                false
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let before = used.len();
        used.retain(|thing| Arc::strong_count(thing) > 1);
        if made || used.len() < before {
            give_back();
        }
    }
}

/// Takes apart what nobody will ask for any more, as soon as nobody uses it.
pub(super) fn take_apart(thing: Used) {
    // Without the thread it is taken apart here.
    let _ = THREAD.send(Work::TakeApart(thing));
}

/// Begins to make a configuration, one after the other, whether or not anybody waits for it.
///
/// # Errors
///
/// It panicked, or there is no thread for it.
pub fn apart<T: Send + 'static>(
    make: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, String>> + Send {
    let (told, made) = oneshot::channel();
    let runtime = Handle::current();
    let sent = THREAD.send(Work::Make(Box::new(move || {
        let _here = runtime.enter();
        let _ = told.send(make());
    })));
    async move {
        sent.map_err(|_| "there is no thread for it")?;
        made.await.map_err(|_| "making a configuration failed; the log says how".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_always_the_same_thread_and_outlives_what_fails() {
        let id = || apart(|| thread::current().id());
        let first = id().await.unwrap();
        assert!(apart::<()>(|| panic!("as the test wants it")).await.is_err());
        assert_eq!(id().await.unwrap(), first);
        assert_ne!(thread::current().id(), first);
    }

    #[tokio::test]
    async fn what_nobody_uses_any_more_is_taken_apart_there() {
        struct Told(Option<oneshot::Sender<thread::ThreadId>>);
        impl Drop for Told {
            fn drop(&mut self) {
                let _ = self.0.take().map(|told| told.send(thread::current().id()));
            }
        }
        let there = apart(|| thread::current().id()).await.unwrap();
        let (told, mut taken) = oneshot::channel();
        let thing = Arc::new(Told(Some(told)));
        take_apart(thing.clone());
        apart(|| ()).await.unwrap();
        assert!(taken.try_recv().is_err(), "somebody uses it");
        drop(thing);
        assert_eq!(taken.await.unwrap(), there);
    }
}
