//! Generated manifests, copied members, and refusals.

use super::{super::testing::Pretend, *};

fn session() -> Session {
    Session { agent: "a".into(), phase: "idle".into(), project: "p".into(), ..Session::default() }
}

fn made(directory: &Pretend) -> Value {
    let generated = generate(directory, &session(), directory.now()).unwrap();
    serde_json::from_slice(&generated.manifest).unwrap()
}

#[test]
fn a_manifest_is_made_of_what_is_there() {
    let directory = Pretend::default();
    directory.write("ZETA.md", "last");
    directory.write("LOG.md", "# LOG\n\n## [2026-02-26] Begun\ntext\n");
    directory.write("STATUS.md", "# STATUS\n<!-- SECTION: summary -->\nBuild green.\n<!-- /SECTION: summary -->\n");
    for unlisted in [".aiignore", "notes.txt", ".hidden.md", "HANDOFF.log"] {
        directory.write(unlisted, "x");
    }
    let generated = generate(&directory, &session(), directory.now()).unwrap();
    let text = String::from_utf8(generated.manifest).unwrap();
    let order = ["aahp_version", "project", "agent", "STATUS.md", "LOG.md", "ZETA.md", "quick_context", "token_budget"];
    let places: Vec<_> = order.map(|name| text.find(&format!("\"{name}\"")).unwrap()).into();
    assert!(places.is_sorted() && generated.files == 3, "{text}");
    let manifest: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["files"]["STATUS.md"]["summary"], "Build green.");
    assert_eq!(manifest["files"]["LOG.md"]["summary"], "text");
    assert_eq!(manifest["files"]["LOG.md"]["lines"], 4);
    assert_eq!(manifest["files"]["ZETA.md"]["checksum"], checksum::of(b"last"));
    assert_eq!((&manifest["quick_context"], &manifest["project"]), (&"Build green.".into(), &"p".into()));
    assert_eq!(manifest["last_session"]["timestamp"], "2026-02-26T14:30:00Z");
    assert_eq!(manifest.get("tasks"), None, "tasks are never made");
}

#[test]
fn what_agents_keep_in_it_stays() {
    let directory = Pretend::default();
    directory.write("STATUS.md", "one");
    directory.write("LOG.md", "one");
    let tasks = serde_json::json!({ "T-001": { "title": "t", "status": "done", "own": [1, { "b": null }] } });
    let mut first = made(&directory);
    first["tasks"] = tasks.clone();
    first["next_task_id"] = 7.into();
    first["project"] = "kept".into();
    directory.write("MANIFEST.json", &first.to_string());
    directory.wait(60);
    directory.write("LOG.md", "two");
    let second = made(&directory);
    assert_eq!((&second["tasks"], &second["next_task_id"], &second["project"]), (&tasks, &7.into(), &"kept".into()));
    assert_eq!(second["files"]["STATUS.md"]["updated"], "2026-02-26T14:30:00Z");
    assert_eq!(second["files"]["LOG.md"]["updated"], "2026-02-26T14:31:00Z");
}

#[test]
fn nothing_is_made_where_something_could_be_lost() {
    let refused = |directory: &Pretend| generate(directory, &session(), directory.now()).unwrap_err();
    let directory = Pretend::default();
    directory.write("STATUS.md", "one");
    directory.write("HANDOFF.lock", "");
    assert!(refused(&directory).contains("HANDOFF.lock exists"));
    let mine = Session { despite_lock: true, ..session() };
    assert!(generate(&directory, &mine, directory.now()).is_ok());
    directory.remove("HANDOFF.lock");
    for broken in ["{", "[]", "{\"tasks\":{},\"tasks\":{}}"] {
        directory.write("MANIFEST.json", broken);
        assert!(refused(&directory).contains("tasks in it would be lost"), "{broken}");
    }
    directory.write("MANIFEST.json", "{\"tasks\":{\"T-1\":{}}}");
    assert!(refused(&directory).contains("tasks.T-1: is no name of a task"));
    directory.remove("MANIFEST.json");
    directory.after_reading("STATUS.md", |directory| directory.write("STATUS.md", "two"));
    assert!(refused(&directory).contains("changed while they were read"));
    let long = Session { context: Some("x".repeat(501)), ..session() };
    assert!(generate(&directory, &long, directory.now()).unwrap_err().contains("quick_context: has 501"));
}

#[test]
fn a_secret_is_not_repeated() {
    let token = ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].concat();
    let directory = Pretend::default();
    // Cut at 200 characters it would no longer be recognised as a token.
    directory.write("STATUS.md", &format!("# S\n{}{token} holds\n", "word ".repeat(36)));
    directory.write("NEXT_ACTIONS.md", &format!("Nothing.\nLater: {token}\n"));
    let told = |context: Option<&str>| {
        let session = Session { context: context.map(str::to_owned), ..session() };
        let generated = generate(&directory, &session, directory.now()).unwrap();
        (String::from_utf8(generated.manifest).unwrap(), generated.notes)
    };
    let (manifest, notes) = told(None);
    assert!(!manifest.contains("ghp_") && manifest.contains("[redacted:github"), "{manifest}");
    let note = "a secret was left out of MANIFEST.json, from STATUS.md; revoke it, then remove it there";
    assert_eq!(notes, [note], "one line, only for what the manifest repeats");
    let (manifest, notes) = told(Some(&format!("use {token}")));
    assert!(!manifest.contains("ghp_") && manifest.contains("\"use [redacted:github-token]\""), "{manifest}");
    assert!(notes.len() == 1 && notes[0].contains("from STATUS.md, --context;"), "{notes:?}");
    directory.write("STATUS.md", "all is well");
    assert_eq!(told(None).1, [""; 0]);
    assert_eq!(made(&directory)["files"]["STATUS.md"]["summary"], "all is well");
}

#[test]
fn a_summary_says_something() {
    for (text, expected) in [
        ("# T\n> quote\n---\n| a |\n\n<!-- SECTION: x -->\n```\ncode\n```\nwords here\n", "words here"),
        ("# only\n", ""),
        ("a\u{7}b\r\n", "ab"),
    ] {
        assert_eq!(summary(text), expected, "{text}");
    }
    let long = summary(&"é".repeat(300));
    assert!(long.chars().count() == LONGEST_TEXT && long.ends_with('…'));
}
