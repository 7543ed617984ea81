//! The two wire forms of A2A, 0.3 and 1.0: the same messages and tasks, spelled differently.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use frontdesk_desk::rfc3339;

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// 0.3: `message/send`, `kind`, `input-required`.
    V03,
    /// 1.0: `SendMessage`, `ROLE_AGENT`, `TASK_STATE_INPUT_REQUIRED`.
    V1,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Text(String),
    /// An object.
    Data(Value),
}

/// Why a part is not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPart {
    Malformed,
    /// It has a content that is not taken here, such as a file.
    OtherContent,
}

/// The state of a task. Those that are over never change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Working,
    InputRequired,
    Completed,
    Failed,
    Rejected,
    Canceled,
}

const STATES: [State; 6] =
    [State::Working, State::InputRequired, State::Completed, State::Failed, State::Rejected, State::Canceled];

impl State {
    /// The state in 0.3, which is also how it is stored.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::InputRequired => "input-required",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Rejected => "rejected",
            Self::Canceled => "canceled",
        }
    }

    fn enumerated(self) -> &'static str {
        match self {
            Self::Working => "TASK_STATE_WORKING",
            Self::InputRequired => "TASK_STATE_INPUT_REQUIRED",
            Self::Completed => "TASK_STATE_COMPLETED",
            Self::Failed => "TASK_STATE_FAILED",
            Self::Rejected => "TASK_STATE_REJECTED",
            Self::Canceled => "TASK_STATE_CANCELED",
        }
    }

    fn read(word: &str) -> Option<Self> {
        STATES.into_iter().find(|state| state.word() == word)
    }

    pub(super) fn is_over(self) -> bool {
        !matches!(self, Self::Working | Self::InputRequired)
    }
}

/// What a client sees of a task, besides its id and its context.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Status {
    pub(super) state: State,
    /// Since when, in seconds since 1970.
    pub(super) since: u64,
    /// The agent's message about the state.
    pub(super) message: Vec<Part>,
    /// The answer, once there is one.
    pub(super) artifact: Vec<Part>,
    /// The firewall's findings in the answer.
    pub(super) flags: Vec<String>,
}

impl Status {
    pub(super) fn to_json(&self) -> Value {
        let parts = |parts: &[Part]| parts.iter().map(|part| Form::V1.part(part)).collect::<Value>();
        json!({
            "state": self.state.word(), "since": self.since, "message": parts(&self.message),
            "artifact": parts(&self.artifact), "flags": self.flags,
        })
    }

    pub(super) fn from_json(value: &Value) -> Option<Self> {
        let parts = |name: &str| -> Vec<Part> {
            value[name].as_array().into_iter().flatten().filter_map(|part| Part::read(part).ok()).collect()
        };
        let flags = value["flags"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Some(Self {
            state: State::read(value["state"].as_str()?)?,
            since: value["since"].as_u64()?,
            message: parts("message"),
            artifact: parts("artifact"),
            flags: flags.map(str::to_owned).collect(),
        })
    }
}

impl Part {
    /// Parses a part, in either form.
    ///
    /// # Errors
    ///
    /// It is malformed, or has another content.
    pub(super) fn read(value: &Value) -> Result<Self, NoPart> {
        let object = value.as_object().ok_or(NoPart::Malformed)?;
        match (object.get("text"), object.get("data")) {
            (Some(Value::String(text)), None) => Ok(Self::Text(text.clone())),
            (None, Some(data @ Value::Object(_))) => Ok(Self::Data(data.clone())),
            (None, None) if ["raw", "url", "file"].iter().any(|name| object.contains_key(*name)) => {
                Err(NoPart::OtherContent)
            }
            _ => Err(NoPart::Malformed),
        }
    }
}

impl Form {
    pub(super) fn part(self, part: &Part) -> Value {
        let (kind, value) = match part {
            Part::Text(text) => ("text", Value::from(text.as_str())),
            Part::Data(data) => ("data", data.clone()),
        };
        match self {
            Self::V03 => json!({ "kind": kind, kind: value }),
            Self::V1 => json!({ kind: value }),
        }
    }

    fn parts(self, parts: &[Part]) -> Value {
        parts.iter().map(|part| self.part(part)).collect()
    }

