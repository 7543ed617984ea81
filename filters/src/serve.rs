//! A call of an agent endpoint, once it is known who calls and that they are within limits: what a dialect makes of it.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};

use crate::{
    caller::Caller,
    desk::{Account, Desk},
    dialect::Explain,
    fault::Refusal,
    reply::Reply,
    site::Snapshot,
};

/// A request with its body.
pub struct Incoming<'a> {
    pub method: &'a Method,
    /// The path as it was sent, query included.
    pub target: &'a str,
    pub headers: &'a HeaderMap,
    pub body: Bytes,
    pub caller: &'a Caller,
    /// Whom the client asked for.
    pub authority: &'a str,
    pub request_id: &'a str,
}

impl Incoming<'_> {
    /// The query, without its question mark.
    pub(crate) fn query(&self) -> &str {
        let target = self.target.split('#').next().unwrap_or_default();
        target.split_once('?').map_or("", |(_, query)| query)
    }

    /// What the client takes.
    pub(crate) fn accept(&self) -> Option<&str> {
        self.headers.get(header::ACCEPT).and_then(|v| v.to_str().ok())
    }
}

/// An endpoint's work, prepared by its dialect.
#[async_trait]
pub trait Serve: Send + Sync + Debug {
    /// Answers a request. `places` are the values that stood in the places of the path.
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, places: &[(String, String)]) -> Served;

    /// The capability that is called here, and in whose words; `None` where none is.
    fn about(&self) -> Option<About> {
        None
    }
}

/// What a call of an endpoint is about, before anything of it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// The capability's place in the declaration.
    pub capability: usize,
    pub dialect: &'static str,
}

/// What was answered.
#[derive(Debug)]
pub struct Served {
    pub reply: Reply,
    /// Why it was refused, if it was.
    pub reason: Option<&'static str>,
    /// Of the capability that was called, if one was.
    pub account: Option<Account>,
}

impl From<Reply> for Served {
    fn from(reply: Reply) -> Self {
        Self { reply, reason: None, account: None }
    }
}

/// A call that waits for its body.
#[derive(Debug)]
pub struct Serving {
    pub(crate) serve: Arc<dyn Serve>,
    pub(crate) explain: Explain,
    pub(crate) places: Vec<(String, String)>,
    /// Where the limits stand.
    pub(crate) standing: Vec<(HeaderName, HeaderValue)>,
}

impl Serving {
    /// Answers it.
    pub async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>) -> Served {
        let mut served = self.serve.serve(desk, request, &self.places).await;
        served.reply.headers.extend(self.standing.iter().cloned());
        served
    }

    /// What it is about.
    pub fn about(&self) -> Option<About> {
        self.serve.about()
    }

    /// The reply where its body could not be had.
    pub fn refused(&self, snapshot: &Snapshot, refusal: &Refusal, accept: Option<&str>) -> Reply {
        let insertion = snapshot.insertion.as_ref().map(|(insertion, _)| insertion.as_ref());
        let mut reply = (self.explain)(refusal, accept, insertion);
        reply.headers.extend(self.standing.iter().cloned());
        reply
    }
}
