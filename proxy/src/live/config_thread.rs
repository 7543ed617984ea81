//! One thread that builds and drops all configurations; it is no worker thread.
//!
//! The allocator assigns memory to the thread that requested it. If another thread frees it, it returns only when the
//! first thread is active again, and a worker would keep freed memory for its own small objects. So each swap would
//! leave some memory behind. Dropping a large configuration also takes milliseconds.

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

/// How often the thread checks whether an old configuration is still in use.
const LOOKED: Duration = Duration::from_millis(200);

type Used = Arc<dyn Any + Send + Sync>;

enum Work {
    Make(Box<dyn FnOnce() + Send>),
    DropUnused(Used),
}

/// Sends work to the thread. Without the thread, callers get an error.
static THREAD: LazyLock<mpsc::Sender<Work>> = LazyLock::new(|| {
    let (sender, work) = mpsc::channel::<Work>();
    let thread = thread::Builder::new().name("configurations".to_owned()).spawn(move || {
        work_on(&work);
    });
    if let Err(e) = thread {
        tracing::error!(error = %e, "cannot start the configuration thread: reloading is disabled");
    }
    sender
});

fn work_on(work: &Receiver<Work>) {
    let mut used: Vec<Used> = Vec::new();
    loop {
        let next =
            if used.is_empty() { work.recv().map_err(RecvTimeoutError::from) } else { work.recv_timeout(LOOKED) };
        let made = match next {
            // A panic becomes an error for the caller and does not end the thread.
            Ok(Work::Make(make)) => catch_unwind(AssertUnwindSafe(make)).is_ok(),
            Ok(Work::DropUnused(thing)) => {
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

/// Drops an old configuration as soon as nothing uses it.
pub(super) fn drop_unused(thing: Used) {
    // Without the thread, drop it here.
    let _ = THREAD.send(Work::DropUnused(thing));
}

/// Builds a configuration on the thread, one at a time. The build goes on if the caller stops waiting.
///
/// # Errors
///
/// The build panicked, or the thread does not exist.
pub fn on_config_thread<T: Send + 'static>(
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
        let id = || on_config_thread(|| thread::current().id());
        let first = id().await.unwrap();
        assert!(on_config_thread::<()>(|| panic!("as the test wants it")).await.is_err());
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
        let there = on_config_thread(|| thread::current().id()).await.unwrap();
        let (told, mut taken) = oneshot::channel();
        let thing = Arc::new(Told(Some(told)));
        drop_unused(thing.clone());
        on_config_thread(|| ()).await.unwrap();
        assert!(taken.try_recv().is_err(), "somebody uses it");
        drop(thing);
        assert_eq!(taken.await.unwrap(), there);
    }
}
