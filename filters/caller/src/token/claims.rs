//! Judges a token's claims after its signature: audience, issuer, times (RFC 7519 §4.1).
//!
//! A claim that is present must be right. A claim of the wrong type does not count as absent.

use serde_json::{Map, Value};

use super::{super::rejected::Rejected, LEEWAY_SECONDS, Token};

/// What a token must claim to be accepted at this site.
#[derive(Debug)]
pub(super) struct Expected {
    pub(super) issuer: Option<String>,
    /// The audiences that it may name, one of them; empty: any.
    pub(super) audiences: Vec<String>,
    /// The issuer's name stands before those of its subjects.
    pub(super) is_further: bool,
}

/// Whether `exp` has passed; both in Unix seconds.
pub(super) fn has_expired(exp: u64, now: u64) -> bool {
    now >= exp.saturating_add(LEEWAY_SECONDS)
}

impl Expected {
    /// Reads and judges the decoded payload at a time in Unix seconds.
    ///
    /// # Errors
    ///
    /// The first claim that does not fit. Issuer and audience come before the times.
    pub(super) fn read(&self, payload: &[u8], now: u64) -> Result<Token, Rejected> {
        let claims: Map<String, Value> = serde_json::from_slice(payload).map_err(|_| Rejected::TokenMalformed)?;
        if let Some(issuer) = &self.issuer
            && claims.get("iss").and_then(Value::as_str) != Some(issuer)
        {
            return Err(Rejected::TokenWrongIssuer);
        }
        if !self.audiences.is_empty() {
            let named = texts(claims.get("aud"))?;
            if !self.audiences.iter().any(|audience| named.contains(&audience.as_str())) {
                return Err(Rejected::TokenWrongAudience);
            }
        }
        let expires = numeric_date(claims.get("exp"))?.ok_or(Rejected::TokenMalformed)?;
        if has_expired(expires, now) {
            return Err(Rejected::TokenExpired);
        }
        // `iat` is no condition in itself, but a date in the future means a wrong clock or a false claim.
        for date in ["nbf", "iat"] {
            if numeric_date(claims.get(date))?.is_some_and(|date| date > now.saturating_add(LEEWAY_SECONDS)) {
                return Err(Rejected::TokenNotYetValid);
            }
        }
        // The issuer wants proof of a key with each use (RFC 7800 §3.1; RFC 9449, RFC 8705). Accepted as a bearer
        // token it would serve a thief as well.
        if claims.contains_key("cnf") {
            return Err(Rejected::TokenBound);
        }
        let scopes = match claims.get("scope") {
            Some(scope) => texts(Some(scope))?,
            None => texts(claims.get("scp"))?,
        };
        let mut authentication = texts(claims.get("acr"))?;
        authentication.extend(texts(claims.get("amr"))?);
        Ok(Token {
            subject: match self.issuer.as_deref().filter(|_| self.is_further) {
                Some(issuer) => format!("{issuer}|{}", subject(&claims)?),
                None => subject(&claims)?,
            },
            scopes: words(&scopes),
            authentication: owned(&authentication),
            expires,
        })
    }
}

/// The token's subject. A token without one is refused, because its holder could not be told from others. Control
/// characters are refused because the name stands in a header.
fn subject(claims: &Map<String, Value>) -> Result<String, Rejected> {
    for name in ["sub", "client_id", "azp"] {
        match claims.get(name) {
            None => {}
            Some(Value::String(text)) if text.is_empty() => {}
            Some(Value::String(text)) if text.chars().any(char::is_control) => return Err(Rejected::TokenMalformed),
            Some(Value::String(text)) if name == "sub" => return Ok(text.clone()),
            // The prefix keeps a client apart from a user of the same name.
            Some(Value::String(text)) => return Ok(format!("client:{text}")),
            Some(_) => return Err(Rejected::TokenMalformed),
        }
    }
    Err(Rejected::TokenMalformed)
}

/// A string, or a list of strings; empty where the claim is absent.
fn texts(claim: Option<&Value>) -> Result<Vec<&str>, Rejected> {
    match claim {
        None => Ok(Vec::new()),
        Some(Value::String(text)) => Ok(vec![text]),
        Some(Value::Array(list)) => list.iter().map(|item| item.as_str().ok_or(Rejected::TokenMalformed)).collect(),
        Some(_) => Err(Rejected::TokenMalformed),
    }
}

