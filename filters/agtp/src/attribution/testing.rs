//! The agent of the test vectors, for tests of what it signs.

use std::path::Path;

use super::Signing;
use crate::genesis::{Hosted, testing::GENESIS};
use frontdesk_caller::signing::testing;
use frontdesk_config::{Settings, testing::Nowhere};

/// The caller in the worked example.
pub const CALLER: &str = "61de55ba3388aec4fdf6ecfc6eef846fb0f1b13e28cc8381270c27ffa313aee5";
/// What a site is configured with, with more in `[agtp]`.
pub fn settings(agtp: &str) -> Settings {
    let text =
        format!("[upstream]\nurl = 'http://127.0.0.1:1'\n[site]\norigin = 'https://shop.test:8443'\n[agtp]\n{agtp}");
    crate::declared::declare_text(Path::new("frontdesk.toml"), &text, &Nowhere).unwrap().settings
}

/// With or without the vectors' key and agent.
pub fn signing(with_key: bool, hosted: bool) -> Signing {
    let integrity = with_key.then(testing::k1);
    let settings = Settings { integrity, ..settings("server_id = 'gw.example.test'") };
    let hosted = hosted.then(|| Hosted::read(GENESIS.as_bytes()).unwrap().0);
    Signing::new(&settings, hosted.as_ref())
}

/// With both.
pub(crate) fn hosting() -> Signing {
    signing(true, true)
}
