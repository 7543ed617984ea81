//! Promise: the commands in README build Frontdesk, and one line names a missing tool and how to get it.

use crate::support::Dir;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The first command of a section of README.
fn first_command(section: &str) -> String {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let (_, section) = readme.split_once(&format!("\n## {section}\n")).expect("the section");
    let command = section.split_once("```sh\n").and_then(|(_, block)| block.lines().next()).expect("a command");
    command.split('#').next().unwrap_or_default().trim().to_owned()
}

/// A machine that has these tools, and programs that only say how they were called.
struct Machine(Dir);

impl Machine {
    fn with(tools: &[&str], pretended: &[(&str, &str)]) -> Machine {
        let dir = Dir::new();
        for tool in ["sh", "make"].iter().chain(tools) {
            let path = std::env::var("PATH").expect("a PATH");
            let found = std::env::split_paths(&path).map(|dir| dir.join(tool)).find(|path| path.is_file());
            symlink(found.unwrap_or_else(|| panic!("no {tool} here")), dir.join(tool)).expect("a link");
        }
        for (name, script) in pretended {
            dir.write(name, format!("#!/bin/sh\n{script}\n"));
            std::fs::set_permissions(dir.join(name), std::fs::Permissions::from_mode(0o755)).expect("a mode");
        }
        Machine(dir)
    }

    /// Types a command in the checkout.
    fn types(&self, command: &str) -> (bool, String) {
        let path = self.0.join("sh");
        let bin = path.parent().expect("a directory");
        let ran = Command::new(&path).args(["-c", command]).current_dir(root()).env_clear().env("PATH", bin).output();
        let ran = ran.expect("a shell");
        (ran.status.success(), String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned())
    }
}

const CARGO: (&str, &str) = ("cargo", "echo \"cargo $*\"");
const SOMEBODY: (&str, &str) = ("id", "echo 1000");
const ROOT: (&str, &str) = ("id", "echo 0");
const APT: (&str, &str) = ("apt-get", "echo \"apt-get $*\"");

#[test]
fn building_as_readme_says_begins_with_what_is_missing() {
    let build = first_command("See it");
    assert_eq!(build, "make build");

    // Nothing is missing.
    let (done, said) = Machine::with(&["cc"], &[CARGO]).types(&build);
    assert!(done && said.lines().last() == Some("cargo build --release --locked --bin frontdesk"), "{said}");

    // A user who may install packages gets what is missing.
    let (done, said) = Machine::with(&[], &[CARGO, ROOT, APT]).types(&build);
    assert!(done && said.contains("setup: missing: cc; installing gcc libc6-dev with apt-get"), "{said}");
    assert!(said.contains("apt-get install -y -qq --no-install-recommends gcc libc6-dev"), "{said}");
    assert!(said.contains("cargo build --release"), "{said}");

    // Any other user gets one line that says what is missing, and nothing is built.
    let refused = |machine: Machine| {
        let (done, said) = machine.types(&build);
        let said: Vec<String> = said.lines().filter(|line| !line.starts_with("make")).map(str::to_owned).collect();
        assert!(!done && said.len() == 1, "{said:#?}");
        said[0].clone()
    };
    let said = refused(Machine::with(&[], &[CARGO, SOMEBODY, APT]));
    assert_eq!(said, "setup: missing: cc. As root: apt-get install gcc libc6-dev; then run this again.");
    let said = refused(Machine::with(&[], &[CARGO, SOMEBODY, ("apk", "exit 1")]));
    assert_eq!(said, "setup: missing: cc. As root: apk add gcc musl-dev; then run this again.");
    let said = refused(Machine::with(&[], &[CARGO, SOMEBODY]));
    assert_eq!(said, "setup: missing: cc, and no package manager that is known here. Install them and run this again.");
    let said = refused(Machine::with(&["cc"], &[]));
    assert!(said.contains("cargo is missing. Install Rust"), "{said}");
}

#[test]
fn no_build_needs_cmake() {
    for folder in ["", "tests/fuzz"] {
        let lock = std::fs::read_to_string(root().join(folder).join("Cargo.lock")).expect("what is built");
        assert!(lock.contains("name = \"zlib-rs\""), "{folder}: pages are coded with it");
        assert!(!lock.contains("name = \"cmake\""), "{folder}: cargo tree -i cmake says who asks for it");
    }
}
