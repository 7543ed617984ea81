//! Genesis documents that verify, in each known form, and many that must not.

use super::*;
use crate::jws::testing::K1;
use frontdesk_caller::{signing::Signer, signing::testing};

/// The agent of the vectors: its canonical form, its id and its signature by the key whose seed is 00 to 1f.
const CANONICAL: &str = r#"{"archetype":"assistant","governance_zone":"zone:test","issued_at":"2026-06-01T00:00:00Z","issuer_public_key":"A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg","owner":"owner:example.test","scope":["documents:query"],"trust_tier":2,"verification_path":"org-asserted"}"#;
const AGENT_ID: &str = "b60496b3254b0a6872b15eab65ede1e0a59e4a3197579fee509440fd3d54af10";
const SIGNATURE: &str = "Ua1nMh-R2PyL1yW4-NTCkP6llcHfgh5V7XTJS9vLb7QV4F3thBKc3AfPhi6ZWgpSWHb56QJuFQtHYzB9ahxNAA";
/// The same with `agent_id` in the signed form.
const SIGNATURE_WITH_ID: &str =
    "s7QhLhq16vNY2SmeK7smALgMmt1YSwDxNu_mdhOH-hwqwlAMsR8gqwRT9kBj-0plj7ad974DaxhOHXnLedHQDQ";

/// As a public Python implementation writes it: keys in PEM, ASCII only.
const PYTHON: &str = r#"{"agent_public_key":"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAKay64UG8yvCyLhqU000LxzYeUm0L/hLIl5S8kyKWbdc=\n-----END PUBLIC KEY-----\n","agtp_genesis_version":"agtp-genesis/1","archetype":"assistant","governance_zone":"zone:test","issued_at":"2026-06-01T00:00:00Z","issuer":"Example \u007f","issuer_public_key":"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=\n-----END PUBLIC KEY-----\n","name":"gr\u00f6\u00dfe \ud83d\ude00","owner_id":"owner:example.test","principal_id":"p-1","scope":["documents:query"],"signature":"ygJspzrkRZGaT-570N0jU2aCCBP4umUsti1whVbRnCKgsR76p4sUtxQ5_jNoicLv0ZUKAhjM-GvHtQ7cWf7HBw"}"#;
const PYTHON_ID: &str = "00302cbfccf9b446dc58346bbcc9088549cbcb1efb3db7492615a181e4920f28";

fn vector() -> Value {
    serde_json::from_str(CANONICAL).unwrap()
}

/// The vector with a change, in canonical form.
fn with(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = vector();
    value["signature"] = SIGNATURE.into();
    change(&mut value);
    canonical(&value)
}

/// Another Genesis, signed by its issuer.
fn signed(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut value = vector();
    change(&mut value);
    let signature = Signer::new(&testing::k1()).unwrap().sign(&canonical(&value));
    value["signature"] = BASE64URL.encode(signature).trim_end_matches('=').into();
    canonical(&value)
}

fn read(file: &[u8]) -> (Hosted, Vec<String>) {
    Hosted::read(file).unwrap()
}

#[track_caller]
fn refused(file: impl AsRef<[u8]>, words: &str) {
    let why = Hosted::read(file.as_ref()).unwrap_err();
    assert!(why.contains(words), "{why}");
}

#[test]
fn the_vector_verifies_and_is_served_as_it_is() {
    let file = with(|_| ());
    let (hosted, notes) = read(&file);
    assert_eq!((hosted.agent_id.as_str(), hosted.form, notes.len()), (AGENT_ID, FORMS[0].2, 0), "{notes:?}");
    assert_eq!(hosted.document, file);
    assert_eq!((hosted.tier, hosted.path, hosted.warning), (2, "org-asserted", Some("verification-incomplete")));
    assert_eq!(hosted.owner.as_deref(), Some("owner:example.test"));
    assert_eq!(
        (hosted.archetype.as_deref(), hosted.scope.as_slice()),
        (Some("assistant"), &["documents:query".to_owned()][..])
    );
    let listing = json!({
        "agent_id": AGENT_ID, "name": "b60496b3254b", "trust_tier": 2, "verification_path": "org-asserted",
        "trust_warning": "verification-incomplete", "owner_id": "owner:example.test",
    });
    assert_eq!(hosted.listing(), listing);
}

