//! The caller's own credential for the site: the header lines of `auth.forward`, for capabilities that are called in
//! the caller's name (`identity = "caller"`).
//!
//! Frontdesk cannot verify most of them; the site does. Such a credential grants nothing here. It only says whose
//! records are whose: sessions, idempotency keys, confirmations and cached answers belong to a keyed hash of it, so a
//! caller with another credential never reaches them. Rate limits still count the address, because a client can invent
//! a new credential for every request.

use std::{fmt, sync::Arc};

use crate::authorization::is_bearer;
use frontdesk_config::{Identity, Settings, StoreHome, Unverified};
use frontdesk_state::Subject;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use ring::{
    hmac,
    rand::{SecureRandom, SystemRandom},
};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Maximum bytes of all lines together. Requests with more are treated as if they had none.
const MAX_BYTES: usize = 16 * 1024;

/// What a caller showed that is for the site. Shown in no log: `Debug` prints the names only.
#[derive(Clone)]
pub struct SiteCredential {
    lines: Arc<[(HeaderName, HeaderValue)]>,
    /// Whom the unverified lines stand for; `None` if all of them were verified here.
    pub(crate) holder: Option<Subject>,
}

impl SiteCredential {
    /// The lines that go on to the site.
    pub fn lines(&self) -> &[(HeaderName, HeaderValue)] {
        &self.lines
    }
}

impl fmt::Debug for SiteCredential {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.lines.iter().map(|(name, _)| name.as_str()).collect();
        write!(out, "SiteCredential({})", names.join(", "))
    }
}

/// How Frontdesk treats `Authorization` of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Authorization {
    /// An API key of ours, or nothing that goes on.
    Withheld,
    /// A token that was verified here: it identifies its subject.
    Verified,
    /// Only the site can verify it.
    Unverified,
}

/// Which lines go on, prepared when the configuration is loaded.
pub(crate) struct Forwarding {
    names: Vec<HeaderName>,
    /// Credentials that nothing here can verify go on too (`auth.unverified = "site"`).
    pub(crate) unverified: bool,
    hash: hmac::Key,
}

impl fmt::Debug for Forwarding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Forwarding({:?}, unverified: {})", self.names, self.unverified)
    }
}

impl Forwarding {
    /// `None` where no capability is called in the caller's name.
    pub(crate) fn new(settings: &Settings) -> Option<Self> {
        let in_their_name = |call: &frontdesk_config::Call| call.identity == Identity::Caller;
        settings.capabilities.iter().any(|capability| capability.upstream.as_ref().is_some_and(in_their_name)).then(
            || Self {
                names: settings.auth.forward.iter().filter_map(|name| name.parse().ok()).collect(),
                unverified: settings.auth.unverified == Unverified::Site,
                hash: hmac::Key::new(hmac::HMAC_SHA256, &secret(settings)),
            },
        )
    }

    /// The lines of a request that go on to the site; `None` if it has none of them.
    ///
    /// A browser adds cookies and remembered passwords to requests that another site makes it send. These never go on,
    /// so no page elsewhere can act in a visitor's name.
    pub(crate) fn of(
        &self,
        headers: &HeaderMap,
        authorization: Authorization,
        authority: &str,
        is_ours: impl Fn(&[u8]) -> bool,
    ) -> Option<SiteCredential> {
        let (mut lines, mut shown) = (Vec::new(), Vec::new());
        let from_elsewhere = is_cross_site(headers, authority);
        for name in &self.names {
            for value in headers.get_all(name) {
                let is_authorization = *name == header::AUTHORIZATION;
                let verified = is_authorization && authorization == Authorization::Verified;
                let withheld = is_authorization && authorization == Authorization::Withheld;
                let ambient = from_elsewhere && is_ambient(name, value);
                if withheld || is_ours(value.as_bytes()) || ambient || !(verified || self.unverified) {
                    continue;
                }
                if !verified {
                    shown.push((name.clone(), value.clone()));
                }
                lines.push((name.clone(), value.clone()));
            }
        }
        self.made(lines, &shown)
    }

