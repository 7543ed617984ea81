//! The truth table of `tests/data/firewall`, whose author had not seen the rules.
//!
//! A positive is found when any rule matches, a negative when none does. Recall and precision are printed. A failure
//! is reported by its name, never by its value.

use std::path::Path;

use super::super::*;

#[derive(serde::Deserialize)]
struct Case {
    name: String,
    kind: String,
    text: String,
    class: String,
    secret: String,
    split: Option<usize>,
}

fn cases(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/firewall").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn said(case: &Case) -> Vec<String> {
    let wall = Firewall::new(Modes::REPORT, [], Vec::new());
    let found = match case.kind.as_str() {
        "json" => wall.scan_json(case.text.as_bytes()),
        _ => wall.scan(case.text.as_bytes()),
    };
    found.iter().map(|finding| finding.rule.to_string()).collect()
}

#[test]
fn the_truth_table_is_met() {
    let (positives, negatives) = (cases("positives.jsonl"), cases("negatives.jsonl"));
    assert!(positives.len() >= 60 && negatives.len() >= 60, "{} and {}", positives.len(), negatives.len());
    let missed: Vec<&str> = positives.iter().filter(|case| said(case).is_empty()).map(|case| &*case.name).collect();
    let wrong: Vec<(&str, Vec<String>)> =
        negatives.iter().map(|case| (&*case.name, said(case))).filter(|(_, said)| !said.is_empty()).collect();
    let found = positives.len() - missed.len();
    let recall = found as f64 / positives.len() as f64;
    let precision = found as f64 / (found + wrong.len()).max(1) as f64;
    println!("precision {precision:.3}, recall {recall:.3}, of {} and {}", positives.len(), negatives.len());
    println!("missed: {missed:?}\nwrong: {wrong:?}");
    assert!(recall >= 0.9 && precision >= 0.9, "precision {precision:.3}, recall {recall:.3}: {missed:?} {wrong:?}");
}

/// A secret is removed completely: nothing of it is left, in one piece or in two, plain or compressed.
#[test]
fn what_is_found_goes_whole() {
    let modes = Modes { secrets: Mode::Redact, pii: Mode::Redact, injection: Mode::Report };
    let wall = Firewall::new(modes, [], Vec::new());
    let mut left = Vec::new();
    for case in cases("positives.jsonl") {
        let form = if case.kind == "json" { Form::Json } else { Form::Text };
        let passed = wall.pass(case.text.clone().into(), form);
        if case.kind == "json" && serde_json::from_str::<serde_json::Value>(&case.text).is_ok() {
            assert!(serde_json::from_slice::<serde_json::Value>(&passed.body).is_ok(), "{} is no JSON", case.name);
        }
        let read = |body: &[u8]| match serde_json::from_slice::<serde_json::Value>(body) {
            Ok(value) => texts(&value),
            Err(_) => String::from_utf8_lossy(body).into_owned(),
        };
        let gone = |body: &[u8]| case.class == "injection" || !read(body).contains(&case.secret);
        if passed.flags.is_empty() || !gone(&passed.body) {
            left.push(case.name.clone());
        }
        if let (Some(split), Form::Text) = (case.split, form) {
            let mut stream = Stream::new(std::sync::Arc::new(wall.clone()));
            let (first, second) = case.text.as_bytes().split_at(split);
            let mut out = stream.push(first);
            out.extend(stream.push(second));
            out.extend(stream.finish());
            assert_eq!(out, passed.body, "{} in two pieces", case.name);
        }
    }
    println!("left behind: {left:?}");
    assert!(left.len() * 10 <= 140, "{left:?}");
}

/// Every string of a value, and every number.
fn texts(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone() + "\n",
        serde_json::Value::Array(items) => items.iter().map(texts).collect(),
        serde_json::Value::Object(members) => {
            members.iter().map(|(name, value)| format!("{name}\n{}", texts(value))).collect()
        }
        other => other.to_string() + "\n",
    }
}
