//! Combines the decisions of several harnesses on one event into one answer: the strictest.
//!
//! The harnesses are asked one after the other. A later one gets the payload as the earlier ones changed it, and all
//! the rest unchanged, so that no modification hides from it what it would have decided on. A harness that does not
//! decide counts as a no.

use serde_json::{Map, Value, json};

use frontdesk_desk::harness::{
    decision::{Decision, strictness},
    kinds::{Family, Kind},
};

/// One event on its way from harness to harness.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) kind: Kind,
    /// The parameters for the next harness.
    pub(super) params: Map<String, Value>,
    strictest: Option<Answer>,
    /// All changes to the payload so far.
    changed: Option<Value>,
}

/// The combined answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    rank: usize,
    pub(super) result: Value,
    /// The harness that gave it.
    pub(super) by: String,
    /// Frontdesk made this answer, because a harness did not decide.
    pub(super) closed: bool,
}

impl Answer {
    /// The decision in one word, for the audit log.
    pub(super) fn word(&self) -> &str {
        if self.closed { "closed" } else { self.result["decision"].as_str().unwrap_or_default() }
    }
}

impl Event {
    pub(super) fn new(kind: Kind, params: Map<String, Value>) -> Self {
        Self { kind, params, strictest: None, changed: None }
    }

    /// The tool that the event names, if any.
    pub(super) fn tool_name(&self) -> Option<&str> {
        self.params.get("payload")?.get("tool_name")?.as_str()
    }

    /// Whether no stricter decision is possible.
    pub(super) fn is_settled(&self) -> bool {
        self.strictest.as_ref().is_some_and(|answer| answer.rank == refusal(self.family()).1)
    }

    /// The family of the decision. In a batch, notifications get generic decisions.
    fn family(&self) -> Family {
        match self.kind.family() {
            Family::Told => Family::Generic,
            family => family,
        }
    }

    /// Adds a harness's decision, or its failure to give one. Returns the reason of a failure.
    pub(super) fn hear(&mut self, by: &str, said: Result<Value, String>) -> Result<(), String> {
        let said = said.and_then(|result| Ok((rank(self.family(), &result)?, result)));
        let (answer, why) = match said {
            Ok((rank, result)) => (Answer { rank, result, by: by.to_owned(), closed: false }, Ok(())),
            Err(why) => {
                let (result, rank) = refusal(self.family());
                (Answer { rank, result, by: by.to_owned(), closed: true }, Err(why))
            }
        };
        self.weigh(answer);
        why
    }

    fn weigh(&mut self, mut answer: Answer) {
        if let Some(theirs) = self.modification(&answer) {
            let together = match self.changed.take() {
                Some(earlier) => overlaid(earlier, &theirs),
                None => theirs.clone(),
            };
            if let Some(field) = answer.result.get_mut("modified_payload") {
                *field = together.clone();
            }
            self.changed = Some(together);
            let payload = self.params.remove("payload").unwrap_or_default();
            self.params.insert("payload".into(), overlaid(payload, &theirs));
        }
        let stricter = match &self.strictest {
            None => true,
            Some(strictest) if answer.rank != strictest.rank => answer.rank > strictest.rank,
            // Of two deferrals the longer wins; of two modifications the later, which has seen the earlier one.
            Some(strictest) => match (wait(&answer.result), wait(&strictest.result)) {
                (Some(later), Some(earlier)) => later > earlier,
                _ => self.changes(&answer),
            },
        };
        if stricter {
            self.strictest = Some(answer);
        }
    }

    /// The payload members that an answer replaces, or the whole payload.
    fn modification(&self, answer: &Answer) -> Option<Value> {
        match self.family() {
            _ if !self.changes(answer) => None,
            Family::Planning => Some(json!({ "task_description": answer.result["modified_task"] })),
            _ => answer.result.get("modified_payload").cloned(),
        }
    }

    fn changes(&self, answer: &Answer) -> bool {
        answer.rank == 1 && matches!(self.family(), Family::Generic | Family::Planning)
    }

    /// The combined answer; the refusal of this family where no harness was asked.
    pub(super) fn answer(self) -> Answer {
        let family = self.family();
        self.strictest.unwrap_or_else(|| {
            let (result, rank) = refusal(family);
            Answer { rank, result, by: String::new(), closed: true }
        })
    }
}

/// An object with some members replaced; for other values the later one.
fn overlaid(value: Value, over: &Value) -> Value {
    match (value, over) {
        (Value::Object(mut members), Value::Object(over)) => {
            members.extend(over.iter().map(|(name, value)| (name.clone(), value.clone())));
            Value::Object(members)
        }
        (_, over) => over.clone(),
    }
}

fn wait(result: &Value) -> Option<u64> {
    result.get("retry_after_ms").and_then(Value::as_u64)
}

/// How strict a decision is: the higher, the less is allowed.
fn rank(family: Family, result: &Value) -> Result<usize, String> {
    let rank = strictness(family, result)?;
    // An approval of changed arguments is no plain approval.
    if family == Family::Generic { Ok(Decision::read(result)?.strictness().into()) } else { Ok(rank) }
}

