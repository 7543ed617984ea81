//! Promise: each call is in the audit log before the agent gets its answer, one line without secrets; if the line
//! cannot be written, the call does not run.

use crate::support::rates::at_once;
use crate::support::shop::{ADA, assert_fault, call, carried_out, desk_before, item, open, order, token};
use crate::support::{Ask, Desk, Dir, Origin, SOON, Via, eventually};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

async fn shop() -> (Origin, Desk, PathBuf) {
    let origin = open().await;
    let desk = desk_before(&origin).set("audit", "enabled = true\npath = \"audit.jsonl\"").start().await;
    let log = desk.dir.join("audit.jsonl");
    (origin, desk, log)
}

/// Every line, each of which must be whole.
#[track_caller]
fn lines(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "half a line: {text:?}");
    text.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("not JSON ({e}): {l}"))).collect()
}

/// A line of a read may come after its answer.
async fn lines_of(log: &Path, count: usize) -> Vec<Value> {
    eventually("the lines", SOON, async || lines(log).len() >= count).await;
    let all = lines(log);
    assert_eq!(all.len(), count, "{all:?}");
    all
}

#[tokio::test]
async fn audit_trail_has_a_line_with_all_fields_for_each_call() {
    let (_origin, desk, log) = shop().await;
    let buy = item("buy", "a very secret item").key("key-of-the-call").bearer(ADA).header("AICP-Agent", "Example/1.0");
    let asked = desk.ask(Via::H1, buy.clone()).await;
    let confirmed = token(&asked);
    let bought = desk.ask(Via::H1, buy.clone().confirmed(&confirmed)).await;
    order(&bought, "bought");
    desk.ask(Via::H1, buy.confirmed(&confirmed)).await;
    let all = lines_of(&log, 3).await;
    let line = &all[1];
    assert_eq!(line["capability"], "shop.buy");
    assert_eq!(line["risk_level"], "high");
    assert_eq!(line["caller"], "ada");
    assert_eq!(line["agent"], "Example/1.0");
    assert_eq!(line["agent_verified"], false, "a claim is not a proof");
    assert_eq!((&line["confirmation_required"], &line["confirmation_received"]), (&json!(true), &json!(true)));
    assert_eq!(line["upstream_status"], 201);
    assert_eq!(line["request_id"].as_str(), bought.header("x-request-id"));
    assert!(line["scopes"].is_array() && line["duration_ms"].is_number() && line["decision"].is_string(), "{line}");
    assert!(line.as_object().expect("an object").contains_key("tokens"), "{line}");
    let time = line["timestamp"].as_str().expect("a time");
    assert!(time.starts_with("20") && time.ends_with('Z') && time.contains('T'), "{time}");
    assert_eq!((&all[0]["confirmation_received"], &all[0]["upstream_status"]), (&json!(false), &Value::Null));
    let hashes: HashSet<_> = all.iter().map(|l| l["idempotency_key"].as_str().expect("a hash").to_owned()).collect();
    assert_eq!(hashes.len(), 1, "the same key, the same hash");
    assert_ne!(all[2]["decision"], all[1]["decision"], "a replay is told from the first");
    let text = std::fs::read_to_string(&log).expect("the log");
    for secret in [ADA, "key-of-the-call", "very secret item", confirmed.as_str()] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

#[tokio::test]
async fn audit_trail_of_an_action_is_written_before_its_answer() {
    let (_origin, desk, log) = shop().await;
    for n in 1..=30 {
        let answer = desk.ask(Via::H1, item("drop", "x").bearer(ADA)).await;
        order(&answer, "dropped");
        let all = lines(&log);
        assert_eq!(all.len(), n, "read at once");
        assert_eq!(all[n - 1]["request_id"].as_str(), answer.header("x-request-id"));
    }
}

#[tokio::test]
async fn audit_trail_tells_who_was_refused_and_why() {
    let (origin, desk, log) = shop().await;
    let asks = [
        ("confirmation_required", item("give", "x").bearer(ADA)),
        ("confirmation_invalid", item("give", "x").bearer(ADA).confirmed("f00")),
        ("idempotency_key_required", item("pay", "x").bearer(ADA)),
        ("invalid_input", call("buy", json!({ "item": 5 })).bearer(ADA).key("k-1")),
    ];
    for (expected, ask) in &asks {
        let answer = desk.ask(Via::H1, ask.clone()).await;
        assert_fault(&answer, answer.status, expected, expected);
    }
    let all = lines_of(&log, asks.len()).await;
    for ((expected, _), line) in asks.iter().zip(&all) {
        assert_eq!(line["decision"], *expected, "{line}");
        assert_eq!(line["upstream_status"], Value::Null, "{line}");
    }
    let wrong = desk.ask(Via::H1, item("drop", "x").bearer("no-such-key")).await;
    assert_eq!(wrong.status, 401);
    let all = lines_of(&log, asks.len() + 1).await;
    assert_eq!((&all[4]["capability"], &all[4]["caller"]), (&json!("shop.drop"), &Value::Null));
    assert!(carried_out(&origin).is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit_trail_keeps_the_lines_of_64_callers_whole() {
    let (_origin, desk, log) = shop().await;
    let answers = at_once(&[&desk], vec![item("drop", &"x".repeat(500)).bearer(ADA); 64]).await;
    let ids: HashSet<_> = answers.iter().map(|a| a.header("x-request-id").expect("an id").to_owned()).collect();
    let written: HashSet<_> = lines(&log).iter().map(|l| l["request_id"].as_str().expect("an id").to_owned()).collect();
    assert_eq!((ids.len(), &ids), (64, &written));
    assert_eq!(lines(&log).len(), 64);
    desk.metric_reaches("frontdesk_audit_lines_total", 64.0).await;
}

#[tokio::test]
async fn audit_trail_stays_with_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let (_origin, desk, log) = shop().await;
    desk.ask(Via::H1, item("drop", "x").bearer(ADA)).await;
    let mode = std::fs::metadata(&log).expect("the log").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
}

#[tokio::test]
async fn audit_trail_survives_a_kill() {
    let (_origin, mut desk, log) = shop().await;
    order(&desk.ask(Via::H1, item("drop", "x").bearer(ADA)).await, "dropped");
    desk.signal(libc::SIGKILL);
    desk.wait_exit(SOON).await;
    assert_eq!(lines(&log).len(), 1);
}

/// A small disk of its own, gone with the test.
struct Disk(Dir);

impl Disk {
    /// None where nobody may mount.
    fn mounted() -> Option<Disk> {
        let dir = Dir::new();
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"]).arg(dir.path()).output();
        mount.is_ok_and(|m| m.status.success()).then(|| Disk(dir))
    }

    fn fill(&self) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.0.join("ballast")).expect("a file");
        while file.write_all(&[0; 512]).is_ok() {}
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).output();
    }
}

