//! Promise: backends that are not REST are asked in their own words, values never become syntax, and a failure is a
//! failure, also with status 200.

use crate::support::calls::{
    FULL, action, assert_answer, assert_fault, call, checked, last_upstream, query, site, upstream_calls,
};
use crate::support::{Origin, Reply, Request};
use serde_json::{Value, json};

const GRAPHQL: &str = r#"
input_schema = { type = "object", properties = { id = { type = "string" } } }
[capabilities.upstream]
method = "POST"
path = "/api/graphql"
body_template = '{"query": "query($id: ID!) { user(id: $id) { name } }", "variables": {{ input }} }'
failed = "/errors"
errors = { "/errors/0/extensions/code=NOT_FOUND" = "no_such_user" }
rename_output = { user = "data.user" }
"#;
const RPC: &str = r#"
[capabilities.upstream]
method = "POST"
path = "/api/rpc"
body_template = '{"jsonrpc": "2.0", "id": 1, "method": "order.cancel", "params": [{{ input.order }}, {"why": {{ input.why }}}]}'
failed = "/error"
errors = { "/error/code=-32001" = "no_such_order" }
"#;
const SOAP: &str = r#"
[capabilities.upstream]
method = "POST"
path = "/api/soap"
content_type = "text/xml; charset=utf-8"
response = "xml"
body_template = '<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><Rate><from>{{ input.from }}</from></Rate></s:Body></s:Envelope>'
errors = { "/Envelope/Body/Fault/faultcode=s:Client" = "unknown_currency" }
"#;
const PLAIN: &str = r#"
[capabilities.upstream]
method = "POST"
path = "/api/plain"
failed = "!/success"
errors = { "/message=sold out" = "sold_out" }
"#;

