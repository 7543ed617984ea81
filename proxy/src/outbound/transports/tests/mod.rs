//! Tests of every transport, over real sockets and with real programs.

mod http;
mod many;
mod stdio;

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use frontdesk_filters::harness::{HarnessConnection, HarnessTransport, Lost};

use crate::outbound::Outbound;

/// Longer than anything here should take.
const LONG: Duration = Duration::from_secs(20);
/// A short limit, for operations that must time out.
const SHORT: Duration = Duration::from_millis(300);

fn way(url: &str) -> Arc<dyn HarnessTransport> {
    super::way(&Outbound::new(), url, Some("SECRET")).unwrap()
}

async fn line(url: &str) -> Arc<dyn HarnessConnection> {
    way(url).open(LONG).await.unwrap()
}

fn question(id: &str) -> Bytes {
    Bytes::from(format!(r#"{{"id":"{id}","params":{{}}}}"#))
}

fn answer(id: &str) -> String {
    format!(r#"{{"id":"{id}","result":"{id}"}}"#)
}

/// Waits until a connection has been found broken.
async fn breaks(line: &Arc<dyn HarnessConnection>) {
    let until = tokio::time::Instant::now() + LONG;
    while !line.is_broken() {
        assert!(tokio::time::Instant::now() < until, "it never broke");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn why(lost: &Result<Bytes, Lost>) -> &str {
    match lost {
        Ok(answer) => panic!("an answer: {answer:?}"),
        Err(Lost(why)) => why,
    }
}

#[test]
fn what_leads_nowhere_is_refused() {
    let outbound = Outbound::new();
    for (url, about) in [
        ("tcp://h:1", "is no way"),
        ("unix:run/x", "a whole path"),
        ("stdio:", "a command"),
        ("stdio:a 'b", "not closed"),
        ("http://", "cannot be read"),
        ("http://user:SECRET@h/", "must not have a user"),
        ("no url", "cannot be read"),
    ] {
        let refused = super::way(&outbound, url, None).err().unwrap_or_default();
        assert!(refused.contains(about), "{url}: {refused}");
        assert!(!refused.contains("SECRET"), "{refused}");
    }
    assert!(super::way(&outbound, "http://h/", Some("a\nb")).is_err());
    assert!(super::way(&outbound, "http://h/", Some("")).is_ok());
}

#[test]
fn each_place_has_a_name_of_its_own_without_a_secret() {
    let urls = ["stdio:a --key=S1", "stdio:a --key=S2", "http://h:1/p?token=S3", "unix:/run/x", "stdio:a"];
    let names = super::names(&urls.map(str::to_owned));
    assert_eq!(names, ["stdio:a", "stdio:a (2)", "http://h:1/p", "unix:/run/x", "stdio:a (3)"]);
}
