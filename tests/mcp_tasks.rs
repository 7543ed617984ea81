//! Promise: to a client that knows tasks, an answer that comes later is a task of its caller, and the finished task has
//! the result that a callback would bring.

use crate::support::calls::{BARE, FULL, declare, seconds, site, upstream_calls};
use crate::support::handshake::{OPERATOR, operators_token};
use crate::support::rpc::{self, NEWEST, error, post};
use crate::support::{Answer, Ask, Desk, Gate, Origin, Reply, Request, SOON, Setup, Step, Via, eventually};
use serde_json::{Value, json};

const EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// A site whose answers wait for the gate.
async fn slow(gate: &Gate) -> Origin {
    let gate = gate.clone();
    Origin::start(move |r: &Request| match r.target.split('?').next().unwrap_or_default() {
        "/api/report" => {
            let reply = Reply::json(r#"{"pages":12}"#);
            let bytes = [reply.head(), reply.whole().to_vec()].concat();
            Answer::from(vec![Step::Wait(gate.clone()), Step::Write(bytes), Step::KeepAlive])
        }
        "/api/broken" => Reply::new(422).header("Content-Type", "application/json").body(r#"{"error":"no"}"#).into(),
        "/api/gone" => vec![Step::Close].into(),
        _ => Reply::new(404).body("none").into(),
    })
    .await
}

fn later(id: &str, kind: &str, method: &str, path: &str) -> String {
    declare(
        id,
        kind,
        &format!(
            "\nrisk_level = \"low\"\nauth = \"required\"\nrequires_user_confirmation = false\nupstream = {{ method = \"{method}\", path = \"{path}\", timeout = \"20s\" }}\n\
         [capabilities.ahp]\naction_type = \"async\"\neta = \"3s\"\nanswer = \"The report has {{{{ data.pages }}}} pages.\"\n"
        ),
    )
}

fn setup(origin: &Origin) -> Setup {
    let person = declare("quote", "query", "\nrisk_level = \"low\"\nauth = \"required\"\nupstream = { desk = true }\n");
    let tools = later("report", "query", "GET", "/api/report")
        + &later("build", "prepare_action", "POST", "/api/report")
        + &later("broken", "query", "GET", "/api/broken")
        + &later("gone", "query", "GET", "/api/gone")
        + &person;
    site(origin, &tools).set("admin", &operators_token())
}

/// A request of a client that knows tasks, or does not.
fn asking(method: &str, mut params: Value, knows: bool) -> Ask {
    let extensions = if knows { json!({ EXTENSION: {} }) } else { json!({}) };
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST,
        "io.modelcontextprotocol/clientCapabilities": { "extensions": extensions },
    });
    let name = params["name"].as_str().or(params["taskId"].as_str()).unwrap_or_default().to_owned();
    post(rpc::message(method, params).to_string())
        .header("MCP-Protocol-Version", NEWEST)
        .header("Mcp-Method", method)
        .header("Mcp-Name", &name)
}

async fn called(desk: &Desk, name: &str) -> Value {
    let call = asking("tools/call", json!({ "name": name, "arguments": { "query": "A report" } }), true);
    let response = desk.ask(Via::H1, call.bearer(FULL)).await;
    let task = rpc::result(&response);
    assert_eq!((&task["resultType"], &task["status"]), (&json!("task"), &json!("working")), "{task}");
    for name in ["result", "error", "inputRequests", "requestState", "content"] {
        assert!(task.get(name).is_none(), "{task}");
    }
    task
}

async fn tasks(desk: &Desk, method: &str, id: &Value) -> Value {
    let response = desk.ask(Via::H1, asking(method, json!({ "taskId": id }), true).bearer(FULL)).await;
    let result = rpc::result(&response);
    assert_eq!(result["resultType"], "complete", "{result}");
    result
}

async fn ended(desk: &Desk, id: &Value) -> Value {
    eventually("an end", SOON, async || tasks(desk, "tasks/get", id).await["status"] != "working").await;
    tasks(desk, "tasks/get", id).await
}

