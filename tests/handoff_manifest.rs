//! Promise: `frontdesk handoff manifest` rebuilds a manifest from the files, keeps its tasks, and writes nothing where
//! it must not.

use crate::support::desk::run_to_end;
use crate::support::handoff::{Handoff, checksum};
use std::os::unix::fs::symlink;

fn manifest(handoff: &Handoff, more: &[&str]) -> (i32, String, String) {
    let dir = handoff.path();
    let args = [&["handoff", "manifest", dir.to_str().expect("UTF-8")], more].concat();
    run_to_end(&args, &std::env::temp_dir())
}

#[test]
fn handoff_manifest_is_what_the_public_text_describes() {
    let handoff = Handoff::genuine();
    let before = handoff.manifest();
    let told = [
        "--agent",
        "claude-opus-4.6",
        "--session-id",
        "sess_9",
        "--phase",
        "fix",
        "--context",
        "Preflights \"work\".",
        "--duration",
        "30",
        "--commit",
        "9ab3c25",
    ];
    let (code, out, err) = manifest(&handoff, &told);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert!(out.ends_with("MANIFEST.json: lists 9 files\n"), "{out}");
    let after = handoff.manifest();
    for kept in ["tasks", "next_task_id", "project", "aahp_version"] {
        assert_eq!(after[kept], before[kept], "{kept}");
    }
    // The checksums of the genuine one were made by other tools.
    for (name, listed) in before["files"].as_object().expect("files") {
        for same in ["checksum", "updated", "lines"] {
            assert_eq!(after["files"][name][same], listed[same], "{name} {same}");
        }
    }
    assert_eq!(
        after["files"]["STATUS.md"]["summary"].as_str().map(|text| text.starts_with("Build green.")),
        Some(true)
    );
    let session = &after["last_session"];
    assert_eq!((&session["agent"], &session["session_id"]), (&"claude-opus-4.6".into(), &"sess_9".into()));
    assert_eq!(
        (&session["phase"], &session["duration_minutes"], &session["commit"]),
        (&"fix".into(), &30.into(), &"9ab3c25".into())
    );
    assert_eq!(after["quick_context"], "Preflights \"work\".");
    let budget = |name: &str| after["token_budget"][name].as_u64().expect("a number");
    assert!(
        budget("manifest_only") < budget("manifest_plus_core") && budget("manifest_plus_core") < budget("full_read")
    );
    let text = handoff.read("MANIFEST.json");
    let order =
        ["aahp_version", "project", "last_session", "STATUS.md", "NEXT_ACTIONS.md", "LOG.md", "quick_context", "tasks"];
    assert!(order.map(|name| text.find(&format!("\"{name}\""))).is_sorted(), "{text}");
    assert!(
        !handoff
            .path()
            .read_dir()
            .expect("a directory")
            .any(|entry| { entry.expect("an entry").file_name().to_string_lossy().contains("tmp") })
    );
    let (code, out, _) =
        run_to_end(&["handoff", "lint", handoff.path().to_str().expect("UTF-8")], &std::env::temp_dir());
    assert!(code == 1 && out.ends_with("2 findings\n"), "only what has expired: {out}");
}

#[test]
fn handoff_manifest_begins_where_there_is_none() {
    let handoff = Handoff::genuine();
    handoff.remove("MANIFEST.json");
    handoff.write("NOTES.md", "x\r\ny\r\n");
    symlink(handoff.beside("elsewhere.md"), handoff.path().join("link.md")).expect("a link");
    let (code, out, err) = manifest(&handoff, &[]);
    assert_eq!(code, 0, "{err}");
    assert!(
        out.contains("lists 10 files") && err.contains("link.md is no regular file, and is left out"),
        "{out}{err}"
    );
    let made = handoff.manifest();
    assert_eq!(made["files"]["NOTES.md"]["checksum"], checksum("x\ny\n"));
    assert_eq!((&made["project"], &made["last_session"]["phase"]), (&"handoff".into(), &"idle".into()));
    assert!(made.get("tasks").is_none() && made["files"].get(".aiignore").is_none());
    let project = handoff.beside("harbours/.ai");
    std::fs::create_dir_all(&project).expect("a directory");
    std::fs::rename(handoff.path(), project.join("handoff")).expect("moving it");
    std::fs::remove_file(project.join("handoff/MANIFEST.json")).expect("removing it");
    let dir = project.join("handoff");
    let (code, _, err) = run_to_end(&["handoff", "manifest", dir.to_str().expect("UTF-8")], &std::env::temp_dir());
    let made = std::fs::read_to_string(dir.join("MANIFEST.json")).expect("a manifest");
    assert!(code == 0 && made.contains("\"project\": \"harbours\""), "{err}{made}");
}

