//! The MCP endpoint: dispatches messages by method.

use std::sync::Arc;

use async_trait::async_trait;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{
    super::{
        Publishing,
        ahp::{Converse, Conversed},
        arguments::Function,
    },
    HANDSHAKES, STATELESS, call, completion,
    elicitation::{self, Elicits},
    envelope::{self, INVALID_PARAMS, NO_METHOD, Problem},
    era::{self, Era, META_SERVER},
    gate,
    identity::Identity,
    message::{self, Message, Request},
    parameter_headers::ParameterHeaders,
    resources,
    tools::Tools,
};
use frontdesk_base::{
    fault::{Fault, Refusal},
    reply::Reply,
};
use frontdesk_caller::{
    limits::Counted,
    {Disproved, proven},
};
use frontdesk_desk::{
    {Account, Desk, Standing, Turned, count}, {Incoming, Serve, Served},
};

/// Its name in the audit log.
const DIALECT: &str = super::DIALECT.name;

/// The endpoint, prepared.
#[derive(Debug)]
pub(super) struct Server {
    tools: Tools,
    parameter_headers: ParameterHeaders,
    converse: Arc<Converse>,
    /// Its name, version and description.
    identity: Identity,
    /// The site's origin, where it is declared.
    origin: Option<String>,
    /// For how many milliseconds lists and texts may be cached.
    ttl_ms: u64,
}

impl Server {
    pub(super) fn new(tools: Tools, publishing: &Publishing<'_>, identity: Identity) -> Self {
        let Publishing { declaration, converse, .. } = *publishing;
        let settings = &declaration.settings;
        let ttl_ms = u64::try_from(settings.content.refresh.as_millis()).unwrap_or(u64::MAX);
        let parameter_headers = ParameterHeaders::new(settings);
        let origin = settings.site.origin.as_deref().map(|origin| origin.trim_end_matches('/').to_owned());
        Self { tools, parameter_headers, converse: converse.clone(), identity, origin, ttl_ms }
    }

    /// The site's origin, as far as it is known.
    fn base(&self, authority: &str) -> String {
        let is_local =
            authority.starts_with("127.") || authority.starts_with("localhost") || authority.starts_with("[::1]");
        let scheme = if is_local { "http" } else { "https" };
        self.origin.clone().unwrap_or_else(|| format!("{scheme}://{authority}"))
    }

    /// The server's description for `initialize` and discovery.
    fn about(&self) -> Map<String, Value> {
        let mut about = serde_json::Map::new();
        about.insert("capabilities".into(), json!({ "tools": {}, "resources": {}, "completions": {} }));
        if let Some(instructions) = self.identity.instructions() {
            about.insert("instructions".into(), instructions.into());
        }
        about
    }

    fn initialize(&self, request: &Request) -> String {
        let asked = request.params.get("protocolVersion").and_then(Value::as_str);
        let version = match asked {
            // A client that names no version is treated as the oldest.
            None => HANDSHAKES[0],
            Some(asked) => HANDSHAKES.into_iter().find(|known| *known == asked).unwrap_or(HANDSHAKES[3]),
        };
        let mut result = self.about();
        result.insert("protocolVersion".into(), version.into());
        result.insert("serverInfo".into(), self.identity.server_info());
        envelope::members(result)
    }

    fn discover(&self) -> String {
        let mut result = self.about();
        result.insert("supportedVersions".into(), json!([STATELESS]));
        result.insert("_meta".into(), json!({ META_SERVER: self.identity.server_info() }));
        envelope::members(result)
    }

    /// Handles all methods but calls.
    async fn asked(&self, desk: &Desk<'_>, request: &Request, era: Era) -> Result<Reply, Problem> {
        let cursor = request.params.get("cursor");
        let (members, kept) = match (request.method.as_str(), era) {
            ("initialize", Era::Handshake) => (self.initialize(request), false),
            ("ping", Era::Handshake) => (String::new(), false),
            ("server/discover", Era::Stateless) => (self.discover(), true),
            ("tools/list", _) => (self.tools.page(cursor)?.to_owned(), true),
            ("resources/list", _) => (resources::list(desk, cursor).await?, true),
            ("resources/templates/list", _) => (resources::templates(desk), true),
            // Not announced, but some clients ask all the same.
            ("prompts/list", _) => ("\"prompts\":[]".to_owned(), true),
            ("completion/complete", _) => {
                (completion::complete(desk, &resources::template(desk), &request.params)?, false)
            }
            ("resources/read", _) => (resources::read(desk, request.params.get("uri"), era).await?, true),
            _ => return Err(Problem::new(NO_METHOD, "This method is not known here.".into())),
        };
        Ok(envelope::result(&request.id, &self.in_era(members, era, kept)))
    }

