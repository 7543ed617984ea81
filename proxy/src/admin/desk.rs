//! The API of the human desk: lists questions of agents, waiting ones first, and takes each answer once.

use frontdesk_filters::{
    desk::{
        Outside,
        ticket::{Decision, State, Ticket, Tickets, Undecided},
    },
    state::NotKept,
};
use http::{Method, StatusCode};
use pingora::protocols::http::ServerSession;
use serde_json::{Value, json};

use super::{Admin, Answer, body, guard, json_answer, not_allowed, problem};
use crate::running::Running;

const HOW: &str = "Send {\"answer\": \"…\", \"data\": {…}}, {\"decision\": \"approve\"}, or \
                   {\"decision\": \"reject\", \"reason\": \"…\"}.";

/// The error for an answer to a call that only waits for approval.
const PERMISSION: &str = "This call waits for approval and takes no answer. Nothing was decided; send \
                          {\"decision\": \"approve\"}, or {\"decision\": \"reject\", \"reason\": \"…\"}.";

impl Admin {
    /// Lists the questions of agents to a person: waiting ones first, each group in order of arrival.
    pub(super) async fn asked(&self) -> Answer {
        let running = self.live.current();
        match self.tickets(&running).asked().await {
            Ok(mut tickets) => {
                // The caller mainly wants the waiting ones. The others can be looked up.
                tickets.sort_by_key(|ticket| ticket.state != State::Waiting);
                json_answer(StatusCode::OK, &tickets.iter().map(Ticket::shown).collect::<Value>())
            }
            Err(why) => problem(StatusCode::SERVICE_UNAVAILABLE, unkept(why)),
        }
    }

    /// Takes a decision from a request.
    pub(super) async fn decide(&self, session: &mut ServerSession, id: &str) -> Answer {
        if session.req_header().method != Method::POST {
            return not_allowed("POST");
        }
        if let Err(refusal) = guard::check_token(session.req_header(), &self.live) {
            return *refusal;
        }
        let decision = match decision(session).await {
            Ok(decision) => decision,
            Err(answer) => return *answer,
        };
        match self.take_word(id, &decision).await {
            Ok(ticket) => json_answer(StatusCode::OK, &ticket.shown()),
            Err(why) => {
                let (status, detail) = told_of(why);
                problem(status, &detail)
            }
        }
    }

    /// Stores a decision and delivers it to the agent.
    pub(super) async fn take_word(&self, id: &str, decision: &Decision) -> Result<Ticket, Undecided> {
        let running = self.live.current();
        let ticket = self.tickets(&running).decide(id, decision).await?;
        tracing::info!(capability = ticket.capability, "a person approved or rejected a call");
        self.deliver(&running, &ticket);
        Ok(ticket)
    }

    pub(super) fn tickets<'a>(&'a self, running: &'a Running) -> Tickets<'a> {
        let snapshot = &running.snapshot;
        Tickets {
            records: running.store.records.as_ref(),
            holders: self.processes.as_ref(),
            lasts: snapshot.settings.sessions.results,
            compiled: snapshot,
            harness: running.harness.as_deref(),
        }
    }

    /// Delivers an answer to the agent's callback URL, if it gave one. The agent can also poll for it.
    fn deliver(&self, running: &Running, ticket: &Ticket) {
        let Some((url, body)) = running.snapshot.delivery(ticket) else { return };
        let (outbound, url, id) = (self.outbound.clone(), url.to_owned(), ticket.id.clone());
        tokio::spawn(async move {
            if let Err(why) = outbound.deliver(&url, body).await {
                outbound.undelivered(&id, &why);
            }
        });
    }
}

/// Explains to the person why a decision was not taken.
pub(super) fn told_of(why: Undecided) -> (StatusCode, String) {
    match why {
        Undecided::Unknown => {
            (StatusCode::NOT_FOUND, "No question has this id. GET /desk lists the waiting ones.".into())
        }
        Undecided::Already(state) => {
            (StatusCode::CONFLICT, format!("This is {} already; the first decision stands.", state.word()))
        }
        Undecided::NoAnswer => (StatusCode::BAD_REQUEST, PERMISSION.into()),
        Undecided::Blocked => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "The firewall blocks this answer: agents must not get some of its content. Send it without that.".into(),
        ),
        Undecided::NotKept(why) => (StatusCode::SERVICE_UNAVAILABLE, unkept(why).into()),
    }
}

/// Reads the decision in a request body.
async fn decision(session: &mut ServerSession) -> Result<Decision, Box<Answer>> {
    let wrong = || Box::new(problem(StatusCode::BAD_REQUEST, HOW));
    let body = body::read(session, HOW).await?;
    let body: Value = serde_json::from_slice(&body).map_err(|_| wrong())?;
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    match (text("answer"), body["decision"].as_str()) {
        (Some(answer), None) => {
            let data = body.get("data").filter(|data| !data.is_null()).cloned().unwrap_or_else(|| json!({}));
            Ok(Decision::Answer { answer, data })
        }
        (None, Some("approve")) => Ok(Decision::Approve(None)),
        (None, Some("reject")) => Ok(Decision::Reject { reason: text("reason").unwrap_or_else(|| "Rejected.".into()) }),
        _ => Err(wrong()),
    }
}

fn unkept(why: NotKept) -> &'static str {
    match why {
        NotKept::Away => "The store cannot be reached at the moment. Nothing was decided; try again later.",
        NotKept::Unsure(_) => "The store did not answer in time. Check whether this was decided, and try again later.",
        NotKept::Full => "The store is full. Nothing was decided; try again later.",
    }
}
