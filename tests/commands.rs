//! Promise: one command puts Frontdesk in front of a site without a file, and another shows it on a bundled site.

use crate::support::desk::{binary, run_to_end};
use crate::support::page::{LINK, PAGE, assert_rewritten};
use crate::support::{Desk, Dir, Origin, Reply, Request, SOON, eventually};
use std::time::Duration;

#[tokio::test]
async fn command_run_upstream_needs_no_file() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Desk::run_upstream(&origin.url()).await;
    let response = desk.get("/").await;
    assert_rewritten(PAGE, &response.page(), "without a file");
    assert!(response.headers.all("link").iter().any(|line| line.starts_with(LINK)), "{:?}", response.headers);
    assert_eq!(desk.get("/.well-known/agent.json").await.json()["ahp"], "0.1");
    assert_eq!(desk.admin_get("/metrics").await.status, 200);
}

#[tokio::test]
async fn command_run_takes_the_two_line_file() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let url = origin.url();
    let desk = Desk::with_config(|ports| {
        let listen = format!("[listen]\nhttp = \"{}\"\nadmin = \"{}\"\n", ports.http, ports.admin);
        format!("[upstream]\nurl = \"{url}\"\n{listen}")
    })
    .await;
    assert_rewritten(PAGE, &desk.get("/").await.page(), "the smallest file");
}

#[tokio::test]
async fn command_demo_brings_a_site_of_its_own() {
    let desk = Desk::with_args(&["demo"]).await;
    let home = desk.get("/").await;
    assert_eq!(home.status, 200);
    assert_eq!(home.page().matches("class=\"ahp-notice\"").count(), 1);
    assert!(home.page().contains("Example Travel"));
    let manifest = desk.get("/.well-known/agent.json").await.json();
    assert!(manifest["capabilities"].as_array().is_some_and(|c| !c.is_empty()), "{manifest}");
    assert_eq!(desk.get("/.well-known/agent-interface.toml").await.status, 200);
}

/// How long the first reading of the example site may take.
const READ: Duration = Duration::from_secs(60);

/// What is printed to try, and what it is said to show.
fn tries(said: &str) -> Vec<(String, String)> {
    let lines = said.lines().filter_map(|line| line.strip_prefix("  ")?.rsplit_once("  # "));
    lines.map(|(command, shows)| (command.trim().to_owned(), shows.to_owned())).collect()
}

/// Runs a line as it would be typed, for at most so long.
async fn typed(command: &str, seconds: &str) -> (Option<i32>, String) {
    let typed = [seconds, "sh", "-c", command].map(str::to_owned);
    let ran = tokio::task::spawn_blocking(move || std::process::Command::new("timeout").args(typed).output());
    let ran = ran.await.expect("a thread").expect("timeout");
    (ran.status.code(), String::from_utf8_lossy(&ran.stdout).into_owned())
}

/// The demo, once it has shown everything.
async fn shown_demo() -> Desk {
    let desk = Desk::with_args(&["demo"]).await;
    eventually("the demo", READ, async || desk.stderr().contains("Ctrl-C ends it")).await;
    desk
}

#[tokio::test]
async fn command_demo_says_what_each_line_shows_and_each_line_shows_it() {
    let desk = shown_demo().await;
    let tries = tries(&desk.stderr());
    let shown: std::collections::BTreeSet<&str> = tries.iter().map(|(_, shows)| shows.as_str()).collect();
    assert!(shown.len() == tries.len(), "each shows something else: {tries:#?}");
    let parts = [
        ("Link header", "agent.json"),
        ("notice in every page", "AI Agent Notice"),
        ("AHP manifest", "\"capabilities\""),
        ("AICP contract:", "[[capabilities]]"),
        ("OpenAPI", "\"openapi\""),
        ("in one list", "Baggage"),
        ("how to get one", "bookings:hold"),
        ("every other document", "/.well-known/agent-card.json"),
        ("Frontdesk counts", "frontdesk_"),
        ("which agent called what", "bookings.hold"),
    ];
    assert_eq!(parts.len(), tries.len(), "{tries:#?}");
    for (shows, part) in parts {
        let mut fitting = tries.iter().filter(|(_, shown)| shown.contains(shows));
        let (Some((command, _)), None) = (fitting.next(), fitting.next()) else { panic!("{shows}: {tries:#?}") };
        // The command that follows a file does not end.
        let watches = command.starts_with("tail -f");
        let (code, out) = typed(command, if watches { "1" } else { "10" }).await;
        assert_eq!(code, Some(if watches { 124 } else { 0 }), "{command}: {out}");
        assert!(out.contains(part), "{command}: no {part} in {out}");
    }
}

