//! Complete signatures: the vectors of RFC 9421 and of Web Bot Auth, foreign ones, and arbitrary bytes.

mod agents;
mod rules;

use std::{hint::black_box, time::Instant};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use http::{HeaderName, HeaderValue};
use proptest::prelude::*;
use ring::signature::Ed25519KeyPair;
use serde_json::json;
use sfv::{List, ListEntry, Parser};

use super::*;

/// `test-key-ed25519` of RFC 9421 appendix B.1.4, which Web Bot Auth uses as well.
const D: &str = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU";
const X: &str = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";
const THUMBPRINT: &str = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";
const NOW: u64 = 1_735_689_700;

fn pair() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&URL_SAFE_NO_PAD.decode(D).unwrap()).unwrap()
}

fn jwk() -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "x": X, "kid": "test-key-ed25519"})
}

fn inline(agent: &str, jwk: Value) -> AgentKey {
    AgentKey { agent: agent.to_owned(), jwk: Some(jwk), directory: None }
}

fn listed(agent: &str, directory: &str) -> AgentKey {
    AgentKey { agent: agent.to_owned(), jwk: None, directory: Some(directory.to_owned()) }
}

fn agents() -> SignedAgents {
    let (agents, problems) = SignedAgents::new(&[inline("https://bot.example", jwk())], &HashMap::new());
    assert!(problems.is_empty(), "{problems:?}");
    agents
}

fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in lines {
        map.append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
    }
    map
}

fn request(headers: &HeaderMap) -> Signed<'_> {
    Signed { method: &Method::GET, authority: "example.com", scheme: "https", path: "/a", query: Some("b=c"), headers }
}

fn inner_list(text: &str) -> sfv::InnerList {
    match Parser::new(text).parse::<List>().unwrap().pop() {
        Some(ListEntry::InnerList(list)) => list,
        _ => panic!("{text}"),
    }
}

/// Adds a signature under a label: by the test key, over these components and parameters.
fn sign_as(label: &str, input: &str, mut lines: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    let map = headers(&lines.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>());
    let base = base(&inner_list(input), &mut Components::new(&request(&map))).unwrap();
    let signature = STANDARD.encode(pair().sign(base.as_bytes()));
    lines.push(("signature-input", format!("{label}={input}")));
    lines.push(("signature", format!("{label}=:{signature}:")));
    lines
}

