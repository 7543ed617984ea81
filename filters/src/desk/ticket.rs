//! Answers that come later: a call that goes on in the background, or a question that a person answers.
//!
//! A ticket is a record with an id that nobody can guess. Whoever asked comes back with it; where they had a credential,
//! nobody else can. What waits for a person is listed for the operator, and is answered once.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    Ask, Desk, Told,
    leaving::passed_value,
    promised::told_again,
    records::{self, seconds},
    trouble::not_kept,
};
use crate::{
    caller::Caller,
    fault::{Fault, Refusal},
    harness::{Harness, kinds::Kind},
    site::Snapshot,
    state::{Change, Committed, Expect, NotKept, Put, Records},
};

/// Where the list is of what waits for a person.
const LIST: &str = "t:desk";
/// Questions that wait for a person at a time.
pub const MOST_WAITING: usize = 1000;
/// Of them, questions of one caller.
const MOST_OF_ONE: usize = 20;
/// Of them, questions of those who proved nothing.
const MOST_OF_STRANGERS: usize = 500;
/// Marks whose they are.
const STRANGER: char = '~';
/// Bytes of an input that is kept for a person to read.
const LONGEST_INPUT: usize = 8 * 1024;
/// Bytes of a result that is kept.
const LONGEST_RESULT: usize = 256 * 1024;
/// How often a list is tried to be changed that others change too.
const TRIES: usize = 8;

/// How somebody wants an answer that comes later.
#[derive(Debug, Clone, Default)]
pub struct Wish {
    /// What it is asked for by: 128 bits that nobody can guess, in hex.
    pub id: String,
    /// What they said, for a person to read.
    pub query: String,
    /// What they say it is for.
    pub intent: Option<String>,
    /// Whatever the dialect needs to put the answer into words.
    pub manner: Value,
    /// Where the answer is delivered, besides being kept.
    pub callback: Option<String>,
}

/// What a ticket is about.
pub(crate) struct About<'a> {
    /// A capability's id, or what else is wanted.
    pub(crate) what: &'a str,
    pub(crate) dialect: &'static str,
    pub(crate) input: &'a Value,
}

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// For a person.
    Waiting,
    /// In the background.
    Running,
    Ended,
    /// Nobody answered in time, or whoever carried it out is gone.
    Expired,
    Lost,
}

impl State {
    /// As it is written down, and shown to the operator.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Ended => "answered",
            Self::Expired => "expired",
            Self::Lost => "lost",
        }
    }
}

/// A ticket, as it was found.
#[derive(Debug, Clone)]
pub struct Ticket {
    pub id: String,
    pub state: State,
    /// Of the capability.
    pub capability: String,
    pub dialect: String,
    pub wish: Wish,
    value: Value,
    version: u64,
}

/// What a person says.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Answer { answer: String, data: Value },
    Approve,
    Reject { reason: String },
}

/// Why nothing was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotOpened {
    /// The dialect has no way to come back for an answer.
    NoWish,
    NotKept(NotKept),
    /// Too much waits already.
    TooMany,
    /// More than a person is asked to read.
    TooLong,
}

impl NotOpened {
    pub(super) fn refusal(self) -> Refusal {
        match self {
            Self::NoWish => Refusal::from(Fault::NotImplemented)
                .saying("A person answers this, which takes time. Ask where an answer can be come back for."),
            Self::NotKept(why) => not_kept(why),
            Self::TooLong => {
                Refusal::from(Fault::TooLarge).saying("A person answers this: the input may have at most 8 KB.")
            }
            Self::TooMany => Refusal { reason: "desk_full", retry_after: Some(60), ..Fault::Unavailable.into() }
                .saying("Too many questions wait for a person at the moment. Try again later."),
        }
    }
}

/// Why a person's word was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undecided {
    Unknown,
    /// It was answered, or its time is over.
    Already(State),
    /// It says what must not leave.
    Blocked,
    NotKept(NotKept),
}

impl From<NotKept> for Undecided {
    fn from(why: NotKept) -> Self {
        Self::NotKept(why)
    }
}

/// The tickets of a store.
pub struct Tickets<'a> {
    pub records: &'a dyn Records,
    pub holders: &'a dyn super::Holders,
    /// How long each is kept.
    pub lasts: Duration,
    pub snapshot: &'a Snapshot,
    /// Who is told how far each has come; `None`: nobody.
    pub harness: Option<&'a Harness>,
}

impl<'a> Tickets<'a> {
    /// Those of a desk.
    pub fn of(desk: &Desk<'a>) -> Self {
        Self {
            records: desk.records,
            holders: desk.holders,
            snapshot: desk.snapshot,
            lasts: desk.snapshot.settings.sessions.results,
            harness: desk.harness,
        }
    }

    /// Opens one for a call that goes on in the background.
    ///
    /// # Errors
    ///
    /// It cannot be kept.
    pub(crate) async fn begin(&self, ask: &Ask<'_>, wish: &Wish) -> Result<String, Refusal> {
        self.open(ask, wish, State::Running).await.map_err(NotOpened::refusal)
    }

