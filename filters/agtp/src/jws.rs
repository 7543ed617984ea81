//! Canonical JSON (RFC 8785), and JWS signatures over it (RFC 7515) with EdDSA.
//!
//! Without a key a record is still linked into its chain: its `alg` is `none` and its signature empty. A verifier that
//! expects a key rejects it.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde_json::{Value, json};

use frontdesk_base::text::hex;
use frontdesk_caller::signing::Signer;
use frontdesk_config::Integrity;

/// The manifest's field for its signature (AGTP-API §8.8).
const MANIFEST_SIGNATURE: &str = "manifest_signature";

/// JSON in its canonical form.
pub fn canonical<T: Serialize>(value: &T) -> Vec<u8> {
    // It fails for keys that are no text and for numbers without end; what was read from JSON has neither.
    serde_json_canonicalizer::to_vec(value).unwrap_or_default()
}

/// What a chain and an Agent-ID are made of: SHA-256 in hex.
pub fn hash(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

/// Signs in compact form.
#[derive(Debug)]
pub(crate) struct Jws {
    signer: Option<Signer>,
    /// The protected header, encoded.
    header: String,
}

impl Jws {
    /// With the key of `[integrity]`, where there is one. It is named by its `key_id`, or else by SHA-256 of its public
    /// half in hex.
    pub fn new(integrity: Option<&Integrity>) -> Self {
        // A key that cannot be used is a mistake, and was reported.
        let signer = integrity.and_then(|integrity| Signer::new(integrity).ok());
        let header = match &signer {
            Some(signer) => {
                let kid = signer.key_id.clone().unwrap_or_else(|| hash(signer.public_key()));
                json!({ "alg": "EdDSA", "kid": kid, "typ": "JWT" })
            }
            None => json!({ "alg": "none", "typ": "JWT" }),
        };
        Self { signer, header: URL_SAFE_NO_PAD.encode(canonical(&header)) }
    }

    /// A compact JWS. Without a key it ends in a dot.
    pub fn sign(&self, payload: &[u8]) -> String {
        // Four characters for three bytes, a signature of 64 bytes and two dots.
        let mut compact = String::with_capacity(self.header.len() + payload.len() * 4 / 3 + 96);
        compact.push_str(&self.header);
        compact.push('.');
        URL_SAFE_NO_PAD.encode_string(payload, &mut compact);
        let signature = self.signer.as_ref().map(|signer| signer.sign(compact.as_bytes()));
        compact.push('.');
        if let Some(signature) = signature {
            URL_SAFE_NO_PAD.encode_string(signature, &mut compact);
        }
        compact
    }

    /// The signature of a manifest (AGTP-API §8.8): a detached compact JWS (RFC 7515, appendix F) over the canonical
    /// form of all but that field. `null` without a key.
    pub(crate) fn manifest_signature(&self, manifest: &Value) -> Value {
        if self.signer.is_none() {
            return Value::Null;
        }
        let compact = self.sign(&unsigned_form(manifest));
        let mut parts = compact.split('.');
        match (parts.next(), parts.next(), parts.next()) {
            (Some(header), Some(_), Some(signature)) => format!("{header}..{signature}").into(),
            _ => Value::Null,
        }
    }
}

fn unsigned_form(manifest: &Value) -> Vec<u8> {
    match manifest {
        Value::Object(members) if members.contains_key(MANIFEST_SIGNATURE) => {
            let mut members = members.clone();
            members.remove(MANIFEST_SIGNATURE);
            canonical(&members)
        }
        manifest => canonical(manifest),
    }
}

/// Header and payload of a compact JWS, without verification. `None` where it is none.
pub fn read(compact: &str) -> Option<(Value, Value)> {
    let mut parts = compact.split('.');
    let mut part = || serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts.next()?).ok()?).ok();
    let read = (part()?, part()?);
    let _signature = parts.next()?;
    parts.next().is_none().then_some(read)
}

/// Verifies signatures as their recipients do.
#[cfg(test)]
pub mod testing {
    use super::*;
    use frontdesk_caller::signing::is_signed;

    /// The payload of a compact JWS with a valid signature by this key.
    pub fn verified(compact: &str, public_key: &[u8]) -> Option<Value> {
        let (header, payload) = read(compact)?;
        let (message, signature) = compact.rsplit_once('.')?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let signed = header["alg"] == "EdDSA" && is_signed(message.as_bytes(), &signature, public_key);
        signed.then_some(payload)
    }