    /// Adds the result members of 2026-07-28. The results do not depend on the caller.
    fn in_era(&self, members: String, era: Era, kept: bool) -> String {
        match era {
            Era::Handshake => members,
            Era::Stateless if kept => {
                format!("{members},\"resultType\":\"complete\",\"ttlMs\":{},\"cacheScope\":\"public\"", self.ttl_ms)
            }
            Era::Stateless => format!("{members},\"resultType\":\"complete\""),
        }
    }

    /// A tool call: authenticates, applies the limits, and calls the tool.
    async fn call(&self, desk: &Desk<'_>, incoming: &Incoming<'_>, request: &Request, era: Era) -> Served {
        let beside = call::Beside::of(request);
        let presented = beside.as_ref().ok().and_then(|beside| beside.auth);
        let named = match proven(desk.compiled.judge(), desk.counters, incoming.caller, presented).await {
            Ok(named) => named,
            Err(disproved) => {
                let Disproved { refusal, standing, wants_keys } = *disproved;
                let mut served = self.turned_away(desk, incoming, request, era, &refusal);
                served.reply.headers.extend(standing);
                return Served { wants_keys, ..served };
            }
        };
        let caller = named.as_ref().unwrap_or(incoming.caller);
        let standing = match count(desk, Counted::Call { action: false }, caller).await {
            Ok(standing) => standing,
            // A caller authenticated by the head gets an HTTP refusal, as at every other endpoint.
            Err((refusal, standing)) if named.is_none() => {
                return stand(over(Some(&request.id), &refusal), standing);
            }
            Err((refusal, standing)) => {
                return stand(self.turned_away(desk, incoming, request, era, &refusal), standing);
            }
        };
        let incoming = Incoming { caller, body: incoming.body.clone(), ..*incoming };
        let called = match beside {
            Ok(beside) => self.called(desk, &incoming, request, era, &beside).await,
            Err(problem) => Err(problem),
        };
        stand(called.unwrap_or_else(|problem| refused(problem.to(request).in_era(era))), standing)
    }

    /// A call by an admitted caller.
    async fn called(
        &self,
        desk: &Desk<'_>,
        incoming: &Incoming<'_>,
        request: &Request,
        era: Era,
        beside: &call::Beside<'_>,
    ) -> Result<Served, Problem> {
        let name = request.params.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| Problem::new(INVALID_PARAMS, "`name` has to be a string.".into()))?;
        let function = self.tools.find(name);
        let function =
            function.ok_or_else(|| Problem::new(INVALID_PARAMS, "There is no such tool. See tools/list.".into()))?;
        let arguments = call::arguments(request)?;
        if era == Era::Stateless {
            self.parameter_headers.check(function.index, incoming.headers, &arguments)?;
        }
        let most = &desk.compiled.settings.sessions.max_body;
        if !function.is_structured() && incoming.body.len() > *most {
            let what =
                format!("A question may have {most} bytes here, with all that is sent around it. Say it shorter.");
            let refusal = Refusal::from(Fault::TooLarge).saying(what);
            return Ok(self.turned_away(desk, incoming, request, era, &refusal));
        }
        let mut question = match call::question(function, arguments, beside) {
            Ok(question) => question,
            Err(wrong) => {
                let conversed = Conversed::wrong(wrong);
                let account = record(desk, incoming, function, conversed.turn.reason().unwrap_or(WRONG));
                return Ok(Served {
                    account: Some(account),
                    ..self.served(conversed, function, (request, era, incoming.authority))
                });
            }
        };
        let elicits = Elicits::of(request, era);
        let may_ask = match era {
            Era::Stateless => elicitation::resume(desk, incoming.caller, name, request, &mut question).await?,
            Era::Handshake => false,
        };
        let conversed = self.converse.converse(desk, incoming, question, DIALECT).await;
        // A person who does not want to answer is not asked again.
        if may_ask && let Some(members) = elicitation::ask(desk, incoming.caller, name, &conversed.turn, elicits).await
        {
            let reply = envelope::result(&request.id, &members);
            return Ok(Served { reason: conversed.turn.reason(), account: conversed.account, ..reply.into() });
        }
        if let Some(refusal) = self.challenge(desk, &conversed) {
            let reply = envelope::refused_to(Some(&request.id), refusal);
            return Ok(Served { reason: conversed.turn.reason(), account: conversed.account, ..reply.into() });
        }
        Ok(self.served(conversed, function, (request, era, incoming.authority)))
    }

    /// A refusal after which a client asks a person, where our own authorization server gives tokens: only the HTTP status and
    /// its challenge begin that.
    fn challenge<'c>(&self, desk: &Desk<'_>, conversed: &'c Conversed) -> Option<&'c Refusal> {
        let refusal = conversed.turn.refusal()?;
        let begins =
            matches!(refusal.fault, Fault::Unauthenticated | Fault::MissingScope) && refusal.challenge.is_some();
        (desk.compiled.settings.auth.login.is_some() && begins).then_some(refusal)
    }

    /// The result of a call that was refused before its tool. Written to the audit log where the tool exists.
    fn turned_away(
        &self,
        desk: &Desk<'_>,
        incoming: &Incoming<'_>,
        request: &Request,
        era: Era,
        refusal: &Refusal,
    ) -> Served {
        let function = request.params.get("name").and_then(Value::as_str).and_then(|name| self.tools.find(name));
        let account = function.map(|function| record(desk, incoming, function, refusal.reason));
        Served { reason: Some(refusal.reason), account, ..self.told(request, era, call::refused(refusal)).into() }
    }

    /// A response as a result. Headers that only accompany an HTTP error status are left out, since this reply is a
    /// 200.
    fn served(
        &self,
        conversed: Conversed,
        function: &Function,
        (request, era, authority): (&Request, Era, &str),
    ) -> Served {
        let reply = self.told(request, era, call::answered(&conversed.turn, function, &self.base(authority)));
        Served { reason: conversed.turn.reason(), account: conversed.account, ..reply.into() }
    }

    /// The result of a call.
    fn told(&self, request: &Request, era: Era, members: String) -> Reply {
        envelope::result(&request.id, &self.in_era(members, era, false))
    }
}

