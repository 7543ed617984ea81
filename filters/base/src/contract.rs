//! Reads another site's contract leniently: any part may be missing or wrong.
//!
//! A missing value has the safe interpretation of AICP §8.12, and a value of the wrong kind counts as missing; `judge`
//! reports both. All text in here has passed [`plain`].

use serde_json::{Map, Value};

use crate::printable::plain;

/// The parts of a contract that an agent would act on.
#[derive(Debug, Default)]
pub struct Contract {
    /// Everything as it was sent and not made printable; only for lookups.
    pub raw: Map<String, Value>,
    /// `aicp_version`, plain.
    pub version: Option<String>,
    /// In the order of the contract.
    pub capabilities: Vec<Capability>,
}

/// A capability, with its declared and its effective values.
#[derive(Debug)]
pub struct Capability {
    /// Printable; `None` where it is missing.
    pub id: Option<String>,
    /// Printable, known or not.
    pub kind: Option<String>,
    /// `risk_level`; `None` where it is missing or unknown, see [`Capability::effective_risk`].
    pub risk: Option<Risk>,
    /// `auth`: `none`, `optional` or `required`; `None` where it is missing or unknown.
    pub auth: Option<String>,
    /// `requires_user_confirmation`, see [`Capability::confirmed`].
    pub confirmation: Option<bool>,
    /// Everything as it was sent and not made printable; only for lookups.
    pub raw: Map<String, Value>,
}

/// `risk_level`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Risk {
    Low,
    Medium,
    High,
    Critical,
}

impl Risk {
    /// The word in a contract.
    pub fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

/// The kinds that only read. Any other, known or not, counts as an action.
const READS: [&str; 6] = ["resource", "query", "compare", "monitor", "event", "policy"];
const ACTIONS: [&str; 3] = ["prepare_action", "commit_action", "destructive_action"];

impl Contract {
    /// Parses the bytes of an answer, as JSON or TOML.
    ///
    /// # Errors
    ///
    /// What is wrong with the bytes, as the rest of a sentence, printable.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let value = if text.trim_start().starts_with('{') {
            serde_json::from_str(text).map_err(|e| format!("is not JSON: {}", plain(&e.to_string())))?
        } else {
            let table = toml::from_str::<toml::Table>(text).map_err(|e| {
                let line =
                    e.span().map_or(0, |span| text.as_bytes()[..span.start].iter().filter(|b| **b == b'\n').count());
                format!("is not TOML: line {}: {}", line + 1, plain(e.message()))
            })?;
            json(toml::Value::Table(table))
        };
        match value {
            Value::Object(raw) => Ok(Self::of(raw)),
            _ => Err("is not a table".into()),
        }
    }

    /// Whether a capability names a schema that the contract lacks.
    pub fn loses(&self, capability: &Capability, key: &str) -> bool {
        let name = capability.raw.get(key).and_then(Value::as_str).and_then(|text| text.strip_prefix("#/schemas/"));
        name.is_some_and(|name| self.at("schemas", name).is_none())
    }

    /// The contract in a parsed tree.
    pub fn of(raw: Map<String, Value>) -> Self {
        let listed = raw.get("capabilities").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let capabilities = listed.iter().map(|value| Capability::of(value.as_object().cloned().unwrap_or_default()));
        Self { version: text(&raw, "aicp_version"), capabilities: capabilities.collect(), raw }
    }

    /// Whether it contains any part of a contract; a site's unrelated TOML at that address does not.
    pub fn is_one(&self) -> bool {
        ["aicp_version", "capabilities", "site"].iter().any(|key| self.raw.contains_key(*key))
    }

    /// A printable text in a table.
    pub fn text(&self, table: &str, key: &str) -> Option<String> {
        text(self.raw.get(table)?.as_object()?, key)
    }

    /// A value in a table, as sent.
    pub fn at(&self, table: &str, key: &str) -> Option<&Value> {
        self.raw.get(table)?.get(key)
    }

    /// Whether a table exists and is not empty.
    pub fn has(&self, table: &str) -> bool {
        self.raw.get(table).and_then(Value::as_object).is_some_and(|table| !table.is_empty())
    }

    /// The lines that `check` prints for each capability.
    pub fn capability_lines(&self) -> impl Iterator<Item = String> {
        self.capabilities.iter().map(|capability| {
            let confirmed = if capability.confirmed() { ", confirmation required" } else { "" };
            let kind = capability.kind.as_deref().unwrap_or("unknown type");
            format!("{}: {kind}, {} risk{confirmed}", capability.name(), capability.effective_risk().word())
        })
    }
}