/// What the demo did by itself happens again when its lines are pasted.
#[tokio::test]
async fn command_demo_reads_asks_and_calls_and_its_lines_can_be_pasted() {
    let desk = shown_demo().await;
    let said = desk.stderr();
    let lines = said.lines().filter_map(|line| line.strip_prefix("  "));
    let pasted: Vec<&str> = lines.filter(|line| !line.starts_with('→') && !line.contains("  # ")).collect();
    assert_eq!(pasted.len(), 4, "{said}");
    let (code, out) = typed(&pasted.join("\n"), "20").await;
    assert_eq!(code, Some(0), "{out}");
    for part in ["# All flights", "up to 23", "\"confirmation_required\"", "\"hold_1002\""] {
        assert!(out.contains(part), "no {part} in {out}");
    }
}

#[tokio::test]
async fn command_demo_tour_shows_its_point_and_ends() {
    let (ports, dir) = (crate::support::Ports::free(), Dir::new());
    let places = [ports.http.to_string(), ports.admin.to_string()];
    let toured = tokio::task::spawn_blocking(move || {
        run_to_end(&["demo", "--tour", "--listen", &places[0], "--admin", &places[1]], dir.path())
    });
    let (code, out, err) = tokio::time::timeout(READ, toured).await.expect("it ends").expect("the command");
    assert!(code == 0 && out.is_empty(), "{code}: {out}{err}");
    let figures = err.lines().find(|line| line.contains("tokens to a language model")).expect("the figures");
    let figures: Vec<u32> = figures.split([' ', ';']).filter_map(|word| word.parse().ok()).collect();
    assert!(figures.len() == 2 && figures[0] * 2 < figures[1], "as Markdown, as HTML: {figures:?}");
    for part in [
        "up to 23",
        "/help/baggage; the whole answer is ",
        "Hold fare \"fare_123\"?",
        "hold_1001, until 20",
        "answered with hold_1001 again, and holds nothing",
        "To paste these lines yourself, start: frontdesk demo",
        "That was the tour",
    ] {
        assert!(err.contains(part), "no {part} in {err}");
    }
    assert!(std::net::TcpStream::connect(ports.http).is_err(), "nothing listens any more");
}

#[tokio::test]
async fn command_demo_leaves_nothing_behind() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let mut desk = shown_demo().await;
        let said = desk.stderr();
        let audit = said.split_once("tail -f ").and_then(|(_, rest)| rest.split_whitespace().next());
        let audit = std::path::PathBuf::from(audit.expect("where its audit log is"));
        assert!(audit.is_file(), "while it runs: {}", audit.display());
        desk.signal(signal);
        let (status, _) = desk.wait_exit(SOON).await;
        assert!(status.success() && !audit.exists(), "{status}: {}", audit.display());
    }
}

#[tokio::test]
async fn command_run_refuses_a_bad_file_and_says_why() {
    let dir = Dir::new();
    dir.write("frontdesk.toml", "[upstream]\nurll = \"http://127.0.0.1:1\"\n");
    let (code, out, err) = run_to_end(&["run", "--config", "frontdesk.toml"], dir.path());
    assert_ne!(code, 0);
    let said = out + &err;
    assert!(said.contains("urll") && said.contains("frontdesk.toml:2"), "{said}");
    let (code, _, err) = run_to_end(&["run", "--config", "missing.toml"], dir.path());
    assert_ne!(code, 0);
    assert!(err.contains("missing.toml"), "{err}");
}

#[tokio::test]
async fn command_run_says_when_its_port_is_taken() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address").to_string();
    let dir = Dir::new();
    let admin = crate::support::setup::dead_address().to_string();
    let args = ["run", "--upstream", "http://127.0.0.1:1", "--listen", &address, "--admin", &admin];
    let ended = tokio::task::spawn_blocking({
        let args = args.map(str::to_owned);
        move || run_to_end(&args.each_ref().map(String::as_str), dir.path())
    });
    let (code, _, err) = crate::support::soon("it gives up", ended).await.expect("the command");
    assert_ne!(code, 0);
    assert!(err.contains(&address), "{err}");
}

