//! The issuers whose tokens are taken: the one of `auth.jwks`, and those of `auth.authorization_servers`, whose keys are
//! found by their metadata (RFC 8414, OpenID Connect Discovery).
//!
//! A token is judged by the keys of the issuer that it names, and by no others. Names of people are an issuer's own: who
//! is "ada" at one is not "ada" at another. The first issuer's names are used as they are, those of each other one with
//! the issuer before them.

use std::{collections::HashMap, sync::Arc};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use frontdesk_config::{Issuer, Jwks, Settings};
use serde_json::Value;
use url::Url;

use super::{
    key_set::KeySet,
    rejected::Rejected,
    token::{MAX_TOKEN_BYTES, Token, Tokens},
};

/// The configuration keys that problems with keys are reported under.
const JWKS: &str = "auth.jwks";
const SERVERS: &str = "auth.authorization_servers";

/// All issuers.
#[derive(Debug, Default)]
pub(super) struct Issuers {
    /// That of `auth.jwks`.
    by_keys: Option<Tokens>,
    by_metadata: Vec<Tokens>,
}

impl Issuers {
    /// Those that are declared, with the keys that were fetched since by URL. `reports`: problems, and notes.
    pub(super) fn declared(
        settings: &Settings,
        fetched: &HashMap<String, Bytes>,
        reports: (&mut Vec<String>, &mut Vec<String>),
    ) -> Self {
        let (auth, (problems, notes)) = (&settings.auth, reports);
        let by_keys = auth.jwks.as_ref().map(|jwks| {
            let bytes = match jwks {
                // An empty placeholder, to be filled later.
                Jwks::Text(text) if text.trim() == "{}" => Some(&b"{\"keys\":[]}"[..]),
                Jwks::Text(text) => Some(text.as_bytes()),
                Jwks::Url(url) => fetched.get(url).map(Bytes::as_ref),
            };
            let keys = bytes.and_then(|bytes| match KeySet::parse(bytes) {
                Ok(keys) => {
                    let report = if let Jwks::Text(_) = jwks { &mut *notes } else { &mut *problems };
                    report.extend(keys.skipped().iter().map(|why| format!("{JWKS}: {why}")));
                    if keys.is_empty() {
                        report.push(format!("{JWKS}: there is no key to verify tokens with"));
                    }
                    Some(keys)
                }
                Err(e) => {
                    problems.push(format!("{JWKS}: {e}"));
                    None
                }
            });
            Tokens::new(auth.issuer.clone(), auth.audience.clone(), keys)
        });
        // The site's own sign-in names people too.
        let is_first_named = by_keys.is_some() || auth.login.is_some();
        let mut by_metadata = Vec::new();
        for Issuer { url, audiences } in settings.issuers() {
            let keys = fetched.get(url).map(|bytes| KeySet::parse(bytes));
            problems.extend(
                keys.iter()
                    .flatten()
                    .filter(|keys| keys.is_empty())
                    .map(|_| format!("{SERVERS}: {url} has no key to verify tokens with")),
            );
            let keys = keys.and_then(Result::ok);
            let is_further = is_first_named || !by_metadata.is_empty();
            by_metadata.push(Tokens::of_issuer(url, audiences, keys, is_further));
        }
        Self { by_keys, by_metadata }
    }

    /// The only one whose token a token can be; `None`: no issuer's tokens are taken. A token of nobody here is refused,
    /// whether or not anybody's keys are there.
    fn of(&self, token: &str) -> Option<Result<&Tokens, Rejected>> {
        match (&self.by_keys, &self.by_metadata[..]) {
            (None, []) => None,
            (Some(one), []) => Some(Ok(one)),
            (first, others) => {
                let Some(issuer) = named(token) else { return Some(Err(Rejected::TokenMalformed)) };
                Some(first.iter().chain(others).find(|tokens| tokens.are_of(&issuer)).ok_or(Rejected::TokenNotValid))
            }
        }
    }

    /// See [`Tokens::verify`]; `None`: no issuer's tokens are taken.
    pub(super) fn verify(&self, token: &str, now: u64) -> Option<Result<Arc<Token>, Rejected>> {
        let of = self.of(token)?;
        Some(of.and_then(|tokens| self.own(tokens, tokens.verify(token, now)?)))
    }

    /// See [`Tokens::verify_if_ours`].
    pub(super) fn verify_if_ours(&self, token: &str, now: u64) -> Option<Result<Arc<Token>, Rejected>> {
        let of = self.of(token)?;
        Some(of.and_then(|tokens| self.own(tokens, tokens.verify_if_ours(token, now)?)))
    }

