//! Promise: the contract is published as declared, in TOML and JSON, without the operator's private parts.

use crate::support::calls::{
    FULL, action, assert_answer, assert_fault, call, confirmation_token, declare, query, site,
};
use crate::support::contract::{GENERIC, TOML, as_json, ids, key_pem, parsed};
use crate::support::paper::APPENDIX_A;
use crate::support::{Ask, Desk, Origin, Ports, Reply, Request, Setup};
use serde_json::{Value, json};

/// What the paper does not know, at every open table.
const OUR_OWN: [(&str, &str); 10] = [
    (
        "[site]",
        "languages = [\"en\", \"es\"]\nfounded = 1998-04-01\nx_site = { a = [1, { b = 2.5 }], c = \"\\u0000é\\\"\" }",
    ),
    ("[formats]", "x_formats = \"application/x-own\""),
    ("[policies]", "x_policies = { quotes = 3 }"),
    ("[policies.cache]", "x_cache_policy = false"),
    ("[data_processing]", "x_data = [\"a\"]"),
    ("[data_processing.sharing]", "x_sharing = -9223372036854775808"),
    ("[provenance]", "x_provenance = 1e-7"),
    ("[cache]", "x_cache = []"),
    ("requires_strong_authentication = true", "x_capability = { deep = [[], [{}]] }"),
    (
        "cache_ttl_seconds = 60",
        "[capabilities.privacy]\npurpose = \"search\"\nx_privacy = true\n[capabilities.decisioning]\nautomated_decision = false\nx_decisioning = 2026-05-09T12:00:00Z",
    ),
];

/// The appendix with fields of our own, and tables that it does not have.
fn declared() -> String {
    let mut text = APPENDIX_A.to_owned();
    for (line, more) in OUR_OWN {
        assert!(text.contains(&format!("{line}\n")), "{line}");
        text = text.replacen(&format!("{line}\n"), &format!("{line}\n{more}\n"), 1);
    }
    let first = text.find("[[capabilities]]").expect("capabilities");
    let tables = "[audit]\nretention = \"90_days\"\nx_audit = 1\n[personalization]\nx_personal = \"none\"\n\
        [privacy]\nx_top = 1\n[privacy.roles]\nservice_provider_role = \"controller\"\nx_role = \"y\"\n";
    text.insert_str(first, tables);
    text
}

async fn origin() -> Origin {
    Origin::start(|_: &Request| Reply::json("{}")).await
}

async fn desk_with(origin: &Origin, contract: &str) -> Desk {
    let url = origin.url();
    Desk::with_config(|ports: &Ports| {
        let listen = format!("[listen]\nhttp = \"{}\"\nadmin = \"{}\"\n", ports.http, ports.admin);
        format!("{contract}\n[upstream]\nurl = \"{url}\"\n{listen}[content]\nconcierge = false\n")
    })
    .await
}

/// Everything in `inner` is in `outer`, at the same place.
#[track_caller]
fn assert_within(inner: &Value, outer: &Value, at: &str) {
    match (inner, outer) {
        (Value::Object(inner), Value::Object(outer)) => {
            for (key, value) in inner {
                let found = outer.get(key).unwrap_or_else(|| panic!("{at}/{key} is not published"));
                assert_within(value, found, &format!("{at}/{key}"));
            }
        }
        (Value::Array(inner), Value::Array(outer)) => {
            assert_eq!(inner.len(), outer.len(), "{at}");
            for (n, (inner, outer)) in inner.iter().zip(outer).enumerate() {
                assert_within(inner, outer, &format!("{at}/{n}"));
            }
        }
        _ => assert_eq!(inner, outer, "{at}"),
    }
}

async fn as_toml(desk: &Desk) -> String {
    let response = desk.get(TOML).await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "application/aicp+toml"));
    response.text()
}

fn capability<'a>(contract: &'a Value, id: &str) -> &'a Value {
    let all = contract["capabilities"].as_array().expect("capabilities");
    all.iter().find(|c| c["id"] == id).unwrap_or_else(|| panic!("no {id}: {contract}"))
}