async fn origin() -> Origin {
    Origin::start(|request: &Request| {
        let body = String::from_utf8_lossy(&request.body).into_owned();
        let sent: Value = serde_json::from_str(&body).unwrap_or_default();
        let xml = |status: u16, inner: &str| {
            let text = format!("<s:Envelope xmlns:s='x'><s:Body>{inner}</s:Body></s:Envelope>");
            Reply::new(status).header("Content-Type", "text/xml; charset=utf-8").body(text)
        };
        match request.target.as_str() {
            "/api/graphql" => match sent["variables"]["id"].as_str() {
                Some("none") => {
                    Reply::json(r#"{"data":null,"errors":[{"message":"no","extensions":{"code":"NOT_FOUND"}}]}"#)
                }
                Some("odd") => Reply::json(r#"{"data":null,"errors":[{"message":"secret internals"}]}"#),
                Some(id) => Reply::json(json!({ "data": { "user": { "name": id } } }).to_string()),
                None => Reply::new(400),
            },
            "/api/rpc" => match sent["params"][0].as_str() {
                Some("1") => Reply::json(r#"{"jsonrpc":"2.0","id":1,"result":true}"#),
                _ => Reply::json(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no"}}"#),
            },
            "/api/soap" if body.contains("<from>EUR</from>") => xml(200, "<RateResult><value>1.1</value></RateResult>"),
            "/api/soap" => xml(500, "<s:Fault><faultcode>s:Client</faultcode><faultstring>no</faultstring></s:Fault>"),
            "/api/plain" => match sent["n"].as_i64() {
                Some(1) => Reply::json(r#"{"success":true,"id":7}"#),
                Some(2) => Reply::json(r#"{"success":false,"message":"sold out"}"#),
                _ => Reply::json(r#"{"success":false,"message":"something"}"#),
            },
            _ => Reply::new(404),
        }
    })
    .await
}

#[tokio::test]
async fn backends_of_graphql_are_asked_and_their_errors_are_failures() {
    let origin = origin().await;
    let desk = site(&origin, &query("user", GRAPHQL)).start().await;
    let hostile = r#"x", "admin": true, "y": ""#;
    let answer = assert_answer(&desk.call(call("/agent/user", &json!({ "id": hostile }))).await, 200, "a user");
    assert_eq!(answer["data"]["user"], json!({ "name": hostile }));
    let sent: Value = serde_json::from_slice(&last_upstream(&origin).body).expect("JSON");
    assert_eq!(sent["variables"], json!({ "id": hostile }));
    assert_eq!(last_upstream(&origin).header("content-type"), Some("application/json"));
    let named = desk.call(call("/agent/user", &json!({ "id": "none" }))).await;
    assert_fault(&named, 422, "no_such_user", "a named error");
    let odd = desk.call(call("/agent/user", &json!({ "id": "odd" }))).await;
    let body = assert_fault(&odd, 502, "upstream_error", "another error");
    assert!(!body.to_string().contains("internals"), "{body}");
}

#[tokio::test]
async fn backends_of_rpc_and_soap_are_asked_in_their_own_words() {
    let origin = origin().await;
    let desk = site(&origin, &(action("cancel", RPC) + &query("rate", SOAP))).start().await;
    let cancel = |order: &str| call("/agent/cancel", &json!({ "order": order, "why": "late" })).bearer(FULL);
    assert_answer(&desk.call(cancel("1")).await, 200, "cancelled");
    let sent: Value = serde_json::from_slice(&last_upstream(&origin).body).expect("JSON");
    assert_eq!(sent["params"], json!(["1", { "why": "late" }]));
    assert_fault(&desk.call(cancel("2")).await, 422, "no_such_order", "an error in a 200");
    let rate = assert_answer(&desk.call(call("/agent/rate", &json!({ "from": "EUR" }))).await, 200, "a rate");
    assert_eq!(rate["data"]["Envelope"]["Body"]["RateResult"]["value"], "1.1");
    assert_eq!(last_upstream(&origin).header("content-type"), Some("text/xml; charset=utf-8"));
    let fault = desk.call(call("/agent/rate", &json!({ "from": "</from><admin/>" }))).await;
    assert_fault(&fault, 500, "unknown_currency", "a SOAP fault");
    let sent = String::from_utf8(last_upstream(&origin).body).expect("text");
    assert!(sent.contains("<from>&lt;/from&gt;&lt;admin/&gt;</from>"), "{sent}");
}

#[tokio::test]
async fn backends_that_say_failed_with_200_have_failed() {
    let origin = origin().await;
    let desk = site(&origin, &action("plain", PLAIN)).start().await;
    let ask = |n: i64, key: &str| call("/agent/plain", &json!({ "n": n })).bearer(FULL).header("Idempotency-Key", key);
    assert_eq!(assert_answer(&desk.call(ask(1, "a")).await, 200, "done")["data"]["id"], 7);
    assert_fault(&desk.call(ask(2, "b")).await, 422, "sold_out", "a named failure");
    assert_fault(&desk.call(ask(3, "c")).await, 502, "upstream_error", "another failure");
    let asked = upstream_calls(&origin).len();
    assert_fault(&desk.call(ask(2, "b")).await, 422, "sold_out", "the same key again");
    assert_eq!(upstream_calls(&origin).len(), asked, "the site was asked again");
}

#[tokio::test]
async fn backends_with_a_value_in_a_query_are_a_mistake() {
    let origin = origin().await;
    let wrong = GRAPHQL.replace("user(id: $id)", "user(id: {{ input.id }})");
    let said = checked(&site(&origin, &query("user", &wrong)));
    assert!(said.contains("upstream.body_template") && said.contains("variable"), "{said}");
}

#[tokio::test]
async fn backends_with_a_value_where_it_would_be_syntax_are_a_mistake() {
    let origin = origin().await;
    let read = |kind: &str, template: &str| {
        let lines = format!(
            "\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"/api\"\ncontent_type = \"{kind}\"\nbody_template = '''{template}'''\n"
        );
        site(&origin, &query("find", &lines))
    };
    let (json, xml, form) = ("application/json", "text/xml", "application/x-www-form-urlencoded");
    for (kind, template, says) in [
        // The caller would write the query, in part or as a whole, under whatever name it goes.
        (json, r#"{"query": {{ input.q }}, "variables": {}}"#, "write \"variables\""),
        (json, r#"[{"Query": "{ order(id: {{ input.q }}) }"}]"#, "write \"variables\""),
        (json, r#"{"q": "mutation { drop(id: {{ input.q }}) }"}"#, "write \"variables\""),
        (json, r#"{"sql": "select {{ input.q }}"}"#, "as a parameter"),
        (json, r#"{"payload": "{\"id\": \"{{ input.q }}\"}"}"#, "a member of its own"),
        (json, r#"{"{{ input.q }}": 1}"#, "write the name out"),
        (form, "query={ order(id: {{ input.q }}) }", "write \"variables\""),
        (xml, r#"<!DOCTYPE a [<!ENTITY b "{{ input.q }}">]><a>&b;</a>"#, "Leave the DOCTYPE out"),
        (xml, r#"<!DOCTYPE a [<!ENTITY b "x"> {{ input.q }} ]><a>&b;</a>"#, "Leave the DOCTYPE out"),
        (xml, r#"<a b="it's" {{ input.q }}="x"/>"#, "outside an attribute's quotes"),
        (xml, "<a><sql>select {{ input.q }}</sql></a>", "as a parameter"),
    ] {
        let said = checked(&read(kind, template));
        assert!(said.contains("upstream.body_template") && said.contains(says), "{template}: {said}");
    }
    for (kind, template) in [
        (json, r#"{"query": {{ input.q }}, "size": 10}"#),
        (json, r#"{"text": "Order {{ input.q }}", "sql": "select 1"}"#),
        (form, "query={{ input.q }}"),
        (xml, r#"<?xml version="1.0"?><a b='it is ">"'><query>{{ input.q }}</query></a>"#),
    ] {
        let said = checked(&read(kind, template));
        assert!(!said.contains("body_template"), "{template}: {said}");
    }
}