    /// A verified token, if its subject could not be taken for one of another issuer: the first issuer's subjects have no
    /// name before them.
    fn own(&self, of: &Tokens, token: Arc<Token>) -> Result<Arc<Token>, Rejected> {
        let is_anothers = |other: &Tokens| !std::ptr::eq(of, other) && other.names(&token.subject);
        if self.by_metadata.iter().any(is_anothers) { Err(Rejected::TokenNotValid) } else { Ok(token) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_keys.is_none() && self.by_metadata.is_empty()
    }
}

/// The issuer that a token names. Nothing of it is proven yet.
fn named(token: &str) -> Option<String> {
    let payload = token.split('.').nth(1).filter(|_| token.len() <= MAX_TOKEN_BYTES)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    claims["iss"].as_str().map(str::to_owned)
}

/// Where an issuer's metadata can be (RFC 8414 §3, OpenID Connect Discovery §4), in the order to try.
pub fn metadata_urls(issuer: &str) -> Vec<String> {
    let Ok(url) = Url::parse(issuer) else { return Vec::new() };
    let path = url.path().trim_end_matches('/');
    let origin = url.origin().ascii_serialization();
    let mut urls = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}{path}/.well-known/openid-configuration"),
    ];
    if !path.is_empty() {
        urls.insert(1, format!("{origin}/.well-known/openid-configuration{path}"));
    }
    urls
}

/// Whether keys are where their issuer is: at the server that the operator declared.
pub fn is_at_home(issuer: &str, keys: &str) -> bool {
    let origin = |url| Url::parse(url).map(|url| url.origin());
    matches!((origin(issuer), origin(keys)), (Ok(issuer), Ok(keys)) if issuer == keys)
}

/// Where the keys of an issuer are, by its metadata.
///
/// # Errors
///
/// It is no metadata, or that of another issuer, or it names no keys that can be fetched safely.
pub fn keys_url(issuer: &str, metadata: &[u8]) -> Result<String, String> {
    let metadata: Value = serde_json::from_slice(metadata).map_err(|_| "the metadata is no JSON".to_owned())?;
    if metadata["issuer"].as_str() != Some(issuer) {
        return Err("the metadata is that of another issuer".to_owned());
    }
    let url = metadata["jwks_uri"].as_str().ok_or_else(|| "the metadata names no jwks_uri".to_owned())?;
    let is_safe = Url::parse(url)
        .is_ok_and(|url| url.scheme() == "https" && url.username().is_empty() && url.password().is_none());
    if is_safe { Ok(url.to_owned()) } else { Err("jwks_uri has to be an https address".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_looked_for_where_the_standards_say() {
        assert_eq!(
            metadata_urls("https://login.test/"),
            [
                "https://login.test/.well-known/oauth-authorization-server",
                "https://login.test/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            metadata_urls("https://login.test:8443/realms/a"),
            [
                "https://login.test:8443/.well-known/oauth-authorization-server/realms/a",
                "https://login.test:8443/.well-known/openid-configuration/realms/a",
                "https://login.test:8443/realms/a/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn keys_are_at_home_at_their_issuers_origin() {
        let home = |keys| is_at_home("https://a.test/realm", keys);
        assert!(home("https://a.test/keys") && home("https://a.test:443/keys"));
        assert!(!home("https://a.test:8443/keys") && !home("https://b.test/keys") && !home("none"));
    }

    #[test]
    fn metadata_counts_for_its_own_issuer_with_keys_over_https() {
        let said = |issuer: &str, keys: &str| format!(r#"{{"issuer":"{issuer}","jwks_uri":"{keys}"}}"#);
        let found = |text: String| keys_url("https://a.test", text.as_bytes());
        assert_eq!(found(said("https://a.test", "https://keys.test/k")), Ok("https://keys.test/k".to_owned()));
        for wrong in [
            said("https://b.test", "https://keys.test/k"),
            said("https://a.test/", "https://keys.test/k"),
            said("https://a.test", "http://keys.test/k"),
            said("https://a.test", "file:///etc/passwd"),
            said("https://a.test", "https://u:p@keys.test/k"),
            said("https://a.test", "https://:p@keys.test/k"),
            r#"{"issuer":"https://a.test"}"#.to_owned(),
            "<html>".to_owned(),
        ] {
            assert!(found(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
