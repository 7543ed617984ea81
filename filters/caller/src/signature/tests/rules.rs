//! One rule broken at a time.

use super::*;

#[test]
fn every_parameter_must_be_what_it_is() {
    let ours = fitting();
    let created = format!("created={NOW}");
    let expires = format!("expires={}", NOW + 60);
    let keyid = format!(";keyid=\"{THUMBPRINT}\"");
    for (from, to) in [
        (format!(";{created}"), ""),
        (format!(";{expires}"), ""),
        (keyid.clone(), ""),
        (created.clone(), "created=\"1\""),
        (created.clone(), "created=-1"),
        (created.clone(), "created=1.5"),
        (created.clone(), "created"),
        (expires.clone(), "expires=@1735689760"),
        (keyid.clone(), ";keyid=a"),
        (keyid.clone(), ";keyid"),
        (";tag".to_owned(), ";nonce=1;tag"),
        (";tag".to_owned(), ";nonce;tag"),
        (";tag".to_owned(), ";alg=ed25519;tag"),
    ] {
        assert_ne!(ours.replace(&from, to), ours, "{from}");
        let input = format!("(\"@authority\"){}", ours.replace(&from, to));
        assert_eq!(signed(&input, &[]), Err(Rejected::SignatureMalformed), "{input}");
    }
    let nonce = |length: usize| format!("(\"@authority\"){ours};nonce=\"{}\"", "n".repeat(length));
    assert_eq!(signed(&nonce(256), &[]).unwrap().unwrap().nonces[0].text.len(), 256);
    assert_eq!(signed(&nonce(257), &[]), Err(Rejected::SignatureMalformed));
    let long = |length: usize| signed(&format!("(\"@authority\"){ours};x=\"{}\"", "x".repeat(length)), &[]);
    assert!(long(7900).unwrap().is_some());
    assert_eq!(long(8192), Err(Rejected::SignatureMalformed));
    let algorithm = |alg: &str| signed(&format!("(\"@authority\"){ours};alg=\"{alg}\""), &[]);
    assert!(algorithm("ed25519").unwrap().is_some());
    for alg in ["Ed25519", "hmac-sha256", "rsa-pss-sha512", ""] {
        assert_eq!(algorithm(alg), Err(Rejected::SignatureAlgorithm), "{alg}");
    }
    // Of a duplicate parameter the last counts (RFC 9651 §4.2.3.2), in the base too.
    assert_eq!(signed(&format!("(\"@authority\"){ours};expires=1"), &[]), Err(Rejected::SignatureExpired));
}

#[test]
fn a_signature_is_good_for_a_day_at_most() {
    let dated = |created: u64, expires: u64| {
        let input =
            format!("(\"@authority\");created={created};expires={expires};keyid=\"{THUMBPRINT}\";tag=\"web-bot-auth\"");
        signed(&(input + ";nonce=\"n\""), &[]).map(|verified| verified.unwrap().nonces[0].expires)
    };
    let day = 24 * 60 * 60;
    assert_eq!(dated(NOW, NOW + day), Ok(NOW + day));
    assert_eq!(dated(NOW + 30, NOW + 31), Ok(NOW + 31));
    assert_eq!(dated(NOW - 10, NOW + 1), Ok(NOW + 1));
    assert_eq!(dated(NOW + 31, NOW + 60), Err(Rejected::SignatureNotYetValid));
    assert_eq!(dated(NOW - 10, NOW), Err(Rejected::SignatureExpired));
    assert_eq!(dated(NOW, NOW + day + 1), Err(Rejected::SignatureLifetime));
    assert_eq!(dated(0, 999_999_999_999_999), Err(Rejected::SignatureLifetime));
    assert_eq!(dated(NOW + 20, NOW + 20), Err(Rejected::SignatureLifetime));
    assert_eq!(dated(NOW + 20, NOW + 10), Err(Rejected::SignatureLifetime));
}

