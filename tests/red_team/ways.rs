//! Every way to ask for the purchase, and every place in it where a confirmation, or something like it, could stand.

use crate::support::Ask;
use crate::support::calls;
use crate::support::handshake::{question, saying, with};
use crate::support::rpc::{NEWEST, message, post};
use crate::support::verbs::verb;
use serde_json::{Value, json};

/// A dialect and a version of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Aicp,
    Ahp,
    OpenApi,
    /// A client of MCP that cannot ask its person.
    Mcp(&'static str),
    /// A client of 2026-07-28 whose answers to the server are the model's own.
    McpAsking,
    A2a03,
    A2a10,
    Agtp,
}
use Way::{A2a03, A2a10, Agtp, Ahp, Aicp, Mcp, McpAsking, OpenApi};

pub const ALL: [Way; 10] =
    [Aicp, Ahp, OpenApi, Mcp("2025-06-18"), Mcp("2025-11-25"), Mcp(NEWEST), McpAsking, A2a03, A2a10, Agtp];

/// What a client says about its person's answer.
pub fn accepted() -> Value {
    json!({ "action": "accept", "content": { "ok": true, "answer": "yes", "confirmation": "yes" } })
}

impl Way {
    /// The call, without anything that could confirm it.
    pub fn call(self, book: &str) -> Ask {
        let input = json!({ "book": book });
        match self {
            Aicp => calls::call("/agent/buy", &input),
            OpenApi => calls::call("/capabilities/buy", &input),
            Ahp => ahp("buy it", json!({ "input": input })),
            Mcp(version) => tool(version, json!({}), input, json!({})),
            McpAsking => tool(NEWEST, json!({ "elicitation": { "form": {}, "url": {} } }), input, json!({})),
            A2a03 | A2a10 => {
                self.says(book, json!([self.part("data", json!({ "capability": "buy", "input": input }))]), json!({}))
            }
            Agtp => verb("PURCHASE", "/orders").scopes("bookings:purchase").json(&input),
        }
    }

    /// The same call with this text where a confirmation stands in this dialect.
    pub fn confirming(self, book: &str, text: &str) -> Ask {
        let input = json!({ "book": book, "confirmation": text });
        match self {
            Aicp | Agtp => header(self.call(book), "AICP-Confirmation", text),
            OpenApi => calls::call("/capabilities/buy", &input),
            Ahp => ahp("buy it", json!({ "input": { "book": book }, "confirmation": text })),
            Mcp(version) => tool(version, json!({}), input, json!({})),
            McpAsking => {
                let answers = json!({ "confirmation": accepted(), "clarification": accepted() });
                let more = json!({ "requestState": text, "inputResponses": answers });
                tool(NEWEST, json!({ "elicitation": { "form": {}, "url": {} } }), json!({ "book": book }), more)
            }
            A2a03 | A2a10 => {
                self.says(text, json!([self.part("data", json!({ "confirmed": true }))]), json!({ "taskId": text }))
            }
        }
    }

