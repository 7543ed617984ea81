//! The endpoint: a message in, and what its method answers.

use async_trait::async_trait;
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::{
    super::{
        Occupied,
        ahp::{self, Said},
        arguments::Function,
    },
    HANDSHAKES, STATELESS, call,
    envelope::{self, INVALID_PARAMS, NO_METHOD, Problem},
    era::{self, Era, META_SERVER},
    gate,
    message::{self, Message, Request},
    resources,
    tools::Tools,
};
use crate::{
    decide::{Proven, prove},
    desk::{Desk, Turned},
    fault::{Fault, Refusal},
    reply::Reply,
    serve::{Incoming, Serve, Served},
    site::Declaration,
};

/// As the record names it.
const DIALECT: &str = super::DIALECT.name;

/// The endpoint, prepared.
#[derive(Debug)]
pub(super) struct Server {
    tools: Tools,
    /// Who answers (AHP §D.6).
    who: Value,
    instructions: Option<String>,
    /// For how many milliseconds lists and words may be kept.
    ttl_ms: u64,
}

impl Server {
    pub(super) fn new(tools: Tools, declaration: &Declaration, occupied: &Occupied) -> Self {
        let settings = &declaration.settings;
        let who = json!({
            "name": settings.site.name.as_deref().unwrap_or("This site"),
            "version": ahp::VERSION,
            "ahp": ahp::VERSION,
            "manifest": occupied.or_moved(ahp::MANIFEST, ahp::MOVED),
        });
        let ttl_ms = u64::try_from(settings.content.refresh.as_millis()).unwrap_or(u64::MAX);
        Self { tools, who, instructions: settings.site.description.clone(), ttl_ms }
    }

    /// What is known before anything is asked.
    fn about(&self) -> serde_json::Map<String, Value> {
        let mut about = serde_json::Map::new();
        about.insert("capabilities".into(), json!({ "tools": {}, "resources": {} }));
        if let Some(instructions) = &self.instructions {
            about.insert("instructions".into(), instructions.as_str().into());
        }
        about
    }

    fn initialize(&self, request: &Request) -> String {
        let asked = request.params.get("protocolVersion").and_then(Value::as_str);
        let version = match asked {
            // Those who name none are as old as the oldest.
            None => HANDSHAKES[0],
            Some(asked) => HANDSHAKES.into_iter().find(|known| *known == asked).unwrap_or(HANDSHAKES[3]),
        };
        let mut result = self.about();
        result.insert("protocolVersion".into(), version.into());
        result.insert("serverInfo".into(), self.who.clone());
        envelope::members(result)
    }

    fn discover(&self) -> String {
        let mut result = self.about();
        result.insert("supportedVersions".into(), json!([STATELESS]));
        result.insert("_meta".into(), json!({ META_SERVER: self.who }));
        envelope::members(result)
    }

    /// Everything but calls.
    async fn asked(&self, desk: &Desk<'_>, request: &Request, era: Era) -> Result<Reply, Problem> {
        let cursor = request.params.get("cursor");
        let (members, kept) = match (request.method.as_str(), era) {
            ("initialize", Era::Handshake) => (self.initialize(request), false),
            ("ping", Era::Handshake) => (String::new(), false),
            ("server/discover", Era::Stateless) => (self.discover(), true),
            ("tools/list", _) => (self.tools.page(cursor)?.to_owned(), true),
            ("resources/list", _) => (resources::list(desk, cursor).await?, true),
            ("resources/templates/list", _) => ("\"resourceTemplates\":[]".to_owned(), true),
            ("resources/read", _) => (resources::read(desk, request.params.get("uri"), era).await?, true),
            _ => return Err(Problem::new(NO_METHOD, "This method is not known here.".into())),
        };
        Ok(envelope::result(&request.id, &self.in_era(members, era, kept)))
    }

    /// What a result says of itself since 2026-07-28. Nothing here differs by who asks.
    fn in_era(&self, members: String, era: Era, kept: bool) -> String {
        match era {
            Era::Handshake => members,
            Era::Stateless if kept => {
                format!("{members},\"resultType\":\"complete\",\"ttlMs\":{},\"cacheScope\":\"public\"", self.ttl_ms)
            }
            Era::Stateless => format!("{members},\"resultType\":\"complete\""),
        }
    }