#[test]
fn command_help_names_every_command() {
    let (code, out, _) = ran(&["--help"]);
    assert_eq!(code, 0);
    for command in ["run", "check", "inspect", "export", "import", "handoff", "demo", "explain", "completions", "man"] {
        assert!(out.contains(command), "{command} in {out}");
    }
    let (code, alone, said) = ran(&[]);
    assert!(code == 2 && alone.is_empty(), "{alone}");
    assert!(said.contains("frontdesk demo") && said.contains("run --upstream"), "where to begin: {said}");
}

/// The manual is part of the binary.
#[test]
fn command_help_prints_pages_of_the_manual() {
    let (code, out, _) = ran(&["help"]);
    assert!(code == 0 && out.contains("log-messages") && out.contains("frontdesk demo"), "{out}");
    let (code, out, _) = ran(&["help", "errors"]);
    assert_eq!((code, out.lines().next()), (0, Some("# Errors")));
    let (code, out, err) = ran(&["help", "nothing"]);
    assert!(code == 2 && out.is_empty() && err.contains("operate") && err.contains("frontdesk explain"), "{err}");
}

#[test]
fn command_explain_knows_every_alert() {
    let rules = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/prometheus/alerts.yml"));
    let rules = rules.expect("the alerts");
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() > 15, "{alerts:?}");
    for alert in alerts {
        let (code, out, _) = ran(&["explain", alert]);
        assert!(code == 0 && out.contains("Do: "), "{alert}: {out}");
    }
    let (code, out, err) = ran(&["explain", "no_such_reason"]);
    assert!(code == 1 && out.is_empty() && err.contains("no_such_reason"), "{err}");
}

#[test]
fn command_help_teaches() {
    for command in [vec!["run"], vec!["check"], vec!["inspect"], vec!["catalog", "diff"], vec!["man"]] {
        let (code, out, _) = ran(&[&command[..], &["--help"]].concat());
        assert_eq!(code, 0, "{command:?}");
        let example = format!("  frontdesk {} ", command.join(" "));
        for part in ["Examples:", "Exit codes:", "Next:", &example] {
            assert!(out.contains(part), "{part} in {out}");
        }
        let (code, again, _) = ran(&[&["help"], &command[..]].concat());
        // The page of the manual with the same name follows.
        assert!(code == 0 && again.starts_with(&out), "{command:?}: {again}");
    }
    assert!(!ran(&["run", "-h"]).1.contains("Examples:"), "the short one is short");
}

#[test]
fn command_version_has_the_revision() {
    let (code, out, _) = ran(&["--version"]);
    assert!(code == 0 && out.starts_with(concat!("frontdesk ", env!("CARGO_PKG_VERSION"))), "{out}");
    let mut git = std::process::Command::new("git");
    let head = git.args(["rev-parse", "HEAD"]).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let head = head.ok().filter(|done| done.status.success());
    // Of another build, or an archive, git knows nothing.
    if let (Some(head), None) = (head, std::env::var_os("FRONTDESK_BIN")) {
        let head = String::from_utf8_lossy(&head.stdout).trim().to_owned();
        let shown = out.trim().split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or_default();
        assert!(shown.len() == 12 && head.starts_with(shown), "{out} at {head}");
    }
}

