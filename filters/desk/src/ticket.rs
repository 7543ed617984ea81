//! Answers that come later: a call that goes on in the background, or a question that a person answers.
//!
//! A ticket is a record with an id that nobody can guess. Whoever asked comes back with it; where they had a credential,
//! nobody else can. What waits for a person is listed for the operator, and is answered once.

mod one;
mod permitted;
mod waiting;

use crate::Compiled;
use std::time::Duration;

pub use one::About;
pub(super) use one::NotOpened;
pub use one::{Decision, State, Ticket, Undecided, Wish};
pub use permitted::Permission;
pub use waiting::MOST_WAITING;

use serde_json::{Value, json};

use super::{
    Ask, Desk, Outside, Told,
    leaving::{Flagged, passed_value},
    records::{self, seconds},
};
use crate::harness::{Harness, kinds::Kind};
use frontdesk_base::{fault::Refusal, text::hex};
use frontdesk_caller::Caller;
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Records};

/// Bytes of an input that is kept for a person to read.
const LONGEST_INPUT: usize = 8 * 1024;
/// Bytes of a result that is kept.
const LONGEST_RESULT: usize = 256 * 1024;
/// How often the end of a ticket is tried again while the store is away, and how long after the last time.
const RETRIES: u32 = 120;
const RETRY: Duration = Duration::from_secs(1);

/// The tickets of a store.
pub struct Tickets<'a> {
    pub records: &'a dyn Records,
    pub holders: &'a dyn super::Holders,
    /// How long each is kept.
    pub lasts: Duration,
    pub compiled: &'a Compiled,
    /// Who is told how far each has come; `None`: nobody.
    pub harness: Option<&'a Harness>,
}

impl<'a> Tickets<'a> {
    /// Those of a desk.
    pub fn of(desk: &Desk<'a>) -> Self {
        Self {
            records: desk.records,
            holders: desk.holders,
            compiled: desk.compiled,
            lasts: desk.compiled.settings.sessions.results,
            harness: desk.harness,
        }
    }

    /// Opens one for a call that goes on in the background.
    ///
    /// # Errors
    ///
    /// It cannot be kept.
    pub async fn begin(&self, ask: &Ask<'_>, wish: &Wish) -> Result<String, Refusal> {
        self.open(ask, wish, State::Running).await.map_err(NotOpened::refusal)
    }

    /// Opens one for a call; what waits for a person is put on their list.
    pub(super) async fn open(&self, ask: &Ask<'_>, wish: &Wish, state: State) -> Result<String, NotOpened> {
        let capability = self.compiled.called(ask.capability).map(|(capability, _)| capability.id.as_str());
        let about = About { what: capability.unwrap_or_default(), dialect: ask.dialect, input: &ask.input };
        self.put(&about, ask.caller, wish, state).await
    }

    /// Asks a person something that no capability is about.
    ///
    /// # Errors
    ///
    /// It is too long, there is too much already, or it cannot be kept.
    pub async fn ask(&self, about: &About<'_>, caller: &Caller, wish: &Wish) -> Result<String, Refusal> {
        self.put(about, caller, wish, State::Waiting).await.map_err(NotOpened::refusal)
    }

    async fn put(&self, about: &About<'_>, caller: &Caller, wish: &Wish, state: State) -> Result<String, NotOpened> {
        let id = wish.id.clone();
        let input = if about.input.to_string().len() <= LONGEST_INPUT { about.input } else { &Value::Null };
        if state == State::Waiting && input.is_null() {
            return Err(NotOpened::TooLong);
        }
        // Whoever came with nothing has nothing to come back with.
        let owner = caller.subject.is_some().then(|| hex(&caller.holder().bytes()));
        let now = self.records.now();
        let value = json!({
            "state": state.word(), "owner": owner, "holder": self.holders.name(),
            "capability": about.what, "dialect": about.dialect,
            "query": wish.query, "intent": wish.intent, "manner": wish.manner, "callback": wish.callback,
            "input": input,
            "caller": {
                "name": caller.name.as_deref(), "proof": caller.proof.word(),
                "agent": caller.agent.as_ref().map(|agent| &*agent.name),
            },
            "asked_at": now, "until": now + self.lasts.as_secs().max(1),
        });
        let put = Put::Value(value.to_string().into(), self.lasts * 2);
        let change = Change { key: key(&id), expect: Expect::Absent, put };
        match state {
            State::Waiting => self.list(&id, &waiting::share(caller), change).await?,
            _ => drop(self.records.commit(&[change]).await.map_err(NotOpened::NotKept)?),
        }
        self.tell(&id, about.what, if state == State::Waiting { "created" } else { "executing" });
        Ok(id)
    }