/// `reason` of a message that is no valid call.
const WRONG: &str = "bad_request";

#[async_trait]
impl Serve for Server {
    fn counts_messages(&self) -> bool {
        true
    }

    async fn serve(&self, desk: &Desk<'_>, incoming: &Incoming<'_>, _: &[(String, String)]) -> Served {
        let read = read(desk, incoming);
        if let Ok(Some((request, era))) = &read
            && request.method == "tools/call"
        {
            return self.call(desk, incoming, request, *era).await;
        }
        // The other methods read published text: a client initialises, lists and pings before it calls.
        let standing = match count(desk, Counted::Content, incoming.caller).await {
            Ok(standing) => standing,
            Err((refusal, standing)) => {
                let id = read.ok().flatten().map(|(request, _)| request.id);
                return stand(over(id.as_ref(), &refusal), standing);
            }
        };
        let served = match read {
            Ok(Some((request, era))) => match self.asked(desk, &request, era).await {
                Ok(reply) => reply.into(),
                Err(problem) => refused(problem.to(&request).in_era(era)),
            },
            Ok(None) => Reply::empty(StatusCode::ACCEPTED).into(),
            Err(served) => *served,
        };
        stand(served, standing)
    }
}

/// Parses a message; `None`: it needs no answer.
///
/// # Errors
///
/// The refusal of a foreign origin, or of a body that is no message.
fn read(desk: &Desk<'_>, incoming: &Incoming<'_>) -> Result<Option<(Request, Era)>, Box<Served>> {
    if let Err(refusal) = gate::check(desk.compiled, incoming) {
        let reply = envelope::refused(&refusal, None, None);
        return Err(Box::new(Served { reason: Some(refusal.reason), ..reply.into() }));
    }
    let read = match message::read(incoming) {
        Ok(Message::Request(request)) => Era::of(incoming.headers, &request).map(|era| Some((request, era))),
        Ok(Message::Nothing) => era::is_spoken(incoming.headers).map(|()| None),
        Err(problem) => Err(problem),
    };
    read.map_err(|problem| Box::new(refused(problem)))
}

/// Writes the audit line of a call that was refused before its tool.
fn record(desk: &Desk<'_>, incoming: &Incoming<'_>, function: &Function, reason: &'static str) -> Account {
    let turned = Turned {
        capability: function.index.into(),
        caller: incoming.caller,
        idempotency_key: None,
        request_id: incoming.request_id,
        dialect: DIALECT,
    };
    desk.compiled.turned_away(&turned, reason, desk.audit)
}

/// The refusal of a message over a limit.
fn over(id: Option<&Value>, refusal: &Refusal) -> Served {
    Served { reason: Some(refusal.reason), ..envelope::refused_to(id, refusal).into() }
}

/// Adds the headers of the limits that a message counted against.
fn stand(mut served: Served, standing: Standing) -> Served {
    served.reply.headers.extend(standing.fields);
    Served { near: standing.near, ..served }
}

fn refused(problem: Problem) -> Served {
    Served { reason: Some(WRONG), ..problem.reply().into() }
}
