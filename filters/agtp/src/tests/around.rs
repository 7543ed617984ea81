//! The environment of the simulated site, as far as a call needs it.

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;

use frontdesk_desk::{
    Answer, Background, Busy, Call, Carried, Errand, Failed, Finish, Holders, Job, Outside, ScanThreads, Upstream,
};

/// A site that answers every request.
#[derive(Default)]
pub(super) struct Around {
    /// The requests that it got.
    pub(super) asked: Mutex<Vec<String>>,
}

#[async_trait]
impl ScanThreads for Around {
    async fn apart(&self, job: Job) {
        job();
    }
}

#[async_trait]
impl Upstream for Around {
    async fn call(&self, call: Call<'_>) -> Result<Answer, Failed> {
        self.asked.lock().push(format!("{} {}", call.method, call.target));
        Ok(Answer { status: StatusCode::OK, headers: HeaderMap::new(), body: Bytes::from_static(b"{\"left\":3}") })
    }
}

impl Holders for Around {
    fn name(&self) -> &str {
        "here"
    }

    fn clock(&self) -> Duration {
        Duration::ZERO
    }

    fn is_gone(&self, _: &str) -> bool {
        false
    }
}

#[async_trait]
impl Background for Around {
    async fn run(&self, _: Errand, _: Box<dyn Finish>) -> Result<Option<Carried>, Busy> {
        Err(Busy)
    }
}

#[async_trait]
impl Outside for Around {
    fn check(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    async fn document(&self, _: &str, _: usize) -> Result<Bytes, String> {
        Err("there is none".into())
    }

    async fn deliver(&self, _: &str, _: Bytes) -> Result<(), String> {
        Ok(())
    }

    async fn pause(&self, _: Duration) {}

    fn undelivered(&self, _: &str, _: &str) {}
}
