//! The worked example, byte for byte, and what a record may contain.

use std::{sync::LazyLock, time::Duration};

use http::header;
use serde_json::json;

use super::{
    testing::{CALLER, settings, signing},
    *,
};
use crate::jws::{
    self, canonical,
    testing::{k1, verified},
};
use frontdesk_state::{
    chain::Chains,
    testing::{Shelf, run},
};

const REQUEST: &[u8] = b"AGTP/1.0 QUERY /catalog?category=lamps\r\n\
    Agent-ID: 61de55ba3388aec4fdf6ecfc6eef846fb0f1b13e28cc8381270c27ffa313aee5\r\n\
    Request-ID: 01991b5e-0000-7000-8000-000000000001\r\nTask-ID: t-77\r\nContent-Length: 0\r\n\r\n";
fn headers(headers: &[(&'static str, &str)]) -> HeaderMap {
    headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
}

fn nobody() -> &'static Caller {
    static NOBODY: LazyLock<Caller> = LazyLock::new(|| Caller::at([127, 0, 0, 1].into()));
    &NOBODY
}

/// The values of the example's request.
fn example() -> HeaderMap {
    headers(&[
        ("agent-id", CALLER),
        ("request-id", "01991b5e-0000-7000-8000-000000000001"),
        ("task-id", "t-77"),
        ("authorization", "Bearer secret"),
        ("content-length", "0"),
    ])
}

fn example_record(headers: &HeaderMap) -> Record<'_> {
    let hash = ring::digest::digest(&ring::digest::SHA256, REQUEST).as_ref().try_into().unwrap();
    let response_id = "01991b5e-0000-7000-8000-000000000002";
    Record {
        // 2026-06-01T00:00:00Z
        issued_at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_780_272_000),
        identity_assurance: None,
        ..Record::of(headers, nobody(), hash, response_id, StatusCode::OK)
    }
}

fn payload(record: &str) -> Value {
    jws::read(record).unwrap().1
}

