//! Subjects of callers, loopback names, and which credentials are ours to check.

use super::*;

fn from(address: &str) -> Subject {
    Subject::address(address.parse().unwrap())
}

#[test]
fn a_claim_is_counted_with_its_address() {
    let claimed = Agent::claimed("\"ExampleAgent/1.0\"").unwrap();
    assert_eq!(&*claimed.name, "ExampleAgent/1.0");
    let verified = Agent { verified: true, ..claimed.clone() };
    let [here, there] = ["192.0.2.1", "192.0.2.2"].map(from);
    assert_ne!(claimed.subject(here), verified.subject(here));
    assert_ne!(claimed.subject(here), claimed.subject(there));
    assert_eq!(verified.subject(here), verified.subject(there));
    assert_eq!(Agent::claimed("\u{1}\u{ff}"), None);
    assert_eq!(Agent::claimed(&"x".repeat(1000)).unwrap().name.len(), super::super::LONGEST_CLAIM);
}

#[test]
fn only_this_machine_calls_itself_so() {
    for address in ["127.0.0.1:8080", "127.0.0.1", "localhost:80", "[::1]:80", "[::1]", "LOCALHOST"] {
        assert!(is_loopback(address), "{address}");
    }
    assert!(["evil.example:80", "", "203.0.113.66", "[2001:db8::1]:80"].iter().all(|other| !is_loopback(other)));
    assert_eq!(authority_of("https://Example.com:443/").as_deref(), Some("example.com"));
    assert_eq!(authority_of("http://example.com:8080").as_deref(), Some("example.com:8080"));
}

#[test]
fn only_bearer_is_ours() {
    assert_eq!(bearer(b"Bearer abc"), Some(&b"abc"[..]));
    assert_eq!(bearer(b"bearer  abc "), Some(&b"abc"[..]));
    assert_eq!(bearer(b"Basic abc"), None);
    assert_eq!(bearer(b"Bearer"), Some(&b""[..]));
    assert_eq!(bearer(b"Bearerabc"), None);
    assert_eq!(bearer(b""), None);
}
