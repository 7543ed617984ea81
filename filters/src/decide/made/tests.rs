//! Answers derived from a scripted site, and the requests that the site got.

use crate::Learned;
use std::path::Path;

use http::{HeaderName, HeaderValue, header};
use parking_lot::Mutex;

use super::*;
use crate::{
    decide::decide,
    site::{declare_text, testing::Nowhere},
    state::testing::{Home, run},
};

/// A site, and the requests that it got.
struct Fake {
    answer: fn(&str) -> (u16, String),
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Site for Fake {
    async fn get(&self, question: Question<'_>) -> Option<Got> {
        self.asked.lock().push(question.target.to_owned());
        let (status, body) = (self.answer)(question.target);
        let status = StatusCode::from_u16(status).unwrap();
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("text/html"))]);
        let fits = (question.most)(status, &headers).is_some_and(|most| body.len() <= most);
        Some(if fits { Got::Whole(Answer { status, headers, body: body.into() }) } else { Got::Head(status, headers) })
    }

    async fn work(&self, _: usize, work: Work) -> Option<Written> {
        work()
    }
}

/// The derived answer, if any, and the requests to the site.
fn made(
    settings: &str,
    target: &str,
    sent: &[(&'static str, &'static str)],
    answer: fn(&str) -> (u16, String),
) -> (&'static str, String, Vec<String>) {
    let text = format!("[upstream]\nurl = 'http://127.0.0.1:3000'\n{settings}");
    let declared = declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap();
    let snapshot = Snapshot::compile(&declared, &Learned::default());
    let headers: HeaderMap =
        sent.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect();
    let request = Request {
        method: &http::Method::GET,
        target,
        headers: &headers,
        address: [127, 0, 0, 1].into(),
        authority: "attacker.example",
        tls: false,
        now: 0,
        harness: None,
        token_server: None,
        records: None,
    };
    let site = Fake { answer, asked: Mutex::default() };
    run(async {
        let home = Home::new();
        let decided = decide(&snapshot, &home, &request).await;
        let Decision::Make(making) = decided.decision else { return ("not asked", String::new(), Vec::new()) };
        let made = make(&snapshot, &home, &request, &decided.caller, making, &site).await;
        let body = match made.decision {
            Decision::Answer(reply) => String::from_utf8(reply.body.to_vec()).unwrap(),
            _ => String::new(),
        };
        (made.what, body, site.asked.into_inner())
    })
}

fn only(page: &str, asked: &str) -> (u16, String) {
    match page == asked {
        true => (200, "<main><h1>T</h1><p><a href=/y>y</a></main>".into()),
        false => (404, "no".into()),
    }
}

#[test]
fn a_long_page_that_says_there_is_nothing_says_so() {
    let (what, body, asked) = made("", "/x.md", &[], |target| match target {
        "/x.md" => (404, "long ".repeat(SMALL_BYTES)),
        target => only("/x", target),
    });
    assert_eq!((what, asked), ("markdown", vec!["/x.md".to_owned(), "/x".to_owned()]), "{body}");
    let (what, _, asked) = made("", "/x.md", &[], |_| (404, "long ".repeat(SMALL_BYTES)));
    assert_eq!((what, asked.len()), ("passed", 3));
}

#[test]
fn links_are_the_operators_and_not_the_clients() {
    let settings = "[site]\norigin = 'https://www.site.example'\n";
    let (_, body, _) = made(settings, "/x.md", &[], |target| only("/x", target));
    assert!(body.contains("(https://www.site.example/y)"), "{body}");
    let (_, body, _) = made("", "/x.md", &[], |target| only("/x", target));
    assert!(body.contains("(http://attacker.example/y)"), "{body}");
}

#[test]
fn another_address_leads_no_further_than_the_pages_own() {
    let (what, _, asked) = made("", "/board.md", &[], |target| only("/board/", target));
    assert_eq!((what, asked), ("nothing", vec!["/board.md".into(), "/board".into(), "/board.html".to_owned()]));
    for target in ["/inner.md", "/inner/x.md", "/inner/index.md", "/%69nner/x.md"] {
        let settings = "[content]\nexclude = ['/inner/*']\n";
        let (what, _, asked) = made(settings, target, &[], |target| match target.ends_with(".md") {
            true => (404, String::new()),
            false => only("", ""),
        });
        assert_eq!(what, "nothing", "{target}: {asked:?}");
        assert!(asked.iter().all(|asked| !asked.starts_with("/inner/") || asked.ends_with(".md")), "{asked:?}");
    }
}

#[test]
fn what_nobody_is_to_read_is_no_markdown_at_its_own_address() {
    let settings = "[content]\nexclude = ['/inner/*']\n";
    let by_accept = |target| made(settings, target, &[("accept", "text/markdown")], |_| only("", "")).0;
    for target in ["/inner", "/inner/", "/inner/x", "/inner/x?y=1", "/%69nner/x", "/a/../inner/x"] {
        assert_eq!(by_accept(target), "not asked", "{target}: it passes");
    }
    for target in ["/", "/outer", "/innermost"] {
        assert_eq!(by_accept(target), "markdown", "{target}");
    }
}

#[test]
fn people_get_what_the_site_has() {
    for sent in [("sec-fetch-mode", "navigate"), ("accept", "text/html,application/xhtml+xml,*/*;q=0.8")] {
        assert_eq!(made("", "/x.md", &[sent], |target| only("/x", target)).0, "not asked", "{sent:?}");
    }
    for sent in [("sec-fetch-mode", "cors"), ("accept", "*/*"), ("accept", "text/markdown, text/html")] {
        assert_eq!(made("", "/x.md", &[sent], |target| only("/x", target)).0, "markdown", "{sent:?}");
    }
}
