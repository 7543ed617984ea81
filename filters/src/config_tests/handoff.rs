//! `[handoff]`: mistakes, warnings and defaults.

use super::*;

fn declared(more: &str) -> Result<Declaration, Refused> {
    let outside = Pretended::default().file("/conf/handoff/MANIFEST.json", "{}");
    declare_in(&with_upstream(&format!("[handoff]\ndir = 'handoff'\n{more}")), &outside)
}

fn said(more: &str) -> Vec<String> {
    match declared(more) {
        Ok(declaration) => declaration.warnings.iter().map(line).collect(),
        Err(refused) => refused.mistakes().iter().filter(|mistake| mistake.is_fatal()).map(line).collect(),
    }
}

const KEY: &str =
    "[[auth.api_keys]]\nname = 'a'\nsha256 = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'\n";

#[test]
fn what_is_not_written_is_careful() {
    let handoff = declared(KEY).unwrap().settings.handoff.unwrap();
    assert_eq!((handoff.dir.to_str(), handoff.path.as_str()), (Some("/conf/handoff"), "/.well-known/aahp"));
    assert!(handoff.needs_credential && !handoff.refuses_mismatch && !handoff.allow_v1);
    assert_eq!(said(KEY), [""; 0]);
    assert!(declare_here(UPSTREAM).unwrap().settings.handoff.is_none());
    let other = format!("path = '/x/y/'\nauth = 'none'\non_mismatch = 'refuse'\nallow_v1 = true\n{KEY}");
    let other = declared(&other).unwrap().settings.handoff.unwrap();
    assert_eq!(
        (other.path.as_str(), other.needs_credential, other.refuses_mismatch, other.allow_v1),
        ("/x/y", false, true, true)
    );
}

#[test]
fn what_is_open_to_all_or_to_nobody_is_warned_of() {
    for open in ["none", "optional"] {
        let said = said(&format!("auth = '{open}'\n{KEY}"));
        assert!(said.len() == 1 && said[0].contains(":5: warning: handoff.auth: everyone may read"), "{said:?}");
    }
    assert!(said("")[0].contains("handoff.auth: needs a credential, but none are configured"));
}

#[test]
fn a_path_is_one_that_can_be_met_and_nobody_elses() {
    for (path, words) in [
        ("/", "all of the site"),
        ("/a%20b", "is never met"),
        ("/a/{b}", "is never met"),
        ("/.well-known", "where documents for agents are"),
        ("/.well-known/agent.json", "where documents for agents are"),
        ("/agent", "where documents for agents are"),
        ("/mcp", "already taken by paths.mcp"),
        ("handoff", "must begin with"),
    ] {
        let said = said(&format!("path = '{path}'\n{KEY}"));
        assert!(said.iter().any(|line| line.contains(words) && line.contains(":5: handoff.path")), "{path}: {said:?}");
    }
    let taken = said(&format!("{KEY}[paths]\nmcp = '/.well-known/aahp'\n"));
    assert!(taken[0].contains("/.well-known/aahp is already taken by"), "the default counts too: {taken:?}");
}
