//! Promise: every metric of the dashboard and the alerts exists from the first scrape on, and no label grows without
//! limit.

use crate::support::page::PAGE;
use crate::support::{Ask, Desk, Origin, Reply, Request, Setup};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

const CAPABILITY: &str = "[[capabilities]]\nid = \"things.NAME\"\ntype = \"query\"\ndescription = \"Lists things.\"\n\
    endpoint = \"/agent/NAME\"\nmethod = \"GET\"\nrisk_level = \"low\"\n\
    upstream = { method = \"GET\", path = \"/api/things\" }\n";

fn capability(name: &str) -> String {
    CAPABILITY.replace("NAME", name)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)).expect("a file of deploy/")
}

async fn desk(tail: &str) -> (Origin, Setup, Desk) {
    let answer = |r: &Request| {
        if r.target.starts_with("/api/") { Reply::json("{\"things\":[]}") } else { Reply::html(PAGE) }
    };
    let origin = Origin::start(answer).await;
    let setup = Setup::before(&origin);
    let desk = setup.clone().tail(tail).start().await;
    (origin, setup, desk)
}

/// Every expression of the dashboard.
fn dashboard() -> Vec<String> {
    fn walk(value: &serde_json::Value, found: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(map) => {
                for (key, value) in map {
                    match value.as_str() {
                        Some(text) if ["expr", "definition"].contains(&key.as_str()) => found.push(text.to_owned()),
                        _ => walk(value, found),
                    }
                }
            }
            serde_json::Value::Array(items) => items.iter().for_each(|item| walk(item, found)),
            _ => {}
        }
    }
    let board = serde_json::from_str(&read("deploy/grafana/frontdesk.json")).expect("JSON");
    let mut found = Vec::new();
    walk(&board, &mut found);
    found
}

/// Every expression of the alerts: the lines from `expr:` to the next key.
fn alerts() -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut inside = false;
    for line in read("deploy/prometheus/alerts.yml").lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("expr:") {
            inside = true;
            found.push(rest.trim().trim_start_matches(">-").to_owned());
        } else if ["for:", "labels:", "annotations:"].iter().any(|key| line.starts_with(key)) {
            inside = false;
        } else if let Some(expression) = found.last_mut().filter(|_| inside) {
            expression.push_str(line);
        }
    }
    found
}

/// Names of ours in an expression, each with the labels that it is asked for with.
fn asked(expression: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for prefix in ["frontdesk_", "process_"] {
        for (at, _) in expression.match_indices(prefix) {
            let rest = &expression[at..];
            let end = rest.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(rest.len());
            let labels = rest[end..].strip_prefix('{').and_then(|l| l.split('}').next()).unwrap_or("");
            found.push((rest[..end].to_owned(), labels.to_owned()));
        }
    }
    found
}

/// Name → type.
fn declared(metrics: &str) -> HashMap<String, String> {
    let lines = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    lines.map(|(name, kind)| (name.to_owned(), kind.to_owned())).collect()
}

#[tokio::test]
async fn dashboard_and_alerts_name_what_is_declared_from_the_start() {
    let (_origin, _, desk) = desk("").await;
    let metrics = desk.admin_get("/metrics").await.text();
    let declared = declared(&metrics);
    assert!(declared.len() > 30, "{metrics}");
    for name in declared.keys() {
        assert_eq!(metrics.matches(&format!("# TYPE {name} ")).count(), 1, "{name}");
        assert_eq!(metrics.matches(&format!("# HELP {name} ")).count(), 1, "{name}");
    }
    let (board, rules) = (dashboard(), alerts());
    assert!(board.len() > 40 && rules.len() > 15, "{} and {}", board.len(), rules.len());
    let mut named = BTreeSet::new();
    for expression in board.iter().chain(&rules) {
        let asked = asked(expression);
        assert!(!asked.is_empty() || expression.starts_with("up{"), "asks for nothing of ours: {expression}");
        for (name, _) in asked {
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end));
            let histogram = family.is_some_and(|f| declared.get(f).is_some_and(|kind| kind == "histogram"));
            assert!(histogram || declared.contains_key(&name), "nobody declares {name}: {expression}");
            // A counter alone says how long a process has run.
            if declared.get(&name).is_some_and(|kind| kind == "counter") {
                let grows = ["rate(", "increase("].iter().any(|f| expression.contains(&format!("{f}{name}")));
                assert!(grows, "{name} is a counter: {expression}");
            }
            named.insert(name);
        }
    }
    assert!(named.len() > 30, "{named:?}");
}

#[tokio::test]
async fn dashboard_alerts_see_the_first_event() {
    let (_origin, _, desk) = desk(&capability("list")).await;
    let metrics = desk.admin_get("/metrics").await.text();
    for expression in alerts().iter().filter(|e| e.starts_with("increase(")) {
        for (name, labels) in asked(expression) {
            let there = metrics.lines().any(|line| {
                let sample = line.strip_prefix(&name).and_then(|rest| rest.strip_suffix(" 0"));
                sample.is_some_and(|rest| labels.is_empty() || rest.contains(&labels))
            });
            assert!(there, "{name}{{{labels}}} does not begin at 0");
        }
    }
}

#[tokio::test]
async fn dashboard_labels_are_none_of_prometheus_own_and_end_with_what_they_name() {
    let (_origin, setup, desk) = desk(&(capability("list") + &capability("find"))).await;
    for path in ["/agent/list", "/agent/find"] {
        assert_eq!(desk.ask(crate::support::Via::H1, Ask::get(path)).await.status, 200, "{path}");
    }
    for capability in ["things.list", "things.find"] {
        desk.metric_reaches(
            &format!("frontdesk_capability_duration_seconds_count{{capability=\"{capability}\"}}"),
            1.0,
        )
        .await;
    }
    let metrics = desk.admin_get("/metrics").await.text();
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        for label in ["job", "instance"] {
            // Prometheus would call it exported_job.
            assert!(!line.contains(&format!("{{{label}=")) && !line.contains(&format!(",{label}=")), "{line}");
        }
    }
    desk.swap(&setup.tail(&capability("list"))).await;
    let metrics = desk.admin_get("/metrics").await.text();
    assert!(metrics.contains("capability=\"things.list\""));
    assert!(!metrics.contains("things.find"), "what is declared no more is counted no more: {metrics}");
}
