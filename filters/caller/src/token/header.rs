//! Reads the header of a signed JWT: the algorithm and the key, and refuses parameters that change the signature's
//! meaning.

use serde_json::Value;

use super::super::{jwk::Algorithm, rejected::Rejected};

/// The parts of the JOSE header (RFC 7515 §4) that are used. `jku`, `jwk` and `x5c`, with which a token would bring
/// its own key, are ignored.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) algorithm: Algorithm,
    pub(super) kid: Option<String>,
}

impl Header {
    /// Reads a decoded header.
    ///
    /// # Errors
    ///
    /// An unsupported algorithm, including `none` and every HMAC, or a header with extensions that are not supported.
    pub(super) fn parse(json: &[u8]) -> Result<Self, Rejected> {
        let header: Value = serde_json::from_slice(json).map_err(|_| Rejected::TokenMalformed)?;
        // A null is a value too: a member that is present must be right.
        let text = |member: &str| match header.get(member) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(Rejected::TokenMalformed),
        };
        let algorithm = text("alg")?.ok_or(Rejected::TokenMalformed)?;
        let algorithm = Algorithm::named(algorithm).ok_or(Rejected::TokenAlgorithm)?;
        let kid = text("kid")?.map(str::to_owned);
        // No extension is supported, so a list of critical ones is refused (RFC 7515 §4.1.11). An unencoded payload
        // (RFC 7797) would change what is signed, so it is refused without `crit` too.
        if header.get("crit").is_some() || header.get("b64").is_some_and(|b64| b64 != true) {
            return Err(Rejected::TokenMalformed);
        }
        // Tokens for other purposes (`dpop+jwt`, `logout+jwt`, `secevent+jwt`, …) may be signed by the same key and
        // are not access tokens (RFC 8725 §3.11, RFC 9068 §4).
        let access = |typ: &str| {
            let typ = typ.to_ascii_lowercase();
            matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt")
        };
        if text("typ")?.is_some_and(|typ| !access(typ)) {
            return Err(Rejected::TokenMalformed);
        }
        Ok(Self { algorithm, kid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(json: &str) -> Rejected {
        Header::parse(json.as_bytes()).unwrap_err()
    }

    #[test]
    fn the_usual_headers_are_read() {
        let header = |json: &str| Header::parse(json.as_bytes()).unwrap();
        assert_eq!(header(r#"{"alg":"EdDSA"}"#).algorithm, Algorithm::EdDsa);
        assert_eq!(header(r#"{"alg":"Ed25519","typ":"at+jwt"}"#).algorithm, Algorithm::EdDsa);
        assert_eq!(header(r#"{"alg":"ES256","typ":"JWT","kid":"a"}"#).kid.as_deref(), Some("a"));
        assert_eq!(header(r#"{"alg":"RS256","typ":"application/AT+jwt","jku":"https://x"}"#).kid, None);
        assert!(Header::parse(br#"{"alg":"RS256","b64":true}"#).is_ok());
    }

    #[test]
    fn what_is_not_verified_here_is_no_algorithm() {
        for alg in ["none", "None", "", "HS256", "HS384", "HS512", "es256", "ES384", "ES256K", "PS256", "Ed448", "RS1"]
        {
            assert_eq!(why(&format!(r#"{{"alg":"{alg}"}}"#)), Rejected::TokenAlgorithm, "{alg}");
        }
    }

    #[test]
    fn what_would_change_the_meaning_is_refused() {
        for json in [
            "",
            "[]",
            "1",
            "null",
            "{}",
            r#"{"alg":null}"#,
            r#"{"alg":["EdDSA"]}"#,
            r#"{"alg":"EdDSA","kid":1}"#,
            r#"{"alg":"EdDSA","kid":null}"#,
            r#"{"alg":"EdDSA","crit":[]}"#,
            r#"{"alg":"EdDSA","crit":null}"#,
            r#"{"alg":"EdDSA","crit":["exp"],"exp":1}"#,
            r#"{"alg":"EdDSA","b64":false}"#,
            r#"{"alg":"EdDSA","b64":null}"#,
            r#"{"alg":"EdDSA","typ":"dpop+jwt"}"#,
            r#"{"alg":"EdDSA","typ":"logout+jwt"}"#,
            r#"{"alg":"EdDSA","typ":5}"#,
            r#"{"alg":"EdDSA"} {}"#,
        ] {
            assert_eq!(why(json), Rejected::TokenMalformed, "{json}");
        }
    }
}
