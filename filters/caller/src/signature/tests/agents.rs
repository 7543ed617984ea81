//! Several signatures, several agents, and changing keys.

use super::*;

#[test]
fn of_several_signatures_none_may_be_bad_and_one_must_hold() {
    let ours = format!("(\"@authority\"){}", fitting());
    let unknown = ours.replace(THUMBPRINT, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    let alone = sign_as("sig1", &unknown, Vec::new());
    assert_eq!(verify(&alone), Err(Rejected::SignatureUnknownKey));
    // An unknown key, another algorithm and another tag change nothing, in any position.
    let other = format!("{ours};alg=\"ml-dsa-65\"");
    let foreign = ours.replace("web-bot-auth", "other");
    let all = sign_as("d", &foreign, sign_as("c", &ours, sign_as("b", &other, sign_as("a", &unknown, Vec::new()))));
    assert_eq!(&*verify(&all).unwrap().unwrap().agent, "https://bot.example");
    let without: Vec<_> = all.iter().filter(|(_, value)| !value.starts_with("c=")).cloned().collect();
    assert_eq!(verify(&without), Err(Rejected::SignatureAlgorithm));
    // A bad signature by a known key does.
    for bad in [format!("(\"@method\"){}", fitting()), ours.replace(&(NOW + 60).to_string(), &NOW.to_string())] {
        assert!(verify(&sign_as("z", &bad, sign_as("a", &ours, Vec::new()))).is_err(), "{bad}");
        assert!(verify(&sign_as("z", &ours, sign_as("a", &bad, Vec::new()))).is_err(), "{bad}");
    }
    // Each nonce counts: with one signature left out the rest could be replayed.
    let nonces = |lines: &[(&'static str, String)]| -> Vec<String> {
        verify(lines).unwrap().unwrap().nonces.into_iter().map(|nonce| nonce.text).collect()
    };
    let (first, second) = (format!("{ours};nonce=\"1\""), format!("{ours};nonce=\"2\""));
    let both = sign_as("a", &second, sign_as("z", &first, Vec::new()));
    assert_eq!(nonces(&both), ["1", "2"]);
    let five = (0..5).fold(Vec::new(), |lines, n| sign_as(&format!("l{n}"), &format!("{ours};nonce=\"{n}\""), lines));
    assert_eq!(verify(&five), Err(Rejected::SignatureMalformed));
    // Of a duplicate label the last counts (RFC 9651 §4.2.2).
    let twice = sign_as("a", &second, sign_as("a", &first, Vec::new()));
    assert_eq!(nonces(&twice), ["2"]);
    let labels = |count: usize| (0..count).fold(Vec::new(), |lines, n| sign_as(&format!("l{n}"), &ours, lines));
    assert!(verify(&labels(8)).unwrap().is_some());
    assert_eq!(verify(&labels(9)), Err(Rejected::SignatureMalformed));
}

#[test]
fn keys_come_from_the_settings_and_from_directories() {
    let other = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
    let keys = [
        listed("https://thief.example", "https://thief.example/keys"),
        inline("https://bot.example", jwk()),
        listed("https://bot.example", "https://bot.example/keys"),
        listed("https://broken.example", "https://broken.example/keys"),
    ];
    let directory = |keys: Value| Bytes::from(json!({ "keys": keys }).to_string());
    let fetched = HashMap::from([
        // Anyone can copy another agent's public key.
        ("https://thief.example/keys".to_owned(), directory(json!([jwk(), {"kty": "RSA"}]))),
        ("https://bot.example/keys".to_owned(), directory(json!([other, jwk()]))),
        ("https://broken.example/keys".to_owned(), Bytes::from_static(b"<html>")),
        ("https://unlisted.example/keys".to_owned(), directory(json!([jwk()]))),
    ]);
    let (agents, problems) = SignedAgents::new(&keys, &fetched);
    assert_eq!(agents.known.len(), 2);
    assert!(agents.known.values().all(|known| &*known.agent == "https://bot.example"));
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert_eq!(problems[0], "https://thief.example/keys: keys[0] is already a key of https://bot.example");
    assert!(problems[2].starts_with("https://broken.example/keys is not JSON"), "{problems:?}");
    let (_, problems) = SignedAgents::new(
        &[inline("https://a.example", json!({"kty": "EC", "crv": "P-256", "x": X, "y": X}))],
        &fetched,
    );
    assert_eq!(problems, ["https://a.example: jwk is not an Ed25519 key"]);
}

#[test]
fn a_key_that_may_be_in_a_directory_to_come_is_away() {
    let lines = sign_as("sig1", &format!("(\"@authority\"){}", fitting()), Vec::new());
    let map = headers(&[("signature-input", &lines[0].1), ("signature", &lines[1].1)]);
    let keys = [listed("https://bot.example", "https://bot.example/keys")];
    let after = |json: Option<Value>| {
        let fetched = json.map(|json| ("https://bot.example/keys".to_owned(), Bytes::from(json.to_string())));
        SignedAgents::new(&keys, &fetched.into_iter().collect())
            .0
            .verify(&request(&map), NOW)
            .map(|found| found.is_some())
    };
    assert_eq!(after(None), Err(Rejected::KeysAway));
    assert_eq!(after(Some(json!({}))), Err(Rejected::KeysAway), "no directory");
    assert_eq!(after(Some(json!({"keys": []}))), Err(Rejected::SignatureUnknownKey));
    assert_eq!(after(Some(json!({"keys": [jwk()]}))), Ok(true));
    // A key may have a validity period, in seconds or milliseconds.
    let dated = |member: &str, value: Value| {
        let mut jwk = jwk();
        jwk[member] = value;
        after(Some(json!({"keys": [jwk]})))
    };
    assert_eq!((dated("exp", json!(NOW + 1)), dated("nbf", json!(NOW))), (Ok(true), Ok(true)));
    assert_eq!(dated("nbf", json!(NOW * 1000)), Ok(true));
    for (member, value) in
        [("exp", json!(NOW)), ("nbf", json!(NOW + 1)), ("exp", json!(NOW * 1000)), ("exp", json!("never"))]
    {
        assert_eq!(dated(member, value.clone()), Err(Rejected::SignatureUnknownKey), "{member} {value}");
    }
}
