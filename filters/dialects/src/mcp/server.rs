//! The MCP endpoint: dispatches messages by method.

use std::sync::Arc;

use async_trait::async_trait;
use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::{
    super::{
        Publishing,
        ahp::{Converse, Conversed},
        arguments::Function,
    },
    answers, by_name, call, completion,
    dialogue::Dialogue,
    elicitation::{self, Elicits, Resumed},
    envelope::{self, INVALID_PARAMS, NO_METHOD, Problem},
    era::META_SERVER,
    find::Finder,
    identity::Identity,
    message::Request,
    missing::Missing,
    parameter_headers::ParameterHeaders,
    protocol::{Era, HANDSHAKES, STATELESS},
    resources,
    served::{WRONG, over, read, record, refused, stand},
    session::{self, Session},
    skills, stream, tasks,
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
    {Desk, count}, {Incoming, Serve, Served},
};

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
        let unlisted = self.tools.finder().map(Finder::instructions);
        let own = self.identity.instructions().map(str::to_owned);
        let instructions: Vec<String> = own.into_iter().chain(unlisted).collect();
        if !instructions.is_empty() {
            about.insert("instructions".into(), instructions.join(" ").into());
        }
        about
    }

    fn initialize(&self, request: &Request) -> String {
        let mut result = self.about();
        result.insert("protocolVersion".into(), negotiated(request).into());
        result.insert("serverInfo".into(), self.identity.server_info());
        envelope::members(result)
    }

    fn discover(&self, desk: &Desk<'_>) -> String {
        let mut result = self.about();
        // There are none, but who asks for them is answered, and so it is said.
        result["capabilities"]["prompts"] = json!({});
        let mut extensions = json!({ tasks::EXTENSION: {} });
        if skills::are_there(desk) {
            extensions[skills::EXTENSION] = json!({});
        }
        result["capabilities"]["extensions"] = extensions;
        result.insert("supportedVersions".into(), json!([STATELESS]));
        result.insert("_meta".into(), json!({ META_SERVER: self.identity.server_info() }));
        envelope::members(result)
    }

    /// Handles all methods but calls.
    async fn asked(
        &self,
        desk: &Desk<'_>,
        incoming: &Incoming<'_>,
        request: &Request,
        era: Era,
    ) -> Result<Reply, Problem> {
        let cursor = request.params.get("cursor");
        let (members, kept) = match (request.method.as_str(), era) {
            ("initialize", Era::Handshake) => (self.initialize(request), false),
            ("ping", Era::Handshake) => (String::new(), false),
            ("server/discover", Era::Stateless) => (self.discover(desk), true),
            ("tasks/get" | "tasks/update" | "tasks/cancel", Era::Stateless) => {
                let from = (&*self.converse, &self.tools, &*self.base(incoming.authority));
                (tasks::asked(desk, incoming, request, from).await?, false)
            }
            ("skills/list" | "skills/get", Era::Stateless) => (skills::asked(desk, request)?, true),
            ("tools/list", _) => (self.tools.page(cursor, era)?.to_owned(), true),
            // The only call that comes here: it reads published text.
            ("tools/call", _) => (by_name::found(&self.tools, request)?, false),
            ("resources/list", _) => (resources::list(desk, cursor).await?, true),
            ("resources/templates/list", _) => (resources::templates(desk), true),
            // There are none, but some clients ask all the same.
            ("prompts/list", _) => ("\"prompts\":[]".to_owned(), true),
            ("prompts/get", Era::Stateless) => {
                return Err(Problem::new(INVALID_PARAMS, "There is no such prompt. See prompts/list.".into()));
            }
            ("completion/complete", _) => {
                (completion::complete(desk, &resources::template(desk), &request.params)?, false)
            }
            ("resources/read", _) => (resources::read(desk, request.params.get("uri"), era).await?, true),
            _ => return Err(Problem::new(NO_METHOD, "This method is not known here.".into())),
        };
        let reply = envelope::result(&request.id, &self.in_era(members, era, kept));
        let session = match request.method.as_str() {
            "initialize" => session::begun(desk, negotiated(request), &request.params).await?,
            _ => None,
        };
        Ok(session.into_iter().fold(reply, |reply, id| reply.with_value(session::HEADER, id)))
    }

    /// The same, a call by name as the call of the named capability, if its headers say what its arguments say.
    fn repeating(&self, headers: &HeaderMap, read: Option<(Request, Era)>) -> Result<Option<(Request, Era)>, Problem> {
        let by_name = read.as_ref().is_some_and(|(request, _)| by_name::is_call(&self.tools, request));
        let read = by_name::resolved(&self.tools, read)?;
        if let Some((request, Era::Stateless)) = &read {
            let checked = self.parameter_headers.check_call(&self.tools, headers, request, by_name);
            checked.map_err(|problem| problem.to(request).in_era(Era::Stateless))?;
        }
        Ok(read)
    }

    /// Adds the result members of 2026-07-28. The results do not depend on the caller.
    fn in_era(&self, members: String, era: Era, kept: bool) -> String {
        match era {
            Era::Handshake => members,
            Era::Stateless if members.is_empty() => "\"resultType\":\"complete\"".to_owned(),
            Era::Stateless if kept => {
                format!("{members},\"resultType\":\"complete\",\"ttlMs\":{},\"cacheScope\":\"public\"", self.ttl_ms)
            }
            Era::Stateless => format!("{members},\"resultType\":\"complete\""),
        }
    }

    /// A tool call: authenticates, applies the limits, and calls the tool.
    async fn call(&self, desk: &Desk<'_>, incoming: &Incoming<'_>, request: &Request, era: Era) -> Served {
        let session = match session::of(desk, incoming, era).await {
            Ok(session) => session,
            Err(problem) => return refused(problem.to(request)),
        };
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
            Ok(beside) => self.called(desk, &incoming, request, (era, session.as_ref()), &beside).await,
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
        (era, session): (Era, Option<&Session>),
        beside: &call::Beside<'_>,
    ) -> Result<Served, Problem> {
        let name = request.params.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| Problem::new(INVALID_PARAMS, "`name` has to be a string.".into()))?;
        let function = self.tools.find(name);
        let function =
            function.ok_or_else(|| Problem::new(INVALID_PARAMS, "There is no such tool. See tools/list.".into()))?;
        let arguments = call::arguments(request)?;
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
        let capability = desk.compiled.settings.capability(function.index);
        let resumed = match era {
            Era::Stateless => {
                Some(elicitation::resume(desk, incoming, name, request, (&mut question, capability)).await?)
            }
            Era::Handshake => None,
        };
        let dialogue = Dialogue { converse: &self.converse, desk, incoming, request, index: function.index, session };
        let conversed = match dialogue.carry_out(&mut question).await {
            Ok(conversed) => conversed,
            Err(served) => return Ok(*served),
        };
        // A person who does not want to answer is not asked again.
        let asked = match resumed.filter(|resumed| resumed.may_ask) {
            Some(Resumed { inputs, .. }) => {
                let lacks = capability.filter(|_| elicits.form);
                let lacks = lacks.and_then(|one| Missing::of(&conversed.turn, &question, one, elicits.choices));
                let to = (incoming.caller, name);
                elicitation::ask(desk, to, &conversed.turn, (lacks.as_ref(), inputs), elicits).await
            }
            None => None,
        };
        let instead = match asked {
            Some(members) => Some(members),
            None => tasks::begun(desk, incoming.caller, request, era, &conversed.turn).await,
        };
        if let Some(members) = instead {
            let reply = envelope::result(&request.id, &members);
            return Ok(Served { reason: conversed.turn.reason(), account: conversed.account, ..reply.into() });
        }
        if let Some(refusal) = self.challenge(desk, &conversed) {
            let reply = envelope::refused_to(Some(&request.id), refusal);
            return Ok(Served { reason: conversed.turn.reason(), account: conversed.account, ..reply.into() });
        }
        Ok(self.served(conversed, function, (request, era, incoming.authority)))
    }

    /// A refusal after which a client asks a person, where an authorization server is declared, ours or the site's: only the
    /// HTTP status and its challenge begin that.
    fn challenge<'c>(&self, desk: &Desk<'_>, conversed: &'c Conversed) -> Option<&'c Refusal> {
        let refusal = conversed.turn.refusal()?;
        let begins =
            matches!(refusal.fault, Fault::Unauthenticated | Fault::MissingScope) && refusal.challenge.is_some();
        (!desk.compiled.settings.auth.authorization_servers.is_empty() && begins).then_some(refusal)
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
        let reply = self.told(request, era, call::answered(&conversed.turn, Some(function), &self.base(authority)));
        Served { reason: conversed.turn.reason(), account: conversed.account, ..reply.into() }
    }

    /// The result of a call.
    fn told(&self, request: &Request, era: Era, members: String) -> Reply {
        envelope::result(&request.id, &self.in_era(members, era, false))
    }
}