#[tokio::test]
async fn contract_of_the_paper_is_published_with_every_field() {
    let origin = origin().await;
    for text in [APPENDIX_A.to_owned(), declared()] {
        let desk = desk_with(&origin, &text).await;
        let (toml, json) = (parsed(&as_toml(&desk).await), as_json(&desk).await);
        assert_within(&parsed(&text), &toml, "toml");
        assert_within(&parsed(&text), &json, "json");
        assert_eq!(toml, json, "both say the same");
        assert_eq!(ids(&json).len(), 5);
    }
}

#[tokio::test]
async fn contract_of_the_paper_published_is_a_declaration_again() {
    let origin = origin().await;
    let first = desk_with(&origin, &declared()).await;
    let published = as_toml(&first).await;
    let second = desk_with(&origin, &published).await;
    assert_eq!(parsed(&as_toml(&second).await), parsed(&published), "pasted in as it is");
}

#[tokio::test]
async fn contract_defaults_are_safe_and_published_and_hold() {
    let origin = origin().await;
    let bare = |id: &str, kind: &str| declare(id, kind, "");
    let all = bare("do.it", "commit_action")
        + &bare("prepare.it", "prepare_action")
        + &bare("undo.it", "destructive_action")
        + &bare("ask.it", "query");
    let desk = site(&origin, &all).start().await;
    for contract in [as_json(&desk).await, parsed(&as_toml(&desk).await)] {
        for id in ["do.it", "prepare.it", "undo.it"] {
            let one = capability(&contract, id);
            assert_eq!((&one["risk_level"], &one["auth"]), (&json!("high"), &json!("required")), "{one}");
            assert_eq!(one["requires_user_confirmation"], true, "{one}");
        }
        assert_eq!(capability(&contract, "ask.it")["risk_level"], "high");
        let versions = ["aicp_version", "min_supported_version", "recommended_version"].map(|k| contract[k].clone());
        assert_eq!(versions, [json!("0.1"), json!("0.1"), json!("0.1")]);
        assert_eq!(contract["supported_versions"], json!(["0.1"]));
    }
    for endpoint in ["/agent/do/it", "/agent/prepare/it", "/agent/undo/it"] {
        assert_fault(&desk.call(call(endpoint, &json!({}))).await, 401, "auth_required", endpoint);
        let ask = call(endpoint, &json!({})).bearer(FULL).header("Idempotency-Key", "k");
        confirmation_token(&desk.call(ask).await);
    }
    assert!(origin.requests().iter().all(|r| !r.target.ends_with("/it")), "nothing was done");
}