#[test]
fn the_worked_example_comes_out_byte_for_byte() {
    let (chains, shelf, signing, request) = (Chains::default(), Shelf::default(), signing(true, true), example());
    let record = example_record(&request);
    let appended = run(chains.room(&shelf, signing.chain())).unwrap().append(|before| signing.sign(&record, before));
    assert_eq!(appended.id, "1d600b5fe63aa55a435a638d0891a07226eb02f2d2df1f585b47abd08d00841c");
    assert_eq!(appended.record.len(), 934);
    let signature = ".Hu-E453ld5E_e9et7BNOuhGwNkDJy-xHrSshTZ9GgZwO3m7pcHI-2rONoEQ3JXUAPIODtoqnGm3GJ91ndZE0AA";
    assert!(appended.record.ends_with(signature.as_bytes()), "{appended:?}");

    let mut reply =
        Reply::new(StatusCode::OK, "application/vnd.agtp+json", r#"{"items":[{"id":"L1","name":"Desk lamp"}]}"#);
    signing.attribute(&mut reply, &record, &appended);
    reply.headers.push((header::CONTENT_LENGTH, reply.body.len().into()));
    let mut response = b"AGTP/1.0 200 OK\r\n".to_vec();
    for (name, value) in &reply.headers {
        let name: Vec<String> = name.as_str().split('-').map(|part| part[..1].to_uppercase() + &part[1..]).collect();
        let name = name.join("-").replace("-Id", "-ID");
        response.extend([name.as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    response.extend([b"\r\n", &reply.body[..]].concat());
    assert_eq!(response.len(), 1492, "{}", String::from_utf8_lossy(&response));
    assert!(response.starts_with(b"AGTP/1.0 200 OK\r\nServer-ID: gw.example.test\r\nAgent-ID: 61de55ba"));
    assert!(reply.headers.iter().any(|(name, value)| *name == TRUST_WARNING && value == "verification-incomplete"));
}

#[test]
fn each_record_links_to_the_one_before_and_verifies() {
    let (chains, shelf, signing, request) = (Chains::default(), Shelf::default(), signing(true, true), example());
    let mut before = "0".repeat(64);
    for status in [200, 422, 261, 503, 999] {
        let record = Record { status: StatusCode::from_u16(status).unwrap(), ..example_record(&request) };
        let appended =
            run(chains.room(&shelf, signing.chain())).unwrap().append(|before| signing.sign(&record, before));
        let compact = std::str::from_utf8(&appended.record).unwrap();
        let payload = verified(compact, &k1()).unwrap();
        assert_eq!(
            (payload["previous_audit_id"].as_str(), payload["status"].as_u64()),
            (Some(&*before), Some(u64::from(status)))
        );
        assert_eq!(appended.id, hash(compact.as_bytes()));
        before = appended.id;
    }
}

#[test]
fn a_record_is_in_canonical_form_and_bounded_whatever_is_in_it() {
    let long = "x\"\\<".repeat(32);
    let request = headers(&[("agent-id", &long), ("session-id", &long), ("task-id", &long), ("request-id", &long)]);
    let record = Record {
        action_id: Some(&long),
        requested_method: Some("GET"),
        upstream_status: Some(201),
        contract: Some(Contract { synthesis_id: &long, contract_hash: &long, negotiation_origin: "rcns-gate" }),
        ..Record::of(&request, nobody(), [255; 32], &long, StatusCode::OK)
    };
    let compact = signing(true, true).sign(&record, &"f".repeat(64));
    let payload = payload(&compact);
    assert_eq!(payload.as_object().unwrap().len(), 20, "every member there is: {payload}");
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
    let written = URL_SAFE_NO_PAD.decode(compact.split('.').nth(1).unwrap()).unwrap();
    assert_eq!(written, canonical(&payload));
    assert!(compact.len() <= 4096, "{}", compact.len());
    assert_eq!(
        (payload["upstream_status"].as_u64(), payload["identity_assurance"].as_str()),
        (Some(201), Some("unverified"))
    );
    assert_eq!(payload["session_id"], *long);
}

#[test]
fn no_credential_enters_a_record() {
    let request = example();
    for with_key in [true, false] {
        let compact = signing(with_key, true).sign(&example_record(&request), "");
        assert!(!payload(&compact).to_string().contains("secret"), "{compact}");
    }
}

#[test]
fn what_is_not_there_is_left_out() {
    let request = HeaderMap::new();
    let signing = signing(false, false);
    let record =
        Record { identity_assurance: None, ..Record::of(&request, nobody(), [0; 32], "r", StatusCode::NOT_FOUND) };
    let compact = signing.sign(&record, &"0".repeat(64));
    assert!(compact.ends_with('.'), "nobody signed it: {compact}");
    let members = payload(&compact).as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let expected = [
        "audit_record_version",
        "issued_at",
        "previous_audit_id",
        "request_hash",
        "response_id",
        "server_id",
        "status",
    ];
    assert_eq!(members, expected);
    let mut reply = Reply::empty(StatusCode::NOT_FOUND);
    let appended = Appended { record: compact.into(), id: "0".repeat(64) };
    signing.attribute(&mut reply, &record, &appended);
    let names: Vec<_> = reply.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["server-id", "response-id", "attribution-record", "audit-id"]);
}

#[test]
fn only_what_can_be_said_again_is() {
    let record = |value: &[u8]| {
        let request = HeaderMap::from_iter([(TASK_ID, HeaderValue::from_bytes(value).unwrap())]);
        Record::of(&request, nobody(), [0; 32], "r", StatusCode::OK).task_id.is_some()
    };
    assert!(record(b"!") && record(&[b'~'; 128]) && record(b"a,b;c=\"d\""));
    for wrong in [&b""[..], b"a b", b"a\tb", "ä".as_bytes(), b"\xff", &[b'a'; 129]] {
        assert!(!record(wrong), "{wrong:?}");
    }
    let mut twice = HeaderMap::new();
    twice.append(TASK_ID, HeaderValue::from_static("a"));
    twice.append(TASK_ID, HeaderValue::from_static("b"));
    assert_eq!(Record::of(&twice, nobody(), [0; 32], "r", StatusCode::OK).task_id, None);
}

#[test]
fn nobody_else_speaks_in_our_name() {
    let (signing, request) = (signing(true, true), example());
    let record = example_record(&request);
    let appended = Appended { record: Bytes::from_static(b"e30.e30."), id: "f".repeat(64) };
    let forged = ["audit-id", "attribution-record", "server-id", "trust-tier", "agent-id"];
    let mut reply = Reply::new(StatusCode::OK, "text/plain", "x");
    reply.headers.extend(forged.map(|name| (HeaderName::from_static(name), HeaderValue::from_static("forged"))));
    signing.attribute(&mut reply, &record, &appended);
    assert!(reply.headers.iter().all(|(_, value)| value != "forged"));
    assert_eq!(reply.headers.last().map(|(name, _)| name), Some(&header::CONTENT_TYPE));
}

#[test]
fn a_server_is_named_by_its_operator_or_by_its_site() {
    assert_eq!(server_id(&settings("server_id = 'gw'")), "gw");
    assert_eq!(server_id(&settings("")), "shop.test:8443");
    let nameless = Settings { site: Default::default(), ..settings("") };
    assert_eq!(server_id(&nameless), "frontdesk");
    let one = Signing::new(&settings("server_id = 'gw'"), None);
    assert_eq!(one.chain(), hash(b"gw"), "fit for a key of any store");
    assert_eq!(signing(true, true).chain(), signing(true, true).agent_id().unwrap());
    assert!(is_owner("owner:example.test") && !is_owner("") && !is_owner("Acme Inc.") && !is_owner(&"a".repeat(257)));
}

#[test]
fn how_it_is_known_who_asks() {
    let of = |proof| assurance(&Caller { proof, ..nobody().clone() });
    let words = [Proof::None, Proof::Key, Proof::Token, Proof::Signature].map(of);
    assert_eq!(json!(words), json!(["unverified", "credential", "credential", "signature"]));
}