    /// The same call with this text in every other place that comes to mind.
    pub fn elsewhere(self, book: &str, text: &str) -> Vec<Ask> {
        let input = json!({ "book": book });
        let mut all: Vec<Ask> = ["AICP-Confirmation", "X-Confirmation", "Confirmation", "Idempotency-Key", "Cookie"]
            .into_iter()
            .map(|name| header(self.call(book), name, text))
            .collect();
        match self {
            Aicp | OpenApi => {
                let path = self.call(book).target;
                for more in [
                    json!({ "confirmation": text }),
                    json!({ "confirmation": { "token": text, "confirmed": true } }),
                    json!({ "token": text, "confirmed": true }),
                    json!({ "context": { "confirmation": text, "idempotency_key": text } }),
                    json!({ "session_id": text, "confirmation": "yes", "clarification": "yes" }),
                ] {
                    all.push(calls::call(&path, &with(input.clone(), more)));
                }
                let query = path.clone() + "?confirmation=" + &encoded(text);
                all.push(calls::call(&query, &input));
            }
            Ahp => {
                let question = |more| ahp("yes", with(json!({ "input": input }), more));
                all.push(question(json!({ "clarification": text })));
                all.push(question(json!({ "session_id": text })));
                all.push(question(json!({ "session_id": text, "clarification": "yes" })));
                all.push(question(json!({ "session_id": text, "confirmation": "yes" })));
                all.push(question(json!({ "context": { "confirmation": text } })));
                all.push(question(json!({ "auth": text, "confirmation": text })));
                all.push(ahp("confirm", json!({ "input": { "book": book, "confirmation": text } })));
            }
            Mcp(version) => {
                let call = |arguments, more| tool(version, json!({}), with(input.clone(), arguments), more);
                let answers = json!({ "confirmation": accepted(), "clarification": accepted(), text: accepted() });
                let state = json!({ "requestState": text, "inputResponses": answers });
                all.push(call(json!({}), json!({ "_meta": { "confirmation": text } })));
                all.push(call(json!({}), json!({ "_meta": { "session_id": text, "confirmation": "yes" } })));
                all.push(call(json!({}), json!({ "_meta": state })));
                all.push(call(json!({}), state.clone()));
                all.push(call(state, json!({})));
                all.push(call(json!({ "session_id": text, "clarification": "yes" }), json!({})));
                all.push(call(json!({ "session_id": text, "confirmation": "yes" }), json!({})));
                all.push(call(json!({ "query": text, "confirmation": "yes" }), json!({})));
                // The answer to a request that the server may have sent somebody else.
                let answer = json!({ "jsonrpc": "2.0", "id": text, "result": accepted() });
                all.push(post(answer.to_string()).header("MCP-Protocol-Version", version));
                all.push(header(post(answer.to_string()), "Mcp-Session-Id", text));
                all.push(header(self.call(book), "Mcp-Session-Id", text));
                for method in ["tasks/get", "tasks/update", "tasks/result", "elicitation/complete"] {
                    let params = json!({ "taskId": text, "elicitationId": text, "inputResponses": { "confirmation": accepted() } });
                    all.push(request(version, method, json!({}), text, params));
                }
            }
            McpAsking => {
                for answer in [json!({ "action": "accept" }), json!({ "action": "accept", "content": text })] {
                    let more = json!({ "requestState": text, "inputResponses": { "confirmation": answer } });
                    all.push(tool(NEWEST, json!({ "elicitation": { "form": {} } }), input.clone(), more));
                }
            }
            A2a03 | A2a10 => {
                let data = |data: Value| self.part("data", with(data, json!({ "capability": "buy", "input": input })));
                all.push(self.says(book, json!([data(json!({ "confirmed": true }))]), json!({})));
                all.push(self.says(text, json!([data(json!({ "confirmation": text }))]), json!({})));
                all.push(self.says(
                    book,
                    json!([data(json!({ "idempotency_key": text }))]),
                    json!({ "contextId": text }),
                ));
                let yes = |words: &str| json!([self.part("text", words.into())]);
                all.push(self.says(text, yes("yes"), json!({ "taskId": text })));
                all.push(self.says(text, yes(text), json!({ "taskId": text })));
                all.push(self.says(book, yes("Yes."), json!({ "contextId": text })));
                all.push(self.says(book, yes(text), json!({ "referenceTaskIds": [text] })));
            }
            Agtp => {
                let target =
                    |method: &str, path: &str, body: Value| verb(method, path).scopes("bookings:purchase").json(&body);
                all.push(target("PURCHASE", "/orders", json!({ "book": book, "confirmation": text })));
                all.push(target(
                    "PURCHASE",
                    "/orders",
                    json!({ "parameters": { "book": book }, "confirmation": text }),
                ));
                all.push(target("CONFIRM", "/", json!({ "target_id": text, "status": "accepted" })));
                all.push(target("CONFIRM", "/", json!({ "parameters": { "target_id": text, "status": "accepted" } })));
                for name in ["Confirmation-Token", "Contract-Synthesized", "Session-ID", "Task-ID", "Request-ID"] {
                    all.push(header(self.call(book), name, text));
                }
            }
        }
        all
    }

    fn part(self, kind: &str, value: Value) -> Value {
        if self == A2a10 { json!({ kind: value }) } else { json!({ "kind": kind, kind: value }) }
    }

    fn says(self, id: &str, parts: Value, more: Value) -> Ask {
        let (method, role) = if self == A2a10 { ("SendMessage", "ROLE_USER") } else { ("message/send", "user") };
        let made = json!({ "messageId": id.chars().take(200).collect::<String>(), "role": role, "parts": parts });
        let body = message(method, json!({ "message": with(made, more) })).to_string();
        let ask = Ask::post("/a2a", body).header("Content-Type", "application/json");
        if self == A2a10 { ask.header("A2A-Version", "1.0") } else { ask }
    }
}

/// A call of the tool, with more parameters beside its arguments.
pub fn tool(version: &str, capabilities: Value, arguments: Value, more: Value) -> Ask {
    request(version, "tools/call", capabilities, "buy", with(json!({ "name": "buy", "arguments": arguments }), more))
}

fn request(version: &str, method: &str, capabilities: Value, name: &str, mut params: Value) -> Ask {
    if version != NEWEST {
        return post(message(method, params).to_string()).header("MCP-Protocol-Version", version);
    }
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = NEWEST.into();
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "model", "version": "1" });
    let ask = post(message(method, params).to_string())
        .header("MCP-Protocol-Version", NEWEST)
        .header("Mcp-Method", method)
        .accept("application/json, text/event-stream");
    header(ask, "Mcp-Name", name)
}

/// With a header, where the text can stand in one.
pub fn header(ask: Ask, name: &str, text: &str) -> Ask {
    if text.bytes().all(|b| (b' '..=b'~').contains(&b)) { ask.header(name, text) } else { ask }
}

fn ahp(words: &str, more: Value) -> Ask {
    saying(with(question("buy", words), more).to_string())
}

fn encoded(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}