/// Everything that stays in the house, with words that stand nowhere else.
fn house(origin: &Origin) -> Setup {
    let secret = "
endpoint = \"/agent/open\"
[capabilities.upstream]
method = \"POST\"
path = \"/api/inner-path\"
rename_input = { a = \"inner_in\" }
rename_output = { b = \"inner_out\" }
headers = { X-Inner = \"inner-header\" }
errors = { \"404\" = \"declared_name\" }
[capabilities.aom]
agent_hints = { sort = \"inner-hint\" }
[capabilities.agtp]
method = \"SEARCH\"
path = \"/inner-agtp\"
[capabilities.ahp]
extract = { a = \"inner-extract (x)\" }
answer = \"inner-answer\"
[capabilities.confirmation]
summary = \"inner-summary\"
consequence = \"inner-consequence\"
";
    let jwk = "jwk = { kty = \"OKP\", crv = \"Ed25519\", x = \"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\" }";
    site(origin, &(query("open", secret) + &action("closed", "")))
        .set("auth", "issuer = \"https://id.site.test\"\naudience = \"https://site.test\"\njwks = \"inner-jwks.json\"\nstrong_acr = [\"inner-acr\"]")
        .file("inner-jwks.json", "{\"keys\":[]}")
        .set("audit", "path = \"inner-audit.jsonl\"\nretention = \"30_days\"")
        .set("integrity", "key = \"inner-key.pem\"\nkey_id = \"site-2026\"")
        .file("inner-key.pem", &key_pem())
        .tail(&format!("\n[[auth.signed_agents.keys]]\nagent = \"https://inner-agent.test\"\n{jwk}\n"))
}

#[tokio::test]
async fn contract_and_everything_else_keep_the_house_to_itself() {
    let origin = Origin::start(|r: &Request| match r.body.len() {
        _ if !r.target.starts_with("/api/") => Reply::new(404),
        0..4 => Reply::json("{\"inner_out\":1}"),
        _ => Reply::new(500).body("inner-trace"),
    })
    .await;
    let desk = house(&origin).start().await;
    let mut said = Vec::new();
    for path in [
        "/.well-known/agent.json",
        TOML,
        GENERIC,
        "/.well-known/agent-interface.sig",
        "/openapi.json",
        "/agent/nowhere",
    ] {
        said.push((path, desk.call(Ask::get(path).bearer(FULL)).await));
    }
    for accept in ["application/aicp+toml", "application/aicp+json"] {
        let response = desk.call(Ask::get("/agent/interface").accept(accept).bearer(FULL)).await;
        assert_eq!((response.status, response.media_type().as_str()), (200, accept));
        said.push(("/agent/interface", response));
    }
    for ask in [
        call("/agent/open", &json!({ "a": 1 })),
        Ask::post("/agent/open", "{"),
        call("/agent/closed", &json!({})),
        Ask::get("/agent/open"),
    ] {
        said.push(("a fault", desk.call(ask).await));
    }
    let key_hash = api_hash(FULL);
    for (what, response) in &said {
        let all = format!("{:?} {}", response.headers, response.text());
        for inner in ["inner-", "inner_", &key_hash, "11qYAYKx", "PRIVATE"] {
            assert!(!all.contains(inner), "{inner} in {what}: {all}");
        }
    }
    let answer = desk.call(call("/agent/open", &json!({}))).await;
    let answer = assert_answer(&answer, 200, "an answer").to_string();
    for inner in ["inner-path", "inner_out", "inner-header", "inner-summary", "inner-answer", "inner-agtp"] {
        assert!(!answer.contains(inner), "{inner}: {answer}");
    }
    let contract = as_json(&desk).await;
    for table in ["upstream", "ahp", "agtp", "aom", "confirmation"] {
        assert!(capability(&contract, "open").get(table).is_none(), "{table}: {contract}");
    }
    assert_eq!(contract["audit"]["retention"], "30_days", "the rest of its table is published");
    assert_eq!(contract["integrity"]["key_id"], "site-2026");
}

fn api_hash(key: &str) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, key.as_bytes());
    hash.as_ref().iter().map(|b| format!("{b:02x}")).collect()
}

#[tokio::test]
async fn contract_says_what_is_done_and_not_what_was_wished() {
    let origin = origin().await;
    let consent = "requires_user_confirmation = false\nprivacy = { requires_explicit_consent = true }";
    let contract = format!(
        "aicp_version = \"0.2\"\n[integrity]\nsigned = true\nsignature_url = \"https://t.example/old.sig\"\n{}{}",
        declare("a.asks", "query", &format!("\nauth = \"none\"\n{consent}")),
        declare("b.asks", "query", "\nauth = \"none\"\nprivacy = { requires_explicit_consent = true }"),
    );
    let desk = desk_with(&origin, &contract).await;
    let told = as_json(&desk).await;
    for id in ["a.asks", "b.asks"] {
        assert_eq!(capability(&told, id)["requires_user_confirmation"], true, "{told}");
    }
    let asked = desk.call(call("/agent/a/asks", &json!({}))).await;
    assert_fault(&asked, 428, "confirmation_required", "as it says");
    assert_eq!(told.get("integrity"), None, "nobody signs it here");
    for key in ["min_supported_version", "recommended_version"] {
        assert_eq!(told[key], "0.2", "{key}");
    }
    assert_eq!(told["supported_versions"], json!(["0.2"]));
}
