//! A simulated AGTP site with in-memory stores, for tests of complete requests.

use std::{collections::HashMap, net::Ipv4Addr, path::Path};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method};
use serde_json::{Value, json};

use super::around::Around;
use crate::{
    declared::declare_text,
    {Spoken, attribution::testing::CALLER, genesis::testing::GENESIS},
};
use frontdesk_ask::Library;
use frontdesk_base::{fault::Fault, reply::Reply};
use frontdesk_caller::{Caller, Granted, Proof};
use frontdesk_config::testing::Only;
use frontdesk_desk::{
    {Compiled, Desk, Kept}, {Framed, Incoming, Serve},
};
use frontdesk_state::{
    chain::Chains,
    {
        Records,
        testing::{Home, Shelf, run},
    },
};

/// The hosted agent.
pub(super) const HOSTED: &str = "b60496b3254b0a6872b15eab65ede1e0a59e4a3197579fee509440fd3d54af10";

/// The site's capabilities: a deprecated catalog, and three that are not exposed as endpoints.
const OFFER: &str = concat!(
    r#"
[[capabilities]]
id = "lamps.search"
type = "query"
description = "Lists the lamps of a category."
risk_level = "low"
auth = "none"
input_schema = { type = "object", properties = { category = { type = "string" } } }
upstream = { method = "GET", path = "/api/items" }
agtp = { method = "QUERY", path = "/catalog", deprecated = { deprecated_in = "1.0", successor = { method = "QUERY", path = "/lamps" } } }

[[capabilities]]
id = "lamps.note"
type = "prepare_action"
description = "Puts a note on a lamp."
risk_level = "low"
auth = "none"
requires_user_confirmation = false
idempotency_required = true
input_schema = { type = "object", properties = { text = { type = "string" } } }
upstream = { method = "POST", path = "/api/notes" }
agtp = { method = "CREATE", path = "/notes" }

"#,
    include_str!("../../../../tests/data/capabilities/stock.toml"),
    "\n",
    include_str!("../../../../tests/data/capabilities/shelf.toml"),
);

/// The simulated site and its state.
pub(super) struct Stall {
    compiled: Compiled,
    spoken: Spoken,
    pub(super) shelf: Shelf,
    counters: Home,
    chains: Chains,
    kept: Kept,
    library: Library,
    around: Around,
}

/// A request being built.
#[derive(Clone)]
pub(super) struct Asked {
    method: String,
    target: String,
    headers: HeaderMap,
    body: Bytes,
    connection: String,
    operates: bool,
}

/// The response.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

impl Stall {
    /// With this text before its capabilities.
    pub(super) fn with(agtp: &str) -> Self {
        let text =
            format!("[upstream]\nurl = 'http://127.0.0.1:1'\n[site]\norigin = 'https://shop.test'\n{agtp}\n{OFFER}");
        let outside = Only(GENESIS.as_bytes());
        let declaration = declare_text(Path::new("/frontdesk.toml"), &text, &outside).unwrap();
        Self {
            compiled: Compiled::new(&declaration, &HashMap::new()),
            spoken: Spoken::new(&declaration).unwrap(),
            shelf: Shelf::default(),
            counters: Home::new(),
            chains: Chains::default(),
            kept: Kept::default(),
            library: Library::empty(),
            around: Around::default(),
        }
    }

    /// A site that hosts the agent and allows proposals.
    pub(super) fn open() -> Self {
        Self::with("[agtp]\nserver_id = 'stall.test'\nagent = 'agent.json'\n[agtp.policies]\nsynthesis_enabled = true")
    }

    /// The requests that the origin got.
    pub(super) fn asked(&self) -> Vec<String> {
        self.around.asked.lock().clone()
    }

    /// The response to a request.
    pub(super) fn tell(&self, asked: &Asked) -> Told {
        self.tell_over(&self.shelf, asked)
    }

    /// The same with another store in front.
    pub(super) fn tell_over(&self, records: &dyn Records, asked: &Asked) -> Told {
        run(self.told(records, asked))
    }

    /// The same as a future.
    pub(super) async fn told(&self, records: &dyn Records, asked: &Asked) -> Told {
        let spoken = &self.spoken;
        self.incoming(records, asked, async |desk, incoming| spoken.serve(desk, incoming, &[]).await.reply).await
    }

