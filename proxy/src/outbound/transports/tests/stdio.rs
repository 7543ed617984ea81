//! Tests of local programs over standard input and output, including broken ones.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{LONG, SHORT, answer, breaks, line, question, way, why};

/// The URL of a Python program with this text.
fn python(text: &str) -> String {
    format!("stdio:python3 -u -c '{}'", text.replace('\'', "'\\''"))
}

/// Answers every message after a line of noise, and gives its process id on request.
const ANSWERS: &str = r#"
import json, os, sys
print("ready")
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"id": message["id"], "result": os.getpid()}))
"#;

async fn pid(line: &std::sync::Arc<dyn frontdesk_filters::harness::HarnessConnection>) -> u64 {
    let answer = line.ask("p", question("p"), LONG).await.unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
    answer["result"].as_u64().unwrap()
}

#[tokio::test]
async fn a_program_lives_as_long_as_its_line() {
    let way = way(&python(ANSWERS));
    let line = way.open(LONG).await.unwrap();
    line.tell(Bytes::from_static(b"{}"), LONG).await.unwrap();
    let first = pid(&line).await;
    assert_eq!(pid(&line).await, first);
    let other = way.open(LONG).await.unwrap();
    assert_ne!(pid(&other).await, first, "another line, another program");
    drop(line);
    let until = Instant::now() + LONG;
    // The process is reaped, too.
    while std::path::Path::new(&format!("/proc/{first}")).exists() {
        assert!(Instant::now() < until, "it is still there");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    pid(&other).await;
}

#[tokio::test]
async fn an_end_is_noticed() {
    let dies = python("import sys; sys.stdin.readline(); sys.stdout.write('{\"id\":'); sys.exit(3)");
    let line = line(&dies).await;
    assert!(why(&line.ask("a", question("a"), LONG).await).contains("closed"));
    assert!(line.is_broken());
    let Err(lost) = way("stdio:/no/such/program").open(LONG).await else { panic!("it started") };
    assert!(lost.0.contains("/no/such/program"), "{lost:?}");
}

#[tokio::test]
async fn a_flood_ends_the_line() {
    let floods = line("stdio:yes").await;
    breaks(&floods).await;
    let floods = line(&python("while True: print('x' * 10, end='')")).await;
    breaks(&floods).await;
}

#[tokio::test]
async fn who_does_not_listen_holds_nobody_up() {
    let deaf = line("stdio:sleep 60").await;
    let long = Bytes::from(format!(r#"{{"id":"a","x":"{}"}}"#, "x".repeat(300_000)));
    let began = Instant::now();
    assert!(why(&deaf.ask("a", long.clone(), SHORT).await).contains("no answer within"));
    assert!(deaf.tell(long, SHORT).await.is_err());
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    // A pipe that accepts nothing for long enough counts as broken.
    breaks(&deaf).await;
}

#[tokio::test]
async fn answers_are_whole_lines() {
    let slow = python(
        r#"
import json, sys, time
for line in sys.stdin:
    text = json.dumps({"id": json.loads(line)["id"], "result": "a"})
    for c in text:
        sys.stdout.write(c)
        sys.stdout.flush()
    sys.stdout.write("\n\n")
"#,
    );
    let line = line(&slow).await;
    let answered = line.ask("a", question("a"), LONG).await.unwrap();
    let answered: serde_json::Value = serde_json::from_slice(&answered).unwrap();
    assert_eq!(answered, serde_json::from_str::<serde_json::Value>(&answer("a")).unwrap());
}