    async fn called(
        &self,
        desk: &Desk<'_>,
        incoming: &Incoming<'_>,
        request: &Request,
        era: Era,
    ) -> Result<Served, Problem> {
        let beside = call::Beside::of(request)?;
        let proven = prove(desk.snapshot, desk.counters, incoming.caller, beside.auth).await;
        let name = request.params.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| Problem::new(INVALID_PARAMS, "`name` has to be a string.".into()))?;
        let function = self.tools.find(name);
        let told = |result| envelope::result(&request.id, &self.in_era(envelope::members(result), era, false));
        let turned_away = |caller, reason: &'static str| {
            function.map(|function| {
                let turned = Turned {
                    capability: function.index.into(),
                    caller,
                    idempotency_key: None,
                    request_id: incoming.request_id,
                    dialect: DIALECT,
                };
                desk.snapshot.turned_away(&turned, reason, desk.audit)
            })
        };
        let Proven { caller, standing } = match proven {
            Ok(proven) => proven,
            Err(disproved) => {
                let reason = disproved.refusal.reason;
                let mut reply = told(call::refused(&disproved.refusal));
                reply.headers.extend(disproved.standing);
                let account = turned_away(incoming.caller, reason);
                return Ok(Served { reason: Some(reason), account, wants_keys: disproved.wants_keys, ..reply.into() });
            }
        };
        let function =
            function.ok_or_else(|| Problem::new(INVALID_PARAMS, "There is no such tool. See tools/list.".into()))?;
        let caller = caller.as_ref().unwrap_or(incoming.caller);
        let most = &desk.snapshot.settings.sessions.max_body;
        if !function.is_structured() && incoming.body.len() > *most {
            let what =
                format!("A question may have {most} bytes here, with all that is sent around it. Say it shorter.");
            let refusal = Refusal::from(Fault::TooLarge).saying(what);
            let account = turned_away(caller, refusal.reason);
            let mut reply = told(call::refused(&refusal));
            reply.headers.extend(standing);
            return Ok(Served { reason: Some(refusal.reason), account, ..reply.into() });
        }
        let question = match call::question(function, call::arguments(request)?, &beside) {
            Ok(question) => question,
            Err(said) => {
                let account = turned_away(caller, said.reason.unwrap_or(WRONG));
                return Ok(Served { account, ..self.served(*said, function, &told, standing) });
            }
        };
        let asking = Incoming { caller, body: incoming.body.clone(), ..*incoming };
        let said = desk.snapshot.converse.converse(desk, &asking, question, DIALECT).await;
        Ok(self.served(said, function, &told, standing))
    }

    /// What was said, as a result. What HTTP would say with its status is left out: this answer is a success.
    fn served(
        &self,
        said: Said,
        function: &Function,
        told: &dyn Fn(serde_json::Map<String, Value>) -> Reply,
        standing: Vec<(HeaderName, HeaderValue)>,
    ) -> Served {
        let mut reply = told(call::answered(&said, function));
        reply.headers.extend(standing);
        Served { reason: said.reason, account: said.account, ..reply.into() }
    }
}

/// Why a call was refused that was not even a question.
const WRONG: &str = "bad_request";

#[async_trait]
impl Serve for Server {
    async fn serve(&self, desk: &Desk<'_>, incoming: &Incoming<'_>, _: &[(String, String)]) -> Served {
        if let Err(refusal) = gate::check(desk.snapshot, incoming) {
            let reply = envelope::refused(&refusal, None, None);
            return Served { reason: Some(refusal.reason), ..reply.into() };
        }
        let request = match message::read(incoming) {
            Ok(Message::Request(request)) => request,
            Ok(Message::Nothing) => {
                let spoken = era::is_spoken(incoming.headers);
                return spoken.map_or_else(refused, |()| Reply::empty(StatusCode::ACCEPTED).into());
            }
            Err(problem) => return refused(problem),
        };
        let era = match Era::of(incoming.headers, &request) {
            Ok(era) => era,
            Err(problem) => return refused(problem),
        };
        let answered = match request.method.as_str() {
            "tools/call" => self.called(desk, incoming, &request, era).await,
            _ => self.asked(desk, &request, era).await.map(Served::from),
        };
        answered.unwrap_or_else(|problem| refused(problem.to(&request).in_era(era)))
    }
}

fn refused(problem: Problem) -> Served {
    Served { reason: Some(WRONG), ..problem.reply().into() }
}