/// The space-separated words (RFC 6749 §3.3), each once, in the order received.
fn words(texts: &[&str]) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let words = texts.iter().flat_map(|text| text.split(' ')).filter(|word| !word.is_empty());
    words.filter(|word| seen.insert(*word)).map(str::to_owned).collect()
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// Seconds since 1970, without the fraction (RFC 7519 §2, NumericDate).
fn numeric_date(claim: Option<&Value>) -> Result<Option<u64>, Rejected> {
    let Some(claim) = claim else { return Ok(None) };
    if let Some(seconds) = claim.as_u64() {
        return Ok(Some(seconds));
    }
    match claim.as_f64() {
        // The cast saturates.
        Some(seconds) if seconds >= 0.0 => Ok(Some(seconds as u64)),
        _ => Err(Rejected::TokenMalformed),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: u64 = 1_800_000_000;

    fn read(claims: Value) -> Result<Token, Rejected> {
        let expected = Expected {
            issuer: Some("https://issuer".into()),
            audiences: vec!["https://site".into()],
            is_further: false,
        };
        expected.read(claims.to_string().as_bytes(), NOW)
    }

    /// Claims that fit, with one changed; null takes it away.
    fn with(name: &str, value: Value) -> Value {
        let mut claims = json!({"iss": "https://issuer", "aud": "https://site", "exp": NOW + 60, "sub": "s"});
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value,
        }
        claims
    }

    #[test]
    fn the_issuer_and_the_audience_must_fit() {
        assert!(read(with("aud", json!(["https://other", "https://site"]))).is_ok());
        for aud in [json!(null), json!("https://site/"), json!([]), json!(["https://other"]), json!("")] {
            assert_eq!(read(with("aud", aud.clone())), Err(Rejected::TokenWrongAudience), "{aud}");
        }
        for aud in [json!(1), json!({"https://site": 1}), json!(["https://site", 1])] {
            assert_eq!(read(with("aud", aud.clone())), Err(Rejected::TokenMalformed), "{aud}");
        }
        for iss in [json!(null), json!("https://Issuer"), json!(["https://issuer"]), json!("")] {
            assert_eq!(read(with("iss", iss.clone())), Err(Rejected::TokenWrongIssuer), "{iss}");
        }
        let anyone = Expected { issuer: None, audiences: Vec::new(), is_further: false };
        assert!(anyone.read(json!({"exp": NOW, "sub": "s", "aud": "x"}).to_string().as_bytes(), NOW).is_ok());
    }

    #[test]
    fn it_is_valid_from_nbf_to_exp_give_or_take_the_leeway() {
        let exp = |exp: Value| read(with("exp", exp));
        assert!(exp(json!(NOW - LEEWAY_SECONDS + 1)).is_ok() && exp(json!(u64::MAX)).is_ok());
        assert_eq!(exp(json!(NOW - LEEWAY_SECONDS)), Err(Rejected::TokenExpired));
        assert_eq!(exp(json!(0)), Err(Rejected::TokenExpired));
        assert_eq!(exp(json!(1.8e9 + 60.9)).unwrap().expires, NOW + 60);
        for odd in [json!(null), json!("1900000000"), json!(-1), json!(-0.5), json!([NOW]), json!(true)] {
            assert_eq!(exp(odd.clone()), Err(Rejected::TokenMalformed), "{odd}");
        }
        for date in ["nbf", "iat"] {
            assert!(read(with(date, json!(NOW + LEEWAY_SECONDS))).is_ok());
            assert_eq!(read(with(date, json!(NOW + LEEWAY_SECONDS + 1))), Err(Rejected::TokenNotYetValid));
            assert_eq!(read(with(date, json!(1e300))), Err(Rejected::TokenNotYetValid));
            assert_eq!(read(with(date, json!("soon"))), Err(Rejected::TokenMalformed));
        }
    }

    #[test]
    fn the_subject_has_three_names() {
        let subject = |claims: Value| {
            let mut all = with("sub", json!(null));
            all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
            read(all).map(|token| token.subject)
        };
        assert_eq!(subject(json!({"sub": "s", "client_id": "c", "azp": "a"})).unwrap(), "s");
        assert_eq!(subject(json!({"sub": "", "client_id": "c", "azp": "a"})).unwrap(), "client:c");
        assert_eq!(subject(json!({"azp": "ä"})).unwrap(), "client:ä");
        for odd in [json!({}), json!({"sub": 5, "azp": "a"}), json!({"sub": "a\r\nb"}), json!({"sub": "\u{85}"})] {
            assert_eq!(subject(odd.clone()), Err(Rejected::TokenMalformed), "{odd}");
        }
    }

    #[test]
    fn scopes_come_in_three_forms() {
        let scopes = |name: &str, value: Value| read(with(name, value)).map(|token| token.scopes);
        for (name, value) in [
            ("scope", json!(" a:read  b a:read")),
            ("scp", json!("a:read b")),
            ("scp", json!(["a:read", "b"])),
            ("scope", json!(["a:read", "b"])),
        ] {
            assert_eq!(scopes(name, value.clone()).unwrap(), ["a:read", "b"], "{name} {value}");
        }
        assert!(scopes("scope", json!("")).unwrap().is_empty() && scopes("x", json!(1)).unwrap().is_empty());
        for odd in [json!(1), json!({"a": true}), json!(["a", 1])] {
            assert_eq!(scopes("scope", odd.clone()), Err(Rejected::TokenMalformed), "{odd}");
        }
        let both =
            json!({"iss": "https://issuer", "aud": "https://site", "exp": NOW, "sub": "s", "scope": "", "scp": "a"});
        assert!(read(both).unwrap().scopes.is_empty(), "an empty scope grants nothing, whatever else is there");
    }

    #[test]
    fn acr_and_amr_go_together() {
        let mut claims = with("acr", json!("urn:mfa"));
        claims["amr"] = json!(["pwd", "otp"]);
        assert_eq!(read(claims).unwrap().authentication, ["urn:mfa", "pwd", "otp"]);
        assert_eq!(read(with("amr", json!(["pwd", 1]))), Err(Rejected::TokenMalformed));
    }

    #[test]
    fn a_token_bound_to_a_key_is_no_bearer_token() {
        for cnf in [json!({"jkt": "a"}), json!({"x5t#S256": "a"}), json!({}), json!("a")] {
            assert_eq!(read(with("cnf", cnf.clone())), Err(Rejected::TokenBound), "{cnf}");
        }
    }

    #[test]
    fn a_payload_is_one_object() {
        for text in ["", "[]", "null", "\"a\"", "{\"exp\":1", "{} {}"] {
            let expected = Expected { issuer: None, audiences: Vec::new(), is_further: false };
            assert_eq!(expected.read(text.as_bytes(), NOW), Err(Rejected::TokenMalformed), "{text}");
        }
    }
}
