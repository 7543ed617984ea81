//! A desk of a declaration, and everything outside of it as far as a call gets there.

use std::{path::Path, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use parking_lot::Mutex;
use serde_json::{Map, json};

use super::{
    Answer, Ask, Authority, Background, Busy, Call, Called, Carried, Compiled, Desk, Errand, Failed, Finish, Holders,
    Job, Kept, Outside, ScanThreads, Talk, Upstream,
};
use frontdesk_ask::Library;
use frontdesk_caller::{Caller, NoTokenServer};
use frontdesk_config::{
    Declaration,
    testing::{Nowhere, declare_text},
};
use frontdesk_state::{
    chain::Chains,
    testing::{Home, Shelf},
};

/// Everything outside, as far as a call gets to it.
#[derive(Default)]
pub(super) struct Around {
    /// What the site was asked.
    pub(super) asked: Mutex<Vec<String>>,
    /// How much time passes between two looks at the clock.
    pub(super) passes: Mutex<Duration>,
    clock: Mutex<Duration>,
}

#[async_trait]
impl Upstream for Around {
    async fn call(&self, call: Call<'_>) -> Result<Answer, Failed> {
        let body = String::from_utf8_lossy(&call.body).into_owned();
        self.asked.lock().push(format!("{} {} {body}", call.method, call.target));
        let body = Bytes::from_static(b"{\"id\":\"x-1\",\"n\":3}");
        let mut headers = HeaderMap::new();
        if call.target.contains("/no-store") {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        Ok(Answer { status: StatusCode::OK, headers, body })
    }
}

#[async_trait]
impl ScanThreads for Around {
    async fn apart(&self, job: Job) {
        job();
    }
}

impl Holders for Around {
    fn name(&self) -> &str {
        "here"
    }

    fn clock(&self) -> Duration {
        let mut clock = self.clock.lock();
        *clock += *self.passes.lock();
        *clock
    }

    fn is_gone(&self, name: &str) -> bool {
        name != "here"
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

/// A declaration with this in it.
pub(super) fn declared(text: &str) -> Declaration {
    let text = format!("[upstream]\nurl = \"http://127.0.0.1:1\"\n{text}");
    declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap()
}

/// Has something done at a desk that has just been opened.
pub(super) fn at_desk<T>(around: &Around, compiled: &Compiled, work: impl FnOnce(&Desk<'_>) -> T) -> T {
    at_desk_with(around, compiled, &Shelf::default(), work)
}

/// The same, with these records.
pub(super) fn at_desk_with<T>(
    around: &Around,
    compiled: &Compiled,
    shelf: &Shelf,
    work: impl FnOnce(&Desk<'_>) -> T,
) -> T {
    let (kept, counters, library) = (Kept::default(), Home::new(), Library::empty());
    let chains = Chains::default();
    work(&Desk {
        token_server: &NoTokenServer,
        compiled,
        records: shelf,
        holders: around,
        upstream: around,
        audit: None,
        kept: &kept,
        chains: &chains,
        counters: &counters,
        under_way: &Default::default(),
        library: &library,
        models: &crate::NoModels,
        background: around,
        outside: around,
        apart: around,
        harness: None,
        handoff: None,
    })
}

/// A call, by a client that names it `k`.
pub(super) fn ask<'a>(caller: &'a Caller, capability: Called<'a>, token: Option<&'a str>) -> Ask<'a> {
    Ask {
        capability,
        input: json!({ "what": "x" }),
        caller,
        authority: Authority::of(caller),
        confirmation: token,
        idempotency_key: Some("k"),
        request_id: "r",
        dialect: "test",
        host: "site.test",
        talk: Talk::default(),
        beside: Map::new(),
        wish: None,
        begun: None,
        unnamed: false,
    }
}