#[tokio::test]
async fn mcp_tasks_end_with_what_a_callback_would_bring() {
    let gate = Gate::closed();
    let origin = slow(&gate).await;
    let desk = setup(&origin).start().await;
    let about = rpc::result(&desk.rpc(rpc::stateless("server/discover", json!({}))).await);
    assert_eq!(about["capabilities"]["extensions"][EXTENSION], json!({}), "{about}");
    let task = called(&desk, "report").await;
    let id = &task["taskId"];
    assert_eq!(task["pollIntervalMs"], 3000, "by the estimate: {task}");
    assert!(task["ttlMs"].as_u64().is_some_and(|ttl| ttl >= 60_000), "{task}");
    assert!(seconds(&task["createdAt"]) > 1_700_000_000, "{task}");
    let working = tasks(&desk, "tasks/get", id).await;
    assert_eq!((&working["status"], &working["taskId"]), (&json!("working"), id), "{working}");
    assert!(working.get("result").is_none() && working["statusMessage"].is_string(), "{working}");
    gate.open();
    for _ in 0..2 {
        let done = ended(&desk, id).await;
        assert_eq!((&done["status"], &done["createdAt"]), (&json!("completed"), &task["createdAt"]), "{done}");
        let result = &done["result"];
        assert_eq!(
            (&result["content"][0]["text"], &result["isError"]),
            (&json!("The report has 12 pages."), &json!(false))
        );
        assert_eq!(result["structuredContent"]["response"]["answer"], "The report has 12 pages.", "{done}");
    }
    assert_eq!(tasks(&desk, "tasks/cancel", id).await, json!({ "resultType": "complete" }), "over is over");
    assert_eq!(tasks(&desk, "tasks/get", id).await["status"], "completed");
    assert_eq!(upstream_calls(&origin).len(), 1, "asked once");
}

#[tokio::test]
async fn mcp_tasks_tell_a_refusal_from_a_loss() {
    let gate = Gate::closed();
    let origin = slow(&gate).await;
    let desk = setup(&origin).start().await;
    let refused = ended(&desk, &called(&desk, "broken").await["taskId"]).await;
    assert_eq!((&refused["status"], &refused["result"]["isError"]), (&json!("completed"), &json!(true)), "{refused}");
    assert!(refused.get("error").is_none(), "{refused}");
    let lost = ended(&desk, &called(&desk, "gone").await["taskId"]).await;
    assert_eq!((&lost["status"], &lost["error"]["code"]), (&json!("failed"), &json!(-32603)), "{lost}");
    assert!(lost["error"]["message"].is_string() && lost.get("result").is_none(), "{lost}");
}

#[tokio::test]
async fn mcp_tasks_are_canceled_where_nothing_has_come_of_them() {
    let gate = Gate::closed();
    let origin = slow(&gate).await;
    let desk = setup(&origin).start().await;
    // A read, and a question that no person has answered.
    for name in ["report", "quote"] {
        let task = called(&desk, name).await;
        assert_eq!(tasks(&desk, "tasks/cancel", &task["taskId"]).await, json!({ "resultType": "complete" }), "{name}");
        let canceled = tasks(&desk, "tasks/get", &task["taskId"]).await;
        assert_eq!(
            (&canceled["status"], &canceled["createdAt"]),
            (&json!("cancelled"), &task["createdAt"]),
            "{canceled}"
        );
        tasks(&desk, "tasks/cancel", &task["taskId"]).await;
    }
    // An act that was begun is carried out, and says so.
    let act = called(&desk, "build").await;
    tasks(&desk, "tasks/cancel", &act["taskId"]).await;
    assert_eq!(tasks(&desk, "tasks/get", &act["taskId"]).await["status"], "working");
    gate.open();
    assert_eq!(ended(&desk, &act["taskId"]).await["status"], "completed");
    let waiting = desk.admin(Ask::get("/desk").bearer(OPERATOR)).await;
    assert!(!waiting.text().contains("\"quote\""), "{}", waiting.text());
}

