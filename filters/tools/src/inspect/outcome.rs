//! What an inspection found: a contract, or why there is none, and the site's other offers. The report shows it, and the
//! readiness table judges it.

use serde_json::Value;

use super::{contract::Risk, fetched::Fetched, judge::Findings, level::Level, signed::Signed};

/// The result of the search for a contract.
#[derive(Debug)]
pub(super) enum Outcome {
    Found(Box<Found>),
    /// Something unreadable is there; an agent treats it as unavailable.
    Malformed {
        url: String,
        why: String,
    },
    /// Each path that was tried, and the result.
    Nothing(Vec<(String, String)>),
    Unreachable(String),
}

/// A readable contract.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) fetched: Fetched,
    pub(super) findings: Findings,
    pub(super) level: Level,
    pub(super) signed: Signed,
}

/// Something else that agents may use.
#[derive(Debug)]
pub(super) struct Offer {
    pub(super) name: &'static str,
    /// Its path, or where it is announced.
    pub(super) place: String,
    /// `None`: not found.
    pub(super) detail: Option<String>,
    /// What is wrong, where it is not simply absent.
    pub(super) trouble: Option<String>,
}

impl Found {
    /// The first lines: label, key and value.
    pub(super) fn facts(&self) -> [(&'static str, &'static str, Value); 6] {
        let contract = &self.fetched.contract;
        let actions = |risk: Risk| {
            let count = contract.capabilities.iter().filter(|c| c.is_action() && c.effective_risk() == risk).count();
            Value::from(count)
        };
        let authentication = match contract.text("auth", "type").as_deref() {
            Some("oauth2") => "OAuth2".to_owned(),
            Some("api_key") => "API key".to_owned(),
            Some("bearer") => "bearer token".to_owned(),
            Some(other) => other.to_owned(),
            None => NOT_SAID.to_owned(),
        };
        let said = |text: Option<String>| Value::String(text.unwrap_or_else(|| NOT_SAID.to_owned()));
        [
            ("AICP version", "aicp_version", said(contract.version.clone())),
            ("Capabilities", "capabilities", contract.capabilities.len().into()),
            ("High-risk actions", "high_risk_actions", actions(Risk::High)),
            ("Critical actions", "critical_actions", actions(Risk::Critical)),
            ("Authentication", "authentication", authentication.into()),
            ("Runtime response format", "runtime_response_format", said(contract.text("formats", "runtime_response"))),
        ]
    }

    /// Whether it is signed, in a word, and the details.
    pub(super) fn signature(&self) -> (&'static str, String) {
        match &self.signed {
            Signed::No => ("no", String::new()),
            Signed::Unverified(why) => ("not verified", why.clone()),
            Signed::Broken(why) => ("broken", why.clone()),
            Signed::Verified(key) => ("verified", format!("by the key {key}, which the contract names itself")),
        }
    }
}

const NOT_SAID: &str = "not declared";
