//! The headers of every answer, and the refusal of each gate.

use std::{path::Path, time::Duration};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::stall::{Asked, HOSTED, Stall, ask};
use crate::{attribution::testing::CALLER, declared::declare_text};
use frontdesk_config::testing::Nowhere;

#[test]
fn what_is_on_its_way_out_is_told_of_whatever_becomes_of_the_request() {
    let stall = Stall::open();
    let gone = || ask("QUERY", "/catalog");
    for (asked, status) in [
        (gone(), 200),
        (ask("QUERY", "/catalog?colour=red"), 422),
        (gone().header("owner-id", "a b"), 400),
        (gone().header("contract-synthesized", "nothing"), 404),
        (ask("EXECUTE", "/").body(json!({ "action": "QUERY /catalog" })), 200),
    ] {
        let told = stall.tell(&asked);
        assert_eq!(told.status, status, "{}", told.body);
        let warnings: Vec<_> = told.headers.get_all("agtp-endpoint-warning").iter().collect();
        assert_eq!(warnings, ["deprecated; successor=QUERY /lamps"], "{}", told.body);
    }
    let other = stall.tell(&ask("CREATE", "/notes").body(json!({})));
    assert_eq!(other.header("agtp-endpoint-warning"), None);
    // Nor does a refusal that was written before verb and path were known differ.
    let refused = stall.refused(&gone());
    assert_eq!(refused.header("agtp-endpoint-warning"), Some("deprecated; successor=QUERY /lamps"));
    let about = |name: &str| refused.body["error"][name].as_str().unwrap();
    assert_eq!((about("method"), about("path")), ("QUERY", "/catalog"));
}

#[test]
fn what_takes_a_key_takes_an_agent_that_it_is_kept_for() {
    let stall = Stall::open();
    let note = || ask("CREATE", "/notes").body(json!({ "text": "x" }));
    for asked in [note().header("idempotency-key", "k"), note()] {
        assert_eq!(stall.tell(&asked.anonymous()).is(401)["reason"], "agent-unauthenticated");
    }
    stall.tell(&note()).is(400);
    stall.tell(&note().header("idempotency-key", "k")).is(200);
}

#[test]
fn the_protocols_own_is_asked_by_query_too_and_the_body_wins() {
    let stall = Stall::open();
    assert!(stall.tell(&ask("INSPECT", "/?target=chain_head")).is(200).get("audit_id").is_some());
    let body = json!({ "target": "lifecycle", "agent_id": CALLER });
    assert!(stall.tell(&ask("INSPECT", "/?target=chain_head").body(body)).is(200)["entries"].is_array());
    let methods = stall.tell(&ask("DISCOVER", "/?target=methods")).is(200);
    assert_eq!(methods, stall.tell(&ask("DISCOVER", "/methods")).is(200));
    stall.tell(&ask("DISCOVER", "/genesis?agent_id=another")).is(404);
    stall.tell(&ask("DISCOVER", "/genesis?agent_id=another").body(json!({ "agent_id": HOSTED }))).is(200);
    stall.tell(&ask("QUERY", "/catalog").header("session-id", "s-1")).is(200);
    stall.tell(&ask("SUSPEND", "/?session_id=s-1")).is(200);
    stall.tell(&ask("INSPECT", "/?target=%zz")).is(400);
}

#[test]
fn no_redirect_stands_in_front_of_the_protocols_own() {
    let declare = |from: &str, path: &str| {
        let path = if path.is_empty() { String::new() } else { format!(", from_path = '{path}'") };
        let text = format!(
            "[upstream]\nurl = 'http://127.0.0.1:1'\n[agtp.policies.methods]\n\
             redirects = [{{ from_method = '{from}', to_method = 'FIND'{path} }}]"
        );
        declare_text(Path::new("/frontdesk.toml"), &text, &Nowhere).map(drop)
    };
    for (from, path) in [
        ("NOTIFY", ""),
        ("DISCOVER", "/"),
        ("DISCOVER", "/methods"),
        ("DISCOVER", "/{what}"),
        ("QUERY", "/proposals/{id}"),
        ("DESCRIBE", "/agents/{name}"),
    ] {
        let why = declare(from, path).unwrap_err().to_string();
        assert!(why.contains("every server answers") && why.contains("from_path"), "{from} {path}: {why}");
    }
    for (from, path) in [("NOTIFY", "/lamps"), ("DISCOVER", "/lamps"), ("SEARCH", ""), ("QUERY", "/{what}")] {
        declare(from, path).unwrap();
    }
}

