//! Where inputs go, and that no spelling of a name bypasses the checks.

use super::*;
use serde_json::json;

fn plan(upstream: &str) -> CallPlan {
    let text = format!(
        "[upstream]\nurl = \"http://127.0.0.1:1\"\n[[capabilities]]\nid = \"x\"\ntype = \"query\"\n\
         endpoint = \"/agent/x\"\nrisk_level = \"low\"\n{upstream}"
    );
    let declaration = frontdesk_config::testing::declare_text(
        std::path::Path::new("/x.toml"),
        &text,
        &frontdesk_config::testing::Nowhere,
    )
    .unwrap();
    CallPlan::new(&declaration.settings.capabilities[0], &declaration.settings).unwrap()
}

fn called(plan: &CallPlan, input: &Value) -> Result<(String, String), String> {
    let call = plan.call(input).map_err(|violation| violation.pointer)?;
    Ok((format!("{} {}", call.method, call.target), String::from_utf8_lossy(&call.body).into_owned()))
}

#[test]
fn inputs_go_where_they_were_declared_to() {
    let search = plan("upstream = { method = \"GET\", path = \"/api/f?v=2\", rename_input = { origin = \"from\" } }");
    assert_eq!(called(&search, &json!({ "origin": "A B", "n": 1 })).unwrap().0, "GET /api/f?v=2&from=A%20B&n=1");
    let act = plan("upstream = { path = \"/api/b/{id}\", rename_input = { a = \"b\" } }");
    let expected = ("POST /api/b/7".to_owned(), "{\"b\":1}".to_owned());
    assert_eq!(called(&act, &json!({ "id": 7, "a": 1 })).unwrap(), expected);
    let form = plan("upstream = { path = \"/f\", body = \"form\" }");
    assert_eq!(called(&form, &json!({ "a": "x y", "b": [1, 2] })).unwrap().1, "a=x%20y&b=1&b=2");
    assert_eq!(called(&plan(""), &json!({ "a": 1 })).unwrap(), ("POST /agent/x".into(), "{\"a\":1}".into()));
    let placed = plan("upstream = { path = \"/b/{ref}\", rename_input = { id = \"ref\" } }");
    assert_eq!(called(&placed, &json!({ "id": "q" })).unwrap(), ("POST /b/q".into(), "{}".into()));
}

#[test]
fn nobody_gets_around_a_name() {
    let search = plan("upstream = { method = \"GET\", path = \"/api/f?v=2\", rename_input = { origin = \"from\" } }");
    assert_eq!(called(&search, &json!({ "origin": "A", "from": "B" })), Err("/from".into()));
    assert_eq!(called(&search, &json!({ "v": 3 })), Err("/v".into()));
    for name in ["v[]", "V", " v", "from[x]", "From", "from\0x"] {
        assert!(called(&search, &json!({ name: 3 })).is_err(), "{name}");
    }
    let placed = plan("upstream = { path = \"/b/{ref}\", rename_input = { id = \"ref\" } }");
    assert_eq!(called(&placed, &json!({ "id": "q", "ref": "other" })), Err("/ref".into()));
}

#[test]
fn the_operator_chooses_headers_but_not_those_of_the_message() {
    for name in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "X-Frontdesk-Caller",
        "x-forwarded-for",
        "Expect",
        "a b",
        "",
    ] {
        assert!(static_header(name, "x").is_err(), "{name}");
    }
    assert!(static_header("X-Channel", "agents\r\nX: y").is_err());
    let plan = plan("upstream = { path = \"/x\", headers = { User-Agent = \"us\", X-Channel = \"agents\" } }");
    let call = plan.call(&json!({})).unwrap();
    assert_eq!(call.headers.iter().filter(|(name, _)| name == "user-agent").count(), 1);
}

#[test]
fn no_input_leads_to_what_is_hidden() {
    let placed = plan("upstream = { method = \"GET\", path = \"/docs/{name}\" }");
    for name in [".aiignore", ".ai", ".AIIGNORE"] {
        assert_eq!(called(&placed, &json!({ "name": name })), Err(String::new()), "{name}");
    }
    assert!(called(&placed, &json!({ "name": "aiignore" })).is_ok());
    // A value that the operator wrote out is intended.
    assert!(called(&plan("upstream = { path = \"/.ai/status\" }"), &json!({ "name": 1 })).is_ok());
}
