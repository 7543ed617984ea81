//! Whom the operator has asked before something risky happens.

use std::time::Duration;

/// `[harness]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Harness {
    /// Where they are: `http(s)://`, `ws(s)://`, `unix:` or `stdio:`, at least one.
    pub urls: Vec<String>,
    /// Sent to each that takes one; empty: none.
    pub token: String,
    /// What is at least this risky is asked about ([`risk_rank`]).
    pub min_risk: usize,
    /// For an answer of one of them.
    pub timeout: Duration,
    /// What nobody decides goes on all the same (`on_error = "allow"`).
    pub goes_on: bool,
    /// Where other agents reach them; `None`: nowhere.
    pub gateway_path: Option<String>,
}

/// How great a risk is, from 0; what is no known word is the greatest.
pub fn risk_rank(risk: &str) -> usize {
    let known = super::keys::RISK;
    known.iter().position(|word| *word == risk).unwrap_or(known.len())
}
