//! Parses a harness's decision. Anything that is not exactly a decision of its family is an error, and the call is
//! closed.

use serde_json::{Map, Value};

use super::kinds::Family;

/// Maximum milliseconds for which a harness may defer a call.
const LONGEST_DEFER: u64 = 3_600_000;

/// A generic decision, on an action or a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Allow, with another payload if there is one.
    Allow(Option<Value>),
    Modify(Value),
    /// Milliseconds and the reason.
    Defer(u64, Option<String>),
    /// The reason, and who should look at it.
    Escalate(String, Option<String>),
    Block(String),
}

/// A decision on rate limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backpressure {
    /// Milliseconds.
    Retry(u64),
    Queue,
    Skip(String),
}

/// A decision on a question to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    Approve,
    Reject(String),
    Escalate,
}

impl Decision {
    /// Parses a decision.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for the log.
    pub fn read(value: &Value) -> Result<Self, String> {
        let said = Said::of(value)?;
        Ok(match said.decision {
            "allow" => Self::Allow(said.fields.get("modified_payload").filter(|payload| !payload.is_null()).cloned()),
            "modify" => Self::Modify(said.needs("modified_payload")?.clone()),
            "defer" => Self::Defer(said.millis()?, said.text("reason")?),
            "escalate" => Self::Escalate(said.reason()?, said.text("escalation_target")?),
            // A block needs no reason.
            "block" => Self::Block(said.text("reason").ok().flatten().unwrap_or_default()),
            other => return Err(unknown(other)),
        })
    }

    /// The higher, the less is allowed.
    pub fn strictness(&self) -> u8 {
        match self {
            Self::Allow(None) => 0,
            Self::Allow(Some(_)) | Self::Modify(_) => 1,
            Self::Defer(..) => 2,
            Self::Escalate(..) => 3,
            Self::Block(_) => 4,
        }
    }
}

impl Backpressure {
    /// Parses a decision on rate limits.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for the log.
    pub fn read(value: &Value) -> Result<Self, String> {
        let said = Said::of(value)?;
        Ok(match said.decision {
            "retry" => Self::Retry(said.millis()?),
            "queue" => Self::Queue,
            "skip" => Self::Skip(said.reason()?),
            other => return Err(unknown(other)),
        })
    }
}

impl Approval {
    /// Parses a decision on a question to a person.
    ///
    /// # Errors
    ///
    /// What is wrong with it, for the log.
    pub fn read(value: &Value) -> Result<Self, String> {
        let said = Said::of(value)?;
        Ok(match said.decision {
            "approve" => Self::Approve,
            "reject" => Self::Reject(said.reason()?),
            "escalate" => Self::Escalate,
            other => return Err(unknown(other)),
        })
    }
}

