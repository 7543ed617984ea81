//! The skills of declared sites: names, digests, and what each says.

use std::path::Path;

use frontdesk_config::testing::{Nowhere, declare_text};
use http::{HeaderMap, Method};
use serde_json::Value;

use super::*;

const CAPABILITIES: &str = "
[[capabilities]]
id = 'bookings.hold'
type = 'prepare_action'
description = 'Holds seats.'
method = 'POST'
endpoint = '/agent/hold/{flight}'
risk_level = 'medium'
auth = 'required'
required_scopes = ['bookings:hold']
input_schema = { type = 'object', required = ['flight', 'seats'], properties = { flight = { type = 'string', examples = ['F1'] }, seats = { type = 'integer', minimum = 1 } } }
[[capabilities]]
id = 'bookings.list'
type = 'query'
description = 'Lists holds.'
risk_level = 'low'
auth = 'none'
[[capabilities]]
id = 'flights.search'
type = 'query'
description = 'Searches flights.'
method = 'GET'
endpoint = '/agent/flights'
risk_level = 'low'
auth = 'none'
input_schema = { type = 'object', required = ['from'], properties = { from = { type = 'string', examples = ['MAD'] } } }
[[capabilities]]
id = 'hidden.one'
type = 'query'
exposed = false
";

fn settings(more: &str) -> Settings {
    let text = format!("[upstream]\nurl = 'http://127.0.0.1:9'\n{more}");
    declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap_or_else(|e| panic!("{e}")).settings
}

fn ways() -> LlmsAddresses {
    let there = |path: &str| Some(path.to_owned());
    LlmsAddresses {
        converse: there("/agent/converse"),
        mcp: there("/mcp"),
        llms: there("/llms.txt"),
        operations: there("/capabilities"),
        manifest: there("/.well-known/agent.json"),
        auth_md: None,
    }
}

fn get(documents: &[Document], path: &str, origin: &str) -> String {
    let document = documents.iter().find(|document| document.path == path).unwrap_or_else(|| panic!("{path}"));
    let reply = document.respond(&Method::GET, &HeaderMap::new(), &|| origin.to_owned()).unwrap();
    String::from_utf8(reply.body.to_vec()).unwrap()
}

#[test]
fn each_group_has_a_skill_and_each_digest_is_true_at_any_origin() {
    let documents =
        documents(&settings(&format!("[site]\nname = 'Acme Air!'\n{CAPABILITIES}")), &Occupied::default(), &ways());
    for origin in ["https://a.test", "http://127.0.0.1:8080"] {
        let index: Value = serde_json::from_str(&get(&documents, PATH, origin)).unwrap();
        let skills = index["skills"].as_array().unwrap();
        let names: Vec<&str> = skills.iter().map(|skill| skill["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["acme-air-read-and-ask", "acme-air-bookings", "acme-air-flights"]);
        for skill in skills {
            let path = skill["url"].as_str().unwrap().strip_prefix(origin).unwrap();
            let text = get(&documents, path, origin);
            let digest = digest::digest(&digest::SHA256, text.as_bytes());
            assert_eq!(skill["digest"], format!("sha256:{}", hex(digest.as_ref())));
            let front =
                format!("---\nname: {}\ndescription: {}\n---\n", skill["name"].as_str().unwrap(), skill["description"]);
            assert!(text.starts_with(&front) && text.contains(origin), "{text}");
            assert!(text.len() < 20_000, "under 5,000 tokens");
        }
    }
}

#[test]
fn a_skill_says_how_to_call_confirm_and_retry() {
    let documents = documents(&settings(CAPABILITIES), &Occupied::default(), &ways());
    let text = get(&documents, "/.well-known/agent-skills/site-bookings/SKILL.md", "https://a.test");
    for part in [
        "Scopes: bookings:hold",
        "AICP-Confirmation",
        "Idempotency-Key",
        "curl -s -X POST 'https://a.test/agent/hold/F1'",
        "-d '{\"seats\":1}'",
        "curl -s -X POST 'https://a.test/capabilities/bookings_list'",
        "Credential: none needed",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let text = get(&documents, "/.well-known/agent-skills/site-flights/SKILL.md", "https://a.test");
    assert!(text.contains("curl -s -X GET 'https://a.test/agent/flights?from=MAD'\n"), "{text}");
    assert!(documents.iter().all(|document| !document.path.contains("hidden")));
}

#[test]
fn the_reading_skill_names_only_what_is_there() {
    let all = documents(&settings(""), &Occupied::default(), &ways());
    let text = get(&all, "/.well-known/agent-skills/site-read-and-ask/SKILL.md", "https://a.test");
    for part in ["https://a.test/llms.txt", "Accept: text/markdown", "content_search", "https://a.test/mcp"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let few = documents(
        &settings("[content]\nmarkdown = false\nconcierge = false\n"),
        &Occupied::default(),
        &LlmsAddresses::default(),
    );
    let text = get(&few, "/.well-known/agent-skills/site-read-and-ask/SKILL.md", "https://a.test");
    assert!(!text.contains("https://a.test") && !text.contains("content_search"), "{text}");
}

#[test]
fn the_sites_own_index_wins_and_the_key_switches_it_off() {
    let mut occupied = Occupied::default();
    occupied.insert(PATH.into());
    assert!(documents(&settings(CAPABILITIES), &occupied, &ways()).is_empty());
    assert!(documents(&settings("[discovery]\nskills = false\n"), &Occupied::default(), &ways()).is_empty());
}

#[test]
fn names_fit_the_specification() {
    for text in ["Acme Air!", "  -a--b- ", "Ünï", "x"] {
        let slug = slug(text);
        assert!(!slug.contains("--") && !slug.starts_with('-') && !slug.ends_with('-'), "{slug}");
    }
    let name = named(&"a".repeat(64), "read-and-ask");
    assert!(name.len() <= LONGEST_NAME && name.ends_with("-read-and-ask"), "{name}");
    assert_eq!(named("", "x"), "x");
}
