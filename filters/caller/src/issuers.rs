//! The issuers whose tokens are taken: the one of `auth.jwks`, and those of `auth.authorization_servers`, whose keys are
//! found by their metadata (RFC 8414, OpenID Connect Discovery).
//!
//! A token is judged by the keys of the issuer that it names, and by no others. Names of people are an issuer's own: who
//! is "ada" at one is not "ada" at another. The first issuer's names are used as they are, those of each other one with
//! the issuer before them.

use std::sync::Arc;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::Value;
use url::Url;

use super::{
    rejected::Rejected,
    token::{MAX_TOKEN_BYTES, Token, Tokens},
};

/// All issuers.
#[derive(Debug, Default)]
pub(super) struct Issuers {
    all: Vec<Tokens>,
}

impl Issuers {
    pub(super) fn new(all: Vec<Tokens>) -> Self {
        Self { all }
    }

    /// Those whose tokens a token can be; `None`: no issuer's tokens are taken.
    fn of(&self, token: &str) -> Option<&Tokens> {
        match &self.all[..] {
            [] => None,
            [one] => Some(one),
            all => {
                let named = named(token);
                all.iter().find(|tokens| tokens.are_of(named.as_deref())).or(all.first())
            }
        }
    }

    /// See [`Tokens::verify`]; `None`: no issuer's tokens are taken.
    pub(super) fn verify(&self, token: &str, now: u64) -> Option<Result<Arc<Token>, Rejected>> {
        self.of(token).map(|tokens| tokens.verify(token, now))
    }

    /// See [`Tokens::verify_if_ours`].
    pub(super) fn verify_if_ours(&self, token: &str, now: u64) -> Option<Result<Arc<Token>, Rejected>> {
        self.of(token).map(|tokens| tokens.verify_if_ours(token, now))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
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
    let is_safe = Url::parse(url).is_ok_and(|url| url.scheme() == "https" && url.username().is_empty());
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
            r#"{"issuer":"https://a.test"}"#.to_owned(),
            "<html>".to_owned(),
        ] {
            assert!(found(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
