//! The commands that README.md and docs/ print work.
//!
//! A comment `<!-- test HOW -->` or `<!-- test HOW: TEXT -->` before a fenced block says how it is run: `demo` against
//! the demo site, `shell` in a directory of the document's own, `eventually` there until it prints TEXT, `serve` in the
//! background until the next one or the end, `site PORT` as the site for the rest of the document, `file NAME` is written
//! there. TEXT has to be in what it prints. The addresses that the documents use become free ones. A block that no test
//! can run says why in a comment `<!-- not tested: WHY -->`.

use super::docs::manual;
use crate::support::desk::{binary, run_to_end};
use crate::support::page::PAGE;
use crate::support::{Dir, Origin, Ports, Reply, Request, SOON};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the first reading of a site may take.
const READ: Duration = Duration::from_secs(60);

struct Block {
    how: String,
    expected: Option<String>,
    text: String,
}

/// The blocks of a document that are marked.
fn blocks(document: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let Some(marker) = line.trim().strip_prefix("<!-- test ").and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let (how, expected) = match marker.split_once(": ") {
            Some((how, expected)) => (how, Some(expected.to_owned())),
            None => (marker, None),
        };
        let indent = line.len() - line.trim_start().len();
        assert!(lines.next().is_some_and(|fence| fence.trim().starts_with("```")), "a block after {line}");
        let body = lines.by_ref().take_while(|line| line.trim() != "```");
        let text: Vec<&str> = body.map(|line| line.get(indent..).unwrap_or_default()).collect();
        found.push(Block { how: how.to_owned(), expected, text: text.join("\n") });
    }
    found
}

/// A process that serves, and ends with this.
struct Server(Child);

