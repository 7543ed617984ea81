//! The desk where a person answers what agents have asked: what waits, before what was answered, and the answer, once.

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
use crate::live::Running;

const HOW: &str = "Send {\"answer\": \"…\", \"data\": {…}}, {\"decision\": \"approve\"}, or \
                   {\"decision\": \"reject\", \"reason\": \"…\"}.";

/// What is said to whoever answers a call that waits to be allowed.
const PERMISSION: &str = "This is a call that waits to be allowed, and takes no answer. Nothing was decided; send \
                          {\"decision\": \"approve\"}, or {\"decision\": \"reject\", \"reason\": \"…\"}.";

impl Admin {
    /// What agents have asked a person: what waits first, and each in the order in which it was asked.
    pub(super) async fn asked(&self) -> Answer {
        let running = self.live.current();
        match self.tickets(&running).asked().await {
            Ok(mut tickets) => {
                // Whoever looks comes for what waits; the rest is kept so that it can be looked up.
                tickets.sort_by_key(|ticket| ticket.state != State::Waiting);
                json_answer(StatusCode::OK, &tickets.iter().map(Ticket::shown).collect::<Value>())
            }
            Err(why) => problem(StatusCode::SERVICE_UNAVAILABLE, unkept(why)),
        }
    }

    /// Takes a person's word.
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

    /// Takes a person's word, and brings it to whoever asked.
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

    /// Brings the answer to whoever asked, if that is what they wanted; they can also come and ask for it.
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

/// Why a person's word was not taken, for the person.
pub(super) fn told_of(why: Undecided) -> (StatusCode, String) {
    match why {
        Undecided::Unknown => {
            (StatusCode::NOT_FOUND, "Nothing waits here under this id. GET /desk lists what does.".into())
        }
        Undecided::Already(state) => {
            (StatusCode::CONFLICT, format!("This is {} already; the first word stands.", state.word()))
        }
        Undecided::NoAnswer => (StatusCode::BAD_REQUEST, PERMISSION.into()),
        Undecided::Blocked => (
            StatusCode::UNPROCESSABLE_ENTITY,
            "This answer holds something that must not leave for an agent (firewall). Send it without that.".into(),
        ),
        Undecided::NotKept(why) => (StatusCode::SERVICE_UNAVAILABLE, unkept(why).into()),
    }
}

/// What was sent, as a decision.
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
        NotKept::Unsure(_) => "The store did not answer in time. Look whether this was decided, and try again later.",
        NotKept::Full => "The store is full. Nothing was decided; try again later.",
    }
}