    /// A ticket, for whoever may see it.
    pub async fn look(&self, id: &str, caller: &Caller) -> Result<Option<Ticket>, NotKept> {
        let found = self.find(id).await?;
        let owner = hex(&caller.holder().bytes());
        Ok(found.filter(|ticket| ticket.value["owner"].as_str().is_none_or(|own| own == owner)))
    }

    /// A ticket, for whoever operates this.
    pub async fn any(&self, id: &str) -> Result<Option<Ticket>, NotKept> {
        self.find(id).await
    }

    async fn find(&self, id: &str) -> Result<Option<Ticket>, NotKept> {
        if !records::is_id(id) {
            return Ok(None);
        }
        let Some(record) = self.records.get(&key(id)).await? else { return Ok(None) };
        let Ok(value) = serde_json::from_slice::<Value>(&record.value) else { return Ok(None) };
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let over = value["until"].as_u64().is_none_or(|until| until <= self.records.now());
        let state = match value["state"].as_str() {
            Some("answered") => State::Ended,
            Some("waiting") if over => State::Expired,
            Some("waiting") => State::Waiting,
            // It was begun, and nobody knows how it ended.
            _ if over => State::Lost,
            _ if self.holders.is_gone(&text("holder")) => State::Lost,
            _ => State::Running,
        };
        let callback = value["callback"].as_str().map(str::to_owned);
        let intent = value["intent"].as_str().map(str::to_owned);
        let wish = Wish { id: id.to_owned(), query: text("query"), intent, manner: value["manner"].clone(), callback };
        let (capability, dialect) = (text("capability"), text("dialect"));
        let (is_carried, version) = (self.is_carried(&value, self.records.now()), record.version);
        Ok(Some(Ticket { id: id.to_owned(), state, capability, dialect, wish, value, version, is_carried }))
    }

    /// Keeps what became of a call in the background, and how it is to be told now that it is known; the ticket with it,
    /// unless it is not wanted any more.
    pub async fn end(&self, id: &str, told: &Result<Told, Refusal>, manner: &Value) -> Result<Option<Ticket>, NotKept> {
        let mut told = super::promised::kept(told.as_ref());
        if told.to_string().len() > LONGEST_RESULT {
            told["ok"]["data"] = Value::Null;
            told["ok"]["raw"] = Value::Null;
            told["ok"]["omitted"] = true.into();
        }
        let found = self.find(id).await?.filter(|ticket| ticket.state != State::Ended);
        let Some(mut ticket) = found else { return Ok(None) };
        ticket.wish.manner = manner.clone();
        ticket.value["manner"] = manner.clone();
        match self.ended(ticket.clone(), &json!({ "told": told })).await {
            // There may be room for less.
            Err(NotKept::Full) if told.get("ok").is_some() => {
                told["ok"]["data"] = Value::Null;
                told["ok"]["raw"] = Value::Null;
                told["ok"]["omitted"] = true.into();
                self.ended(ticket, &json!({ "told": told })).await
            }
            ended => ended,
        }
    }