/// A decision's name and its required members.
type Known = (&'static str, &'static [&'static str]);

/// The decisions of each family with their required members, the strictest last.
const FAMILIES: &[(Family, &[Known])] = &[
    (
        Family::Generic,
        &[
            ("allow", &[]),
            ("modify", &["modified_payload"]),
            ("defer", &["retry_after_ms"]),
            ("escalate", &["reason"]),
            ("block", &["reason"]),
        ],
    ),
    (Family::Idle, &[("allow", &[]), ("defer", &[])]),
    (Family::IntentDetection, &[("allow", &["detected_intent", "confidence"]), ("block", &["reason"])]),
    (
        Family::ContextPerception,
        &[("allow", &["injected_context"]), ("refine", &["scope_hints"]), ("block", &["reason"])],
    ),
    (Family::MemoryRecall, &[("allow", &["injected_facts"]), ("block", &["reason"])]),
    (Family::Planning, &[("allow", &["selected_strategy"]), ("modify", &["modified_task"]), ("block", &["reason"])]),
    (Family::Reasoning, &[("allow", &[]), ("block", &["reason"])]),
    (Family::RateLimit, &[("retry", &["retry_after_ms"]), ("queue", &[]), ("skip", &["reason"])]),
    (Family::Confirmation, &[("approve", &[]), ("escalate", &[]), ("reject", &["reason"])]),
];

/// How strict a decision is within its family: the higher, the less is allowed.
///
/// # Errors
///
/// It is no decision of that family; the reason is for the log.
pub fn strictness(family: Family, value: &Value) -> Result<usize, String> {
    let said = Said::of(value)?;
    let known =
        FAMILIES.iter().find(|(known, _)| *known == family).map(|(_, decisions)| *decisions).unwrap_or_default();
    let place = known.iter().position(|(name, _)| *name == said.decision).ok_or_else(|| unknown(said.decision))?;
    for field in known[place].1 {
        match *field {
            "reason" | "detected_intent" | "modified_task" => drop(said.string(field)?),
            "retry_after_ms" => drop(said.millis()?),
            "confidence" => drop(said.needs(field)?.as_f64().ok_or("`confidence` is no number")?),
            "injected_facts" | "scope_hints" => drop(said.needs(field)?.as_array().ok_or("a list is missing")?),
            "injected_context" => drop(said.needs(field)?.as_object().ok_or("`injected_context` is no object")?),
            _ => drop(said.needs(field)?),
        }
    }
    Ok(place)
}

fn unknown(decision: &str) -> String {
    let decision: String = decision.chars().filter(|c| !c.is_control()).take(40).collect();
    format!("`{decision}` is no decision of this kind of event")
}

/// A decision whose kind is not known yet.
struct Said<'a> {
    decision: &'a str,
    fields: &'a Map<String, Value>,
}

impl<'a> Said<'a> {
    fn of(value: &'a Value) -> Result<Self, String> {
        let fields = value.as_object().ok_or("the result is no object")?;
        let decision = fields.get("decision").and_then(Value::as_str).ok_or("the result has no `decision`")?;
        Ok(Self { decision, fields })
    }

    fn needs(&self, name: &str) -> Result<&'a Value, String> {
        let missing = || format!("`{}` has no `{name}`", self.decision);
        self.fields.get(name).filter(|value| !value.is_null()).ok_or_else(missing)
    }

    fn string(&self, name: &str) -> Result<&'a str, String> {
        self.needs(name)?.as_str().ok_or_else(|| format!("`{name}` is no text"))
    }

    fn reason(&self) -> Result<String, String> {
        self.string("reason").map(str::to_owned)
    }

    fn text(&self, name: &str) -> Result<Option<String>, String> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(_) => self.string(name).map(|text| Some(text.to_owned())),
        }
    }

    fn millis(&self) -> Result<u64, String> {
        let millis = self.needs("retry_after_ms")?.as_u64().ok_or("`retry_after_ms` is no whole number")?;
        Ok(millis.min(LONGEST_DEFER))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_generic_decision_is_read_with_what_it_needs() {
        let read = |value: Value| Decision::read(&value);
        assert_eq!(read(json!({"decision": "allow", "metadata": {"p": 1}, "more": 1})), Ok(Decision::Allow(None)));
        assert_eq!(
            read(json!({"decision": "allow", "modified_payload": {"a": 1}})),
            Ok(Decision::Allow(Some(json!({"a": 1}))))
        );
        assert_eq!(
            read(json!({"decision": "modify", "modified_payload": {"a": 1}})),
            Ok(Decision::Modify(json!({"a": 1})))
        );
        assert_eq!(read(json!({"decision": "defer", "retry_after_ms": 15})), Ok(Decision::Defer(15, None)));
        assert_eq!(
            read(json!({"decision": "defer", "retry_after_ms": u64::MAX})),
            Ok(Decision::Defer(LONGEST_DEFER, None))
        );
        assert_eq!(read(json!({"decision": "block", "reason": "no"})), Ok(Decision::Block("no".into())));
        let escalated = Decision::Escalate("look".into(), Some("ops".into()));
        assert_eq!(read(json!({"decision": "escalate", "reason": "look", "escalation_target": "ops"})), Ok(escalated));
        for wrong in [
            json!({"decision": "Allow"}),
            json!({"decision": "permit"}),
            json!({"decision": "modify"}),
            json!({"decision": "modify", "modified_payload": null}),
            json!({"decision": "defer"}),
            json!({"decision": "defer", "retry_after_ms": -1}),
            json!({"decision": "defer", "retry_after_ms": "1"}),
            json!({"decision": "escalate"}),
            json!({"decision": 1}),
            json!({}),
            json!("allow"),
            json!(true),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
            assert!(strictness(Family::Generic, &wrong).is_err(), "{wrong}");
        }
        assert_eq!(read(json!({"decision": "block"})), Ok(Decision::Block(String::new())), "a no is a no");
        assert!(strictness(Family::Generic, &json!({"decision": "block"})).is_err(), "and passed on only whole");
    }

    #[test]
    fn families_know_their_own_and_which_is_stricter() {
        let of = |family, value: Value| strictness(family, &value);
        assert!(
            of(Family::Generic, json!({"decision": "block", "reason": ""}))
                > of(Family::Generic, json!({"decision": "escalate", "reason": ""}))
        );
        assert!(
            of(Family::Confirmation, json!({"decision": "reject", "reason": "x"}))
                > of(Family::Confirmation, json!({"decision": "approve"}))
        );
        assert!(of(Family::RateLimit, json!({"decision": "allow"})).is_err());
        assert!(of(Family::Planning, json!({"decision": "allow"})).is_err());
        assert!(of(Family::Planning, json!({"decision": "allow", "selected_strategy": {"custom": "x"}})).is_ok());
        assert_eq!(Approval::read(&json!({"decision": "reject", "reason": "r"})), Ok(Approval::Reject("r".into())));
        assert_eq!(Backpressure::read(&json!({"decision": "retry", "retry_after_ms": 5})), Ok(Backpressure::Retry(5)));
        assert!(
            Backpressure::read(&json!({"decision": "allow"})).is_err()
                && Approval::read(&json!({"decision": "allow"})).is_err()
        );
    }
}
