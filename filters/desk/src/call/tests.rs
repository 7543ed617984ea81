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
fn no_member_of_an_input_gets_around_the_checks_of_another_one() {
    let schema = r#"input_schema = { type = "object", properties = { filter = { type = "object" }, limit = { maximum = 10 } } }"#;
    let search = plan(&format!(
        "upstream = {{ method = \"GET\", path = \"/f\", parameters = {{ filter = {{ style = \"form\", explode = true }} }} }}\n{schema}"
    ));
    assert_eq!(called(&search, &json!({ "filter": { "a": 1 }, "limit": 2 })).unwrap().0, "GET /f?limit=2&a=1");
    for key in ["limit", "Limit", "limit ", "limit[]", "_method", "X-HTTP-Method-Override"] {
        assert_eq!(called(&search, &json!({ "filter": { key: 99 } })), Err("/filter".into()), "{key}");
    }
    let form = plan(&format!(
        "upstream = {{ path = \"/f\", body = \"form\", parameters = {{ filter = {{ in = \"body\" }} }} }}\n{schema}"
    ));
    assert_eq!(called(&form, &json!({ "filter": { "a": 1 } })).unwrap().1, "a=1");
    for key in ["_method", "limit", "LIMIT"] {
        assert_eq!(called(&form, &json!({ "filter": { key: "DELETE" } })), Err("/filter".into()), "{key}");
    }
}

#[test]
fn no_input_becomes_a_header_that_changes_the_request() {
    for name in ["X-HTTP-Method-Override", "X-Request-Id", "Proxy-Authorization", "Content-Encoding", "HTTP2-Settings"]
    {
        assert!(header_of_input(name, "x").is_err(), "{name}");
    }
    assert!(header_of_input("X-Channel", "x").is_ok());
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

#[test]
fn single_inputs_go_where_they_were_declared_to() {
    let schema = "input_schema = { type = \"object\", properties = { ids = {}, tags = {}, X-Trace = {}, id = {}, body_id = {}, \
                  v = {}, page_size = {}, page = {} } }";
    let of = |upstream: &str| plan(&format!("{schema}\n[capabilities.upstream]\n{upstream}"));
    let post = of("path = \"/b/{ids}\"\nrename_input = { body_id = \"id\", page_size = \"page[size]\" }\n\
                   parameters = { ids = { style = \"matrix\", name = \"the ids\" }, tags = { in = \"query\", explode = false }, \
                   X-Trace = { in = \"header\" }, id = { in = \"query\" } }");
    let input =
        json!({ "ids": [1, 2], "tags": ["a", "b"], "X-Trace": "t", "id": 3, "body_id": 4, "page_size": 5, "page": 6 });
    let expected =
        ("POST /b/;the%20ids=1,2?id=3&tags=a,b".to_owned(), "{\"id\":4,\"page\":6,\"page[size]\":5}".to_owned());
    assert_eq!(called(&post, &input).unwrap(), expected);
    let call = post.call(&input).unwrap();
    let header = |name: &str| call.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone());
    assert_eq!(
        (header("x-trace").unwrap(), header("content-type").unwrap()),
        ("t".parse().unwrap(), "application/json".parse().unwrap())
    );
    assert_eq!(called(&post, &json!({ "ids": 1, "X-Trace": "a\r\nX: y" })), Err("/X-Trace".into()));
    assert_eq!(called(&post, &json!({ "ids": ["a/b"] })), Err("/ids".into()));
    // What the operator wrote out stays his, declared or not.
    let fixed = of("method = \"GET\"\npath = \"/b?v=1\"");
    assert_eq!(called(&fixed, &json!({ "v": 2 })), Err("/v".into()));
    let spread = of("method = \"GET\"\npath = \"/b?v=1\"\nparameters = { tags = { style = \"form\" } }");
    for object in [json!({ "v": 2 }), json!({ "V[]": 2 }), json!({ "page": 2 }), json!({ "_method": "x" })] {
        assert_eq!(called(&spread, &json!({ "tags": object, "page": 1 })), Err("/tags".into()), "{object}");
    }
    assert_eq!(called(&spread, &json!({ "tags": { "q": 1 } })).unwrap().0, "GET /b?v=1&q=1");
}

