//! The commands that README.md and docs/ print work.
//!
//! A comment `<!-- test HOW -->` or `<!-- test HOW: TEXT -->` before a fenced block says how it is run: `demo` against
//! the demo site, `shell` in a directory of the document's own, `serve` in the background until the next one or the end,
//! `file NAME` is written there. TEXT has to be in what it prints. The addresses that the documents use become free ones.

use super::docs::manual;
use crate::support::desk::binary;
use crate::support::page::PAGE;
use crate::support::{Dir, Origin, Ports, Reply, Request, SOON};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

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
    fn start(mut command: Command, ports: &Ports, log: &Path) -> Server {
        let out = std::fs::File::create(log).expect("a log");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(out).process_group(0);
        let mut server = Server(command.spawn().expect("it starts"));
        let begun = Instant::now();
        while TcpStream::connect(ports.http).is_err() {
            let ended = server.0.try_wait().expect("its state");
            let said = std::fs::read_to_string(log).unwrap_or_default();
            assert!(ended.is_none() && begun.elapsed() < SOON, "it does not serve ({ended:?}): {said}");
            std::thread::sleep(std::time::Duration::from_millis(20));
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
}

impl Reader {
    fn new(origin: &str) -> Reader {
        let (dir, ports) = (Dir::new(), Ports::free());
        std::fs::create_dir(dir.join("bin")).expect("a directory");
        // What a user types, at ports of this test's own.
        let (binary, ports_of) = (binary().display().to_string(), format!("--admin {}", ports.admin));
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in\n  run*--listen*) exec {binary} \"$@\" {ports_of};;\n  \
             run*) exec {binary} \"$@\" {ports_of} --listen {};;\n  *) exec {binary} \"$@\";;\nesac\n",
            ports.http
        );
        let path = dir.write("bin/frontdesk", script);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a script");
        Reader { dir, ports, origin: origin.to_owned(), server: None }
    }

    /// A block with addresses that this test has.
    fn at_our_addresses(&self, text: &str) -> String {
        // By way of marks, for a free port may begin as one of the others does.
        let marked = text.replace("./target/release/frontdesk", "frontdesk");
        let marked = marked.replace("127.0.0.1:8080", "@http@").replace("127.0.0.1:9901", "@admin@");
        let marked = marked.replace("http://127.0.0.1:3000", "@origin@");
        let ports = &self.ports;
        let at_ours = marked.replace("@http@", &ports.http.to_string()).replace("@admin@", &ports.admin.to_string());
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
        self.server = Some(Server::start(command, &self.ports, &self.dir.join("server.log")));
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
    }

    fn run(&mut self, block: &Block, name: &str) {
        let text = self.at_our_addresses(&block.text);
        if let Some(file) = block.how.strip_prefix("file ") {
            self.dir.write(file, text);
            return;
        }
        match block.how.as_str() {
            "serve" => {
                let command = self.bash(&text);
                return self.serve(command);
            }
            "demo" if self.server.is_none() => self.demo(),
            "demo" | "shell" => {}
            how => panic!("{name}: nothing is known of \"{how}\""),
        }
        let done = self.bash(&text).stdin(Stdio::null()).output().expect("bash");
        let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{name}: {}\n{text}\n{said}", done.status);
        if let Some(expected) = &block.expected {
            assert!(said.contains(expected), "{name}: no {expected} in what is said to\n{text}\n{said}");
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
