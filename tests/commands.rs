//! Promise: one command puts Frontdesk in front of a site without a file, another shows it on a bundled one.

use crate::support::desk::run_to_end;
use crate::support::page::{LINK, PAGE, assert_rewritten};
use crate::support::{Desk, Dir, Origin, Reply, Request};

#[tokio::test]
async fn command_run_upstream_needs_no_file() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Desk::run_upstream(&origin.url()).await;
    let response = desk.get("/").await;
    assert_rewritten(PAGE, &response.page(), "without a file");
    assert!(response.headers.all("link").contains(&LINK));
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

#[tokio::test]
async fn command_help_names_every_command() {
    let (code, out, _) = run_to_end(&["--help"], &std::env::temp_dir());
    assert_eq!(code, 0);
    for command in ["run", "check", "inspect", "export", "import", "handoff", "demo"] {
        assert!(out.contains(command), "{command} in {out}");
    }
    let (code, out, _) = run_to_end(&["--version"], &std::env::temp_dir());
    assert_eq!(code, 0);
    assert!(out.starts_with("frontdesk "), "{out}");
}
