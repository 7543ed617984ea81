//! The memory of a conversation (AHP §6.5): bounded in turns and time, and bound to the caller who began it.

use serde_json::{Value, json};

use super::{conversed::Conversed, kept::Kept, question::Wrong};
use frontdesk_ask::Turn;
use frontdesk_base::text::hex;
use frontdesk_caller::Caller;
use frontdesk_desk::{Desk, not_kept, records};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put, Record};

/// Remembered turns; earlier ones are only counted.
const REMEMBERED: usize = 10;
/// Maximum attempts to change a session that other requests change too.
const TRIES: usize = 6;

/// The session of a question.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) id: String,
    /// It existed before this question.
    known: bool,
    /// The number of turns, this one included.
    turns: u64,
    /// The earlier turns, latest last.
    pub(super) before: Vec<Turn>,
    /// What is known of the input that was last asked for.
    pub(super) kept: Option<Kept>,
}

impl Session {
    /// Takes the next turn of a session, or begins one. A caller can neither choose an id nor use another caller's
    /// session.
    pub(super) async fn turn(desk: &Desk<'_>, id: Option<&str>, caller: &Caller) -> Result<Self, Box<Conversed>> {
        let Some(id) = id else {
            let id = records::unguessable().map_err(|why| Box::new(refused(why)))?;
            return Ok(Self { id, known: false, turns: 1, before: Vec::new(), kept: None });
        };
        let invalid = |message: &str| Box::<Conversed>::from(Wrong::Invalid(message.to_owned()));
        let unknown = || invalid("There is no such session, or it is over. Leave session_id out to begin one.");
        if !records::is_id(id) {
            return Err(unknown());
        }
        let max_turns = u64::from(desk.compiled.settings.sessions.max_turns);
        for _ in 0..TRIES {
            let record = desk.records.get(&key(id)).await.map_err(|why| Box::new(refused(why)))?;
            let mut state = record.as_ref().and_then(read).ok_or_else(unknown)?;
            if state["owner"].as_str() != Some(&owner(caller)) {
                return Err(unknown());
            }
            let turns = state["turns"].as_u64().unwrap_or(0).saturating_add(1);
            if turns > max_turns {
                let message =
                    format!("This session has had its {max_turns} turns. Leave session_id out to begin another.");
                return Err(invalid(&message));
            }
            state["turns"] = turns.into();
            let (before, kept) = (said_before(&state), Kept::from_json(&state["inputs"]));
            let expect = Expect::Version(record.map_or(0, |record| record.version));
            if put(desk, id, &state, expect).await.map_err(|why| Box::new(refused(why)))? {
                return Ok(Self { id: id.to_owned(), known: true, turns, before, kept });
            }
        }
        Err(invalid("Too many questions came in this session at once. Ask one after the other."))
    }

    /// The id for a later answer, which is also a session id (§9.1): the id of a session that just began, or a new one
    /// that continues this session.
    pub(super) fn name_for_later(&self) -> Result<String, NotKept> {
        if self.known { records::unguessable() } else { Ok(self.id.clone()) }
    }

    /// The same session under a new id.
    pub(super) fn going_on_as(self, id: &str) -> Self {
        if self.id == id { self } else { Self { id: id.to_owned(), known: false, ..self } }
    }

    /// Stores a turn. Returns `false` where there is no session to continue; the response then names none.
    pub(super) async fn keep(&self, desk: &Desk<'_>, caller: &Caller, turn: &Turn, kept: &Kept) -> bool {
        if !self.known {
            let said: Vec<Value> = self.before.iter().chain([turn]).map(Turn::to_json).collect();
            let state = json!({
                "owner": owner(caller), "turns": self.turns, "said": said, "inputs": kept.to_json(),
            });
            return put(desk, &self.id, &state, Expect::Absent).await.unwrap_or(false);
        }
        for _ in 0..TRIES {
            let Ok(Some(record)) = desk.records.get(&key(&self.id)).await else { return true };
            let Some(mut state) = read(&record) else { return true };
            if let Some(said) = state["said"].as_array_mut() {
                said.push(turn.to_json());
                let extra = said.len().saturating_sub(REMEMBERED);
                said.drain(..extra);
            }
            state["inputs"] = kept.to_json();
            match put(desk, &self.id, &state, Expect::Version(record.version)).await {
                Ok(false) => {}
                // The turn was counted; a failure to store its words is no reason to withhold the answer.
                Ok(true) | Err(_) => return true,
            }
        }
        true
    }
}

/// Whether this caller has such a session.
///
/// # Errors
///
/// The store is unavailable.
pub async fn exists(desk: &Desk<'_>, id: &str, caller: &Caller) -> Result<bool, NotKept> {
    if !records::is_id(id) {
        return Ok(false);
    }
    let state = desk.records.get(&key(id)).await?.as_ref().and_then(read);
    Ok(state.is_some_and(|state| state["owner"].as_str() == Some(&owner(caller))))
}

async fn put(desk: &Desk<'_>, id: &str, state: &Value, expect: Expect) -> Result<bool, NotKept> {
    let idle = desk.compiled.settings.sessions.idle;
    let change = Change { key: key(id), expect, put: Put::Value(state.to_string().into(), idle) };
    Ok(matches!(desk.records.commit(&[change]).await?, Committed::Done(_)))
}

fn read(record: &Record) -> Option<Value> {
    serde_json::from_slice::<Value>(&record.value).ok().filter(Value::is_object)
}

fn said_before(state: &Value) -> Vec<Turn> {
    state["said"].as_array().into_iter().flatten().filter_map(Turn::from_json).collect()
}

fn owner(caller: &Caller) -> String {
    hex(&caller.holder().bytes())
}

fn key(id: &str) -> String {
    format!("s:{id}")
}

/// The refusal where the store is unavailable.
fn refused(why: NotKept) -> Conversed {
    Conversed::refused(&not_kept(why).saying("The store for sessions is unavailable. Try again later."))
}
