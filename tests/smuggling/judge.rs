//! The expected outcome of a case, and its check at the client, at the origin, and for the next client.

use super::lenient::readers;
use crate::support::calls::query;
use crate::support::exact::{Exact, ExactOrigin, exactly};
use crate::support::{Ask, Conn, Desk, Response, SOON, Setup, Via, eventually};
use futures_util::FutureExt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

/// What becomes of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Is {
    /// The client hears no, or nothing; the origin hears nothing.
    Refused,
    /// It goes wrong after its head was in order: the origin hears a part at most, on a connection that then ends.
    Broken,
    /// The origin hears one request, and the client its answer.
    Passed,
    /// Whichever of them; the origin hears one whole request at most.
    Either,
}

/// The desk under test and the origin that listens.
pub struct Court {
    pub desk: Desk,
    pub origin: ExactOrigin,
}

/// A body that each of the paths below takes.
pub const BODY: &str = "{\"ahp\":\"0.1\",\"capability\":\"look\",\"query\":\"What is left?\"}";
/// Passed on; a capability's own endpoint; the one for questions.
pub const PLACES: [&str; 3] = ["/case", "/agent/look", "/agent/converse"];
/// A request that no client sends: a server that sees it was fooled.
pub const HIDDEN: &str = "GET /smuggled HTTP/1.1\r\nHost: site.test\r\nX-Asked-By: test\r\n\r\n";

impl Court {
    pub async fn open() -> Court {
        let origin = ExactOrigin::start().await;
        let upstream = "\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"/api/look\"";
        let desk = Setup::before_urls(&[origin.url()])
            .set("listen", "h2c = true")
            .set("protection", "header_timeout = \"2s\"\nidle_timeout = \"2s\"")
            .tail(&query("look", upstream))
            .start()
            .await;
        let court = Court { desk, origin };
        for place in PLACES {
            let answer =
                court.desk.ask(Via::H1, Ask::post(place, BODY).header("Content-Type", "application/json")).await;
            assert_eq!(answer.status, 200, "{place}: {}", answer.text());
        }
        court.origin.forget();
        court
    }

    /// Sends these bytes on a connection of their own, and sees that it comes to this.
    pub async fn hear(&self, what: &str, bytes: &[u8], is: Is) {
        let mut conn = self.desk.conn().await;
        conn.send(bytes).await;
        // Everything is sent; a server that waits for more gets nothing.
        let what = &format!("{what}: {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(600)]));
        let first = answer(&mut conn, what).await;
        match (is, &first) {
            (Is::Passed, Some(response)) => assert_eq!(response.status, 200, "{what}: {}", response.text()),
            (Is::Passed, None) => panic!("no answer to {what}"),
            (Is::Refused | Is::Broken, Some(response)) => {
                assert!((400..600).contains(&response.status), "{what}: {} {}", response.status, response.text());
                let ours = is == Is::Refused && response.status >= 500;
                assert!(!ours || [501, 505].contains(&response.status), "{what}: {}", response.status);
            }
            (Is::Either, Some(_)) | (_, None) => {}
        }
        // Whatever is left of the bytes would be read before this.
        if first.is_some() {
            conn.send("GET /next HTTP/1.1\r\nHost: site.test\r\nX-Asked-By: test\r\n\r\n").await;
            if let Some(next) = answer(&mut conn, what).await {
                let own = next.status >= 400 || next.text().contains("GET /next");
                assert!(own, "{what}: then {} {}", next.status, next.text());
            }
        }
        drop(conn);
        self.judge(what, is).await;
    }

    /// What the origin heard, and whether the next one is answered.
    pub async fn judge(&self, what: &str, is: Is) {
        let after = self.desk.get("/after").await;
        assert!(
            after.status == 200 && after.text().contains("GET /after"),
            "{what}: {} {}",
            after.status,
            after.text()
        );
        let mut cases: Vec<Exact> = Vec::new();
        if is == Is::Broken {
            // What there is of it may still be on its way to the origin.
            tokio::time::sleep(Duration::from_millis(20)).await;
            eventually("what is broken has an end", SOON, async || {
                self.origin
                    .heard()
                    .iter()
                    .all(|heard| heard.ended || split(&heard.bytes).is_ok_and(|(_, rest)| rest == 0))
            })
            .await;
        }
        for heard in self.origin.heard() {
            let text = String::from_utf8_lossy(&heard.bytes).into_owned();
            let (requests, rest) =
                split(&heard.bytes).unwrap_or_else(|e| panic!("{what}: {e}: the origin heard {text:?}"));
            assert!(rest == 0 || heard.ended && is == Is::Broken, "{what}: {rest} bytes of a request: {text:?}");
            let plain: Vec<String> = requests.iter().map(|(r, _)| format!("{} {}", r.method, r.target)).collect();
            for reader in readers() {
                let read = reader.requests(&heard.bytes[..heard.bytes.len() - rest]);
                assert_eq!(read, plain, "{what}: {reader:?}: {text:?}");
                let read = reader.requests(&heard.bytes);
                assert!(!read.iter().any(|line| line.contains("smuggled")), "{what}: {reader:?}: {text:?}");
            }
            cases.extend(requests.into_iter().filter(|(r, own)| !own && !asked(&r.target)).map(|(r, _)| r));
        }
        self.origin.forget();
        let fits = is == Is::Either && cases.len() < 2 || cases.len() == usize::from(is == Is::Passed);
        assert!(fits, "{what}: {cases:?}");
        assert!(!cases.iter().any(|r| r.target.contains("smuggled")), "{what}: {cases:?}");
    }
}

/// What this court asks besides the case.
fn asked(target: &str) -> bool {
    ["/next", "/after"].contains(&target)
}

/// All cases of a table: one that fails does not hide the others.
#[derive(Default)]
pub struct Verdicts {
    cases: usize,
    failed: usize,
}

impl Verdicts {
    pub async fn add(&mut self, court: &Court, case: impl Future<Output = ()>) {
        self.cases += 1;
        if AssertUnwindSafe(case).catch_unwind().await.is_err() {
            self.failed += 1;
            court.origin.forget();
        }
    }

    #[track_caller]
    pub fn are_all_right(&self) {
        assert_eq!(self.failed, 0, "of {} cases; each is said above", self.cases);
    }
}

/// The next answer, or `None` if the connection ends.
async fn answer(conn: &mut Conn, what: &str) -> Option<Response> {
    match conn.try_response("POST", SOON).await {
        Ok(response) => Some(response),
        Err(e) => {
            assert!(!e.contains("nothing complete"), "{what}: {e}");
            None
        }
    }
}

/// All requests, each with whether it is the desk's own (it looks for what the site already has, at a time of its own);
/// and how many bytes of another there are.
fn split(mut bytes: &[u8]) -> Result<(Vec<(Exact, bool)>, usize), String> {
    const OWN: &[u8] = b"\r\nUser-Agent: frontdesk/";
    let mut requests = Vec::new();
    while let Some((request, length)) = exactly(bytes)? {
        requests.push((request, bytes[..length].windows(OWN.len()).any(|part| part.eq_ignore_ascii_case(OWN))));
        bytes = &bytes[length..];
    }
    Ok((requests, bytes.len()))
}