#[test]
fn the_manifest_says_when_it_became_another() {
    let updated = |site: &str| {
        let stall = Stall::with(&format!("name = '{site}'\n[agtp]\nserver_id = 'updated.test'"));
        let told = stall.tell(&ask("DISCOVER", "/").anonymous()).is(200);
        let of = |name: &str| told["server"][name].as_str().unwrap().to_owned();
        (of("issued"), of("updated"))
    };
    let first = updated("One");
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(updated("One"), first, "it was read once more, and says the same");
    let (issued, later) = updated("Another");
    assert_eq!(issued, first.0);
    assert!(later > first.1, "{later}");
}

#[test]
fn what_the_texts_name_stands_at_the_top_of_a_refusal_in_an_envelope() {
    let enveloped = ask("INSPECT", "/").body(json!({ "task_id": "t", "parameters": { "target": "nothing" } }));
    let told = Stall::open().tell(&enveloped).is(400);
    assert_eq!((&told["target"], &told["task_id"], &told["status"]), (&json!("nothing"), &json!("t"), &json!(400)));
    assert_eq!((&told["error"]["code"], &told["error"]["target"]), (&json!("unknown-target"), &json!("nothing")));
    let enveloped = ask("INSPECT", "/").body(json!({ "task_id": "t", "parameters": { "target": "chain_head" } }));
    let told = Stall::open().tell(&enveloped).is(200);
    assert!(told["result"].is_object() && told.get("error").is_none(), "{told}");
}

#[test]
fn what_an_envelope_says_of_task_and_session_is_recorded() {
    let stall = Stall::open();
    let around = json!({ "task_id": "t-1", "session_id": "s-1", "parameters": { "target": "chain_head" } });
    let recorded = |asked: &Asked| {
        let told = stall.tell(asked);
        let jws = told.header("attribution-record").unwrap();
        let payload = URL_SAFE_NO_PAD.decode(jws.split('.').nth(1).unwrap()).unwrap();
        let payload: Value = serde_json::from_slice(&payload).unwrap();
        let [task, session] = ["task_id", "session_id"].map(|name| payload[name].as_str().map(str::to_owned));
        assert_eq!(told.header("task-id").map(str::to_owned), task);
        (task, session)
    };
    let (t, s) = (Some("t-1".to_owned()), Some("s-1".to_owned()));
    assert_eq!(recorded(&ask("INSPECT", "/").body(around.clone())), (t.clone(), s.clone()));
    // The same where the request is refused.
    let refused = json!({ "task_id": "t-1", "session_id": "s-1", "parameters": { "target": "nothing" } });
    assert_eq!(recorded(&ask("INSPECT", "/").body(refused)), (t, s.clone()));
    // The head takes precedence.
    let headed = ask("INSPECT", "/").body(around).header("task-id", "t-2");
    assert_eq!(recorded(&headed), (Some("t-2".to_owned()), s));
    let odd = json!({ "task_id": "a b", "session_id": 7, "parameters": { "target": "chain_head" } });
    assert_eq!(recorded(&ask("INSPECT", "/").body(odd)), (None, None));
}