#[test]
fn it_may_hold_its_id_outside_of_what_is_signed_or_inside() {
    let (outside, notes) = read(&with(|value| value["agent_id"] = AGENT_ID.into()));
    assert_eq!((outside.agent_id.as_str(), outside.form, notes.len()), (AGENT_ID, FORMS[0].2, 0));
    let (inside, notes) = read(&with(|value| {
        value["agent_id"] = AGENT_ID.into();
        value["signature"] = SIGNATURE_WITH_ID.into();
    }));
    assert_eq!((inside.agent_id.as_str(), inside.form), (AGENT_ID, FORMS[1].2));
    assert!(matches!(&notes[..], [note] if note.contains("RFC 8785 with agent_id")), "{notes:?}");
    for wrong in ["", "b60496b3", &AGENT_ID.to_uppercase(), &AGENT_ID.replace('b', "c")] {
        refused(with(|value| value["agent_id"] = (*wrong).into()), "hashes to b60496b3");
    }
}

#[test]
fn what_python_wrote_verifies_and_stays_what_can_be_hashed_again() {
    let (hosted, notes) = read(PYTHON.as_bytes());
    assert_eq!((hosted.agent_id.as_str(), hosted.form), (PYTHON_ID, FORMS[2].2));
    assert_eq!(hosted.document, PYTHON);
    assert_eq!((hosted.name.as_str(), hosted.owner.as_deref()), ("größe 😀", Some("owner:example.test")));
    assert_eq!((hosted.principal_id.as_deref(), hosted.issuer.as_deref()), (Some("p-1"), Some("Example \u{7f}")));
    assert!(matches!(&notes[..], [note] if note.contains("ASCII")), "{notes:?}");
    // The same document without escaped text.
    let plain: Value = serde_json::from_str(PYTHON).unwrap();
    let (plain, notes) = read(plain.to_string().as_bytes());
    assert_eq!((plain.agent_id.as_str(), plain.document), (PYTHON_ID, hosted.document));
    assert!(notes.iter().any(|note| note.contains("not in canonical form")), "{notes:?}");
}

#[test]
fn a_file_that_somebody_made_readable_is_served_in_canonical_form() {
    let canonical = with(|_| ());
    let value: Value = serde_json::from_slice(&canonical).unwrap();
    let (hosted, notes) = read(serde_json::to_string_pretty(&value).unwrap().as_bytes());
    assert_eq!((hosted.agent_id.as_str(), &hosted.document[..]), (AGENT_ID, &canonical[..]));
    assert!(matches!(&notes[..], [note] if note.contains("not in canonical form")), "{notes:?}");
    let (_, notes) = read(&[&canonical[..], b"\n"].concat());
    assert!(notes.is_empty(), "an editor's newline is nothing to speak of: {notes:?}");
}

#[test]
fn what_was_changed_or_signed_by_another_is_refused() {
    let tampered = "does not verify under its issuer_public_key";
    refused(with(|value| value["owner"] = "owner:evil.test".into()), tampered);
    refused(with(|value| value["trust_tier"] = 1.into()), tampered);
    refused(with(|value| value["scope"] = json!(["documents:query", "*:*"])), tampered);
    refused(with(|value| value["more"] = 1.into()), tampered);
    refused(with(|value| value["signature"] = SIGNATURE_WITH_ID.into()), tampered);
    let other = "Kay64UG8yvCyLhqU000LxzYeUm0L_hLIl5S8kyKWbdc";
    refused(with(|value| value["issuer_public_key"] = other.into()), tampered);
    refused(PYTHON.replace("p-1", "p-2"), tampered);
}