    /// A message of ours.
    pub(super) fn message(self, id: &str, context: &str, task: Option<&str>, parts: &[Part]) -> Map<String, Value> {
        let mut message = Map::new();
        message.insert("messageId".into(), id.into());
        message.insert("contextId".into(), context.into());
        if let Some(task) = task {
            message.insert("taskId".into(), task.into());
        }
        message.insert("parts".into(), self.parts(parts));
        match self {
            Self::V03 => {
                message.insert("kind".into(), "message".into());
                message.insert("role".into(), "agent".into());
            }
            Self::V1 => drop(message.insert("role".into(), "ROLE_AGENT".into())),
        }
        message
    }

    /// A task.
    pub(super) fn task(self, id: &str, context: &str, status: &Status) -> Map<String, Value> {
        let (state, since) = (status.state, UNIX_EPOCH + Duration::from_secs(status.since));
        let word = if self == Self::V1 { state.enumerated() } else { state.word() };
        let mut shown = json!({ "state": word, "timestamp": rfc3339(since) });
        if !status.message.is_empty() {
            let about = format!("{id}-{}", state.word());
            shown["message"] = self.message(&about, context, Some(id), &status.message).into();
        }
        let mut task = Map::new();
        if self == Self::V03 {
            task.insert("kind".into(), "task".into());
        }
        task.insert("id".into(), id.into());
        task.insert("contextId".into(), context.into());
        task.insert("status".into(), shown);
        if !status.artifact.is_empty() {
            let answer = json!({ "artifactId": "answer", "name": "answer", "parts": self.parts(&status.artifact) });
            task.insert("artifacts".into(), json!([answer]));
        }
        if !status.flags.is_empty() {
            task.insert("metadata".into(), flagged(&status.flags));
        }
        task
    }
}

/// The metadata that carries the firewall's findings.
pub(super) fn flagged(flags: &[String]) -> Value {
    json!({ "flags": flags })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        Status {
            state: State::InputRequired,
            since: 0,
            message: vec![Part::Text("Hold it?".into()), Part::Data(json!({ "a": 1 }))],
            artifact: Vec::new(),
            flags: vec!["pii".into()],
        }
    }

    #[test]
    fn both_forms_say_the_same() {
        let old = Value::from(Form::V03.task("t", "c", &status()));
        assert_eq!((&old["kind"], &old["status"]["state"]), (&json!("task"), &json!("input-required")));
        let message = &old["status"]["message"];
        assert_eq!((&message["kind"], &message["role"]), (&json!("message"), &json!("agent")));
        assert_eq!(message["parts"][0], json!({ "kind": "text", "text": "Hold it?" }));
        assert_eq!(message["parts"][1], json!({ "kind": "data", "data": { "a": 1 } }));
        let new = Value::from(Form::V1.task("t", "c", &status()));
        assert_eq!((new.get("kind"), &new["status"]["state"]), (None, &json!("TASK_STATE_INPUT_REQUIRED")));
        assert_eq!(new["status"]["timestamp"], "1970-01-01T00:00:00Z");
        assert_eq!(new["status"]["message"]["role"], "ROLE_AGENT");
        assert_eq!(new["status"]["message"]["parts"], json!([{ "text": "Hold it?" }, { "data": { "a": 1 } }]));
        assert_eq!((&new["id"], &new["metadata"]["flags"]), (&json!("t"), &json!(["pii"])));
        assert!(new.get("artifacts").is_none());
    }

    #[test]
    fn a_status_is_read_as_it_was_stored() {
        for state in STATES {
            let artifact = vec![Part::Text("42.".into())];
            let status = Status { state, artifact, ..status() };
            assert_eq!(Status::from_json(&status.to_json()), Some(status));
        }
        assert_eq!(Status::from_json(&json!({ "state": "else", "since": 1 })), None);
    }

    #[test]
    fn a_part_has_one_content_that_is_taken_here() {
        assert_eq!(Part::read(&json!({ "kind": "text", "text": "x" })), Ok(Part::Text("x".into())));
        assert_eq!(Part::read(&json!({ "data": { "n": 1 } })), Ok(Part::Data(json!({ "n": 1 }))));
        for file in [json!({ "raw": "AA==" }), json!({ "url": "https://a/" }), json!({ "kind": "file", "file": {} })] {
            assert_eq!(Part::read(&file), Err(NoPart::OtherContent), "{file}");
        }
        for wrong in
            [json!("x"), json!({}), json!({ "text": 1 }), json!({ "data": [] }), json!({ "text": "x", "data": {} })]
        {
            assert_eq!(Part::read(&wrong), Err(NoPart::Malformed), "{wrong}");
        }
    }
}
