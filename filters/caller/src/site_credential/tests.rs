//! Which lines go on, and whose records are whose.

use frontdesk_config::testing::{Nowhere, declare_text};
use http::HeaderMap;

use super::*;

fn forwarding(auth: &str, rest: &str) -> Option<Forwarding> {
    let text = format!(
        "[upstream]\nurl = \"http://127.0.0.1:1\"\n[auth]\n{auth}\n{rest}\n[[capabilities]]\nid = \"own\"\n\
         type = \"query\"\nmethod = \"GET\"\nendpoint = \"/agent/own\"\n\
         upstream = {{ path = \"/api/own\", identity = \"caller\" }}\n"
    );
    let declared = declare_text("t.toml".as_ref(), &text, &Nowhere).unwrap_or_else(|refused| panic!("{refused:?}"));
    Forwarding::new(&declared.settings)
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let line = |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    lines.iter().map(line).collect()
}

const SITE: &str = "unverified = \"site\"\nforward = [\"Authorization\", \"Cookie\", \"X-Api-Key\"]";

fn names(credential: Option<SiteCredential>) -> Vec<String> {
    let lines = credential.map(|credential| credential.lines().to_vec()).unwrap_or_default();
    lines.iter().map(|(name, _)| name.to_string()).collect()
}

#[test]
fn a_line_that_another_site_could_make_a_browser_send_never_goes_on() {
    let forwarding = forwarding(SITE, "").unwrap();
    let lines = [("cookie", "sid=1"), ("authorization", "Basic YTpi"), ("x-api-key", "k")];
    let of = |more: &[(&str, &str)]| {
        let all: Vec<_> = lines.iter().chain(more).copied().collect();
        names(forwarding.of(&headers(&all), Authorization::Unverified, "site.test", |_| false))
    };
    let all = ["authorization", "cookie", "x-api-key"];
    assert_eq!(of(&[]), all);
    assert_eq!(of(&[("sec-fetch-site", "same-origin")]), all);
    assert_eq!(of(&[("origin", "https://site.test")]), all);
    for elsewhere in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://evil.test"),
        ("origin", "null"),
        ("origin", "https://site.test.evil.test"),
    ] {
        assert_eq!(of(&[elsewhere]), ["x-api-key"], "{elsewhere:?}");
    }
    // No browser adds a bearer token by itself.
    let bearer = headers(&[("authorization", "Bearer t"), ("sec-fetch-site", "cross-site")]);
    assert_eq!(names(forwarding.of(&bearer, Authorization::Unverified, "site.test", |_| false)), ["authorization"]);
}

#[test]
fn a_key_of_ours_and_what_nothing_verifies_stay_here() {
    let lines = headers(&[("authorization", "Bearer t"), ("cookie", "sid=1"), ("x-api-key", "k")]);
    let site = forwarding(SITE, "").unwrap();
    assert_eq!(names(site.of(&lines, Authorization::Withheld, "site.test", |_| false)), ["cookie", "x-api-key"]);
    let refuses = forwarding("forward = [\"Authorization\", \"Cookie\"]", "").unwrap();
    assert_eq!(names(refuses.of(&lines, Authorization::Unverified, "site.test", |_| false)), Vec::<String>::new());
    assert_eq!(names(refuses.of(&lines, Authorization::Verified, "site.test", |_| false)), ["authorization"]);
    let long = headers(&[("authorization", &format!("Bearer {}", "t".repeat(MAX_BYTES)))]);
    assert!(site.of(&long, Authorization::Unverified, "site.test", |_| false).is_none());
}

#[test]
fn every_unverified_line_counts_for_the_holder_and_a_verified_one_does_not() {
    let forwarding = forwarding(SITE, "").unwrap();
    let holder = |authorization, lines: &[(&str, &str)]| {
        forwarding.of(&headers(lines), authorization, "site.test", |_| false).unwrap().holder
    };
    let one = holder(Authorization::Unverified, &[("authorization", "Bearer a"), ("cookie", "sid=1")]);
    let same = holder(Authorization::Unverified, &[("authorization", "Bearer a"), ("cookie", "sid=1")]);
    let other = holder(Authorization::Unverified, &[("authorization", "Bearer a"), ("cookie", "sid=2")]);
    assert!(one.is_some() && one == same && one != other);
    // Two lines are not one line with both texts.
    let joined = holder(Authorization::Unverified, &[("authorization", "Bearer asid=1")]);
    assert_ne!(one, joined);
    assert_eq!(holder(Authorization::Verified, &[("authorization", "Bearer a")]), None);
    let verified_with_cookie = holder(Authorization::Verified, &[("authorization", "Bearer a"), ("cookie", "sid=1")]);
    let rotated = holder(Authorization::Verified, &[("authorization", "Bearer b"), ("cookie", "sid=1")]);
    assert!(verified_with_cookie.is_some() && verified_with_cookie == rotated);
}

#[test]
fn replicas_with_one_store_know_a_caller_by_the_same_hash() {
    let shown = headers(&[("authorization", "Bearer a")]);
    let holder = |rest: &str| {
        let forwarding = forwarding(SITE, rest).unwrap();
        forwarding.of(&shown, Authorization::Unverified, "site.test", |_| false).unwrap().holder
    };
    let redis = "[store]\nurl = \"redis://:secret@127.0.0.1:6379\"";
    assert_eq!(holder(redis), holder(redis));
    assert_ne!(holder(redis), holder("[store]\nurl = \"redis://:other@127.0.0.1:6379\""));
    assert_ne!(holder(redis), holder(""));
    assert_eq!(holder(""), holder(""), "a reload changes nothing");
}

#[test]
fn debug_shows_no_value() {
    let forwarding = forwarding(SITE, "").unwrap();
    let credential =
        forwarding.of(&headers(&[("cookie", "sid=hush")]), Authorization::Unverified, "site.test", |_| false);
    let shown = format!("{credential:?} {forwarding:?}");
    assert!(shown.contains("cookie") && !shown.contains("hush"), "{shown}");
}
