//! Finds the frontdesk binary that the integration tests run.
//!
//! Cargo tells only the tests of the package `frontdesk` where its binary is. It lies two folders above the running test,
//! and `cargo test --workspace` builds it there, because `frontdesk` has a test of its own that needs it.

use std::path::{Path, PathBuf};

/// `FRONTDESK_BIN`, or what cargo built in the same profile.
///
/// # Panics
/// Where there is no such file.
pub fn binary() -> PathBuf {
    let found = std::env::var_os("FRONTDESK_BIN").map(PathBuf::from).or_else(built);
    let found = found.expect("the running test lies in target/PROFILE/deps");
    assert!(found.is_file(), "{} is missing: run `cargo build -p frontdesk`, or set FRONTDESK_BIN", found.display());
    found
}

fn built() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    Some(test.parent().and_then(Path::parent)?.join("frontdesk"))
}