    /// Opens one for a call; what waits for a person is put on their list.
    pub(super) async fn open(&self, ask: &Ask<'_>, wish: &Wish, state: State) -> Result<String, NotOpened> {
        let capability = self.snapshot.called(ask.capability).map(|(capability, _)| capability.id.as_str());
        let about = About { what: capability.unwrap_or_default(), dialect: ask.dialect, input: &ask.input };
        self.put(&about, ask.caller, wish, state).await
    }

    /// Asks a person something that no capability is about.
    ///
    /// # Errors
    ///
    /// It is too long, there is too much already, or it cannot be kept.
    pub(crate) async fn ask(&self, about: &About<'_>, caller: &Caller, wish: &Wish) -> Result<String, Refusal> {
        self.put(about, caller, wish, State::Waiting).await.map_err(NotOpened::refusal)
    }

    async fn put(&self, about: &About<'_>, caller: &Caller, wish: &Wish, state: State) -> Result<String, NotOpened> {
        let id = wish.id.clone();
        let input = if about.input.to_string().len() <= LONGEST_INPUT { about.input } else { &Value::Null };
        if state == State::Waiting && input.is_null() {
            return Err(NotOpened::TooLong);
        }
        // Whoever came with nothing has nothing to come back with.
        let owner = caller.subject.is_some().then(|| records::hex(&caller.holder().bytes()));
        let now = seconds();
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
            State::Waiting => self.list(&id, &share(caller), change).await?,
            _ => drop(self.records.commit(&[change]).await.map_err(NotOpened::NotKept)?),
        }
        self.tell(&id, about.what, if state == State::Waiting { "created" } else { "executing" });
        Ok(id)
    }

    /// Makes the ticket and puts it on the list, in one step.
    async fn list(&self, id: &str, holder: &str, ticket: Change) -> Result<(), NotOpened> {
        for _ in 0..TRIES {
            let found = self.records.get(LIST).await.map_err(NotOpened::NotKept)?;
            let expect = found.as_ref().map_or(Expect::Absent, |record| Expect::Version(record.version));
            let mut ids = found.map(|record| ids(&record.value)).unwrap_or_default();
            let too_many = |ids: &[String]| {
                let strangers = ids.iter().filter(|entry| entry.contains(STRANGER)).count();
                ids.len() >= MOST_WAITING
                    || ids.iter().filter(|entry| entry.ends_with(holder)).count() >= MOST_OF_ONE
                    || holder.starts_with(STRANGER) && strangers >= MOST_OF_STRANGERS
            };
            if too_many(&ids) {
                ids = self.still_waiting(ids).await.map_err(NotOpened::NotKept)?;
            }
            if too_many(&ids) {
                return Err(NotOpened::TooMany);
            }
            ids.push(format!("{id} {holder}"));
            let put = Put::Value(Value::from(ids).to_string().into(), self.lasts * 2);
            let list = Change { key: LIST.to_owned(), expect, put };
            match self.records.commit(&[ticket.clone(), list]).await.map_err(NotOpened::NotKept)? {
                Committed::Done(_) => return Ok(()),
                Committed::Conflict(..) => {}
            }
        }
        Err(NotOpened::TooMany)
    }

    async fn still_waiting(&self, ids: Vec<String>) -> Result<Vec<String>, NotKept> {
        let mut waiting = Vec::with_capacity(ids.len());
        for entry in ids {
            if self.find(id_of(&entry)).await?.is_some_and(|ticket| ticket.state == State::Waiting) {
                waiting.push(entry);
            }
        }
        Ok(waiting)
    }

    /// Every question that a person was asked and that is still kept, the oldest first.
    pub async fn asked(&self) -> Result<Vec<Ticket>, NotKept> {
        let Some(list) = self.records.get(LIST).await? else { return Ok(Vec::new()) };
        let mut tickets = Vec::new();
        for entry in ids(&list.value) {
            tickets.extend(self.find(id_of(&entry)).await?);
        }
        Ok(tickets)
    }

    /// A ticket, for whoever may see it.
    pub async fn look(&self, id: &str, caller: &Caller) -> Result<Option<Ticket>, NotKept> {
        let found = self.find(id).await?;
        let owner = records::hex(&caller.holder().bytes());
        Ok(found.filter(|ticket| ticket.value["owner"].as_str().is_none_or(|own| own == owner)))
    }

    /// A ticket, for whoever operates this.
    pub(crate) async fn any(&self, id: &str) -> Result<Option<Ticket>, NotKept> {
        self.find(id).await
    }

    async fn find(&self, id: &str) -> Result<Option<Ticket>, NotKept> {
        if !is_id(id) {
            return Ok(None);
        }
        let Some(record) = self.records.get(&key(id)).await? else { return Ok(None) };
        let Ok(value) = serde_json::from_slice::<Value>(&record.value) else { return Ok(None) };
        let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let over = value["until"].as_u64().is_none_or(|until| until <= seconds());
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
        Ok(Some(Ticket { id: id.to_owned(), state, capability, dialect, wish, value, version: record.version }))
    }

    /// Keeps what became of a call in the background; the ticket with it, unless it is not wanted any more.
    pub(crate) async fn end(&self, id: &str, told: &Result<Told, Refusal>) -> Result<Option<Ticket>, NotKept> {
        let mut told = super::promised::kept(told.as_ref());
        if told.to_string().len() > LONGEST_RESULT {
            told["ok"]["data"] = Value::Null;
            told["ok"]["raw"] = Value::Null;
            told["ok"]["omitted"] = true.into();
        }
        let Some(ticket) = self.find(id).await?.filter(|ticket| ticket.state != State::Ended) else { return Ok(None) };
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

    /// Takes a person's word for it.
    ///
    /// # Errors
    ///
    /// It is not known, or somebody has decided already.
    pub async fn decide(&self, id: &str, decision: &Decision) -> Result<Ticket, Undecided> {
        let ticket = self.find(id).await?.ok_or(Undecided::Unknown)?;
        if ticket.state != State::Waiting {
            return Err(Undecided::Already(ticket.state));
        }
        let ok = |data: &Value| json!({ "ok": { "status": 200, "data": data, "at": seconds() } });
        let firewall = &self.snapshot.firewall;
        let said = match decision {
            Decision::Answer { answer, data } => {
                let leaving = passed_value(firewall, &json!({ "answer": answer, "data": data }));
                let leaving = leaving.ok_or(Undecided::Blocked)?;
                json!({ "answer": leaving["answer"], "told": ok(&leaving["data"]) })
            }
            Decision::Approve => json!({ "answer": "Approved.", "told": ok(&json!({ "decision": "approved" })) }),
            Decision::Reject { reason } => {
                json!({ "rejected": passed_value(firewall, &json!(reason)).ok_or(Undecided::Blocked)? })
            }
        };
        self.ended(ticket, &said).await?.ok_or(Undecided::Already(State::Ended))
    }

    async fn ended(&self, mut ticket: Ticket, said: &Value) -> Result<Option<Ticket>, NotKept> {
        for (name, part) in said.as_object().into_iter().flatten() {
            ticket.value[name] = part.clone();
        }
        ticket.value["state"] = State::Ended.word().into();
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
    pub(crate) async fn forget(&self, id: &str) -> Result<(), NotKept> {
        self.tell(id, "", "cancelled");
        let change = Change { key: key(id), expect: Expect::Anything, put: Put::Nothing };
        self.records.commit(&[change]).await.map(drop)
    }
}

impl Ticket {
    /// What became of it, once it has ended.
    pub(crate) fn told(&self) -> Option<Result<Told, Refusal>> {
        if let Some(reason) = self.rejected() {
            return Some(Err(Refusal::from(Fault::Forbidden).saying(reason.to_owned())));
        }
        told_again(&mut self.value.get("told")?.clone())
    }

    /// A person's answer.
    pub(crate) fn answer(&self) -> Option<&str> {
        self.value["answer"].as_str()
    }

    /// Why a person did not want it.
    pub(crate) fn rejected(&self) -> Option<&str> {
        self.value["rejected"].as_str()
    }

    /// A person did not want it.
    pub fn is_rejected(&self) -> bool {
        self.rejected().is_some()
    }

    /// When it was asked, in seconds since 1970.
    pub fn asked_at(&self) -> u64 {
        self.value["asked_at"].as_u64().unwrap_or(0)
    }

    /// A person said yes, and no more than that.
    pub fn is_approved(&self) -> bool {
        self.value["told"]["ok"]["data"]["decision"] == "approved"
    }

    /// What it was asked with.
    pub(crate) fn input(&self) -> &Value {
        &self.value["input"]
    }

    /// As the operator sees it.
    pub fn shown(&self) -> Value {
        let at = std::time::UNIX_EPOCH + Duration::from_secs(self.asked_at());
        json!({
            "id": self.id, "capability": self.capability, "query": self.wish.query,
            "intent": self.wish.intent, "input": self.value["input"],
            "caller": self.value["caller"], "asked_at": super::rfc3339(at), "status": self.state.word(),
        })
    }
}

/// Whose share of the list it is: whoever says to be another agent has no other.
fn share(caller: &Caller) -> String {
    let whoever = records::hex(&caller.whoever().bytes());
    if caller.subject.is_some() { whoever } else { format!("{STRANGER}{whoever}") }
}

fn key(id: &str) -> String {
    format!("t:{id}")
}

/// Thirty-two digits, so that no other record is ever named.
fn is_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// An entry of the list is an id and who asked.
fn id_of(entry: &str) -> &str {
    entry.split(' ').next().unwrap_or_default()
}

fn ids(list: &[u8]) -> Vec<String> {
    serde_json::from_slice::<Value>(list)
        .ok()
        .and_then(|value| Some(value.as_array()?.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect()))
        .unwrap_or_default()
}