#[tokio::test]
async fn audit_trail_on_a_full_disk_stops_actions_and_no_reads_until_there_is_room() {
    let Some(disk) = Disk::mounted() else {
        eprintln!("no file system can be mounted here: not tested");
        return;
    };
    let origin = open().await;
    let log = disk.0.join("audit.jsonl");
    let desk = desk_before(&origin).set("audit", &format!("enabled = true\npath = {log:?}")).start().await;
    order(&desk.ask(Via::H1, item("drop", "x").bearer(ADA)).await, "while there is room");
    disk.fill();
    let mut done = carried_out(&origin).len();
    // What room was left may still be used up.
    for _ in 0..200 {
        let answer = desk.ask(Via::H1, item("drop", "x").bearer(ADA)).await;
        let now = carried_out(&origin).len();
        assert_eq!(now - done, usize::from(answer.status == 201), "{}: {}", answer.status, answer.text());
        done = now;
        if answer.status != 201 {
            break;
        }
    }
    for _ in 0..3 {
        let answer = desk.ask(Via::H1, item("drop", "x").bearer(ADA)).await;
        assert_eq!(answer.status, 503, "{}", answer.text());
        order(&desk.ask(Via::H1, item("search", "x")).await, "a read");
    }
    assert_eq!(carried_out(&origin).len(), done, "the origin is untouched");
    assert_eq!(lines(&log).iter().filter(|l| l["upstream_status"] == 201).count(), done, "every action has its line");
    eventually("it is said", SOON, async || desk.metric("frontdesk_audit_up").await == Some(0.0)).await;
    assert!(desk.stderr().to_lowercase().contains("audit"), "in the log too: {}", desk.stderr());
    std::fs::remove_file(disk.0.join("ballast")).expect("room again");
    eventually("actions again", Duration::from_secs(30), async || {
        desk.ask(Via::H1, item("drop", "x").bearer(ADA)).await.status == 201
    })
    .await;
    eventually("and that is said", Duration::from_secs(40), async || {
        desk.metric("frontdesk_audit_up").await == Some(1.0)
    })
    .await;
    let all = lines(&log);
    assert_eq!(all.iter().filter(|l| l["upstream_status"] == 201).count(), carried_out(&origin).len());
}

#[tokio::test]
async fn audit_trail_and_access_log_name_a_request_as_its_answer_does() {
    let (_origin, desk, log) = shop().await;
    let buy = item("buy", "x").key("key-1");
    let (none, wrong) = (buy.clone(), buy.clone().bearer("a-key-that-is-none"));
    for (count, (ask, what)) in
        [(none, "nobody"), (wrong, "a wrong key"), (buy.bearer(ADA), "ada")].into_iter().enumerate()
    {
        let answer = desk.ask(Via::H1, ask).await;
        let id = answer.header("x-request-id").unwrap_or_else(|| panic!("{what}: {}", answer.text())).to_owned();
        let line = lines_of(&log, count + 1).await.pop().expect("a line");
        assert_eq!(line["request_id"], id, "{what}");
        eventually("the access line", SOON, async || desk.stdout().contains(&format!("\"request_id\":\"{id}\""))).await;
    }
    // What passes is named as its client names it, and else by nobody.
    desk.ask(Via::H1, Ask::get("/named").header("X-Request-Id", "abc-1")).await;
    desk.ask(Via::H1, Ask::get("/unnamed").header("X-Request-Id", "a b")).await;
    let line_of = |path: &str| desk.access_log().into_iter().find(|line| line["url.path"] == path);
    eventually("both", SOON, async || line_of("/named").is_some() && line_of("/unnamed").is_some()).await;
    assert_eq!(line_of("/named").expect("it")["request_id"], "abc-1");
    assert_eq!(line_of("/unnamed").expect("it")["request_id"], Value::Null);
}
