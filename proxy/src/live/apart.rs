//! The thread on which configurations are made: always the same one, and no worker.
//!
//! Memory belongs to the thread that asked the allocator for it. What another thread lets go of is given back only once
//! the first one has something to do again: with a pool of threads there would come to be as many configurations that
//! nobody uses as there are threads.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{LazyLock, mpsc},
    thread,
};

use tokio::{runtime::Handle, sync::oneshot};

type Work = Box<dyn FnOnce() + Send>;

/// Where work is sent to. Without a thread nobody receives it, and whoever waits is told so.
static THREAD: LazyLock<mpsc::Sender<Work>> = LazyLock::new(|| {
    let (sender, work) = mpsc::channel::<Work>();
    let thread = thread::Builder::new().name("configurations".to_owned()).spawn(move || {
        // What fails is told as an error to whoever waits, and does not take the thread with it.
        work.into_iter().for_each(|work| drop(catch_unwind(AssertUnwindSafe(work))));
    });
    if let Err(e) = thread {
        tracing::error!(error = %e, "there is no thread for new configurations: the running one stays");
    }
    sender
});

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
    let sent = THREAD.send(Box::new(move || {
        let _here = runtime.enter();
        let _ = told.send(make());
    }));
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
}
