//! A copy of the sample handoff in `tests/data/handoff`, which a test may damage.

use super::{Ask, Desk, Dir, Origin, Response, Setup, Via};
use crate::support::rates::api_key;
use std::path::{Path, PathBuf};

const GENUINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/handoff");
pub const KEY: &str = "key-of-an-agent-4711";
/// The path at which it is served.
pub const AT: &str = "/.well-known/aahp";

pub struct Handoff(Dir);

impl Handoff {
    /// The complete copy.
    pub fn genuine() -> Handoff {
        let copy = Handoff::empty();
        for entry in std::fs::read_dir(GENUINE).expect("the genuine handoff") {
            let entry = entry.expect("an entry");
            std::fs::copy(entry.path(), copy.path().join(entry.file_name())).expect("a copy");
        }
        copy
    }

    pub fn empty() -> Handoff {
        let dir = Dir::new();
        std::fs::create_dir(dir.join("handoff")).expect("a directory");
        Handoff(dir)
    }

    pub fn path(&self) -> PathBuf {
        self.0.join("handoff")
    }

    /// A path beside the directory.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path().join(name), text).expect("writing a file");
    }

    /// Replaces a file in one step, as a careful writer does.
    pub fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let beside = self.beside("next");
        std::fs::write(&beside, text).expect("writing a file");
        std::fs::rename(beside, self.path().join(name)).expect("renaming a file");
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).expect("reading a file")
    }

    pub fn remove(&self, name: &str) {
        std::fs::remove_file(self.path().join(name)).expect("removing a file");
    }

    pub fn manifest(&self) -> serde_json::Value {
        serde_json::from_str(&self.read("MANIFEST.json")).expect("a manifest")
    }

    /// The manifest for just these files.
    pub fn manifest_of(&self, files: &[(&str, &str)]) -> String {
        let text = std::fs::read_to_string(Path::new(GENUINE).join("MANIFEST.json")).expect("the genuine manifest");
        let mut manifest: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let entry = |text: &str| serde_json::json!({ "checksum": checksum(text), "updated": "2026-02-26T14:30:00Z", "lines": 1, "summary": "" });
        manifest["files"] = files.iter().map(|(name, text)| ((*name).to_owned(), entry(text))).collect();
        manifest.to_string()
    }

    /// Lists a file with this checksum.
    pub fn list(&self, name: &str, checksum: &str) {
        let mut manifest = self.manifest();
        manifest["files"][name] = serde_json::json!({
            "checksum": checksum, "updated": "2026-02-26T14:30:00Z", "lines": 1, "summary": "s",
        });
        self.put("MANIFEST.json", manifest.to_string());
    }

    /// Creates a writer's lock, so many seconds old.
    pub fn lock(&self, age: u64, updating: &[&str]) {
        let started = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        let started = rfc3339(started);
        let lock = serde_json::json!({ "agent": "claude-opus-4.6", "started": started, "updating": updating });
        self.write("HANDOFF.lock", lock.to_string());
    }

    /// A desk with these lines of `[handoff]`.
    pub fn setup(&self, origin: &Origin, lines: &str) -> Setup {
        let dir = self.path();
        Setup::before(origin).set("handoff", &format!("dir = {dir:?}\n{lines}")).tail(&api_key("agent", KEY, ""))
    }

    pub async fn served(&self, origin: &Origin, lines: &str) -> Desk {
        self.setup(origin, lines).start().await
    }
}

/// RFC 3339, by the system's own `date`.
fn rfc3339(time: std::time::SystemTime) -> String {
    let seconds = time.duration_since(std::time::UNIX_EPOCH).expect("after 1970").as_secs();
    let told = std::process::Command::new("date").args(["-u", "-d", &format!("@{seconds}"), "+%FT%TZ"]).output();
    String::from_utf8(told.expect("date").stdout).expect("text").trim().to_owned()
}

/// SHA-256 of unchanged bytes, in hex.
pub fn sha256(bytes: &[u8]) -> String {
    ring::digest::digest(&ring::digest::SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The checksum of a text without carriage returns.
pub fn checksum(text: &str) -> String {
    format!("sha256:{}", sha256(text.replace('\r', "").as_bytes()))
}

/// GETs a path below, with the key.
pub async fn get(desk: &Desk, below: &str) -> Response {
    desk.ask(Via::H1, Ask::get(&format!("{AT}{below}")).bearer(KEY)).await
}

/// The headers for state, integrity and warning.
pub fn marks(response: &Response) -> [&str; 3] {
    ["x-aahp-state", "x-aahp-integrity", "x-aahp-warning"].map(|name| response.header(name).unwrap_or("-"))
}

pub fn mkfifo(path: &Path) {
    let made = std::process::Command::new("mkfifo").arg(path).status().expect("mkfifo");
    assert!(made.success());
}
