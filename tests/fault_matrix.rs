//! Promise: for every failure of the site and every kind of client, the answer is right and in time, and the next
//! client gets its own.
//!
//! Each row is one failure, each test one kind of client. Open descriptors show leaks.

use crate::support::calls::{AOM, call, declare};
use crate::support::faulty::{FaultyOrigin, ILLS, Ill};
use crate::support::handshake::{asking, assert_error, assert_success, question, with};
use crate::support::setup::dead_address;
use crate::support::verbs::verb;
use crate::support::{Ask, Desk, Response, SOON, Setup, Tls, Via, eventually};
use serde_json::json;
use std::time::{Duration, Instant};

/// The bounds in the configuration, and what a slow machine may add to one.
const LIMIT: &str = "500ms";
const LATEST: Duration = Duration::from_secs(6);

/// What is to come of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// All is well.
    Whole,
    /// A head, and not the whole body; the connection, or the stream, ends.
    Cut,
    /// The site cannot be reached.
    Away,
    /// The site did not speak HTTP, or hung up.
    Bad,
    /// The site did not answer in time.
    Late,
}

/// How somebody asks.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// What is passed on as it is.
    Raw(Via),
    /// A page that gets its notice.
    Page(Via),
    /// A call of a capability.
    Call,
    Converse,
    /// A verb over HTTP, and in a frame.
    Verb,
    Frame,
}

impl Way {
    fn ask(self, n: usize) -> Ask {
        match self {
            Way::Raw(_) => Ask::get(&format!("/raw/{n}.json")),
            Way::Page(_) => Ask::get(&format!("/page/{n}.html")).accept("text/html"),
            Way::Call => call("/agent/look", &json!({ "n": n.to_string() })),
            Way::Converse => {
                asking(&with(question("look", "What is left?"), json!({ "input": { "n": n.to_string() } })))
            }
            Way::Verb | Way::Frame => verb("QUERY", &format!("/look?n={n}")),
        }
    }

    /// What is answered; `None` if the connection ends without a byte.
    async fn says(self, desk: &Desk, n: usize, what: &str) -> Option<Response> {
        let ask = self.ask(n);
        let (mut conn, bytes) = match self {
            Way::Raw(via @ Via::H2Tls) | Way::Page(via @ Via::H2Tls) => return Some(desk.ask(via, ask).await),
            Way::Frame => (desk.agtp().await.conn, ask.frame()),
            _ => (desk.conn().await, ask.bytes()),
        };
        conn.send(bytes).await;
        match conn.try_response(&ask.method, SOON).await {
            Ok(response) => Some(response),
            Err(e) if e == "closed without a byte" => None,
            Err(e) => panic!("{what}: {e}"),
        }
    }

    fn passes(self) -> bool {
        matches!(self, Way::Raw(_) | Way::Page(_))
    }

    /// The row: a desk waits for the whole answer, what is passed on has begun by then.
    fn expects(self, ill: Ill) -> Told {
        match ill {
            Ill::ClosesBeforeTheHead | Ill::ResetsBeforeTheHead | Ill::ResetsInTheHead | Ill::Garbage => Told::Bad,
            Ill::ManyHeaders | Ill::HugeHeader | Ill::EndlessHead => Told::Bad,
            Ill::StallsBeforeTheHead | Ill::StallsInTheHead => Told::Late,
            Ill::StallsInTheBody if !self.passes() => Told::Late,
            Ill::TooShort | Ill::DiesInALength | Ill::DiesInAChunk | Ill::LiesInAChunk if !self.passes() => Told::Bad,
            Ill::StallsInTheBody | Ill::TooShort | Ill::DiesInALength | Ill::DiesInAChunk | Ill::LiesInAChunk => {
                Told::Cut
            }
            Ill::TooLong => Told::Whole,
        }
    }

    #[track_caller]
    fn judge(self, told: Told, response: &Response, what: &str) {
        assert!(!response.text().contains("SECRET"), "{what}: {}", response.text());
        let status = response.status;
        if told == Told::Cut {
            assert_eq!((status, response.complete), (200, false), "{what}: {}", response.text());
            return;
        }
        assert!(response.complete, "{what}: {status} {}", response.text());
        let code = || response.json()["error"]["code"].as_str().unwrap_or_default().to_owned();
        match (self, told) {
            (Way::Converse, Told::Whole) => drop(assert_success(response, what)),
            (_, Told::Whole) => assert_eq!(status, 200, "{what}: {}", response.text()),
            (Way::Raw(_) | Way::Page(_), _) => {
                assert_eq!(status, if told == Told::Late { 504 } else { 502 }, "{what}: {}", response.text());
                let kind = if matches!(self, Way::Page(_)) { "text/html" } else { "application/problem+json" };
                assert_eq!(response.media_type(), kind, "{what}: {}", response.text());
            }
            (Way::Converse, Told::Late | Told::Away) => drop(assert_error(response, 503, "unavailable", what)),
            (Way::Converse, _) => drop(assert_error(response, 500, "concierge_error", what)),
            (Way::Call, _) => {
                assert_eq!(response.media_type(), AOM, "{what}: {}", response.text());
                let wanted = if told == Told::Late { (504, "upstream_timeout") } else { (502, connection(told)) };
                assert_eq!((status, code().as_str()), wanted, "{what}: {}", response.text());
            }
            (Way::Verb | Way::Frame, _) => {
                assert_eq!(response.headers.all("server-id").len(), 1, "{what}: {:?}", response.headers);
                assert_eq!((status, code().as_str()), (422, connection(told)), "{what}: {}", response.text());
            }
        }
    }
}

