//! Promise: while an agent writes a handoff, clients get the last complete state and never half of a new one.

use crate::support::handoff::{Handoff, checksum, get, marks};
use crate::support::page::PAGE;
use crate::support::{Desk, Origin, Reply, Request};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

async fn origin() -> Origin {
    Origin::start(|_: &Request| Reply::html(PAGE)).await
}

async fn served(handoff: &Handoff, lines: &str) -> (Origin, Desk) {
    let origin = origin().await;
    let desk = handoff.served(&origin, lines).await;
    (origin, desk)
}

#[tokio::test]
async fn handoff_lock_brings_back_what_was_whole() {
    let handoff = Handoff::genuine();
    let (origin, desk) = served(&handoff, "").await;
    let (status, manifest) = (handoff.read("STATUS.md"), handoff.read("MANIFEST.json"));
    assert_eq!(get(&desk, "/STATUS.md").await.status, 200);
    handoff.lock(60, &["STATUS.md", "LOG.md"]);
    handoff.write("STATUS.md", "half of");
    handoff.write("MANIFEST.json", "{\"aahp_ver");
    let file = get(&desk, "/STATUS.md").await;
    assert_eq!((file.status, file.text()), (200, status.clone()));
    assert_eq!(marks(&file), ["recovery", "verified", "update-in-progress"]);
    let index = get(&desk, "/").await;
    assert_eq!((index.text(), marks(&index)[0]), (manifest, "recovery"));
    let told = get(&desk, "/?envelope=1").await.json();
    assert_eq!((&told["state"], &told["lock"]["agent"]), (&"recovery".into(), &"claude-opus-4.6".into()));
    assert_eq!(told["lock"]["updating"], serde_json::json!(["LOG.md", "STATUS.md"]));
    assert!(told["lock"]["age_s"].as_u64().is_some_and(|age| (60..120).contains(&age)), "{told}");
    assert_eq!(told["unknown"], serde_json::json!(["LOG.md", "STATUS.md"]));
    // Another configuration of the same directory remembers it too.
    desk.swap(&handoff.setup(&origin, "on_mismatch = \"refuse\"")).await;
    assert_eq!(get(&desk, "/STATUS.md").await.text(), status);
    handoff.lock(16 * 60, &["STATUS.md"]);
    let stale = get(&desk, "/STATUS.md").await;
    assert_eq!((stale.text(), marks(&stale)), (status.clone(), ["recovery", "verified", "stale-lock"]));
    handoff.write("HANDOFF.lock", "{ no JSON");
    let broken = get(&desk, "/?envelope=1").await.json();
    assert_eq!((&broken["state"], &broken["lock"]["agent"]), (&"recovery".into(), &serde_json::Value::Null));
    // The session ends as it should.
    handoff.put("STATUS.md", "whole again\n");
    handoff.put("MANIFEST.json", serde_json::to_string(&told["manifest"]).expect("JSON"));
    handoff.list("STATUS.md", &checksum("whole again\n"));
    handoff.remove("HANDOFF.lock");
    let after = get(&desk, "/STATUS.md").await;
    assert_eq!((after.text().as_str(), marks(&after)), ("whole again\n", ["ok", "verified", "-"]));
}

#[tokio::test]
async fn handoff_locked_from_the_start_gives_what_nobody_writes() {
    for (what, age, retry_after) in [("young", 60, "5"), ("stale", 3600, "60")] {
        let handoff = Handoff::genuine();
        handoff.lock(age, &["STATUS.md"]);
        let (_origin, desk) = served(&handoff, "").await;
        let written = get(&desk, "/STATUS.md").await;
        assert_eq!((written.status, written.header("retry-after")), (503, Some(retry_after)), "{what}");
        assert_eq!((written.json()["code"].as_str(), marks(&written)[0]), (Some("handoff_being_written"), "recovery"));
        let other = get(&desk, "/LOG.md").await;
        assert_eq!((other.status, marks(&other)[..2].to_vec()), (200, vec!["recovery", "assumed"]), "{what}");
        let told = get(&desk, "/?envelope=1").await.json();
        assert_eq!(
            (&told["checks"]["LOG.md"], &told["unknown"]),
            (&"assumed".into(), &serde_json::json!(["STATUS.md"]))
        );
        let core = get(&desk, "/?view=core").await.json();
        assert_eq!(core["files"]["STATUS.md"]["content"], serde_json::Value::Null, "{what}");
        assert_eq!(core["files"]["NEXT_ACTIONS.md"]["integrity"], "assumed", "{what}");
    }
}