fn verify(lines: &[(&'static str, String)]) -> Result<Option<Verified>, Rejected> {
    let map = headers(&lines.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>());
    agents().verify(&request(&map), NOW)
}

/// Signs and verifies a request with these additional header lines.
fn signed(input: &str, lines: &[(&'static str, &str)]) -> Result<Option<Verified>, Rejected> {
    let lines = lines.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    verify(&sign_as("sig1", input, lines))
}

/// Valid parameters, to follow the components.
fn fitting() -> String {
    format!(";created={NOW};expires={};keyid=\"{THUMBPRINT}\";tag=\"web-bot-auth\"", NOW + 60)
}

#[test]
fn the_ed25519_vector_of_rfc_9421_b_2_6() {
    let input = concat!(
        r#"("date" "@method" "@path" "@authority" "content-type" "content-length")"#,
        r#";created=1618884473;keyid="test-key-ed25519""#,
    );
    let map = headers(&[
        ("host", "example.com"),
        ("date", "Tue, 20 Apr 2021 02:07:55 GMT"),
        ("content-type", "application/json"),
        ("content-length", "18"),
    ]);
    let query = Some("param=Value&Pet=dog");
    let method = &Method::POST;
    let request = Signed { method, authority: "example.com", scheme: "https", path: "/foo", query, headers: &map };
    let base = base(&inner_list(input), &mut Components::new(&request)).unwrap();
    assert_eq!(
        base,
        format!(
            "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\"@method\": POST\n\"@path\": /foo\n\"@authority\": example.com\n\
             \"content-type\": application/json\n\"content-length\": 18\n\"@signature-params\": {input}"
        )
    );
    let signature = "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==";
    let key = PublicKey::from_jwk(&jwk()).unwrap();
    assert!(key.verify(base.as_bytes(), &STANDARD.decode(signature).unwrap()));
}

#[test]
fn the_vectors_of_web_bot_auth() {
    let input = concat!(
        r#"sig1=("@authority");created=1735689600"#,
        r#";keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=1735693200"#,
        r#";nonce="gubxywVx7hzbYKatLgzuKDllDAIXAkz41PydU7aOY7vT+Mb3GJNxW0qD4zJ+IOQ1NVtg+BNbTCRUMt1Ojr5BgA==""#,
        r#";tag="web-bot-auth""#,
    );
    let signature = "sig1=:uz2SAv+VIemw+Oo890bhYh6Xf5qZdLUgv6/PbiQfCFXcX/vt1A8Pf7OcgL2yUDUYXFtffNpkEr5W6dldqFrkDg==:";
    let map = headers(&[("signature-input", input), ("signature", signature)]);
    let verified = agents().verify(&request(&map), NOW).unwrap().unwrap();
    let nonce = &verified.nonces[0];
    assert_eq!((&*verified.agent, nonce.thumbprint.as_str()), ("https://bot.example", THUMBPRINT));
    assert_eq!((nonce.expires, nonce.text.len()), (1_735_693_200, 88));
    assert_eq!(agents().verify(&request(&map), 1_735_693_200), Err(Rejected::SignatureExpired));
    let elsewhere = Signed { authority: "example.org", ..request(&map) };
    assert_eq!(agents().verify(&elsewhere, NOW), Err(Rejected::SignatureNotValid));
    // With the agent's directory as a string, before it became a dictionary.
    let input = concat!(
        r#"sig1=("@authority" "signature-agent");alg="ed25519""#,
        r#";keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U""#,
        r#";nonce="ZO3/XMEZjrvSnLtAP9M7jK0WGQf3J+pbmQRUpKDhF9/jsNCWqUh2sq+TH4WTX3/GpNoSZUa8eNWMKqxWp2/c2g==""#,
        r#";tag="web-bot-auth";created=1749331474;expires=1749331484"#,
    );
    let signature = "sig1=:3q7S1TtbrFhQhpcZ1gZwHPCFHTvdKXNY1xngkp6lyaqqqv3QZupwpu/wQG5a7qybnrj2vZYMeVKuWepm+rNkDw==:";
    let agent = "\"https://myexample.com\"";
    let map = headers(&[("signature-input", input), ("signature", signature), ("signature-agent", agent)]);
    assert!(agents().verify(&request(&map), 1_749_331_480).unwrap().is_some());
}

#[test]
fn a_signature_says_who_sends_the_request() {
    let input = format!("(\"@authority\" \"@method\" \"@target-uri\"){};nonce=\"n1\"", fitting());
    let verified = signed(&input, &[]).unwrap().unwrap();
    let expected = Verified {
        agent: "https://bot.example".into(),
        nonces: vec![Nonce { thumbprint: THUMBPRINT.to_owned(), text: "n1".to_owned(), expires: NOW + 60 }],
    };
    assert_eq!(verified, expected);
    assert!(signed(&format!("(\"@target-uri\"){}", fitting()), &[]).unwrap().is_some());
    // Spaces are not signed.
    let mut lines = sign_as("sig1", &format!("(\"@authority\" \"@path\"){}", fitting()), Vec::new());
    lines[0].1 = lines[0].1.replace("\" \"", "\"   \"").replace(";created", ";  created");
    assert!(verify(&lines).unwrap().is_some());
}

#[test]
fn what_is_not_ours_is_not_looked_at() {
    let ours = fitting();
    assert_eq!(verify(&[]), Ok(None));
    assert_eq!(signed(&format!("(\"@authority\"){}", ours.replace("web-bot-auth", "other")), &[]), Ok(None));
    assert_eq!(signed(&format!("(\"@authority\"){}", ours.replace("\"web-bot-auth\"", "web-bot-auth")), &[]), Ok(None));
    assert_eq!(signed("(\"@authority\");created=1;keyid=\"x\"", &[]), Ok(None));
    assert_eq!(verify(&[("signature-input", "((".into())]), Ok(None), "badly signed for somebody else");
    assert_eq!(verify(&[("signature", "keyId=\"a\",algorithm=\"hs2019\"".into())]), Ok(None));
    assert_eq!(verify(&[("signature-input", "a=\"web-bot-auth\"".into())]), Ok(None));
    // No agent is configured, so no signature counts.
    let lines = sign_as("sig1", &format!("(\"@authority\"){ours}"), Vec::new());
    let map = headers(&[("signature-input", &lines[0].1), ("signature", &lines[1].1)]);
    let (nobody, _) = SignedAgents::new(&[], &HashMap::new());
    assert!(nobody.is_empty() && !agents().is_empty());
    assert_eq!(nobody.verify(&request(&map), NOW), Ok(None));
}

#[test]
fn the_challenge_can_be_met() {
    let dictionary: sfv::Dictionary = Parser::new(CHALLENGE).parse().unwrap();
    let Some(ListEntry::InnerList(list)) = dictionary.get("sig1") else { panic!() };
    assert_eq!(list.items.iter().map(name).collect::<Vec<_>>(), [Some("@authority")]);
    assert_eq!(list.params.keys().map(|key| key.as_str()).collect::<Vec<_>>(), ["created", "expires", "alg", "tag"]);
    assert!(signed(&format!("(\"@authority\"){};alg=\"ed25519\"", fitting()), &[]).unwrap().is_some());
}

proptest! {
    #[test]
    fn no_header_bytes_make_it_panic(
        input in prop::collection::vec(any::<u8>(), 0..120),
        signature in prop::collection::vec(any::<u8>(), 0..120),
        parts in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..40),
        path in "\\PC{0,20}",
        query in prop::option::of("\\PC{0,20}"),
        authority in "\\PC{0,20}",
    ) {
        let mut map = HeaderMap::new();
        let pieces = parts.concat().into_bytes();
        for (name, value) in [
            ("signature-input", [&b"a=(\"@authority\");tag=\"web-bot-auth\", "[..], &input].concat()),
            ("signature-input", pieces.clone()),
            ("signature", b"sig1=:AAAA:".to_vec()),
            ("signature", signature),
            ("signature-agent", pieces),
        ] {
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                map.append(HeaderName::from_static(name), value);
            }
        }
        let request = Signed {
            method: &Method::GET,
            authority: &authority,
            scheme: "https",
            path: &path,
            query: query.as_deref(),
            headers: &map,
        };
        prop_assert!(!matches!(agents().verify(&request, NOW), Ok(Some(_))));
        let mut other = map.clone();
        let text = format!("sig1=({}){}", parts.concat().replace(['(', ')'], ""), fitting());
        other.insert("signature-input", HeaderValue::from_str(&text).unwrap());
        let request = Signed { headers: &other, ..request };
        prop_assert!(!matches!(agents().verify(&request, NOW), Ok(Some(_))));
    }
}

/// What signatures are made of.
const PIECES: [&str; 30] = [
    "sig1=",
    "(",
    ")",
    "\"@authority\"",
    "\"@path\"",
    "\"@query\"",
    "\"@query-param\"",
    ";name=\"a\"",
    "\"signature-agent\"",
    ";key=\"a\"",
    ";sf",
    ";bs",
    ";req",
    " ",
    ", ",
    ";created=1",
    ";expires=2000000000",
    ";keyid=\"a\"",
    ";tag=\"web-bot-auth\"",
    ";nonce=\"\"",
    "\"",
    "\\",
    ":",
    "=",
    "?1",
    "@9",
    "%\"c3\"",
    "a=\"b\"",
    "\"signature\"",
    "-999999999999999",
];

#[test]
#[ignore = "prints what it costs"]
fn cost_of_verifying() {
    let agents = agents();
    let time = |what: &str, lines: &[(&'static str, String)]| {
        let map = headers(&lines.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>());
        // The fastest of many batches, since other load only adds time.
        let batch = || {
            let begun = Instant::now();
            for _ in 0..20 {
                let _ = black_box(agents.verify(&request(black_box(&map)), NOW));
            }
            begun.elapsed().as_nanos() / 20
        };
        println!("{what}: {} ns", (0..200).map(|_| batch()).min().unwrap());
    };
    let input = format!("(\"@authority\" \"signature-agent\";key=\"a\"){};nonce=\"n\"", fitting());
    let usual = sign_as("sig1", &input, vec![("signature-agent", "a=\"https://bot.example\"".to_owned())]);
    time("usual", &usual);
    let mut wrong = usual.clone();
    wrong[2].1 = format!("sig1=:{}:", STANDARD.encode([0; 64]));
    time("wrong", &wrong);
    let unknown = vec![(usual[1].0, usual[1].1.replace("poqk", "aaaa")), usual[2].clone(), usual[0].clone()];
    time("unknown key", &unknown);
    time("unsigned", &[("accept", "*/*".to_owned())]);
    let long = format!("x=\"{}\", a", "x".repeat(28_000));
    let greedy = (0..2).fold(vec![("x-long", long)], |lines, n| {
        sign_as(&format!("l{n}"), &format!("(\"@authority\" \"x-long\";key=\"a\"){}", fitting()), lines)
    });
    time("as dear as a head can make it", &greedy);
}