#[test]
fn what_is_published_of_an_input_is_taken() {
    let stall = Stall::with(
        "[[capabilities]]\nid = 'lamps.tags'\ntype = 'query'\nrisk_level = 'low'\nauth = 'none'\n\
         input_schema = { type = 'object', patternProperties = { '^x-[0-9]+$' = { type = 'string' } }, \
         allOf = [{ patternProperties = { '^y-' = {} } }] }\n\
         upstream = { method = 'GET', path = '/api/tags' }\nagtp = { method = 'QUERY', path = '/tags' }",
    );
    stall.tell(&ask("QUERY", "/tags?x-7=red&y-a=b")).is(200);
    for other in ["x-a=red", "red=7", "xx-7=red"] {
        let told = stall.tell(&ask("QUERY", &format!("/tags?{other}"))).is(422);
        assert_eq!(told["error"]["details"]["violations"][0]["message"], "There is no such input.");
    }
    stall.tell(&ask("QUERY", "/tags").body(json!({ "x-7": 7 }))).is(422);
    let manifest = stall.tell(&ask("DISCOVER", "/").anonymous()).is(200);
    let tags = manifest["endpoints"].as_array().unwrap().iter().find(|endpoint| endpoint["path"] == "/tags").unwrap();
    assert!(tags["input_schema"]["patternProperties"]["^y-"].is_object(), "{tags}");
}

#[test]
fn what_is_built_in_takes_what_is_published_of_it() {
    let stall = Stall::open();
    for (path, body) in [
        ("/methods", json!({ "bogus": 1 })),
        ("/methods?bogus=1", json!({})),
        ("/methods", json!({ "agent_id": 5 })),
        ("/methods", json!({ "target": 5 })),
        ("/methods", json!({ "max_results": 5 })),
        ("/", json!({ "max_results": "many" })),
        ("/genesis", json!({ "agent_id": 5 })),
    ] {
        stall.tell(&ask("DISCOVER", path).body(body)).is(422);
    }
    let floor = json!({ "criteria": { "skill": "lamps" }, "filter": "x", "context": {}, "intent": "a lamp" });
    assert!(stall.tell(&ask("DISCOVER", "/?max_results=5").body(floor)).is(200)["results"].is_array());
    let manifest = stall.tell(&ask("DISCOVER", "/").anonymous()).is(200);
    let of = |path: &str| {
        let is_it = |endpoint: &&serde_json::Value| endpoint["method"] == "DISCOVER" && endpoint["path"] == path;
        manifest["endpoints"].as_array().unwrap().iter().find(is_it).unwrap()["input_schema"]["properties"].clone()
    };
    assert!(of("/")["criteria"].is_object() && of("/methods").get("criteria").is_none());
}

#[test]
fn what_stands_beside_parameters_is_not_thrown_away() {
    let asked = json!({ "agent_id": CALLER, "parameters": { "target": "lifecycle" } });
    let told = Stall::open().tell(&ask("INSPECT", "/").body(asked)).is(422);
    assert_eq!(told["code"], "missing-parameter", "it is no envelope, and has no target");
}

#[test]
fn a_verb_of_http_means_what_the_text_says() {
    let stall = Stall::with(
        "[agtp.policies.methods]\naliases = {}\nlegacy = '*'\n\
         [[capabilities]]\nid = 'shelf.change'\ntype = 'prepare_action'\nrisk_level = 'low'\nauth = 'none'\n\
         requires_user_confirmation = false\ninput_schema = { type = 'object', properties = { action = {}, n = {} } }\n\
         upstream = { method = 'POST', path = '/api/shelf' }\nagtp = { method = 'EXECUTE', path = '/shelf' }",
    );
    let put = || ask("PUT", "/shelf").body(json!({ "n": 1 }));
    assert_eq!(stall.tell(&put()).is(400)["code"], "idempotency-key-required");
    stall.tell(&put().anonymous().header("idempotency-key", "k")).is(401);
    stall.tell(&put().header("idempotency-key", "k")).is(200);
    stall.tell(&put().method("POST")).is(200);
    stall.tell(&put().method("DELETE")).is(200);
    // At the root the parameter takes precedence.
    let root = |method: &str, body| stall.tell(&ask(method, "/").body(body));
    let shelf = json!({ "action": "shelf.change", "parameters": { "n": 1 } });
    assert_eq!(root("PUT", shelf.clone()).is(400)["code"], "idempotency-key-required");
    let mut keyed = shelf.clone();
    keyed["idempotency_key"] = json!("k-2");
    root("PUT", keyed).is(200);
    root("POST", shelf.clone()).is(200);
    assert_eq!(root("DELETE", shelf).is(422)["action"], "delete");
}
