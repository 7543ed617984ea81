//! The contract's summary for `frontdesk check` (AICP Appendix E): what agents will see, and what to review.

use std::fmt::Write;

use frontdesk_base::{contract::Contract, printable::plain};
use serde_json::Value;

use crate::{dialect::export, site::Review};

/// The contract in a few lines, safe defaults applied.
pub fn summary(review: &Review) -> String {
    let published = export(super::aicp::DIALECT.name, true, &review.declaration).unwrap_or_default();
    let contract = match serde_json::from_slice(&published) {
        Ok(Value::Object(published)) => Contract::of(published),
        _ => Contract::default(),
    };
    let mut out = String::from("AICP manifest valid.\n");
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = write!(out, "\n{title}:\n");
            lines.iter().for_each(|line| out.extend(["- ", line, "\n"]));
        }
    };
    section("Capabilities", contract.capability_lines().collect());
    let remarks = review.remarks.iter().map(|remark| {
        let mut line = if remark.key.is_empty() { String::new() } else { format!("{}: ", remark.key) };
        line.push_str(&remark.what);
        remark.hint.iter().for_each(|hint| line.extend(["; ", hint]));
        match remark.line {
            0 => line,
            number => format!("{line} (line {number})"),
        }
    });
    section("Warnings", remarks.map(|line| without_control(&line)).collect());
    out
}

/// Removes control characters. A remark may be long, so it is not cut.
fn without_control(line: &str) -> String {
    line.split_inclusive(' ').map(plain).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::site::{Refused, review, testing::Only};

    fn reviewed(text: &'static str) -> Result<Review, Refused> {
        review(&PathBuf::from("/x.toml"), &Only(text.as_bytes()))
    }

    const APPENDIX: &str = r#"
aicp_version = "0.1"
[site]
name = "Example Travel"
origin = "https://example-travel.com"
[[capabilities]]
id = "flights.search"
type = "query"
method = "POST"
endpoint = "/agent/flights/search"
risk_level = "low"
auth = "optional"
[[capabilities]]
id = "bookings.purchase"
type = "commit_action"
method = "POST"
endpoint = "/agent/bookings/purchase"
risk_level = "high"
auth = "required"
requires_user_confirmation = true
idempotency_required = true
"#;

    #[test]
    fn a_contract_on_its_own_reads_as_in_the_appendix() {
        let review = reviewed(APPENDIX).unwrap();
        assert!(review.contract_alone && review.declaration.warnings.is_empty());
        assert_eq!(
            summary(&review),
            "AICP manifest valid.\n\nCapabilities:\n- flights.search: query, low risk\n\
             - bookings.purchase: commit_action, high risk, confirmation required\n\n\
             Warnings:\n- bookings.purchase has no freshness revalidation rule.\n"
        );
    }

    #[test]
    fn safe_defaults_are_applied_and_what_is_hidden_stays_so() {
        let text = "aicp_version = '0.1'\n[[capabilities]]\nid = 'a.b'\ntype = 'prepare_action'\nendpoint = '/a'\n\
                    [[capabilities]]\nid = 'c'\ntype = 'query'\nexposed = false\n";
        let said = summary(&reviewed(text).unwrap());
        assert!(said.contains("- a.b: prepare_action, high risk, confirmation required\n"), "{said}");
        assert!(!said.contains("- c:"), "{said}");
    }

    #[test]
    fn no_name_reaches_the_terminal_as_it_is() {
        let text = "aicp_version = '0.1'\n[[capabilities]]\nid = \"a\\u001b[2J\"\ntype = 'commit_action'\n\
                    [policies]\n\"x\\u001b\" = 1\n";
        let said = summary(&reviewed(text).unwrap());
        assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{said:?}");
    }
}
