//! Tickets for answers that come later: from a background task, or from a person.
//!
//! A ticket is a record with an unguessable id, with which the caller asks for the answer. A caller with a credential
//! is bound to the ticket, so no one else can read it. Tickets that wait for a person are listed for the operator, and
//! are answered once.

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

/// Maximum bytes of an input that is stored for a person to read.
const LONGEST_INPUT: usize = 8 * 1024;
/// Maximum bytes of a stored result.
const LONGEST_RESULT: usize = 256 * 1024;
/// How often, and at which last interval, storing a result is retried while the store is unavailable.
const RETRIES: u32 = 120;
const RETRY: Duration = Duration::from_secs(1);

/// The tickets in a store.
pub struct Tickets<'a> {
    pub records: &'a dyn Records,
    pub holders: &'a dyn super::Holders,
    /// How long a ticket is kept.
    pub lasts: Duration,
    pub compiled: &'a Compiled,
    /// The harness that gets progress reports; `None`: there is none.
    pub harness: Option<&'a Harness>,
}

impl<'a> Tickets<'a> {
    /// The tickets of a desk.
    pub fn of(desk: &Desk<'a>) -> Self {
        Self {
            records: desk.records,
            holders: desk.holders,
            compiled: desk.compiled,
            lasts: desk.compiled.settings.sessions.results,
            harness: desk.harness,
        }
    }

    /// Opens a ticket for a background task.
    ///
    /// # Errors
    ///
    /// It cannot be stored.
    pub async fn begin(&self, ask: &Ask<'_>, wish: &Wish) -> Result<String, Refusal> {
        self.open(ask, wish, State::Running).await.map_err(NotOpened::refusal)
    }

    /// Opens a ticket for a call. One that waits for a person joins their list.
    pub(super) async fn open(&self, ask: &Ask<'_>, wish: &Wish, state: State) -> Result<String, NotOpened> {
        let capability = self.compiled.called(ask.capability).map(|(capability, _)| capability.id.as_str());
        let about = About { what: capability.unwrap_or_default(), dialect: ask.dialect, input: &ask.input };
        self.put(&about, ask.caller, wish, state).await
    }

    /// Asks a person something that concerns no capability.
    ///
    /// # Errors
    ///
    /// The question is too long, the list is full, or it cannot be stored.
    pub async fn ask(&self, about: &About<'_>, caller: &Caller, wish: &Wish) -> Result<String, Refusal> {
        self.put(about, caller, wish, State::Waiting).await.map_err(NotOpened::refusal)
    }

    async fn put(&self, about: &About<'_>, caller: &Caller, wish: &Wish, state: State) -> Result<String, NotOpened> {
        let id = wish.id.clone();
        let input = if about.input.to_string().len() <= LONGEST_INPUT { about.input } else { &Value::Null };
        if state == State::Waiting && input.is_null() {
            return Err(NotOpened::TooLong);
        }
        // A caller without a credential has no identity to bind the ticket to.
        let owner = caller.is_known().then(|| hex(&caller.holder().bytes()));
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

    /// Reads a ticket on behalf of a caller who may see it.
    pub async fn look(&self, id: &str, caller: &Caller) -> Result<Option<Ticket>, NotKept> {
        let found = self.find(id).await?;
        let owner = hex(&caller.holder().bytes());
        Ok(found.filter(|ticket| ticket.value["owner"].as_str().is_none_or(|own| own == owner)))
    }

    /// Reads a ticket on behalf of the operator.
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
            // The task began, and its outcome is unknown.
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

    /// Stores the outcome of a background task, and the data needed to word it. Updates the ticket too, unless it was
    /// withdrawn.
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
            // A shorter record may still fit.
            Err(NotKept::Full) if told.get("ok").is_some() => {
                told["ok"]["data"] = Value::Null;
                told["ok"]["raw"] = Value::Null;
                told["ok"]["omitted"] = true.into();
                self.ended(ticket, &json!({ "told": told })).await
            }
            ended => ended,
        }
    }

    /// The same, with a bounded number of retries while the store is unavailable.
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

    /// Records a person's decision.
    ///
    /// # Errors
    ///
    /// The ticket does not exist, is decided already, or does not take this decision.
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
            // Another person was first.
            Committed::Conflict(..) => None,
        })
    }

    /// Reports progress to the harness (`run_lifecycle`). The report has a name derived from the id, which is a
    /// secret.
    fn tell(&self, id: &str, what: &str, status: &str) {
        let Some(harness) = self.harness.filter(|harness| harness.offers(Kind::RunLifecycle)) else { return };
        let payload = json!({
            "run_id": records::fingerprint(&[id.as_bytes()]), "session_id": "", "status": status,
            "result_summary": what, "updated_at": crate::harness::wire::now(),
        });
        harness.note_own(Kind::RunLifecycle, payload);
    }

    /// Deletes a ticket that waits for a person, at its caller's wish; `false`: somebody decided it meanwhile.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub async fn withdraw(&self, ticket: &Ticket) -> Result<bool, NotKept> {
        let change = Change { key: key(&ticket.id), expect: Expect::Version(ticket.version), put: Put::Nothing };
        let is_withdrawn = matches!(self.records.commit(&[change]).await?, Committed::Done(_));
        if is_withdrawn {
            self.tell(&ticket.id, &ticket.capability, "cancelled");
        }
        Ok(is_withdrawn)
    }

    /// Deletes a ticket.
    pub async fn forget(&self, id: &str) -> Result<(), NotKept> {
        self.tell(id, "", "cancelled");
        let change = Change { key: key(id), expect: Expect::Anything, put: Put::Nothing };
        self.records.commit(&[change]).await.map(drop)
    }
}

fn key(id: &str) -> String {
    format!("t:{id}")
}