#[async_trait]
impl Serve for Server {
    fn counts_messages(&self) -> bool {
        true
    }

    fn streams(&self, headers: &HeaderMap) -> bool {
        stream::is_taken(headers)
    }

    async fn serve(&self, desk: &Desk<'_>, incoming: &Incoming<'_>, _: &[(String, String)]) -> Served {
        let read = read(desk, incoming);
        let read =
            read.and_then(|read| self.repeating(incoming.headers, read).map_err(|problem| Box::new(refused(problem))));
        if let Ok(Some((request, era))) = &read
            && request.method == "tools/call"
            && !by_name::is_search(&self.tools, request)
        {
            return stream::ended(incoming, self.call(desk, incoming, request, *era).await);
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
            Ok(Some((request, era))) => match self.asked(desk, incoming, &request, era).await {
                Ok(reply) => reply.into(),
                Err(problem) => refused(problem.to(&request).in_era(era)),
            },
            Ok(None) => answers::heard(desk, incoming).await,
            Err(served) => *served,
        };
        stand(served, standing)
    }
}

/// The version that a handshake settles on.
fn negotiated(request: &Request) -> &'static str {
    match request.params.get("protocolVersion").and_then(Value::as_str) {
        // A client that names no version is treated as the oldest.
        None => HANDSHAKES[0],
        Some(asked) => HANDSHAKES.into_iter().find(|known| *known == asked).unwrap_or(HANDSHAKES[3]),
    }
}
