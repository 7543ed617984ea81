//! Classifies a fetched answer: a redirect, a document or a contract.

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use url::Url;

use super::contract::Contract;
use frontdesk_base::media::essence;

/// The answer of a site.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    /// The body is longer than [`super::BOUND`].
    pub cut: bool,
}

/// A contract and its address.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) url: Url,
    /// The exact bytes of the TOML, which a signature covers.
    pub(super) toml: Option<Bytes>,
    pub(super) contract: Contract,
}

/// The target of a redirect.
pub(super) enum Leads {
    /// On the same site.
    Here(Url),
    Elsewhere(String),
}

impl Answer {
    /// The target, if it is a redirect. The same origin counts as this site, as does https instead of http on the same
    /// host.
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

    /// Whether it is a document and not a page: a site that answers every path with its start page has none there.
    pub(super) fn is_document(&self) -> bool {
        let kind = self.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let media = essence(kind).to_ascii_lowercase();
        let page = media == "text/html" || media == "application/xhtml+xml" || self.body.trim_ascii().starts_with(b"<");
        self.status == StatusCode::OK && !page
    }

    /// The contract in it: `None` where there is none, an error where it is unreadable.
    pub(super) fn contract(&self, url: &Url) -> Option<Result<Fetched, String>> {
        if !self.is_document() {
            return None;
        }
        if self.cut {
            return Some(Err(format!("is larger than {} MB", super::BOUND >> 20)));
        }
        let coding = self.headers.get(header::CONTENT_ENCODING);
        if coding.is_some_and(|coding| coding != "identity") {
            return Some(Err("is compressed, although the request did not accept that".into()));
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
