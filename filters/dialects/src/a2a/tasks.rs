//! Tasks in the store: what a client was asked, or which later answer it waits for. Every replica reads the same, and
//! each task belongs to the caller that began it.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::form::{Part, State, Status};
use frontdesk_base::text::hex;
use frontdesk_caller::Caller;
use frontdesk_desk::{Desk, records};
use frontdesk_state::{Change, Committed, Expect, NotKept, Put};

/// Maximum bytes of a stored task. Of a longer one the answer is left out.
const LONGEST: usize = 256 * 1024;

/// The question that a task is about, so that it can be asked again with a confirmation or a clarification.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Asked {
    /// The capability's name in the conversation.
    pub(super) capability: String,
    pub(super) query: Option<String>,
    pub(super) input: Option<Map<String, Value>>,
    pub(super) accept_types: Vec<String>,
    pub(super) idempotency_key: Option<String>,
}

/// What a task waits for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stage {
    /// A person's yes; with the token of the confirmation.
    Confirm(String),
    /// The answer to a clarifying question.
    Clarify,
    /// The later answer with this id.
    Later(String),
    /// A request carries it out. If none has said until this moment (seconds since 1970) what came of it, it waits for
    /// what it waited for before.
    Acting {
        was: Box<Stage>,
        until: u64,
    },
    Over,
}

impl Stage {
    /// As it is stored: its name, and what it waits for.
    fn to_json(&self) -> (&'static str, Value) {
        match self {
            Self::Confirm(token) => ("confirm", token.as_str().into()),
            Self::Clarify => ("clarify", Value::Null),
            Self::Later(id) => ("later", id.as_str().into()),
            Self::Acting { was, until } => {
                let (stage, of) = was.to_json();
                ("acting", json!({ "stage": stage, "of": of, "until": until }))
            }
            Self::Over => ("over", Value::Null),
        }
    }

    fn from_json(stage: &Value, of: &Value) -> Option<Self> {
        let text = || of.as_str().map(str::to_owned);
        Some(match stage.as_str()? {
            "confirm" => Self::Confirm(text()?),
            "clarify" => Self::Clarify,
            "later" => Self::Later(text()?),
            "acting" if of["stage"] != "acting" => {
                let was = Box::new(Self::from_json(&of["stage"], &of["of"])?);
                Self::Acting { was, until: of["until"].as_u64()? }
            }
            "over" => Self::Over,
            _ => return None,
        })
    }
}

/// A task.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) context: String,
    /// The session of the conversation.
    pub(super) session: Option<String>,
    pub(super) asked: Asked,
    pub(super) stage: Stage,
    pub(super) status: Status,
}

/// A task as it was read, with its version.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) task: Task,
    version: u64,
}

impl Task {
    /// Whether a request carries it out.
    pub(super) fn is_acting(&self) -> bool {
        matches!(self.stage, Stage::Acting { .. })
    }

    fn to_json(&self, caller: &Caller) -> String {
        let Asked { capability, query, input, accept_types, idempotency_key } = &self.asked;
        let (stage, of) = self.stage.to_json();
        let mut value = json!({
            "owner": owner(caller), "context": self.context, "session": self.session,
            "asked": {
                "capability": capability, "query": query, "input": input, "types": accept_types, "key": idempotency_key,
            },
            "stage": stage, "of": of, "shown": self.status.to_json(),
        });
        let text = value.to_string();
        if text.len() <= LONGEST {
            return text;
        }
        let note = Part::Text("It was carried out. Its answer was too long to be kept.".to_owned());
        let short = Status { artifact: vec![note], ..self.status.clone() };
        value["shown"] = short.to_json();
        if self.stage == Stage::Over {
            value["asked"]["input"] = Value::Null;
        }
        value.to_string()
    }

    fn from_json(id: &str, value: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let asked = &value["asked"];
        let types = asked["types"].as_array().into_iter().flatten().filter_map(text);
        Some(Self {
            id: id.to_owned(),
            context: text(&value["context"])?,
            session: text(&value["session"]),
            asked: Asked {
                capability: text(&asked["capability"])?,
                query: text(&asked["query"]),
                input: asked["input"].as_object().cloned(),
                accept_types: types.collect(),
                idempotency_key: text(&asked["key"]),
            },
            stage: Stage::from_json(&value["stage"], &value["of"])?,
            status: Status::from_json(&value["shown"])?,
        })
    }
}

/// A task of this caller; `None`: there is none, or it is another caller's.
pub(super) async fn find(desk: &Desk<'_>, caller: &Caller, id: &str) -> Result<Option<Stored>, NotKept> {
    if !records::is_id(id) {
        return Ok(None);
    }
    let Some(record) = desk.records.get(&key(id)).await? else { return Ok(None) };
    let value: Value = serde_json::from_slice(&record.value).unwrap_or_default();
    if value["owner"].as_str() != Some(&owner(caller)) {
        return Ok(None);
    }
    let mut task = Task::from_json(id, &value);
    if let Some(Task { stage, .. }) = &mut task
        && let Stage::Acting { was, until } = stage
        && *until <= desk.records.now()
    {
        *stage = (**was).clone();
    }
    Ok(task.map(|task| Stored { task, version: record.version }))
}