    /// The same, and waits for a store that is away; not for ever.
    pub async fn end_in_time(
        &self,
        outside: &dyn Outside,
        id: &str,
        told: &Result<Told, Refusal>,
        manner: &Value,
    ) -> Result<Option<Ticket>, NotKept> {
        let mut unsure = None;
        for _ in 0..RETRIES {
            match self.end(id, told, manner).await {
                Err(NotKept::Unsure(version)) => unsure = Some(version),
                Err(NotKept::Away) => {}
                ended => return ended,
            }
            outside.pause(RETRY).await;
            if let (Some(version), Ok(Some(ticket))) = (unsure, self.find(id).await)
                && ticket.version == version
            {
                return Ok(Some(ticket));
            }
        }
        self.end(id, told, manner).await
    }

    /// Takes a person's word for it.
    ///
    /// # Errors
    ///
    /// It is not known, somebody has decided already, or this is no word on it.
    pub async fn decide(&self, id: &str, decision: &Decision) -> Result<Ticket, Undecided> {
        let ticket = self.find(id).await?.ok_or(Undecided::Unknown)?;
        if ticket.state != State::Waiting {
            return Err(Undecided::Already(ticket.state));
        }
        let ok = |data: &Value, flagged: &Flagged| {
            let mut ok = json!({ "status": 200, "data": data, "at": seconds() });
            flagged.keep(&mut ok);
            json!({ "ok": ok })
        };
        let firewall = &self.compiled.firewall;
        let said = match decision {
            Decision::Answer { .. } if ticket.is_permission() => return Err(Undecided::NoAnswer),
            Decision::Answer { answer, data } => {
                let leaving = passed_value(firewall, &json!({ "answer": answer, "data": data }));
                let (leaving, flagged) = leaving.ok_or(Undecided::Blocked)?;
                json!({ "answer": leaving["answer"], "told": ok(&leaving["data"], &flagged) })
            }
            Decision::Approve(words) => {
                let words = json!(words.as_deref().unwrap_or("Approved."));
                let (words, flagged) = passed_value(firewall, &words).ok_or(Undecided::Blocked)?;
                json!({ "answer": words, "told": ok(&json!({ "decision": "approved" }), &flagged) })
            }
            Decision::Reject { reason } => {
                let (reason, _) = passed_value(firewall, &json!(reason)).ok_or(Undecided::Blocked)?;
                json!({ "rejected": reason })
            }
        };
        self.ended(ticket, &said).await?.ok_or(Undecided::Already(State::Ended))
    }

    async fn ended(&self, mut ticket: Ticket, said: &Value) -> Result<Option<Ticket>, NotKept> {
        for (name, part) in said.as_object().into_iter().flatten() {
            ticket.value[name] = part.clone();
        }
        ticket.value["state"] = State::Ended.word().into();
        ticket.value["decided_at"] = self.records.now().into();
        ticket.state = State::Ended;
        let put = Put::Value(ticket.value.to_string().into(), self.lasts);
        let change = Change { key: key(&ticket.id), expect: Expect::Version(ticket.version), put };
        Ok(match self.records.commit(&[change]).await? {
            Committed::Done(_) => {
                let status = match ticket.told() {
                    _ if ticket.rejected().is_some() => "cancelled",
                    Some(Ok(_)) => "completed",
                    _ => "failed",
                };
                self.tell(&ticket.id, &ticket.capability, status);
                Some(ticket)
            }
            // Somebody else was first.
            Committed::Conflict(..) => None,
        })
    }

    /// Tells how far one has come (`run_lifecycle`). Its name is a secret, and what is told is made from it.
    fn tell(&self, id: &str, what: &str, status: &str) {
        let Some(harness) = self.harness.filter(|harness| harness.offers(Kind::RunLifecycle)) else { return };
        let payload = json!({
            "run_id": records::fingerprint(&[id.as_bytes()]), "session_id": "", "status": status,
            "result_summary": what, "updated_at": crate::harness::wire::now(),
        });
        harness.note_own(Kind::RunLifecycle, payload);
    }

    /// As if it had never been.
    pub async fn forget(&self, id: &str) -> Result<(), NotKept> {
        self.tell(id, "", "cancelled");
        let change = Change { key: key(id), expect: Expect::Anything, put: Put::Nothing };
        self.records.commit(&[change]).await.map(drop)
    }
}

fn key(id: &str) -> String {
    format!("t:{id}")
}