#[tokio::test]
async fn mcp_tasks_begin_once_a_person_has_confirmed() {
    let gate = Gate::closed();
    let origin = slow(&gate).await;
    let confirmed = later("build", "prepare_action", "POST", "/api/report")
        .replace("requires_user_confirmation = false", "requires_user_confirmation = true");
    let desk = site(&origin, &confirmed).start().await;
    let call = |more: Value| {
        let mut params = json!({ "name": "build", "arguments": { "query": "A report" }, "_meta": {
            "io.modelcontextprotocol/protocolVersion": NEWEST,
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {}, "extensions": { EXTENSION: {} } },
        } });
        params.as_object_mut().expect("params").extend(more.as_object().cloned().unwrap_or_default());
        let ask = post(rpc::message("tools/call", params).to_string()).header("MCP-Protocol-Version", NEWEST);
        ask.header("Mcp-Method", "tools/call").header("Mcp-Name", "build").bearer(FULL)
    };
    let asked = rpc::result(&desk.ask(Via::H1, call(json!({}))).await);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    assert!(asked.get("taskId").is_none(), "{asked}");
    let yes = json!({ "confirmation": { "action": "accept", "content": { "ok": true } } });
    let again = call(json!({ "requestState": asked["requestState"], "inputResponses": yes }));
    let task = rpc::result(&desk.ask(Via::H1, again).await);
    assert_eq!((&task["resultType"], task.get("requestState")), (&json!("task"), None), "{task}");
    gate.open();
    assert_eq!(ended(&desk, &task["taskId"]).await["status"], "completed");
    assert_eq!(upstream_calls(&origin).len(), 1);
}

#[tokio::test]
async fn mcp_tasks_belong_to_their_caller_and_to_clients_that_know_them() {
    let gate = Gate::closed();
    let origin = slow(&gate).await;
    let desk = setup(&origin).start().await;
    let task = called(&desk, "report").await;
    let id = task["taskId"].as_str().expect("an id");
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let ask = |id: &str, knows: bool| asking(method, json!({ "taskId": id }), knows);
        error(&desk.ask(Via::H1, ask(id, true).bearer(BARE)).await, 400, -32602);
        error(&desk.ask(Via::H1, ask(id, true)).await, 400, -32602);
        error(&desk.ask(Via::H1, ask("nothing", true).bearer(FULL)).await, 400, -32602);
        error(&desk.ask(Via::H1, ask(&"0".repeat(32), true).bearer(FULL)).await, 400, -32602);
        let lacking = error(&desk.ask(Via::H1, ask(id, false).bearer(FULL)).await, 400, -32021);
        assert_eq!(lacking["data"]["requiredCapabilities"]["extensions"][EXTENSION], json!({}), "{lacking}");
        let other = ask(id, true).bearer(FULL);
        let headers = other.headers.iter().map(|(name, value)| match name.as_str() {
            "Mcp-Name" => (name.clone(), "another".to_owned()),
            _ => (name.clone(), value.clone()),
        });
        let headers = headers.collect();
        error(&desk.ask(Via::H1, Ask { headers, ..other }).await, 400, -32020);
    }
    // The credential in the body is as good as that in the head.
    let mut params = json!({ "taskId": id });
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": NEWEST, "auth": format!("Bearer {FULL}"),
        "io.modelcontextprotocol/clientCapabilities": { "extensions": { EXTENSION: {} } },
    });
    let ask = post(rpc::message("tasks/get", params).to_string())
        .header("MCP-Protocol-Version", NEWEST)
        .header("Mcp-Method", "tasks/get")
        .header("Mcp-Name", id);
    assert_eq!(rpc::result(&desk.ask(Via::H1, ask).await)["status"], "working");
    assert_eq!(tasks(&desk, "tasks/update", &task["taskId"]).await, json!({ "resultType": "complete" }));
    for method in ["tasks/list", "tasks/result"] {
        error(&desk.ask(Via::H1, asking(method, json!({ "taskId": id }), true).bearer(FULL)).await, 404, -32601);
    }
    // Others are told where to ask.
    let call = asking("tools/call", json!({ "name": "report", "arguments": { "query": "A report" } }), false);
    let plain = rpc::result(&desk.ask(Via::H1, call.bearer(FULL)).await);
    assert_eq!((&plain["resultType"], &plain["isError"]), (&json!("complete"), &json!(false)), "{plain}");
    assert!(plain.get("taskId").is_none() && plain["content"].to_string().contains("/status/"), "{plain}");
    gate.open();
}
