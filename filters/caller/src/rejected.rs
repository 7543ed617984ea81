//! The closed set of reasons why a presented credential is refused, each with a label for metrics and advice.
//!
//! An agent gets advice that it can act on, but no help for guessing. A wrong key, an unknown `kid` and a bad
//! signature are one reason, so a client without a valid token learns nothing about the keys. Claims are judged only
//! after the signature, so only holders of a genuine token see the finer reasons. The thumbprints of agents' keys are
//! public, so [`Rejected::SignatureUnknownKey`] reveals nothing.

/// Why a presented credential is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rejected {
    /// Not an API key of this site.
    KeyUnknown,
    /// Several credentials, or one credential several times.
    CredentialRepeated,
    /// Not a JWT, or a required claim is missing.
    TokenMalformed,
    /// Unsigned, or signed with an unsupported algorithm.
    TokenAlgorithm,
    /// A wrong key, an unknown `kid`, a bad signature.
    TokenNotValid,
    /// Bound to a key of its holder (`cnf`), for which Frontdesk asks no proof.
    TokenBound,
    /// `exp` has passed.
    TokenExpired,
    /// `nbf` or `iat` is in the future.
    TokenNotYetValid,
    /// `aud` does not name this site.
    TokenWrongAudience,
    /// `iss` is not this site's token issuer.
    TokenWrongIssuer,
    /// Does not follow RFC 9421 and Web Bot Auth.
    SignatureMalformed,
    /// `alg` is not `ed25519`.
    SignatureAlgorithm,
    /// `expires` has passed.
    SignatureExpired,
    /// `created` is in the future.
    SignatureNotYetValid,
    /// `expires` is too far from `created`.
    SignatureLifetime,
    /// A required component is not signed.
    SignatureUncovered,
    /// The key is known, but did not make this signature.
    SignatureNotValid,
    /// No known key has this thumbprint.
    SignatureUnknownKey,
    /// Made for another site.
    SignatureElsewhere,
    /// The nonce was used before.
    SignatureReplayed,
    /// The keys to verify with are not fetched yet.
    KeysAway,
}

impl Rejected {
    /// The label in metrics and logs.
    pub fn reason(self) -> &'static str {
        match self {
            Self::KeyUnknown => "key_unknown",
            Self::CredentialRepeated => "credential_repeated",
            Self::TokenMalformed => "token_malformed",
            Self::TokenAlgorithm => "token_algorithm",
            Self::TokenNotValid => "token_not_valid",
            Self::TokenBound => "token_bound",
            Self::TokenExpired => "token_expired",
            Self::TokenNotYetValid => "token_not_yet_valid",
            Self::TokenWrongAudience => "token_wrong_audience",
            Self::TokenWrongIssuer => "token_wrong_issuer",
            Self::SignatureMalformed => "signature_malformed",
            Self::SignatureAlgorithm => "signature_algorithm",
            Self::SignatureExpired => "signature_expired",
            Self::SignatureNotYetValid => "signature_not_yet_valid",
            Self::SignatureLifetime => "signature_lifetime",
            Self::SignatureUncovered => "signature_uncovered",
            Self::SignatureNotValid => "signature_not_valid",
            Self::SignatureUnknownKey => "signature_unknown_key",
            Self::SignatureElsewhere => "signature_elsewhere",
            Self::SignatureReplayed => "signature_replayed",
            Self::KeysAway => "keys_away",
        }
    }

    /// Whether the token may be one that only the site can verify: it is no token of the issuer that is known here.
    pub fn may_be_for_the_site(self) -> bool {
        matches!(
            self,
            Self::TokenMalformed
                | Self::TokenAlgorithm
                | Self::TokenNotValid
                | Self::TokenWrongIssuer
                | Self::TokenBound
        )
    }

    /// Whether it was a bearer credential, for which RFC 6750 §3.1 defines the error.
    pub fn is_bearers(self) -> bool {
        self.reason().starts_with("token_") || self == Self::KeyUnknown
    }

    /// One sentence that an agent can act on.
    pub fn advice(self) -> &'static str {
        match self {
            Self::KeyUnknown => "Use an API key that this site's operator has issued.",
            Self::CredentialRepeated => "Send exactly one credential.",
            Self::TokenMalformed => {
                "Send a signed JWT access token in compact form, at most 8 KB long, that has exp and sub."
            }
            Self::TokenAlgorithm => "Use a token signed with EdDSA, ES256 or RS256.",
            Self::TokenNotValid => "Obtain a new token from this site's authorization server.",
            Self::TokenBound => "Use a bearer token; proof of possession (DPoP, mutual TLS) is not verified here.",
            Self::TokenExpired => "Refresh the token: it has expired, or what it was given for was ended.",
            Self::TokenNotYetValid => "Wait until the token becomes valid, or have its issuer's clock set right.",
            Self::TokenWrongAudience => "Request a token whose audience is this site.",
            Self::TokenWrongIssuer => "Request a token from this site's own authorization server.",
            Self::SignatureMalformed => {
                "Sign as RFC 9421 and Web Bot Auth describe: Signature-Input with created, expires, keyid and tag."
            }
            Self::SignatureAlgorithm => "Sign with Ed25519.",
            Self::SignatureExpired => "Sign the request anew; the signature has expired.",
            Self::SignatureNotYetValid => "Set the clock right and sign anew; created is in the future.",
            Self::SignatureLifetime => "Sign anew with an expires after created, at most 24 hours after it.",
            Self::SignatureUncovered => "Cover @authority, and signature-agent where that header is sent.",
            Self::SignatureNotValid => "Sign the request as it is sent, with the key that keyid names.",
            Self::SignatureUnknownKey => "Have this site's operator register the key, or call without a signature.",
            Self::SignatureElsewhere => "Sign for this site's own @authority, and send the request there.",
            Self::SignatureReplayed => "Sign every request anew, with a nonce of its own.",
            Self::KeysAway => "Try again in ten seconds; the keys to verify this with cannot be reached at the moment.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_a_label_of_its_own_and_every_advice_a_sentence() {
        use Rejected::*;
        let all = [
            KeyUnknown,
            CredentialRepeated,
            TokenMalformed,
            TokenAlgorithm,
            TokenNotValid,
            TokenBound,
            TokenExpired,
            TokenNotYetValid,
            TokenWrongAudience,
            TokenWrongIssuer,
            SignatureMalformed,
            SignatureAlgorithm,
            SignatureExpired,
            SignatureNotYetValid,
            SignatureLifetime,
            SignatureUncovered,
            SignatureNotValid,
            SignatureUnknownKey,
            SignatureElsewhere,
            SignatureReplayed,
            KeysAway,
        ];
        let reasons: std::collections::HashSet<&str> = all.iter().map(|rejected| rejected.reason()).collect();
        assert_eq!(reasons.len(), all.len());
        for rejected in all {
            let (reason, advice) = (rejected.reason(), rejected.advice());
            assert!(reason.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{reason}");
            assert!(advice.ends_with('.') && advice.starts_with(char::is_uppercase) && advice.is_ascii(), "{advice}");
        }
    }
}
