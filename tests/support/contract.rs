//! The published contract from a caller's side, and the key that signs it.

use super::ask::{Ask, Via};
use super::desk::Desk;
use serde_json::Value;

pub const TOML: &str = "/.well-known/agent-interface.toml";
pub const GENERIC: &str = "/.well-known/agent-interface";

/// A new Ed25519 key.
pub fn key_pem() -> String {
    let made = std::process::Command::new("openssl").args(["genpkey", "-algorithm", "ed25519"]).output();
    String::from_utf8(made.expect("openssl is missing: run deploy/setup").stdout).expect("PEM")
}

/// Parses TOML into JSON.
pub fn parsed(text: &str) -> Value {
    fn plain(value: toml::Value) -> Value {
        match value {
            toml::Value::String(s) => s.into(),
            toml::Value::Integer(n) => n.into(),
            toml::Value::Float(n) => n.into(),
            toml::Value::Boolean(b) => b.into(),
            toml::Value::Datetime(t) => t.to_string().into(),
            toml::Value::Array(all) => all.into_iter().map(plain).collect(),
            toml::Value::Table(map) => Value::Object(map.into_iter().map(|(k, v)| (k, plain(v))).collect()),
        }
    }
    plain(toml::Value::Table(toml::from_str(text).unwrap_or_else(|e| panic!("not TOML: {e}: {text}"))))
}

pub async fn as_json(desk: &Desk) -> Value {
    let response = desk.ask(Via::H1, Ask::get(GENERIC).accept("application/aicp+json")).await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "application/aicp+json"));
    response.json()
}

/// The ids of its capabilities.
pub fn ids(contract: &Value) -> Vec<String> {
    let all = contract["capabilities"].as_array();
    all.into_iter().flatten().map(|c| c["id"].as_str().expect("an id").to_owned()).collect()
}