impl Capability {
    fn of(raw: Map<String, Value>) -> Self {
        let risk = match raw.get("risk_level").and_then(Value::as_str) {
            Some("low") => Some(Risk::Low),
            Some("medium") => Some(Risk::Medium),
            Some("high") => Some(Risk::High),
            Some("critical") => Some(Risk::Critical),
            _ => None,
        };
        Self {
            id: text(&raw, "id").filter(|id| !id.is_empty()),
            kind: text(&raw, "type"),
            risk,
            auth: text(&raw, "auth").filter(|auth| ["none", "optional", "required"].contains(&auth.as_str())),
            confirmation: raw.get("requires_user_confirmation").and_then(Value::as_bool),
            raw,
        }
    }

    /// Its name for a sentence.
    pub fn name(&self) -> &str {
        self.id.as_deref().unwrap_or("(no id)")
    }

    /// Whether AICP knows its type.
    pub fn known_kind(&self) -> bool {
        self.kind.as_deref().is_some_and(|kind| READS.contains(&kind) || ACTIONS.contains(&kind))
    }

    /// Whether it may change something, as far as can be told.
    pub fn is_action(&self) -> bool {
        !self.kind.as_deref().is_some_and(|kind| READS.contains(&kind))
    }

    /// Its risk; high where it is missing.
    pub fn effective_risk(&self) -> Risk {
        self.risk.unwrap_or(Risk::High)
    }

    /// Whether a person has to confirm it; yes for an action where it is missing.
    pub fn confirmed(&self) -> bool {
        self.confirmation.unwrap_or(self.is_action())
    }

    /// Whether a key is `true`.
    pub fn flag(&self, key: &str) -> bool {
        self.raw.get(key).and_then(Value::as_bool) == Some(true)
    }

    /// `required_scopes`, printable.
    pub fn scopes(&self) -> Vec<String> {
        let listed = self.raw.get("required_scopes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        listed.iter().filter_map(Value::as_str).map(plain).collect()
    }
}

fn text(table: &Map<String, Value>, key: &str) -> Option<String> {
    table.get(key)?.as_str().map(plain)
}

fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(yes) => yes.into(),
        toml::Value::Datetime(when) => Value::String(when.to_string()),
        toml::Value::Array(items) => items.into_iter().map(json).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(key, value)| (key, json(value))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn anything_can_be_read_or_is_refused_with_a_sentence() {
        for wrong in [&b"\xff\xfe"[..], b"a = ", b"a = 1\na = 2\n", b"{\"a\":", b"[[[[", b"<html>"] {
            assert!(Contract::parse(wrong).is_err(), "{wrong:?}");
        }
        let contract = Contract::parse(b"aicp_version = 7\ncapabilities = [1, 'x', { id = 3, type = [] }]\n").unwrap();
        assert_eq!((contract.version.is_none(), contract.capabilities.len()), (true, 3));
        assert_eq!(
            contract.capability_lines().last().unwrap(),
            "(no id): unknown type, high risk, confirmation required"
        );
        assert!(Contract::parse(b"\xef\xbb\xbfaicp_version = '0.1'\n").unwrap().is_one());
        assert!(!Contract::parse(b"title = 'a book'\n").unwrap().is_one());
    }

    #[test]
    fn a_hostile_depth_is_refused_and_not_followed() {
        for (open, close) in [("[", "]"), ("{a=", "}")] {
            let deep = format!("a = {}1{}\n", open.repeat(200_000), close.repeat(200_000));
            assert!(Contract::parse(deep.as_bytes()).is_err(), "{open}");
        }
        for deep in [format!("{}a = 1\n", "a.".repeat(200_000)), format!("[{}a]\n", "a.".repeat(200_000))] {
            assert!(Contract::parse(deep.as_bytes()).is_err());
        }
        assert!(Contract::parse(format!("{}1", "{\"a\":".repeat(200_000)).as_bytes()).is_err());
    }
}