#[test]
fn bodies_have_their_declared_form() {
    let of = |lines: &str| plan(&format!("[capabilities.upstream]\npath = \"/b\"\n{lines}"));
    let input = json!({ "a": "x", "b": [1, { "c": null }] });
    for (lines, kind, body) in [
        ("", "application/json", "{\"a\":\"x\",\"b\":[1,{\"c\":null}]}"),
        (
            "content_type = \"application/vnd.api+json\"",
            "application/vnd.api+json",
            "{\"a\":\"x\",\"b\":[1,{\"c\":null}]}",
        ),
        ("body = \"form\"", "application/x-www-form-urlencoded", "a=x&b=1&b=%7B%22c%22%3Anull%7D"),
        ("parameters = { a = { in = \"body\" } }", "application/json", "\"x\""),
        ("content_type = \"text/plain\"\nparameters = { a = { in = \"body\" } }", "text/plain", "x"),
        ("method = \"DELETE\"\nbody = \"json\"", "application/json", "{\"a\":\"x\",\"b\":[1,{\"c\":null}]}"),
    ] {
        let plan = of(lines);
        let call = plan.call(&input).unwrap();
        let told =
            call.headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.to_str().unwrap());
        assert_eq!((told, std::str::from_utf8(&call.body).unwrap()), (Some(kind), body), "{lines}");
    }
    let parts = of("body = \"multipart\"");
    let call = parts.call(&json!({ "a\"b": "--frontdesk-", "n": [1, {}] })).unwrap();
    let body = String::from_utf8(call.body.to_vec()).unwrap();
    let kind = call.headers.iter().find(|(name, _)| name == "content-type").unwrap().1.to_str().unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    assert!(body.matches(boundary).count() == 4 && boundary.len() == 42, "{kind}: {body}");
    let other = parts.call(&json!({ "a": boundary })).unwrap();
    assert_eq!(String::from_utf8_lossy(&other.body).matches(boundary).count(), 1, "another body has another boundary");
    let first = "\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\n--frontdesk-\r\n";
    assert!(body.starts_with(&format!("--{boundary}{first}")), "{body}");
    assert!(body.contains("Content-Type: application/json\r\n\r\n{}\r\n"), "{body}");
    assert!(body.ends_with(&format!("\r\n--{boundary}--\r\n")), "{body}");
    let none = of("body = \"none\"");
    assert_eq!(called(&none, &json!({ "a": 1 })).unwrap(), ("POST /b?a=1".into(), String::new()));
    let optional = of("body_optional = true");
    let call = optional.call(&json!({})).unwrap();
    assert!(call.body.is_empty() && call.headers.iter().all(|(name, _)| name != "content-type"));
}

#[test]
fn a_body_that_is_written_out_has_the_inputs_without_another_place() {
    let lines = "method = \"PUT\"\npath = \"/b/{id}\"\nrename_input = { q = \"query\" }\n\
                 parameters = { page = { in = \"query\" }, X-Trace = { in = \"header\" } }\n\
                 content_type = \"application/vnd.api+json\"\nbody_optional = true\n\
                 body_template = '{\"id\": {{ input.id }}, \"all\": {{ input }}}'";
    let plan = plan(&format!("[capabilities.upstream]\n{lines}"));
    let input = json!({ "id": 7, "q": "x", "page": 2, "X-Trace": "t" });
    let call = plan.call(&input).unwrap();
    assert_eq!((call.method.as_str(), call.target.as_str()), ("PUT", "/b/7?page=2"));
    assert_eq!(call.body, "{\"id\": 7, \"all\": {\"query\":\"x\"}}");
    let header =
        |name: &str| call.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.to_str().unwrap());
    assert_eq!((header("content-type"), header("x-trace")), (Some("application/vnd.api+json"), Some("t")));
    // What it writes out is sent even if there is no input for it.
    assert_eq!(plan.call(&json!({ "id": 7 })).unwrap().body, "{\"id\": 7, \"all\": {}}");
    assert!(!plan.is_plain_read());
}

#[test]
fn only_what_anybody_can_send_is_a_plain_read() {
    let read = |more: &str| plan(&format!("upstream = {{ method = \"GET\", path = \"/x\"{more} }}")).is_plain_read();
    assert!(read("") && read(", parameters = { q = { in = \"query\" } }"));
    assert!(!read(", headers = { X-Key = \"k\" }") && !read(", parameters = { key = { in = \"header\" } }"));
}

#[test]
fn no_header_is_sent_twice() {
    let of = plan("upstream = { path = \"/x\", parameters = { a = { in = \"header\" }, A = { in = \"header\" } } }");
    assert_eq!(called(&of, &json!({ "a": "1", "A": "2" })), Err("/a".into()));
    assert!(called(&of, &json!({ "a": "1" })).is_ok());
}
