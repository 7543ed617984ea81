//! Valid and invalid manifests, and their messages.

use serde_json::json;

use super::*;

fn good() -> Value {
    json!({
        "aahp_version": "3.0", "project": "p",
        "last_session": { "agent": "a", "timestamp": "2026-02-26T14:30:00Z", "phase": "idle", "more": 1 },
        "files": { "STATUS.md": { "checksum": checksum::of(b""), "updated": "2026-02-26T14:30:00Z", "lines": 0, "summary": "" } },
        "quick_context": "", "token_budget": { "manifest_only": 85 }, "next_task_id": 2,
        "tasks": { "T-001": { "title": "t", "status": "cancelled", "depends_on": ["T-1000"] } },
        "cross_repo_ref": { "repo": "r", "commit": "c", "relation": "extends" },
    })
}

/// The message for another value at a place.
fn said(pointer: &str, value: Option<Value>) -> Vec<String> {
    let mut manifest = good();
    let (above, name) = pointer.rsplit_once('/').unwrap();
    let members = manifest.pointer_mut(above).unwrap().as_object_mut().unwrap();
    match value {
        Some(value) => drop(members.insert(name.replace("~1", "/"), value)),
        None => drop(members.remove(name)),
    }
    let wrong = match read(manifest.to_string().as_bytes()) {
        Ok((_, minor)) => minor,
        Err(wrong) => wrong,
    };
    wrong
        .iter()
        .map(|wrong| format!("{}{}: {}", wrong.path.join("."), if wrong.is_minor { "?" } else { "" }, wrong.what))
        .collect()
}

#[test]
fn a_good_one_is_read() {
    let (manifest, minor) = read(good().to_string().as_bytes()).unwrap();
    assert!(minor.is_empty() && manifest.files["STATUS.md"] == checksum::of(b""));
    assert_eq!(said("/tasks", None), [""; 0]);
}

#[test]
fn each_rule_says_what_is_wrong() {
    let file = |name: &str| (format!("/files/{name}"), Some(good()["files"]["STATUS.md"].clone()));
    let hostile = ["..~1..~1index.md", "a~1b.md", "a\\b.md", ".hidden.md", "a\0.md", "a\nb.md", "..md", "a..b.md"];
    for name in hostile {
        let (pointer, value) = file(name);
        let said = said(&pointer, value);
        assert!(said.len() == 1 && said[0].contains("?: is no plain name"), "{name}: {said:?}");
    }
    for (pointer, value, words) in [
        ("/aahp_version", Some(json!("3")), "aahp_version: has to be a version"),
        ("/aahp_version", None, "aahp_version: is missing"),
        ("/project", Some(json!("")), "project: is empty"),
        ("/last_session/phase", Some(json!("sleep")), "last_session.phase: has to be one of research"),
        ("/last_session/agent", None, "last_session.agent: is missing"),
        ("/last_session/duration_minutes", Some(json!(-1)), "whole number from 0"),
        ("/last_session/timestamp", Some(json!("[ISO-8601]")), "last_session.timestamp?: is no date"),
        ("/quick_context", Some(json!("x".repeat(501))), "has 501 characters; 500 are the most"),
        ("/files/STATUS.md/checksum", Some(json!("sha256:a1b2c3")), "files.STATUS.md.checksum: has to be \"sha256:\""),
        ("/files/STATUS.md/summary", Some(json!("é".repeat(201))), "200 are the most"),
        ("/files/STATUS.md/lines", Some(json!(1.5)), "whole number"),
        ("/files/notes.txt", Some(json!({})), "files.notes.txt?: is not listed"),
        ("/files/.md", Some(json!({})), "no plain name"),
        ("/next_task_id", Some(json!(0)), "whole number from 1"),
        ("/tasks/T-01", Some(json!({"title": "", "status": "done"})), "is no name of a task"),
        ("/tasks/T-001/title", Some(json!("é".repeat(201))), "tasks.T-001.title: has 201 characters; 200 are the most"),
        ("/tasks/T-001/title", None, "tasks.T-001.title: is missing"),
        ("/tasks/T-001/status", Some(json!("open")), "one of ready, in_progress, blocked, done, cancelled"),
        ("/tasks/T-001/depends_on", Some(json!(["T-1"])), "list of names of tasks"),
        ("/tasks/T-001/created", Some(json!("today")), "tasks.T-001.created?: is no date"),
        ("/cross_repo_ref/relation", Some(json!("likes")), "one of implements"),
        ("/cross_repo_ref/more", Some(json!(1)), "cross_repo_ref.more: is not known"),
        ("/files", Some(json!([])), "files: has to be an object"),
        ("/more", Some(json!(1)), "more: is not known here"),
    ] {
        let said = said(pointer, value);
        assert!(said.len() == 1 && said[0].contains(words), "{pointer}: {said:?}");
    }
}

#[test]
fn what_is_no_json_has_a_line() {
    for (text, line, words) in
        [("{\n\"a\":", 2, "not JSON"), ("", 1, "not JSON"), ("{\"a\":1,\n\"a\":2}", 2, "stands twice")]
    {
        let wrong = read(text.as_bytes()).unwrap_err();
        assert!(wrong[0].what.contains(words), "{text}: {wrong:?}");
        assert!(wrong[0].line.is_some_and(|at| at <= line), "{text}: {wrong:?}");
    }
    assert!(read(b"[]").unwrap_err()[0].what.contains("object"));
}

#[test]
fn what_is_told_has_a_bound() {
    let mut manifest = good();
    for n in 0..300 {
        manifest["files"][format!("{n}.md")] = json!({});
    }
    assert_eq!(read(manifest.to_string().as_bytes()).unwrap_err().len(), MOST_WRONG);
}

#[test]
fn an_entry_under_a_name_that_no_file_can_have_is_left_out_and_the_rest_is_read() {
    let mut manifest = good();
    let listed = manifest["files"]["STATUS.md"].clone();
    for name in ["../secret.md", "notes.txt", "a/b.md"] {
        manifest["files"][name] = listed.clone();
    }
    let (read, minor) = read(manifest.to_string().as_bytes()).unwrap();
    assert_eq!((minor.len(), read.files.len(), read.files.contains_key("STATUS.md")), (3, 1, true));
    assert_eq!(read.value, good());
    let refused: std::collections::BTreeSet<&str> = read.refused.iter().map(String::as_str).collect();
    assert_eq!(refused.into_iter().collect::<Vec<_>>(), ["../secret.md", "a/b.md", "notes.txt"]);
}

#[test]
fn nothing_hides_what_makes_a_manifest_unusable() {
    let mut manifest = good();
    for n in 0..100 {
        manifest["files"][format!("{n}/a.md")] = json!({});
    }
    let (usable, minor) = read(manifest.to_string().as_bytes()).unwrap();
    assert_eq!((usable.refused.len(), minor.len()), (100, MOST_WRONG));
    // It is checked after the files.
    manifest["quick_context"] = json!(7);
    let wrong = read(manifest.to_string().as_bytes()).unwrap_err();
    assert!(wrong.iter().any(|wrong| wrong.path == ["quick_context"]), "{wrong:?}");
}
