//! Promise: a copy of the contract can be trusted: it is signed, revalidated after a change, and reduced for its
//! reader.

use crate::support::calls::{AOM, BARE, FULL, action, query, site};
use crate::support::contract::{GENERIC, TOML, as_json, ids, key_pem, parsed};
use crate::support::{Ask, Origin, Reply, Request, Via};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde_json::json;

async fn origin() -> Origin {
    Origin::start(|_: &Request| Reply::json("{}")).await
}

#[tokio::test]
async fn contract_signature_is_over_the_exact_bytes() {
    let (origin, pem) = (origin().await, key_pem());
    let integrity = "key = \"signing.pem\"\nkey_id = \"site-2026\"";
    let desk = site(&origin, &query("open", "")).set("integrity", integrity).file("signing.pem", &pem).start().await;
    let der = STANDARD.decode(pem.lines().filter(|l| !l.starts_with('-')).collect::<String>()).expect("base64");
    let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).expect("a key");
    let key = UnparsedPublicKey::new(&ED25519, pair.public_key().as_ref().to_vec());
    for via in [Via::H1] {
        let (contract, signature) =
            (desk.ask(via, Ask::get(TOML)).await, desk.get("/.well-known/agent-interface.sig").await);
        assert_eq!(signature.status, 200, "{}", signature.text());
        let signature = STANDARD.decode(signature.text().trim()).expect("base64");
        key.verify(&contract.body, &signature).expect("a signature of these bytes");
        let mut changed = contract.body.clone();
        changed.push(b'\n');
        assert!(key.verify(&changed, &signature).is_err());
    }
    let contract = as_json(&desk).await;
    let integrity = &contract["integrity"];
    assert_eq!((&integrity["signed"], &integrity["key_id"]), (&json!(true), &json!("site-2026")));
    assert_eq!(integrity["signature_url"], "https://site.test/.well-known/agent-interface.sig");
    desk.swap(&site(&origin, &query("other", "")).set("integrity", "key = \"signing.pem\"\nkey_id = \"site-2026\""))
        .await;
    let (contract, signature) = (desk.get(TOML).await, desk.get("/.well-known/agent-interface.sig").await);
    assert!(contract.text().contains("other"));
    key.verify(&contract.body, &STANDARD.decode(signature.text().trim()).expect("base64")).expect("signed anew");
}

#[tokio::test]
async fn contract_without_a_key_claims_no_signature() {
    let origin = origin().await;
    let desk = site(&origin, &query("open", "")).start().await;
    assert_ne!(as_json(&desk).await["integrity"]["signed"], true);
    let signature = desk.get("/.well-known/agent-interface.sig").await;
    assert!(signature.status != 200 || !origin.asked().is_empty(), "nothing of ours: {}", signature.text());
}

#[tokio::test]
async fn contract_versions_that_are_not_spoken_are_refused() {
    let origin = origin().await;
    let desk = site(&origin, &query("open", "")).start().await;
    for version in ["9.9", "0.2", "0"] {
        let response = desk.call(Ask::get(GENERIC).accept(&format!("application/aicp+toml; version={version}"))).await;
        assert_eq!((response.status, response.media_type().as_str()), (406, AOM), "{version}");
        assert_eq!(response.json()["error"]["code"], "unsupported_aicp_version", "{version}");
    }
    let spoken = desk.call(Ask::get(GENERIC).accept("application/aicp+json; version=0.1")).await;
    assert_eq!((spoken.status, spoken.media_type().as_str()), (200, "application/aicp+json"));
}

#[tokio::test]
async fn contract_validators_change_with_what_a_capability_risks() {
    let origin = origin().await;
    let with = |risk: &str| site(&origin, &query("open", "").replace("\"low\"", &format!("\"{risk}\"")));
    let desk = with("low").start().await;
    for path in [TOML, GENERIC] {
        desk.swap(&with("low")).await;
        let tag = desk.get(path).await.header("etag").expect("an ETag").to_owned();
        let again = desk.call(Ask::get(path).header("If-None-Match", &tag)).await;
        assert_eq!((again.status, again.body.len(), again.header("etag")), (304, 0, Some(tag.as_str())), "{path}");
        desk.swap(&with("medium")).await;
        let changed = desk.call(Ask::get(path).header("If-None-Match", &tag)).await;
        assert_eq!(changed.status, 200, "{path}");
        assert_ne!(changed.header("etag"), Some(tag.as_str()), "{path}");
    }
    let declared = with("low").set("cache", "max_age_seconds = 77\nstale_while_revalidate_seconds = 88");
    desk.swap(&declared).await;
    let control = desk.get(TOML).await.headers.tokens("cache-control");
    assert!(
        control.contains(&"max-age=77".to_owned()) && control.contains(&"stale-while-revalidate=88".to_owned()),
        "{control:?}"
    );
}

#[tokio::test]
async fn contract_for_a_caller_has_what_they_may_use() {
    let origin = origin().await;
    let scoped = |id: &str, scope: &str| action(id, &format!("\nrequired_scopes = [\"{scope}\"]"));
    let all = query("open", "")
        + &scoped("hold", "bookings:hold")
        + &scoped("admin", "site:admin")
        + &action("signed.in", "");
    let desk = site(&origin, &all).start().await;
    for ask in [Ask::get("/agent/interface"), Ask::get("/agent/interface").bearer("wrong")] {
        let response = desk.call(ask).await;
        assert_eq!((response.status, response.media_type().as_str()), (401, AOM), "{}", response.text());
        assert!(response.header("www-authenticate").is_some_and(|c| c.starts_with("Bearer")), "{:?}", response.headers);
    }
    for (key, expected, scopes) in [
        (FULL, vec!["open", "hold", "signed.in"], json!(["flights:read", "bookings:hold", "bookings:purchase"])),
        (BARE, vec!["open", "signed.in"], json!([])),
    ] {
        let ask = |accept: &str| Ask::get("/agent/interface").bearer(key).accept(accept);
        let (toml, json) =
            (desk.call(ask("application/aicp+toml")).await, desk.call(ask("application/aicp+json")).await);
        assert_eq!((toml.status, toml.media_type().as_str()), (200, "application/aicp+toml"));
        assert_eq!((json.status, json.media_type().as_str()), (200, "application/aicp+json"));
        assert_eq!(parsed(&toml.text()), json.json(), "{key}");
        let contract = json.json();
        assert_eq!(ids(&contract), expected, "{key}");
        let context = &contract["auth_context"];
        assert_eq!(
            (&context["authenticated"], &context["granted_scopes"]),
            (&json!(true), &scopes),
            "{key}: {context}"
        );
        assert!(context["subject_type"].is_string(), "{context}");
        for response in [&toml, &json] {
            let control = response.headers.tokens("cache-control");
            assert!(control.contains(&"private".to_owned()) || control.contains(&"no-store".to_owned()), "{control:?}");
        }
    }
    let public = as_json(&desk).await;
    assert_eq!(ids(&public), ["open", "hold", "admin", "signed.in"], "in general");
    assert!(public.get("auth_context").is_none());
}
