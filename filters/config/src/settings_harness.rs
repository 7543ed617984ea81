//! The typed settings of supervision.

use std::time::Duration;

/// `[harness]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Harness {
    /// The addresses: `http(s)://`, `ws(s)://`, `unix:` or `stdio:`, at least one.
    pub urls: Vec<String>,
    /// Sent over transports that carry a token; empty: none.
    pub token: String,
    /// The minimum risk of calls that need a decision ([`risk_rank`]).
    pub min_risk: usize,
    /// The time limit for an answer of one harness.
    pub timeout: Duration,
    /// Calls without a decision go ahead (`on_error = "allow"`).
    pub goes_on: bool,
    /// The path of the gateway for other agents; `None`: no gateway.
    pub gateway_path: Option<String>,
}

/// The words for a risk, from the least to the most.
pub(super) const RISK: &[&str] = &["low", "medium", "high", "critical"];

/// The rank of a risk, from 0; an unknown word has the highest.
pub fn risk_rank(risk: &str) -> usize {
    RISK.iter().position(|word| *word == risk).unwrap_or(RISK.len())
}