/// The strictest decision of a family, used for a harness that did not decide, and its rank.
fn refusal(family: Family) -> (Value, usize) {
    const WHY: &str = "The harness that has to decide on this did not. Nothing may be done without a decision.";
    let (decision, rank) = match family {
        Family::Generic | Family::Told => ("block", 4),
        Family::Idle => ("defer", 1),
        Family::IntentDetection | Family::MemoryRecall | Family::Reasoning => ("block", 1),
        Family::ContextPerception | Family::Planning => ("block", 2),
        Family::RateLimit => ("skip", 2),
        Family::Confirmation => ("reject", 2),
    };
    (json!({ "decision": decision, "reason": WHY }), rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use frontdesk_desk::harness::kinds::KINDS;

    fn event(kind: Kind, payload: Value) -> Event {
        let params = json!({ "payload": payload });
        Event::new(kind, params.as_object().cloned().unwrap())
    }

    fn heard(kind: Kind, said: &[Value]) -> Value {
        let mut event = event(kind, json!({"tool_name": "t", "arguments": {"a": 1}, "task_description": "d"}));
        said.iter().for_each(|said| event.hear("h", Ok(said.clone())).unwrap());
        event.answer().result
    }

    #[test]
    fn the_refusals_are_the_strictest_of_their_kinds() {
        for (kind, ..) in KINDS {
            let event = event(kind, json!({}));
            let (result, most) = refusal(event.family());
            assert_eq!(rank(event.family(), &result), Ok(most), "{kind:?}");
            assert!(most >= 1);
            let answer = event.answer();
            assert!(answer.closed && answer.word() == "closed" && answer.result == result);
        }
    }

    #[test]
    fn the_strictest_holds_in_any_order() {
        let of = [
            json!({"decision": "allow"}),
            json!({"decision": "modify", "modified_payload": {"arguments": {"a": 2}}}),
            json!({"decision": "defer", "retry_after_ms": 5}),
            json!({"decision": "escalate", "reason": "r"}),
            json!({"decision": "block", "reason": "r"}),
        ];
        for (low, one) in of.iter().enumerate() {
            for other in &of[low..] {
                assert_eq!(heard(Kind::PreAction, &[one.clone(), other.clone()]), *other);
                assert_eq!(heard(Kind::PreAction, &[other.clone(), one.clone()]), *other);
            }
        }
        let modifies = json!({"decision": "allow", "modified_payload": {"arguments": {}}});
        assert_eq!(heard(Kind::PreAction, &[modifies.clone(), of[0].clone()]), modifies);
        let skip = json!({"decision": "skip", "reason": "r"});
        let retry = |millis: u64| json!({"decision": "retry", "retry_after_ms": millis});
        assert_eq!(heard(Kind::RateLimit, &[retry(9), retry(5)]), retry(9));
        assert_eq!(heard(Kind::RateLimit, &[retry(5), retry(9)]), retry(9));
        assert_eq!(heard(Kind::RateLimit, &[skip.clone(), retry(9)]), skip);
        let reject = json!({"decision": "reject", "reason": "r"});
        assert_eq!(heard(Kind::Confirmation, &[json!({"decision": "approve"}), reject.clone()]), reject);
    }

    #[test]
    fn who_is_asked_later_hears_what_was_made_of_it_and_all_the_rest() {
        let mut event = event(Kind::PreAction, json!({"tool_name": "rm", "arguments": {"a": 1}, "cwd": "/"}));
        event.hear("a", Ok(json!({"decision": "modify", "modified_payload": {"cwd": "/tmp"}}))).unwrap();
        assert_eq!(event.params["payload"], json!({"tool_name": "rm", "arguments": {"a": 1}, "cwd": "/tmp"}));
        assert_eq!(event.tool_name(), Some("rm"));
        let later = json!({"decision": "allow", "modified_payload": {"arguments": {"a": 2}}, "metadata": {"m": 1}});
        event.hear("b", Ok(later)).unwrap();
        let answer = event.answer();
        assert_eq!(answer.result["modified_payload"], json!({"cwd": "/tmp", "arguments": {"a": 2}}));
        assert_eq!((answer.result["metadata"]["m"].as_u64(), answer.by.as_str()), (Some(1), "b"));
    }

    #[test]
    fn a_plan_is_changed_for_the_next_too() {
        let mut event = event(Kind::Planning, json!({"task_description": "all"}));
        event.hear("a", Ok(json!({"decision": "modify", "modified_task": "half"}))).unwrap();
        assert_eq!(event.params["payload"]["task_description"], "half");
        event.hear("b", Ok(json!({"decision": "allow", "selected_strategy": "none"}))).unwrap();
        assert_eq!(event.answer().result["modified_task"], "half");
    }

    #[test]
    fn who_does_not_decide_says_no() {
        for said in [Err("away".to_owned()), Ok(json!({"decision": "Allow"})), Ok(json!({"decision": "block"}))] {
            let mut event = event(Kind::PreAction, json!({}));
            event.hear("a", Ok(json!({"decision": "allow"}))).unwrap();
            assert!(!event.is_settled());
            assert!(event.hear("b", said).is_err());
            assert!(event.is_settled());
            let answer = event.answer();
            assert_eq!((answer.result["decision"].as_str(), answer.by.as_str()), (Some("block"), "b"));
        }
    }
}
