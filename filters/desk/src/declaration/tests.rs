//! What `check` says about capabilities that are called in the caller's name.

use frontdesk_config::{Extensions, Nowhere, declare_text};

use super::*;

static ALL: Extensions = &[&EXTENSION];

fn said(auth: &str, upstream: &str) -> String {
    let text = format!(
        "[upstream]\nurl = \"http://127.0.0.1:1\"\n[auth]\n{auth}\n[[capabilities]]\nid = \"own\"\ntype = \"query\"\n\
         method = \"GET\"\nendpoint = \"/agent/own\"\nupstream = {{ {upstream} }}\n"
    );
    match declare_text("t.toml".as_ref(), &text, &Nowhere, ALL) {
        Ok(declared) => format!("{:?}", declared.warnings),
        Err(refused) => format!("{refused:?}"),
    }
}

#[test]
fn check_says_where_a_credential_would_go_astray_or_nowhere() {
    let own = "path = \"/api/own\", identity = \"caller\"";
    let site = "unverified = \"site\"";
    for (auth, upstream, says) in [
        (site, "url = \"https://other.test/x\", identity = \"caller\"", "another service"),
        (
            site,
            "path = \"/x\", identity = \"caller\", headers = { authorization = \"Bearer x\" }",
            "also in auth.forward",
        ),
        ("unverified = \"site\"\nforward = [\"Host\"]", own, "set by Frontdesk itself"),
        ("unverified = \"site\"\nforward = [\"X-AHP-Key\"]", own, "which the site never gets"),
        ("forward = [\"X-Api-Key\"]", own, "is never passed on"),
        ("", own, "no credential is ever passed on"),
        (site, "path = \"/api/own\"", "has no effect"),
        ("unverified = \"site\"\n[policies]\nanonymous_access = false", own, "refuses these callers first"),
    ] {
        let all = said(auth, upstream);
        assert!(all.contains(says), "{auth} {upstream}: {all}");
    }
    let header = "path = \"/x\", identity = \"caller\", parameters = { key = { in = \"header\" } }";
    let renamed = said(site, &format!("{header}, rename_input = {{ key = \"authorization\" }}"));
    assert!(renamed.contains("also in auth.forward"), "{renamed}");
    let fine = said("unverified = \"site\"\nforward = [\"Authorization\", \"Cookie\", \"X-Api-Key\"]", own);
    assert!(!fine.contains("auth.") && !fine.contains("identity"), "{fine}");
}

#[test]
fn check_says_which_inputs_cannot_be_a_header() {
    for (upstream, says) in [
        ("parameters = { Host = { in = \"header\" } }", "set by Frontdesk itself"),
        (
            "parameters = { h = { in = \"header\" } }, rename_input = { h = \"Content-Length\" }",
            "set by Frontdesk itself",
        ),
        (
            "parameters = { x-key = { in = \"header\" } }, headers = { X-Key = \"s\" }",
            "is the header of upstream.headers.X-Key",
        ),
        ("parameters = { a = { in = \"header\" }, A = { in = \"header\" } }", "is the header of upstream.parameters."),
    ] {
        let all = said("", &format!("path = \"/x\", {upstream}"));
        assert!(all.contains(says), "{upstream}: {all}");
    }
    let fine =
        said("", "path = \"/x\", parameters = { X-Trace = { in = \"header\" }, q = {} }, headers = { X-Key = \"s\" }");
    assert!(!fine.contains("header"), "{fine}");
}