    /// Whether a manifest is signed by this key.
    pub(crate) fn is_manifest_signed(manifest: &Value, public_key: &[u8]) -> bool {
        let detached = manifest[MANIFEST_SIGNATURE].as_str().unwrap_or_default();
        let payload = URL_SAFE_NO_PAD.encode(unsigned_form(manifest));
        let compact = detached.replace("..", &format!(".{payload}."));
        detached.contains("..") && verified(&compact, public_key).is_some()
    }

    /// The public half of the vectors' key.
    pub(crate) const K1: &str = "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg";

    pub fn k1() -> Vec<u8> {
        URL_SAFE_NO_PAD.decode(K1).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::{
        testing::{is_manifest_signed, k1, verified},
        *,
    };
    use frontdesk_caller::signing::testing;

    fn signing() -> Jws {
        Jws::new(Some(&testing::k1()))
    }

    #[test]
    fn the_form_is_that_of_rfc_8785() {
        let value = json!({
            "numbers": [333_333_333.333_333_3, 1e30, 4.50, 2e-3, 0.000000000000000000000000001, -0.0, 9007199254740992u64],
            "string": "\u{20ac}$\u{f}\nA'B\"\\\"/",
            "literals": [null, true, false],
            "\u{fb33}": 1, "\u{1f600}": 2, "\u{20ac}": 3, "1": 4, "ö": 5,
        });
        let expected = "{\"1\":4,\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27,0,\
                        9007199254740992],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\"/\",\"ö\":5,\"€\":3,\"😀\":2,\"\u{fb33}\":1}";
        assert_eq!(String::from_utf8(canonical(&value)).unwrap(), expected);
    }

    #[test]
    fn what_is_signed_verifies_and_nothing_else_does() {
        let compact = signing().sign(br#"{"a":1}"#);
        assert!(compact.starts_with("eyJhbGciOiJFZERTQSIsImtpZCI6ImsxIiwidHlwIjoiSldUIn0."));
        assert_eq!(verified(&compact, &k1()), Some(json!({ "a": 1 })));
        let other = URL_SAFE_NO_PAD.encode(r#"{"a":2}"#);
        let (header, rest) = compact.split_once('.').unwrap();
        let (_, signature) = rest.split_once('.').unwrap();
        assert_eq!(verified(&format!("{header}.{other}.{signature}"), &k1()), None);
        assert_eq!(verified(&format!("{header}.{other}."), &k1()), None);
        assert_eq!(verified(&compact, &[7; 32]), None);
        let none = Jws::new(None).sign(br#"{"a":1}"#);
        assert_eq!(verified(&none, &k1()), None, "a record that nobody signed proves nothing");
    }

    #[test]
    fn without_a_key_the_third_part_is_empty() {
        let compact = Jws::new(None).sign(br#"{"a":1}"#);
        assert!(compact.ends_with('.') && compact.matches('.').count() == 2, "{compact}");
        let read = read(&compact).unwrap();
        assert_eq!(read, (json!({ "alg": "none", "typ": "JWT" }), json!({ "a": 1 })));
    }

    #[test]
    fn a_key_without_a_name_is_named_by_what_it_is() {
        let integrity = Integrity { key_id: None, ..testing::k1() };
        let (header, _) = read(&Jws::new(Some(&integrity)).sign(b"{}")).unwrap();
        // The issuer fingerprint of the vectors.
        assert_eq!(header["kid"], "56475aa75463474c0285df5dbf2bcab73da651358839e9b77481b2eab107708c");
    }

    #[test]
    fn a_manifest_is_signed_over_all_but_its_signature() {
        let mut manifest = json!({ "z": 1, "a": { "c": [1.0, "ä"], "b": null }, "manifest_signature": null });
        let signature = signing().manifest_signature(&manifest);
        let header = "eyJhbGciOiJFZERTQSIsImtpZCI6ImsxIiwidHlwIjoiSldUIn0..";
        assert!(signature.as_str().unwrap().starts_with(header), "{signature}");
        assert_eq!(signature, signing().manifest_signature(&json!({ "a": { "b": null, "c": [1, "ä"] }, "z": 1 })));
        manifest["manifest_signature"] = signature;
        assert!(is_manifest_signed(&manifest, &k1()));
        manifest["z"] = 2.into();
        assert!(!is_manifest_signed(&manifest, &k1()));
        assert_eq!(Jws::new(None).manifest_signature(&manifest), Value::Null);
    }

    #[test]
    fn what_is_no_jws_is_not_read() {
        for wrong in ["", ".", "..", "a.b", "e30.e30", "e30.e30.a.b", "e30.!.", "e30.bm8.", "e30.e30.\n."] {
            assert!(read(wrong).is_none(), "{wrong}");
        }
    }
}
