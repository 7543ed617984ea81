//! An answer to a question of ours: what is a redirect, what is a document, what is a contract.

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use url::Url;

use super::contract::Contract;
use frontdesk_base::media::essence;

/// What a site answered.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// There is more of the body than [`super::BOUND`].
    pub cut: bool,
}

/// A contract, and where it was.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) url: Url,
    /// The exact bytes of it as TOML; a signature is over these.
    pub(super) toml: Option<Bytes>,
    pub(super) contract: Contract,
}

/// Where an answer leads instead.
pub(super) enum Leads {
    /// Somewhere of the same site.
    Here(Url),
    Elsewhere(String),
}

impl Answer {
    /// Where it redirects to, if it does: within the origin, or from http to https of the same host, it is this site.
    pub(super) fn leads(&self, from: &Url) -> Option<Leads> {
        if !matches!(self.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            return None;
        }
        let location = self.headers.get(header::LOCATION)?;
        let text = String::from_utf8_lossy(location.as_bytes()).into_owned();
        let Ok(to) = from.join(&text) else { return Some(Leads::Elsewhere(text)) };
        let upgraded = from.scheme() == "http" && to.scheme() == "https" && from.host() == to.host();
        let clean = to.username().is_empty() && to.password().is_none();
        Some(if clean && (upgraded || from.origin() == to.origin()) { Leads::Here(to) } else { Leads::Elsewhere(text) })
    }

    /// Something that is not a page: a site that answers every path with its start page has no document there.
    pub(super) fn is_document(&self) -> bool {
        let kind = self.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media = essence(kind).to_ascii_lowercase();
        let page = media == "text/html" || media == "application/xhtml+xml" || self.body.trim_ascii().starts_with(b"<");
        self.status == StatusCode::OK && !page
    }

    /// The contract in it: `None` where there is none, a sentence where it cannot be read.
    pub(super) fn contract(&self, url: &Url) -> Option<Result<Fetched, String>> {
        if !self.is_document() {
            return None;
        }
        if self.cut {
            return Some(Err(format!("is larger than {} MB", super::BOUND >> 20)));
        }
        let coding = self.headers.get(header::CONTENT_ENCODING);
        if coding.is_some_and(|coding| coding != "identity") {
            return Some(Err("is compressed, though nobody asked for that".into()));
        }
        match Contract::parse(&self.body) {
            Err(why) => Some(Err(why)),
            Ok(contract) if !contract.is_one() => None,
            Ok(contract) => {
                let toml = !self.body.trim_ascii_start().starts_with(b"{");
                Some(Ok(Fetched { url: url.clone(), toml: toml.then(|| self.body.clone()), contract }))
            }
        }
    }
}
