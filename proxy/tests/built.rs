//! Makes `cargo test --workspace` build the binary: the integration tests in tests/ run it, and cargo builds a package's
//! binary only for tests of that package.

#[test]
fn built_binary_says_its_version() {
    let said = std::process::Command::new(env!("CARGO_BIN_EXE_frontdesk")).arg("--version").output().expect("it runs");
    assert!(said.stdout.starts_with(concat!("frontdesk ", env!("CARGO_PKG_VERSION")).as_bytes()), "{said:?}");
}
