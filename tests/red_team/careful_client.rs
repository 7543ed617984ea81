//! An MCP client that asks its person, and shows its model everything, also what only the client is meant to read.

use super::model::Heard;
use super::ways::{accepted, tool};
use crate::support::calls::FULL;
use crate::support::events::Events;
use crate::support::rpc::{NEWEST, message, post};
use crate::support::{Ask, Desk, Response, Via};
use serde_json::{Value, json};

pub const VERSIONS: [&str; 3] = ["2025-06-18", "2025-11-25", NEWEST];

/// A client, in a session where its version has sessions.
#[derive(Clone)]
pub struct Client {
    pub version: &'static str,
    session: Option<String>,
}

/// A call that waits for the person.
pub struct Waiting {
    arguments: Value,
    /// The stream, and the request on it.
    stream: Option<(Events, Value)>,
    state: Value,
}

impl Client {
    pub async fn begin(desk: &Desk, version: &'static str, heard: &mut Heard) -> Client {
        if version == NEWEST {
            return Client { version, session: None };
        }
        let params = json!({ "protocolVersion": version, "capabilities": { "elicitation": {} },
            "clientInfo": { "name": "careful", "version": "1" } });
        let response = desk.ask(Via::H1, post(message("initialize", params).to_string()).bearer(FULL)).await;
        heard.response(&response);
        let session = response.header("mcp-session-id").expect("a session").to_owned();
        Client { version, session: Some(session) }
    }

    fn posts(&self, body: &Value) -> Ask {
        let ask = post(body.to_string()).header("MCP-Protocol-Version", self.version).bearer(FULL);
        let ask = ask.accept("application/json, text/event-stream");
        match &self.session {
            Some(session) => ask.header("Mcp-Session-Id", session),
            None => ask,
        }
    }

    /// Calls with what the model says, until the person has to be asked; `None`: there was nothing to ask.
    pub async fn call(&self, desk: &Desk, arguments: Value, heard: &mut Heard) -> Option<Waiting> {
        if self.session.is_none() {
            let response = desk.ask(Via::H1, self.stateless(arguments.clone(), json!({}))).await;
            heard.response(&response);
            let result = response.json()["result"].clone();
            let is_asked = result["resultType"] == "input_required";
            return is_asked.then(|| Waiting { arguments, stream: None, state: result["requestState"].clone() });
        }
        let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": { "name": "buy", "arguments": arguments } });
        let mut events = match Events::or_json(desk, &self.posts(&call)).await {
            Ok(events) => events,
            Err(reply) => {
                heard.json(&reply);
                return None;
            }
        };
        let request = events.next().await;
        heard.json(&request);
        assert_eq!(request["method"], "elicitation/create", "the person is asked: {request}");
        Some(Waiting { arguments, stream: Some((events, request)), state: Value::Null })
    }

    /// Passes on what the person says, and gives what the call came to.
    pub async fn answers(&self, desk: &Desk, waiting: Waiting, answer: Value, heard: &mut Heard) -> Value {
        let Some((mut events, request)) = waiting.stream else {
            let more = json!({ "requestState": waiting.state, "inputResponses": { "confirmation": answer } });
            let response = desk.ask(Via::H1, self.stateless(waiting.arguments, more)).await;
            heard.response(&response);
            return response.json()["result"].clone();
        };
        let said = json!({ "jsonrpc": "2.0", "id": request["id"], "result": answer });
        let response: Response = desk.ask(Via::H1, self.posts(&said)).await;
        heard.response(&response);
        let last = events.next().await;
        heard.json(&last);
        last["result"].clone()
    }

    fn stateless(&self, arguments: Value, more: Value) -> Ask {
        tool(NEWEST, json!({ "elicitation": {} }), arguments, more).bearer(FULL)
    }
}

pub fn yes() -> Value {
    accepted()
}

pub fn no() -> Value {
    json!({ "action": "cancel" })
}

/// Arguments with which a model could try to answer in place of its person.
pub fn arguments(book: &str, text: &str) -> Vec<Value> {
    let answers = json!({ "confirmation": accepted() });
    vec![
        json!({ "book": book, "confirmation": text }),
        json!({ "book": book, "session_id": text, "confirmation": "yes" }),
        json!({ "book": book, "requestState": text, "inputResponses": answers,
            "_meta": { "confirmation": text, "requestState": text, "inputResponses": answers } }),
    ]
}