#[tokio::test]
async fn handoff_locked_from_the_start_by_who_knows_whom_gives_nothing() {
    let handoff = Handoff::genuine();
    handoff.write("HANDOFF.lock", "");
    let (_origin, desk) = served(&handoff, "").await;
    for below in ["", "/STATUS.md", "/LOG.md", "/?view=core"] {
        let refused = get(&desk, below).await;
        assert_eq!((refused.status, marks(&refused)[0]), (503, "recovery"), "{below}");
        assert!(refused.header("retry-after").is_some());
    }
    handoff.remove("HANDOFF.lock");
    assert_eq!(get(&desk, "/STATUS.md").await.status, 200);
}

#[tokio::test]
async fn handoff_lock_is_one_whatever_it_is() {
    let handoff = Handoff::genuine();
    let (_origin, desk) = served(&handoff, "").await;
    let status = get(&desk, "/STATUS.md").await.text();
    handoff.write("STATUS.md", "half");
    std::fs::write(handoff.beside("elsewhere"), "{}").expect("a file");
    let lock = handoff.path().join("HANDOFF.lock");
    for target in ["elsewhere", "nowhere"] {
        std::os::unix::fs::symlink(handoff.beside(target), &lock).expect("a link");
        let file = get(&desk, "/STATUS.md").await;
        assert_eq!((file.text().as_str(), marks(&file)[0]), (status.as_str(), "recovery"), "a link to {target}");
        handoff.remove("HANDOFF.lock");
    }
    crate::support::handoff::mkfifo(&lock);
    assert_eq!(get(&desk, "/STATUS.md").await.text(), status, "a pipe that nobody writes to");
    handoff.remove("HANDOFF.lock");
    std::fs::create_dir(&lock).expect("a directory");
    assert_eq!(get(&desk, "/STATUS.md").await.text(), status, "a directory");
}

/// A state of the handoff: every file says which.
fn state(handoff: &Handoff, number: usize) {
    let names = ["STATUS.md", "NEXT_ACTIONS.md", "LOG.md"];
    let text = |name: &str| format!("{name} {number}\n{}", format!("line {number}\n").repeat(2000));
    let mut manifest = handoff.manifest();
    for name in names {
        // Not in one step, as most tools write.
        handoff.write(name, text(name));
        manifest["files"][name]["checksum"] = checksum(&text(name)).into();
    }
    manifest["quick_context"] = format!("state {number}").into();
    handoff.write("MANIFEST.json", manifest.to_string());
}

/// Reads during a write: a file marked as verified is complete, and belongs to the state of the manifest.
async fn read_while(writes: impl Fn(&Handoff, usize) + Send + 'static) -> (usize, usize) {
    let handoff = Arc::new(Handoff::genuine());
    state(&handoff, 0);
    let (_origin, desk) = served(&handoff, "").await;
    assert_eq!(get(&desk, "/STATUS.md").await.status, 200);
    let done = Arc::new(AtomicBool::new(false));
    let writer = std::thread::spawn({
        let (handoff, done) = (handoff.clone(), done.clone());
        move || {
            for number in 1..150 {
                writes(&handoff, number);
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            done.store(true, Ordering::Relaxed);
        }
    });
    let (mut verified, mut others) = (0, 0);
    while !done.load(Ordering::Relaxed) {
        let core = get(&desk, "/?view=core").await;
        if core.status != 200 {
            // A manifest that is half written and not locked does not conform.
            assert!([502, 503].contains(&core.status), "{}", core.text());
            others += 1;
            continue;
        }
        let core = core.json();
        let number =
            core["manifest"]["quick_context"].as_str().expect("a state").trim_start_matches("state ").to_owned();
        for name in ["STATUS.md", "NEXT_ACTIONS.md"] {
            if core["files"][name]["integrity"] != "verified" {
                others += 1;
                continue;
            }
            let text = core["files"][name]["content"].as_str().expect("a text");
            assert!(text.starts_with(&format!("{name} {number}\n")) && text.lines().count() == 2001, "{name} {number}");
            assert_eq!(core["manifest"]["files"][name]["checksum"], checksum(text).as_str());
            verified += 1;
        }
    }
    writer.join().expect("the writer");
    let last = get(&desk, "/STATUS.md").await;
    assert_eq!((last.text().starts_with("STATUS.md 149\n"), marks(&last)[1]), (true, "verified"));
    (verified, others)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handoff_torn_files_are_never_called_verified() {
    let (verified, others) = read_while(state).await;
    println!("without a lock: {verified} verified, {others} not");
    assert!(verified > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handoff_written_with_a_lock_is_always_whole() {
    let (verified, others) = read_while(|handoff, number| {
        handoff.lock(0, &["STATUS.md", "NEXT_ACTIONS.md", "LOG.md"]);
        state(handoff, number);
        handoff.remove("HANDOFF.lock");
    })
    .await;
    println!("with a lock: {verified} verified, {others} not");
    assert!(verified > 0 && others == 0, "{verified} verified, {others} not");
}