    /// The response to a request that is refused before it is served.
    pub(super) fn refused(&self, asked: &Asked) -> Told {
        let spoken = &self.spoken;
        let refusal = Fault::TooLarge.into();
        run(self.incoming(&self.shelf, asked, async |desk, incoming| {
            spoken.finished(desk, incoming, spoken.explain()(&refusal, None, None)).await
        }))
    }

    async fn incoming(
        &self,
        records: &dyn Records,
        asked: &Asked,
        work: impl AsyncFnOnce(&Desk<'_>, &Incoming<'_>) -> Reply,
    ) -> Told {
        let desk = Desk {
            token_server: &frontdesk_caller::NoTokenServer,
            compiled: &self.compiled,
            records,
            holders: &self.around,
            upstream: &self.around,
            audit: None,
            kept: &self.kept,
            chains: &self.chains,
            counters: &self.counters,
            under_way: &Default::default(),
            library: &self.library,
            models: &frontdesk_desk::NoModels,
            background: &self.around,
            outside: &self.around,
            apart: &self.around,
            harness: None,
            handoff: None,
        };
        let mut caller = Caller::at(Ipv4Addr::LOCALHOST.into());
        if asked.operates {
            caller.proof = Proof::Key;
            caller.granted = Granted::Key(["agtp:operate".to_owned(), "inspect:all".to_owned()].into());
        }
        let method: Method = asked.method.parse().unwrap();
        let incoming = Incoming {
            method: &method,
            target: &asked.target,
            headers: &asked.headers,
            body: asked.body.clone(),
            caller: &caller,
            authority: "shop.test",
            request_id: "r",
            framed: Some(Framed { digest: [0; 32], connection: &asked.connection }),
            events: None,
        };
        let reply = work(&desk, &incoming).await;
        let body = serde_json::from_slice(&reply.body).unwrap_or_default();
        Told { status: reply.status.as_u16(), headers: reply.headers.into_iter().collect(), body }
    }
}

/// A request of the agent, on a connection of its own.
pub(super) fn ask(method: &str, target: &str) -> Asked {
    let asked = Asked {
        method: method.to_owned(),
        target: target.to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        connection: "c0".to_owned(),
        operates: false,
    };
    asked.header("agent-id", CALLER)
}

/// PROPOSE of a verb and path, with the names of its inputs.
pub(super) fn propose(pair: &str, inputs: &[&str]) -> Asked {
    let (method, path) = pair.split_once(' ').unwrap();
    let properties: Value = inputs.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let endpoint = json!({
        "method": method, "path": path, "description": "Whatever the agent calls it.",
        "semantic": {
            "intent": "Do it.", "actor": "agent", "outcome": "It is done.", "capability": "retrieval",
            "confidence": 0.9, "impact": "informational", "is_idempotent": true,
        },
        "input_schema": { "type": "object", "properties": properties, "additionalProperties": false },
        "output_schema": { "type": "object" },
    });
    ask("PROPOSE", "/").body(json!({ "endpoint": endpoint }))
}

impl Asked {
    /// With a header, replacing one of this name.
    pub(super) fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(HeaderName::from_static(name), value.parse().unwrap());
        self
    }

    /// With another verb.
    pub(super) fn method(mut self, method: &str) -> Self {
        self.method = method.to_owned();
        self
    }

    /// Without Agent-ID.
    pub(super) fn anonymous(mut self) -> Self {
        self.headers.remove("agent-id");
        self
    }

    /// With these additional members in its body.
    pub(super) fn body(mut self, members: Value) -> Self {
        let mut whole: Value = serde_json::from_slice(&self.body).unwrap_or_else(|_| json!({}));
        whole.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        self.body = whole.to_string().into();
        self.header("content-type", "application/vnd.agtp+json")
    }

    /// On another connection.
    pub(super) fn on(mut self, connection: &str) -> Self {
        self.connection = connection.to_owned();
        self
    }

    /// With the operator's credential.
    pub(super) fn operating(mut self) -> Self {
        self.operates = true;
        self
    }
}

impl Told {
    /// The body of a response with this status.
    #[track_caller]
    pub(super) fn is(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    /// A header, as text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}
