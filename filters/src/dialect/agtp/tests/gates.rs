//! What every answer says beside itself, and which refusal it is.

use std::{path::Path, time::Duration};

use serde_json::json;

use super::stall::{HOSTED, Stall, ask};
use crate::{
    dialect::agtp::attribution::testing::CALLER,
    site::{declare_text, testing::Nowhere},
};

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
    // Nor is a refusal another that was written before anybody looked at what was asked for.
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