#[test]
fn signatures_and_keys_have_their_length_and_their_letters() {
    for wrong in ["", "AAAA", "not base64!", &SIGNATURE[1..], &format!("{SIGNATURE}AAAA"), &SIGNATURE.replace('-', "+")]
    {
        refused(with(|value| value["signature"] = (*wrong).into()), "not 64 bytes in base64url");
    }
    read(&with(|value| value["signature"] = format!("{SIGNATURE}==").into()));
    refused(with(|value| value["signature"] = 1.into()), "\"signature\" that is no text");
    refused(with(|value| drop(value.as_object_mut().unwrap().remove("signature"))), "has no signature");
    refused(with(|value| drop(value.as_object_mut().unwrap().remove("issuer_public_key"))), "no issuer_public_key");
    let rsa = "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAKj34GkxFhD9\n-----END PUBLIC KEY-----";
    for wrong in ["", "AAAA", &K1[1..], rsa, "-----BEGIN PUBLIC KEY-----"] {
        refused(with(|value| value["issuer_public_key"] = (*wrong).into()), "neither 32 bytes");
    }
}

#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    let file = String::from_utf8(with(|_| ())).unwrap();
    let twice = file.replacen('{', r#"{"owner":"owner:evil.test","#, 1);
    refused(twice, "twice");
    let escaped = file.replacen('{', r#"{"\u006fwner":"owner:evil.test","#, 1);
    refused(escaped, "twice");
    for (wrong, words) in [
        ("", "not JSON"),
        ("[]", "one JSON object"),
        ("null", "one JSON object"),
        ("{", "not JSON"),
        (&format!("{file}{file}"), "not JSON"),
        (r#"{"n":9007199254740993}"#, "would round"),
        (r#"{"a":[{"n":-9007199254740993}]}"#, "would round"),
        (r#"{"scope":"\ud800"}"#, "not JSON"),
    ] {
        refused(wrong, words);
    }
    refused(b"{\"a\":\"\xff\"}", "not JSON");
    refused("[".repeat(60_000), "not JSON");
    refused(vec![b' '; LONGEST + 1], "at most 65536 are read");
}

#[test]
fn what_cannot_be_verified_here_is_not_shown_as_verified() {
    let of = |tier: Value, path: &str| {
        let (hosted, notes) = read(&signed(|value| {
            value["trust_tier"] = tier;
            value["verification_path"] = path.into();
        }));
        (hosted.tier, hosted.path, hosted.warning, notes.len())
    };
    let incomplete = Some("verification-incomplete");
    for path in ["dns-anchored", "log-anchored", "hybrid"] {
        assert_eq!(of(1.into(), path), (2, "org-asserted", incomplete, 1), "{path}");
        assert_eq!(of(2.into(), path), (2, "org-asserted", incomplete, 1), "{path}");
    }
    assert_eq!(of(1.into(), "org-asserted"), (2, "org-asserted", incomplete, 1));
    assert_eq!(of(2.into(), "blood-oath"), (2, "org-asserted", Some("verification-path-unsupported"), 1));
    assert_eq!(of(3.into(), "org-asserted"), (3, "org-asserted", None, 0));
    let (silent, _) = read(&signed(|value| {
        value.as_object_mut().unwrap().retain(|key, _| key != "trust_tier" && key != "verification_path");
    }));
    assert_eq!((silent.tier, silent.warning), (2, incomplete), "the default");
    for wrong in [json!(0), json!(4), json!("1"), json!(1.5), json!(-1), json!([1])] {
        refused(signed(|value| value["trust_tier"] = wrong), "not 1, 2 or 3");
    }
}

#[test]
fn an_agent_that_nobody_owns_is_trusted_least() {
    let (hosted, notes) = read(&signed(|value| drop(value.as_object_mut().unwrap().remove("owner"))));
    assert_eq!((hosted.tier, hosted.owner.as_deref()), (3, None));
    assert!(matches!(&notes[..], [note] if note.contains("has no owner")), "{notes:?}");
    assert!(hosted.listing().get("owner_id").is_none());
}

#[test]
fn members_are_what_they_should_be() {
    for (key, value, words) in [
        ("name", json!(1), "\"name\" that is no text"),
        ("scope", json!("documents:query"), "no list of texts"),
        ("scope", json!([1]), "no list of texts"),
        ("owner", json!({}), "\"owner\" that is no text"),
        ("verification_path", json!(true), "no text"),
    ] {
        refused(signed(|genesis| genesis[key] = value), words);
    }
}