    /// A token that came in the body of a request, where `Authorization` may go on (AHP §D.5).
    pub(crate) fn of_body(&self, token: &[u8], authorization: Authorization) -> Option<SiteCredential> {
        if authorization == Authorization::Withheld || !self.names.contains(&header::AUTHORIZATION) {
            return None;
        }
        let line = (header::AUTHORIZATION, HeaderValue::from_bytes(&[b"Bearer ", token].concat()).ok()?);
        let shown = if authorization == Authorization::Verified { &[][..] } else { std::slice::from_ref(&line) };
        self.made(vec![line.clone()], shown)
    }

    fn made(
        &self,
        mut lines: Vec<(HeaderName, HeaderValue)>,
        shown: &[(HeaderName, HeaderValue)],
    ) -> Option<SiteCredential> {
        let bytes: usize = lines.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if lines.is_empty() || bytes > MAX_BYTES {
            return None;
        }
        lines.iter_mut().for_each(|(_, value)| value.set_sensitive(true));
        Some(SiteCredential { lines: lines.into(), holder: self.holder(shown) })
    }

    fn holder(&self, shown: &[(HeaderName, HeaderValue)]) -> Option<Subject> {
        if shown.is_empty() {
            return None;
        }
        let mut hash = hmac::Context::with_key(&self.hash);
        for part in shown.iter().flat_map(|(name, value)| [name.as_str().as_bytes(), value.as_bytes()]) {
            hash.update(&(part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Some(Subject::named(&[b"shown", hash.sign().as_ref()]))
    }
}

/// The key of the hash. Replicas that share a store need the same one. A reader of the store must not be able to test
/// guesses against the hashes. So the key comes from something that replicas share and that the store does not hold:
/// the signing key, else the store's address with its password. A process with its own memory makes a random key.
fn secret(settings: &Settings) -> [u8; 32] {
    let mut secret = [0; 32];
    let shared: Option<Vec<u8>> = match (&settings.integrity, &settings.store.home) {
        (Some(integrity), _) => Some(integrity.key.to_vec()),
        (None, StoreHome::Memory) => None,
        (None, StoreHome::File(path)) => Some(path.as_os_str().as_encoded_bytes().to_vec()),
        (None, StoreHome::Redis(url)) => Some(url.clone().into_bytes()),
    };
    match shared {
        Some(shared) => {
            let key = hmac::Key::new(hmac::HMAC_SHA256, b"frontdesk: holders of credentials for the site");
            secret.copy_from_slice(hmac::sign(&key, &shared).as_ref());
        }
        None => secret = own_secret(),
    }
    secret
}

/// A secret of this process, the same for every configuration that it loads.
fn own_secret() -> [u8; 32] {
    static SECRET: std::sync::OnceLock<[u8; 32]> = std::sync::OnceLock::new();
    *SECRET.get_or_init(|| {
        let mut secret = [0; 32];
        // Without randomness the hash is unkeyed, and still tells callers apart.
        let _ = SystemRandom::new().fill(&mut secret);
        secret
    })
}

/// Whether browsers add this line by themselves.
fn is_ambient(name: &HeaderName, value: &HeaderValue) -> bool {
    *name == header::COOKIE || *name == header::AUTHORIZATION && !is_bearer(value.as_bytes())
}

/// Whether a browser says that a page of another origin made it send this.
fn is_cross_site(headers: &HeaderMap, authority: &str) -> bool {
    if let Some(site) = headers.get(SEC_FETCH_SITE) {
        return !matches!(site.as_bytes(), b"same-origin" | b"none");
    }
    headers.get(header::ORIGIN).is_some_and(|origin| {
        let host = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
        host.is_none_or(|host| !host.eq_ignore_ascii_case(authority))
    })
}

#[cfg(test)]
mod tests;
