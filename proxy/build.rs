//! Tells the program which revision it is built from: `frontdesk --version` shows it, and so does a metric.
//!
//! Git's own files are read, so that neither git nor a network is needed. Where there are none (an archive, a container
//! that is built without them) the environment's FRONTDESK_REVISION says it; without both it is left out.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// As many digits of a commit's name are shown.
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

/// The commit that is checked out, and a look at it again when another one is.
fn checked_out() -> Option<String> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?).join("..");
    let dot = root.join(".git");
    // A worktree's is a file that says where its own directory is, and that one where the repository's is.
    let git = match read(&dot) {
        Some(text) => root.join(text.strip_prefix("gitdir:")?.trim()),
        None => dot,
    };
    let common = read(&git.join("commondir")).map_or_else(|| git.clone(), |common| git.join(common.trim()));
    // HEAD itself stays when its branch moves on; its log grows with each move.
    watch(&git.join("logs/HEAD"));
    let head = watched(&git.join("HEAD"))?;
    let Some(reference) = head.trim().strip_prefix("ref:").map(str::trim) else { return commit(&head) };
    if let Some(loose) = watched(&common.join(reference)) {
        return commit(&loose);
    }
    let packed = watched(&common.join("packed-refs"))?;
    packed.lines().find_map(|line| line.strip_suffix(reference)?.strip_suffix(' ').and_then(commit))
}

/// The first digits of a commit's name; `None` where the text is none.
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

/// What is not there is not watched: that would mean to look again at each build.
fn watch(file: &Path) {
    if file.is_file() {
        println!("cargo:rerun-if-changed={}", file.display());
    }
}