#[test]
fn handoff_manifest_leaves_alone_what_it_must_not_touch() {
    let handoff = Handoff::genuine();
    let before = handoff.read("MANIFEST.json");
    handoff.lock(60, &["STATUS.md"]);
    let (code, out, err) = manifest(&handoff, &[]);
    assert_eq!((code, out.as_str(), handoff.read("MANIFEST.json") == before), (1, "", true));
    assert!(err.contains("HANDOFF.lock exists") && err.contains("--locked"), "{err}");
    assert_eq!(manifest(&handoff, &["--locked"]).0, 0, "the lock is mine");
    handoff.remove("HANDOFF.lock");
    for broken in ["{", "[]", "{\"tasks\": {\"T-1\": {}}}"] {
        handoff.write("MANIFEST.json", broken);
        let (code, _, err) = manifest(&handoff, &[]);
        assert_eq!((code, handoff.read("MANIFEST.json").as_str()), (1, broken), "{err}");
    }
    for (args, words) in [(&["--phase", "sleeping"][..], "possible values"), (&["--duration", "long"], "duration")] {
        let (code, _, err) = manifest(&handoff, args);
        assert!(code == 2 && err.contains(words), "{err}");
    }
}

#[test]
fn handoff_manifest_repeats_no_secret() {
    let handoff = Handoff::genuine();
    let secret = ["ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].concat();
    let text = format!("deploy with {secret} until May\n");
    handoff.write("STATUS.md", &text);
    let (code, out, err) = manifest(&handoff, &[]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(
        err,
        "frontdesk: a secret was left out of MANIFEST.json, from STATUS.md; revoke it, then remove it there\n"
    );
    let made = handoff.manifest();
    assert_eq!(made["files"]["STATUS.md"]["summary"], "deploy with [redacted:github-token] until May");
    assert_eq!(made["files"]["STATUS.md"]["checksum"], checksum(&text), "of the file as it is");
    let context = made["quick_context"].as_str().expect("a text");
    assert!(context.starts_with("deploy with [redacted:github-token] until May"), "{context}");
    assert!(!handoff.read("MANIFEST.json").contains(&secret[..12]));
    assert_eq!(handoff.read("STATUS.md"), text, "the file is the agents'");
}

#[test]
fn handoff_manifest_writes_through_no_link() {
    let handoff = Handoff::genuine();
    let elsewhere = handoff.beside("elsewhere.json");
    std::fs::write(&elsewhere, handoff.read("MANIFEST.json")).expect("a file");
    handoff.remove("MANIFEST.json");
    symlink(&elsewhere, handoff.path().join("MANIFEST.json")).expect("a link");
    let before = std::fs::read(&elsewhere).expect("a file");
    let (code, _, err) = manifest(&handoff, &[]);
    assert!(code == 1 && err.contains("MANIFEST.json is no regular file"), "{err}");
    assert_eq!(std::fs::read(&elsewhere).expect("a file"), before);
    let link = handoff.beside("link");
    symlink(handoff.path(), &link).expect("a link");
    let (code, _, err) = run_to_end(&["handoff", "manifest", link.to_str().expect("UTF-8")], &std::env::temp_dir());
    assert!(code == 2 && err.contains("no directory, or a link"), "{err}");
}