#[test]
fn what_must_be_covered_is() {
    let ours = fitting();
    let covering = |components: &str, lines: &[(&'static str, &str)]| signed(&format!("({components}){ours}"), lines);
    for components in ["", "\"@method\"", "\"@path\" \"@scheme\"", "\"host\""] {
        assert_eq!(covering(components, &[("host", "example.com")]), Err(Rejected::SignatureUncovered), "{components}");
    }
    let dictionary = [("signature-agent", "agent1=\"https://bot.example\", agent2=\"https://other.example\"")];
    let legacy = [("signature-agent", "\"https://bot.example\"")];
    for lines in [dictionary, legacy] {
        assert_eq!(covering("\"@authority\"", &lines), Err(Rejected::SignatureUncovered));
        assert!(covering("\"@authority\" \"signature-agent\"", &lines).unwrap().is_some());
        assert!(covering("\"@authority\" \"signature-agent\";sf", &lines).unwrap().is_some());
    }
    assert!(covering("\"@authority\" \"signature-agent\";key=\"agent2\"", &dictionary).unwrap().is_some());
}

#[test]
fn components_that_cannot_be_made_again_are_malformed() {
    let mut lines = sign_as("sig1", &format!("(\"@authority\"){}", fitting()), Vec::new());
    for components in [
        "\"@authority\" \"absent\"",
        "\"@authority\" \"@authority\"",
        "\"@authority\";req",
        "\"@authority\" \"date\";tr",
        "\"@authority\" \"@status\"",
        "\"@authority\" \"signature-agent\";key=\"agent1\"",
    ] {
        lines[0].1 = format!("sig1=({components}){}", fitting());
        assert_eq!(verify(&lines), Err(Rejected::SignatureMalformed), "{components}");
    }
    let many = |count: usize| (1..count).map(|n| format!(" \"x{n}\"")).collect::<String>();
    lines[0].1 = format!("sig1=(\"@authority\"{}){}", many(33), fitting());
    assert_eq!(verify(&lines), Err(Rejected::SignatureMalformed));
}

#[test]
fn what_was_signed_is_what_is_sent() {
    let input = format!("(\"@authority\" \"@method\" \"@path\" \"@query\" \"content-digest\"){}", fitting());
    let mut map = HeaderMap::new();
    for (name, value) in sign_as("sig1", &input, vec![("content-digest", "sha-256=:AAAA:".into())]) {
        map.append(HeaderName::from_static(name), HeaderValue::from_str(&value).unwrap());
    }
    let sent = request(&map);
    let verify = |request: Signed| agents().verify(&request, NOW).map(|verified| verified.is_some());
    assert_eq!(verify(sent), Ok(true));
    assert_eq!(verify(Signed { authority: "EXAMPLE.com:443", ..sent }), Ok(true));
    for other in [
        Signed { method: &Method::POST, ..sent },
        Signed { authority: "example.org", ..sent },
        Signed { authority: "example.com:444", ..sent },
        Signed { path: "/A", ..sent },
        Signed { path: "/%61", ..sent },
        Signed { query: Some("b=d"), ..sent },
        Signed { query: None, ..sent },
    ] {
        assert_eq!(verify(other), Err(Rejected::SignatureNotValid), "{other:?}");
    }
    let mut added = map.clone();
    added.append("content-digest", HeaderValue::from_static("sha-256=:BBBB:"));
    assert_eq!(verify(Signed { headers: &added, ..sent }), Err(Rejected::SignatureNotValid));
    for (from, to) in [("\"@method\" \"@path\"", "\"@path\" \"@method\""), (" \"content-digest\"", ""), ("60;", "61;")]
    {
        let mut other = map.clone();
        let text = map["signature-input"].to_str().unwrap();
        let changed = if from == "60;" {
            text.replace(&format!("{};", NOW + 60), &format!("{};", NOW + 61))
        } else {
            text.replace(from, to)
        };
        assert_ne!(changed, text, "{from}");
        other.insert("signature-input", changed.parse().unwrap());
        assert_eq!(verify(Signed { headers: &other, ..sent }), Err(Rejected::SignatureNotValid), "{from}");
    }
}

#[test]
fn the_signature_itself_must_be_there_and_hold() {
    let lines = sign_as("sig1", &format!("(\"@authority\"){}", fitting()), Vec::new());
    let with = |signature: &str| verify(&[lines[0].clone(), ("signature", signature.to_owned())]);
    for signature in ["", "other=:AAAA:", "sig1=\"AAAA\"", "sig1", "sig1=(:AAAA:)", "sig1=:A", "((", "sig1=:AAAA:, ("] {
        assert_eq!(with(signature), Err(Rejected::SignatureMalformed), "{signature}");
    }
    assert_eq!(verify(&lines[..1]), Err(Rejected::SignatureMalformed));
    for signature in ["sig1=::", "sig1=:AAAA:", &format!("sig1=:{}:", STANDARD.encode([0; 64]))] {
        assert_eq!(with(signature), Err(Rejected::SignatureNotValid), "{signature}");
    }
    let broken = [("signature-input", "a=(((;tag=\"web-bot-auth\"".to_owned()), lines[1].clone()];
    assert_eq!(verify(&broken), Err(Rejected::SignatureMalformed), "ours as it seems, and not readable");
}