impl Server {
    fn start(mut command: Command, at: SocketAddr, log: &Path) -> Server {
        let out = std::fs::File::create(log).expect("a log");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(out).process_group(0);
        let mut server = Server(command.spawn().expect("it starts"));
        let begun = Instant::now();
        while TcpStream::connect(at).is_err() {
            let ended = server.0.try_wait().expect("its state");
            let said = std::fs::read_to_string(log).unwrap_or_default();
            assert!(ended.is_none() && begun.elapsed() < SOON, "it does not serve ({ended:?}): {said}");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let group = i32::try_from(self.0.id()).expect("a process id");
        // It may have ended already.
        let _ = killpg(Pid::from_raw(group), Signal::SIGINT);
        let _ = self.0.wait();
    }
}

/// One document's blocks, in their order.
struct Reader {
    dir: Dir,
    ports: Ports,
    origin: String,
    server: Option<Server>,
    /// The server is the demo.
    is_demo: bool,
    site: Option<Server>,
}

impl Reader {
    fn new(origin: &str) -> Reader {
        let (dir, ports) = (Dir::new(), Ports::free());
        std::fs::create_dir(dir.join("bin")).expect("a directory");
        // What a user types, at ports of this test's own.
        let (binary, ports_of) = (binary().display().to_string(), format!("--admin {}", ports.admin));
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in\n  run*--listen*) exec {binary} \"$@\" {ports_of};;\n  \
             run* | demo*) exec {binary} \"$@\" {ports_of} --listen {};;\n  *) exec {binary} \"$@\";;\nesac\n",
            ports.http
        );
        let path = dir.write("bin/frontdesk", script);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a script");
        Reader { dir, ports, origin: origin.to_owned(), server: None, is_demo: false, site: None }
    }

    /// A block with addresses that this test has.
    fn at_our_addresses(&self, text: &str) -> String {
        // By way of marks, for a free port may begin as one of the others does.
        let marked = text.replace("./target/release/frontdesk", "frontdesk");
        let marked = marked.replace("127.0.0.1:8080", "@http@").replace("127.0.0.1:9901", "@admin@");
        let marked = marked.replace("http://127.0.0.1:3000", "@origin@");
        let marked = marked.replace("127.0.0.1:8443", "@https@").replace("localhost:8443", "localhost:@port@");
        let ports = &self.ports;
        let at_ours = marked.replace("@http@", &ports.http.to_string()).replace("@admin@", &ports.admin.to_string());
        let at_ours = at_ours.replace("@https@", &ports.https.to_string());
        let at_ours = at_ours.replace("@port@", &ports.https.port().to_string());
        at_ours.replace("@origin@", &self.origin)
    }

    fn bash(&self, script: &str) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", script]).current_dir(self.dir.path());
        command.env("PATH", format!("{}:{path}", self.dir.join("bin").display()));
        command
    }

    fn serve(&mut self, command: Command) {
        // The one before has the port.
        self.server = None;
        self.server = Some(Server::start(command, self.ports.http, &self.dir.join("server.log")));
        self.is_demo = false;
    }

    fn demo(&mut self) {
        let mut demo = Command::new(binary());
        let (http, admin) = (self.ports.http.to_string(), self.ports.admin.to_string());
        demo.args(["demo", "--listen", &http, "--admin", &admin]).current_dir(self.dir.path());
        // Of my-key.
        let hash = ring::digest::digest(&ring::digest::SHA256, b"my-key");
        let hash: String = hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        self.serve({
            demo.env("TRAVEL_KEY_SHA256", hash);
            demo
        });
        self.is_demo = true;
    }

    fn run(&mut self, block: &Block, name: &str) {
        let text = self.at_our_addresses(&block.text);
        if let Some(file) = block.how.strip_prefix("file ") {
            self.dir.write(file, text);
            return;
        }
        if let Some(port) = block.how.strip_prefix("site ") {
            let at = Ports::free().http;
            let command = self.bash(&block.text.replace(port, &at.port().to_string()));
            self.site = Some(Server::start(command, at, &self.dir.join("site.log")));
            self.origin = format!("http://{at}");
            return;
        }
        match block.how.as_str() {
            "serve" => {
                let command = self.bash(&text);
                return self.serve(command);
            }
            "demo" if !self.is_demo => self.demo(),
            "demo" | "shell" | "eventually" => {}
            how => panic!("{name}: nothing is known of \"{how}\""),
        }
        let begun = Instant::now();
        loop {
            let done = self.bash(&text).stdin(Stdio::null()).output().expect("bash");
            let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
            let says = block.expected.as_ref().is_none_or(|expected| said.contains(expected));
            if done.status.success() && says {
                return;
            }
            let again = block.how == "eventually" && begun.elapsed() < READ;
            let log = || std::fs::read_to_string(self.dir.join("server.log")).unwrap_or_default();
            assert!(again, "{name}: {}, wanted: {:?}\n{text}\n{said}\n{}", done.status, block.expected, log());
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn docs_commands_work() {
    let origin = Origin::start(|request: &Request| match request.target.starts_with("/api/") {
        true => Reply::json("{\"free\":true}"),
        false => Reply::html(PAGE),
    })
    .await;
    let url = origin.url();
    let readme = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).to_owned();
    let read = tokio::task::spawn_blocking(move || {
        let mut count = 0;
        for document in manual().into_iter().chain([readme]) {
            let text = std::fs::read_to_string(&document).expect("a document");
            let mut reader = Reader::new(&url);
            for block in blocks(&text) {
                reader.run(&block, &document.display().to_string());
                count += 1;
            }
        }
        count
    });
    let count = read.await.expect("every command works");
    assert!(count > 25, "only {count} blocks are marked");
}

/// What builds Frontdesk, or needs a cluster or another package manager: targets of the Makefile try these.
const ELSEWHERE: [&str; 7] = ["make", "cargo", "kubectl", "helm", "podman", "docker", "apt"];

/// The fenced blocks of a kind of which no comment says how they are tested, or why they are not.
fn unmarked<'a>(text: &'a str, kind: &str) -> Vec<(usize, Vec<&'a str>)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.trim() == format!("```{kind}")) {
        let before = at.checked_sub(1).and_then(|before| lines.get(before)).map_or("", |line| line.trim());
        let first = lines.get(at + 1).and_then(|line| line.split_whitespace().next()).unwrap_or_default();
        let said = ["<!-- test ", "<!-- not tested: "].iter().any(|comment| before.starts_with(comment));
        if !said && !ELSEWHERE.contains(&first) {
            let indent = line.len() - line.trim_start().len();
            let body = lines[at + 1..].iter().take_while(|line| line.trim() != "```");
            found.push((at + 1, body.map(|line| line.get(indent..).unwrap_or_default()).collect()));
        }
    }
    found
}

#[test]
fn docs_commands_are_all_run_or_say_why_not() {
    let readme = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).to_owned();
    for document in manual().into_iter().chain([readme]) {
        let text = std::fs::read_to_string(&document).expect("a document");
        let missing: Vec<usize> = unmarked(&text, "sh").into_iter().map(|(line, _)| line).collect();
        assert!(missing.is_empty(), "{}: no test runs the blocks at {missing:?}", document.display());
    }
}

/// What is shown of a configuration passes `check`, once the rest of it is there.
#[test]
fn docs_configurations_pass_check() {
    let dir = Dir::new();
    let mut count = 0;
    for document in manual() {
        let text = std::fs::read_to_string(&document).expect("a document");
        for (line, shown) in unmarked(&text, "toml") {
            let shown = shown.join("\n");
            let begin = match shown.contains("[upstream]") {
                true => "",
                false => "[upstream]\nurl = \"http://127.0.0.1:3000\"\n",
            };
            dir.write("site.toml", format!("{begin}{shown}\n"));
            let (code, out, err) = run_to_end(&["check", "site.toml"], dir.path());
            assert_eq!(code, 0, "{}:{line}: {out}{err}\n{shown}", document.display());
            count += 1;
        }
    }
    assert!(count >= 10, "only {count} blocks were checked");
}