/// The name that two dialects have for it.
fn connection(told: Told) -> &'static str {
    match told {
        Told::Late => "upstream_timeout",
        _ => "upstream_connection_error",
    }
}

async fn before(url: String) -> Desk {
    let upstream = "upstream = { method = \"GET\", path = \"/api/look/{n}\", timeout = \"1s\" }";
    let lines = format!(
        "\nrisk_level = \"low\"\nauth = \"none\"\n{upstream}\nagtp = {{ method = \"QUERY\", path = \"/look\" }}\n\
         input_schema = {{ type = \"object\", properties = {{ n = {{ type = \"string\", default = \"0\" }} }} }}"
    );
    Setup::before_urls(&[url])
        .set("upstream", &format!("connect_timeout = \"{LIMIT}\"\nread_timeout = \"{LIMIT}\""))
        .set("agtp", "server_id = \"shop.test\"")
        .agtp()
        .tls(&Tls::new())
        .tail(&declare("look", "query", &lines))
        .start()
        .await
}

/// One answer, right and in time.
async fn one(desk: &Desk, way: Way, told: Told, n: usize, what: &str) {
    let begun = Instant::now();
    let response = way.says(desk, n, what).await;
    assert!(begun.elapsed() < LATEST, "{what}: {:?}", begun.elapsed());
    let Some(response) = response else {
        assert_eq!(told, Told::Cut, "{what}: closed without a byte");
        return;
    };
    way.judge(told, &response, what);
    // The caller that asked for this number gets it, and no other does.
    if told == Told::Whole && way != Way::Converse {
        assert!(response.page().contains(&format!("/{n}")), "{what}: {}", response.page());
    }
}

async fn all(way: Way) {
    let origin = FaultyOrigin::start().await;
    let desk = before(origin.url()).await;
    let mut n = 0;
    let mut next = || {
        n += 1;
        n
    };
    for _ in 0..3 {
        one(&desk, way, Told::Whole, next(), "before").await;
    }
    let mut most = 0;
    for ill in ILLS {
        let what = format!("{way:?} of a site that {ill:?}");
        // On a connection that is kept, and on one of its own.
        for _ in 0..2 {
            origin.is(Some(ill));
            one(&desk, way, way.expects(ill), next(), &what).await;
        }
        origin.is(None);
        for _ in 0..3 {
            one(&desk, way, Told::Whole, next(), &format!("after {what}")).await;
        }
        // Whatever the first rows need is there by now, the rest of them leave nothing.
        if most == 0 {
            most = desk.descriptors() + 4;
        }
    }
    // Idle connections to a site that sent too much may be many. They end with the site's end.
    origin.hang_up();
    eventually("no descriptor is left behind", SOON, async || desk.descriptors() <= most).await;
    drop(desk);
    let desk = before(format!("http://{}", dead_address())).await;
    for round in 0..20 {
        one(&desk, way, Told::Away, round, &format!("{way:?} of nobody")).await;
        if round == 0 {
            most = desk.descriptors() + 4;
        }
    }
    eventually("nor of who is away", SOON, async || desk.descriptors() <= most).await;
}

#[tokio::test]
async fn fault_matrix_of_what_is_passed_on() {
    all(Way::Raw(Via::H1)).await;
}

#[tokio::test]
async fn fault_matrix_of_what_is_passed_on_over_http2() {
    all(Way::Raw(Via::H2Tls)).await;
}

#[tokio::test]
async fn fault_matrix_of_pages() {
    all(Way::Page(Via::H1)).await;
}

#[tokio::test]
async fn fault_matrix_of_pages_over_http2() {
    all(Way::Page(Via::H2Tls)).await;
}

#[tokio::test]
async fn fault_matrix_of_calls() {
    all(Way::Call).await;
}

#[tokio::test]
async fn fault_matrix_of_questions() {
    all(Way::Converse).await;
}

#[tokio::test]
async fn fault_matrix_of_verbs() {
    all(Way::Verb).await;
}

#[tokio::test]
async fn fault_matrix_of_frames() {
    all(Way::Frame).await;
}
