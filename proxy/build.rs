//! Records the revision of this build, which `frontdesk --version` and a metric show.
//!
//! It reads Git's own files, so it needs neither git nor a network. Without them (in an archive or a container build)
//! it takes the environment variable FRONTDESK_REVISION; without both the revision stays empty.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The number of shown digits of a commit's name.
const SHOWN: usize = 12;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=FRONTDESK_REVISION");
    let named = env::var("FRONTDESK_REVISION").ok().and_then(|name| commit(&name));
    let revision = named.or_else(checked_out).unwrap_or_default();
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let whole = if revision.is_empty() { version } else { format!("{version} ({revision})") };
    println!("cargo:rustc-env=FRONTDESK_REVISION={revision}");
    println!("cargo:rustc-env=FRONTDESK_VERSION={whole}");
}

/// The checked-out commit. The build script runs again when another commit is checked out.
fn checked_out() -> Option<String> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?).join("..");
    let dot = root.join(".git");
    // In a worktree .git is a file with the path of its own directory, which names the repository's directory.
    let git = match read(&dot) {
        Some(text) => root.join(text.strip_prefix("gitdir:")?.trim()),
        None => dot,
    };
    let common = read(&git.join("commondir")).map_or_else(|| git.clone(), |common| git.join(common.trim()));
    // HEAD stays the same when its branch moves, but its log grows with each move.
    watch(&git.join("logs/HEAD"));
    let head = watched(&git.join("HEAD"))?;
    let Some(reference) = head.trim().strip_prefix("ref:").map(str::trim) else { return commit(&head) };
    if let Some(loose) = watched(&common.join(reference)) {
        return commit(&loose);
    }
    let packed = watched(&common.join("packed-refs"))?;
    packed.lines().find_map(|line| line.strip_suffix(reference)?.strip_suffix(' ').and_then(commit))
}

/// The first digits of a commit's name; `None` for any other text.
fn commit(text: &str) -> Option<String> {
    let text = text.trim();
    let is_one = text.len() >= 7 && text.len() <= 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    is_one.then(|| text[..text.len().min(SHOWN)].to_ascii_lowercase())
}

fn read(file: &Path) -> Option<String> {
    fs::read_to_string(file).ok()
}

fn watched(file: &Path) -> Option<String> {
    watch(file);
    read(file)
}

/// Watches a file if it exists. Cargo would run the build script each time for a missing one.
fn watch(file: &Path) {
    if file.is_file() {
        println!("cargo:rerun-if-changed={}", file.display());
    }
}