#[test]
fn command_output_that_cannot_be_written_is_2_and_a_sentence() {
    let dir = Dir::new();
    dir.write("a.toml", "[upstream]\nurl = \"http://127.0.0.1:1\"\n");
    for args in [&["check", "a.toml"][..], &["export", "aicp", "a.toml"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("a full device");
        let done = std::process::Command::new(binary()).args(args).current_dir(dir.path()).stdout(full).output();
        let done = done.expect("it starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
    }
}

#[test]
fn command_misuse_is_2_with_a_hint() {
    for (args, hint) in [
        (vec!["chekc", "a.toml"], "'check'"),
        (vec!["run"], "--config"),
        (vec!["run", "--upstream", "http://a", "--config", "b"], "cannot be used with"),
        (vec!["run", "--upsteam", "http://a"], "'--upstream'"),
        (vec!["check"], "<FILE>"),
        (vec!["completions", "tcsh"], "bash"),
        (vec!["man", "runn"], "check"),
    ] {
        let (code, out, said) = ran(&args);
        assert_eq!((code, out.as_str()), (2, ""), "{args:?}: {said}");
        assert!(said.contains(hint), "{hint} in {said}");
    }
}

#[test]
fn command_completions_are_what_a_shell_reads() {
    for (shell, word) in [("bash", "complete -F"), ("zsh", "#compdef frontdesk"), ("fish", "complete -c frontdesk")] {
        let (code, out, _) = ran(&["completions", shell]);
        assert!(code == 0 && out.contains(word) && out.contains("upstream"), "{shell}: {out}");
    }
    let dir = Dir::new();
    let script = dir.write("frontdesk.bash", ran(&["completions", "bash"]).1);
    let complete = "source \"$0\"; COMP_WORDS=(frontdesk ins); COMP_CWORD=1; _frontdesk frontdesk ins frontdesk; echo \"${COMPREPLY[@]}\"";
    let done = std::process::Command::new("bash").arg("-c").arg(complete).arg(&script).output().expect("bash");
    let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    assert_eq!(said, "inspect", "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn command_man_writes_every_page() {
    let (code, page, _) = ran(&["man", "run"]);
    assert!(code == 0 && page.contains(".TH frontdesk-run 1") && page.contains("EXIT STATUS"), "{page}");
    let dir = Dir::new();
    let (code, ..) = run_to_end(&["man", "--dir", "man1"], dir.path());
    assert_eq!(code, 0);
    let pages: Vec<String> = std::fs::read_dir(dir.join("man1"))
        .expect("the pages")
        .map(|entry| entry.expect("a page").file_name().to_string_lossy().into_owned())
        .collect();
    for name in ["frontdesk.1", "frontdesk-run.1", "frontdesk-catalog-diff.1", "frontdesk-handoff-lint.1"] {
        assert!(pages.iter().any(|page| page == name), "{name} in {pages:?}");
    }
    dir.write("file", "");
    let (code, _, said) = run_to_end(&["man", "--dir", "file"], dir.path());
    assert!(code == 2 && said.contains("file cannot be written"), "{said}");
}

#[test]
fn command_colours_are_for_terminals() {
    for args in [vec!["--help"], vec!["help", "run"], vec!["man"], vec!["completions", "zsh"], vec!["--version"]] {
        let (_, out, said) = ran(&args);
        assert!(!out.contains('\x1b') && !said.contains('\x1b'), "{args:?} into a pipe: {out:?} {said:?}");
    }
    assert!(!ran(&["chekc"]).2.contains('\x1b'));
    assert!(on_a_terminal(&["--help"], &[]).contains('\x1b'), "a person is shown what is what");
    assert!(!on_a_terminal(&["--help"], &[("NO_COLOR", "1")]).contains('\x1b'), "unless they want none");
    assert!(!on_a_terminal(&["--help"], &[("TERM", "dumb")]).contains('\x1b'), "or the terminal has none");
}

#[test]
fn command_output_may_be_read_in_part() {
    let shown = std::process::Command::new("bash")
        .args(["-c", "\"$0\" completions zsh | head -1; exit ${PIPESTATUS[0]}"])
        .arg(crate::support::desk::binary())
        .output()
        .expect("bash");
    let said = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(!said.contains("panicked"), "{said}");
}

fn ran(args: &[&str]) -> (i32, String, String) {
    run_to_end(args, &std::env::temp_dir())
}

/// What a command prints where its standard output is a terminal.
fn on_a_terminal(args: &[&str], env: &[(&str, &str)]) -> String {
    use std::io::Read;

    let terminal = nix::pty::openpty(None, None).expect("a terminal");
    let (mut ours, theirs) = (std::fs::File::from(terminal.master), terminal.slave);
    let mut command = std::process::Command::new(crate::support::desk::binary());
    // What asks for colours, or for none; a build service says CI, and then a dumb terminal is given some too.
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
        command.env_remove(name);
    }
    command.args(args).env("TERM", "xterm").envs(env.iter().copied());
    let mut child = command.stdin(std::process::Stdio::null()).stdout(theirs).spawn().expect("the command");
    // It holds the other end of the terminal too.
    drop(command);
    let mut shown = Vec::new();
    // Its end is told by an error.
    let _ = ours.read_to_end(&mut shown);
    child.wait().expect("its end");
    String::from_utf8_lossy(&shown).into_owned()
}
