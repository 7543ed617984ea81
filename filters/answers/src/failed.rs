//! Failures that a site tells in a 2xx (`failed`), and names for them by what the answer says (`errors`).

use serde_json::Value;

/// A compiled `failed`: a JSON pointer to something true or not empty; with `!` before it, to something false or
/// missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    pointer: String,
    negated: bool,
}

impl Failed {
    /// Reads it.
    ///
    /// # Errors
    ///
    /// Why it is none, as a phrase.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (pointer, negated) = text.strip_prefix('!').map_or((text, false), |pointer| (pointer, true));
        if !pointer.starts_with('/') {
            return Err("is no JSON pointer; write \"/errors\", or \"!/ok\" for something false or missing".into());
        }
        Ok(Self { pointer: pointer.to_owned(), negated })
    }

    /// Whether the answer says that it failed.
    pub fn holds(&self, data: &Value) -> bool {
        data.pointer(&self.pointer).is_some_and(says_yes) != self.negated
    }
}

fn says_yes(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(yes) => *yes,
        Value::Number(number) => number.as_f64() != Some(0.0),
        // Values of XML are text.
        Value::String(text) => !text.trim().is_empty() && !text.trim().eq_ignore_ascii_case("false"),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    }
}

/// A compiled key of `errors` of the form `POINTER=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Says {
    pointer: String,
    value: String,
}

impl Says {
    /// Reads it; `None` where it is of another form.
    pub fn parse(key: &str) -> Option<Self> {
        let (pointer, value) = key.split_once('=').filter(|(pointer, _)| pointer.starts_with('/'))?;
        Some(Self { pointer: pointer.to_owned(), value: value.to_owned() })
    }

    /// Whether the answer says so.
    pub fn holds(&self, data: &Value) -> bool {
        match data.pointer(&self.pointer) {
            Some(Value::String(text)) => text.trim() == self.value,
            Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                let text = value.to_string();
                text == self.value
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_failure_is_told_by_what_the_answer_says() {
        let holds = |text: &str, data: Value| Failed::parse(text).unwrap().holds(&data);
        assert!(holds("/errors", json!({ "errors": [{ "message": "x" }], "data": null })));
        assert!(!holds("/errors", json!({ "data": 1 })) && !holds("/errors", json!({ "errors": [] })));
        assert!(holds("!/success", json!({ "success": false })) && holds("!/success", json!({})));
        assert!(!holds("!/success", json!({ "success": true })) && !holds("!/success", json!({ "success": "true" })));
        assert!(holds("!/r/ok", json!({ "r": { "ok": "false" } })) && holds("/code", json!({ "code": 3 })));
        assert!(!holds("/code", json!({ "code": 0 })) && !holds("/e", json!({ "e": "" })));
        assert!(Failed::parse("errors").is_err());
    }

    #[test]
    fn a_failure_is_named_by_its_code_or_text() {
        let says = Says::parse("/errors/0/extensions/code=NOT_FOUND").unwrap();
        assert!(says.holds(&json!({ "errors": [{ "extensions": { "code": "NOT_FOUND" } }] })));
        assert!(!says.holds(&json!({ "errors": [{ "extensions": { "code": "OTHER" } }] })));
        assert!(Says::parse("/error/code=-32602").unwrap().holds(&json!({ "error": { "code": -32602 } })));
        assert!(Says::parse("404").is_none());
    }
}