/// Stores a new task.
pub(super) async fn begin(desk: &Desk<'_>, caller: &Caller, task: &Task) -> Result<(), NotKept> {
    put(desk, caller, task, Expect::Absent).await.map(drop)
}

/// Marks a task as one that is carried out, so that nobody cancels it meanwhile. `None`: another request was first.
pub(super) async fn hold(desk: &Desk<'_>, caller: &Caller, stored: Stored) -> Result<Option<Stored>, NotKept> {
    let until = desk.records.now() + ACTING.as_secs();
    let stage = Stage::Acting { was: Box::new(stored.task.stage.clone()), until };
    let held = Task { stage, ..stored.task.clone() };
    let version = put(desk, caller, &held, Expect::Version(stored.version)).await?;
    Ok(version.map(|version| Stored { version, ..stored }))
}

/// How long a task is taken for one that is carried out when nobody says more: longer than a call takes.
const ACTING: Duration = Duration::from_secs(600);

/// Stores the next step of a task; gives the task as it is now. Where another request was first, the step is stored all
/// the same if it says more: an act that was carried out stays carried out, also when the task was canceled meanwhile.
pub(super) async fn step(desk: &Desk<'_>, caller: &Caller, from: &Stored, task: Task) -> Result<Task, NotKept> {
    let rank = |state: State| match state {
        State::InputRequired | State::Working => 0,
        State::Canceled | State::Rejected => 1,
        State::Failed => 2,
        State::Completed => 3,
    };
    let mut version = from.version;
    for _ in 0..TRIES {
        if put(desk, caller, &task, Expect::Version(version)).await?.is_some() {
            return Ok(task);
        }
        match find(desk, caller, &task.id).await? {
            Some(now) if rank(task.status.state) <= rank(now.task.status.state) => return Ok(now.task),
            // What is carried out cannot be canceled.
            Some(now) if task.status.state == State::Canceled && now.task.is_acting() => return Ok(now.task),
            Some(now) => version = now.version,
            None => return Ok(task),
        }
    }
    Ok(task)
}

/// Maximum attempts to store a step that others store too.
const TRIES: usize = 6;

/// The version that it has now; `None`: it is not as it was expected to be.
async fn put(desk: &Desk<'_>, caller: &Caller, task: &Task, expect: Expect) -> Result<Option<u64>, NotKept> {
    let lasts = desk.compiled.settings.sessions.results;
    let change = Change { key: key(&task.id), expect, put: Put::Value(task.to_json(caller).into(), lasts) };
    Ok(match desk.records.commit(&[change]).await? {
        Committed::Done(version) => Some(version),
        Committed::Conflict(..) => None,
    })
}

/// The session of a context that the client named itself; `None`: it is not known.
pub(super) async fn session_of(desk: &Desk<'_>, caller: &Caller, context: &str) -> Result<Option<String>, NotKept> {
    let found = desk.records.get(&context_key(caller, context)).await?;
    Ok(found.map(|record| String::from_utf8_lossy(&record.value).into_owned()).filter(|id| records::is_id(id)))
}

/// Remembers the session of a context.
pub(super) async fn remember(desk: &Desk<'_>, caller: &Caller, context: &str, session: &str) -> Result<(), NotKept> {
    let put = Put::Value(session.to_owned().into(), desk.compiled.settings.sessions.idle);
    let change = Change { key: context_key(caller, context), expect: Expect::Anything, put };
    desk.records.commit(&[change]).await.map(drop)
}

fn owner(caller: &Caller) -> String {
    hex(&caller.holder().bytes())
}

fn key(id: &str) -> String {
    format!("a:{id}")
}

fn context_key(caller: &Caller, context: &str) -> String {
    format!("a:{}", records::fingerprint(&[&caller.holder().bytes(), context.as_bytes()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(stage: Stage, artifact: &str) -> Task {
        Task {
            id: "0".repeat(32),
            context: "c".into(),
            session: Some("s".into()),
            asked: Asked {
                capability: "hold".into(),
                query: None,
                input: json!({ "n": 1 }).as_object().cloned(),
                accept_types: vec!["text/answer".into()],
                idempotency_key: Some("k".into()),
            },
            stage,
            status: Status {
                state: State::Completed,
                since: 1,
                message: Vec::new(),
                artifact: vec![Part::Text(artifact.into())],
                flags: Vec::new(),
            },
        }
    }

    #[test]
    fn a_task_is_read_as_it_was_stored() {
        let caller = Caller::at([192, 0, 2, 1].into());
        let acting = |was| Stage::Acting { was: Box::new(was), until: 7 };
        for stage in [
            Stage::Confirm("t".into()),
            Stage::Clarify,
            Stage::Later("l".into()),
            acting(Stage::Confirm("t".into())),
            acting(Stage::Clarify),
            Stage::Over,
        ] {
            let task = task(stage, "42.");
            let value = serde_json::from_str(&task.to_json(&caller)).unwrap();
            assert_eq!(Task::from_json(&task.id, &value), Some(task));
        }
    }

    #[test]
    fn a_long_answer_is_left_out() {
        let caller = Caller::at([192, 0, 2, 1].into());
        let task = task(Stage::Over, &"x".repeat(LONGEST));
        let text = task.to_json(&caller);
        assert!(text.len() < 2000, "{}", text.len());
        let read = Task::from_json(&task.id, &serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!((read.status.state, read.status.artifact.len()), (State::Completed, 1));
    }
}
