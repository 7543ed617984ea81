//! Promise: the operator's page shows what agents do and lets an operator, and only an operator, answer them.

mod deciding;
mod shown;

use crate::support::calls::{FULL, call};
use crate::support::handshake::{OPERATOR, asking, assert_reply, assert_success, operators_token, polling, question};
use crate::support::page::PAGE;
use crate::support::supervisor::{self, Harness, order, orders, reachable};
use crate::support::{Ask, Conn, Desk, Origin, Reply, Request, Response, SOON, Setup, Via, agency, eventually};
use serde_json::json;

/// What browsers send.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
/// A logged-in operator, as in a browser: the path of their page, and their cookie.
struct Tab {
    base: String,
    cookie: String,
}

fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// A form that is sent from the page itself.
fn sent(desk: &Desk, to: &str, fields: &[(&str, &str)]) -> Ask {
    Ask::post(to, form(fields))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Origin", &format!("http://{}", desk.ports.admin))
        .accept(BROWSER)
}

async fn try_to_log_in(desk: &Desk, token: &str) -> Response {
    desk.admin(sent(desk, "/page/login", &[("token", token)])).await
}

async fn log_in(desk: &Desk) -> Tab {
    let response = try_to_log_in(desk, OPERATOR).await;
    assert_eq!(response.status, 303, "{}", response.text());
    let base = response.header("location").expect("where to").to_owned();
    let set = response.header("set-cookie").expect("a cookie");
    for attribute in ["HttpOnly", "SameSite=Strict", "Max-Age=", &format!("Path={base}")] {
        assert!(set.contains(attribute), "{attribute} in {set}");
    }
    assert!(base.starts_with("/page/") && base.len() == "/page//".len() + 32, "nobody can guess {base}");
    let cookie = set.split(';').next().expect("a value").to_owned();
    Tab { base, cookie }
}

impl Tab {
    fn get(&self, path: &str) -> Ask {
        Ask::get(&format!("{}{path}", self.base)).header("Cookie", &self.cookie).accept(BROWSER)
    }

    /// What the forms of this page carry.
    async fn form_token(&self, desk: &Desk) -> String {
        let text = desk.admin(self.get("")).await.text();
        let (_, rest) = text.split_once("name=\"form\" value=\"").unwrap_or_else(|| panic!("no form in {text}"));
        rest.split('"').next().expect("its end").to_owned()
    }

    async fn answer(&self, desk: &Desk, fields: &[(&str, &str)]) -> Response {
        let token = self.form_token(desk).await;
        let fields: Vec<_> = [("form", token.as_str())].into_iter().chain(fields.iter().copied()).collect();
        desk.admin(sent(desk, &format!("{}answer", self.base), &fields).header("Cookie", &self.cookie)).await
    }
}

async fn read(desk: &Desk) -> String {
    let response = desk.admin(Ask::get("/").accept(BROWSER)).await;
    assert_eq!((response.status, response.media_type().as_str()), (200, "text/html"), "{}", response.text());
    response.text()
}

async fn waiting_id(desk: &Desk) -> String {
    let all = desk.admin(Ask::get("/desk").bearer(OPERATOR)).await.json();
    let waits = all.as_array().expect("a list").iter().find(|ticket| ticket["status"] == "waiting");
    waits.unwrap_or_else(|| panic!("nothing waits: {all}"))["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn page_is_for_browsers_and_the_list_for_the_rest() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Setup::before(&origin).start().await;
    assert!(read(&desk).await.starts_with("<!doctype html>"));
    let plain = desk.admin_get("/").await;
    assert_eq!((plain.status, plain.media_type().as_str()), (200, "text/plain"));
    assert!(plain.text().contains("/metrics") && plain.text().contains("the operator's page"), "{}", plain.text());
    assert_eq!(desk.admin(Ask::head("/").accept(BROWSER)).await.status, 200);
    assert_eq!(desk.admin(Ask::post("/", "").accept(BROWSER)).await.status, 405);
    // The site keeps what it has under the same names.
    for path in ["/page/live", "/page/script.js", "/page/login"] {
        desk.get(path).await;
        assert_eq!(origin.last().target, path);
    }
}

#[tokio::test]
async fn page_takes_nothing_from_anywhere_else() {
    let (_origin, desk) = agency::open().await;
    let tab = log_in(&desk).await;
    for ask in [Ask::get("/").accept(BROWSER), Ask::get("/page/live"), tab.get(""), tab.get("live")] {
        let response = desk.admin(ask).await;
        let policy = response.header("content-security-policy").expect("a policy");
        for part in [
            "default-src 'none'",
            "style-src 'self'",
            "script-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.split("; ").any(|p| p == part), "{part} in {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains('*') && !policy.contains("http"), "{policy}");
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("referrer-policy"), Some("same-origin"));
        assert_eq!(response.header("cache-control"), Some("no-store"));
        let text = response.text();
        for word in [" style=", "<style", "javascript:", " onclick", "src=\"http", "href=\"http", "href=\"//"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
        assert!(!text.contains("<script>"), "{text}");
    }
    for (path, kind) in [("style.css", "text/css"), ("script.js", "text/javascript"), ("icon.svg", "image/svg+xml")] {
        let asset = desk.admin_get(&format!("/page/{path}")).await;
        assert_eq!((asset.status, asset.media_type().as_str()), (200, kind), "{path}");
        let text = asset.text().replace("http://www.w3.org/2000/svg", "");
        for word in ["http:", "https:", "url(", "@import", "eval(", "innerHTML ="] {
            assert!(!text.contains(word), "{word} in {path}");
        }
    }
}

#[tokio::test]
async fn page_away_from_loopback_asks_for_the_token() {
    let origin = Origin::start(|_: &Request| Reply::html(PAGE)).await;
    let desk = Desk::with_config(|ports| {
        let admin = format!("0.0.0.0:{}", ports.admin.port());
        let listen = format!("[listen]\nhttp = \"{}\"\nadmin = \"{admin}\"\n", ports.http);
        format!("[upstream]\nurl = \"{}\"\n{listen}[admin]\n{}\n", origin.url(), operators_token())
    })
    .await;
    let response = desk.admin(Ask::get("/").accept(BROWSER)).await;
    assert_eq!(response.status, 401);
    let text = response.text();
    assert!(text.contains("action=\"/page/login\"") && !text.contains(&origin.addr.to_string()), "{text}");
    assert_eq!(desk.admin_get("/page/live").await.status, 401);
    for path in ["/", "/page/style.css", "/page/script.js", "/livez"] {
        assert_eq!(desk.admin_get(path).await.status, 200, "{path} tells nothing");
    }
    let tab = log_in(&desk).await;
    for path in ["", "live"] {
        let response = desk.admin(tab.get(path)).await;
        assert_eq!(response.status, 200);
        assert!(response.text().contains(&origin.addr.to_string()));
    }
    let bearer = desk.admin(Ask::get("/").accept(BROWSER).bearer(OPERATOR)).await;
    assert_eq!(bearer.status, 200);
}

#[tokio::test]
async fn page_session_is_the_address_and_the_cookie_together() {
    let (_origin, desk) = agency::open().await;
    for wrong in ["", "sesame", FULL] {
        let response = try_to_log_in(&desk, wrong).await;
        assert_eq!((response.status, response.header("set-cookie")), (401, None), "{wrong}");
    }
    let (a, b) = (log_in(&desk).await, log_in(&desk).await);
    assert_ne!((&a.base, &a.cookie), (&b.base, &b.cookie));
    for tab in [&a, &b] {
        let text = desk.admin(tab.get("")).await.text();
        assert!(text.contains("Log out") && !text.contains(OPERATOR), "{text}");
        assert!(!text.contains(tab.cookie.split_once('=').expect("a pair").1), "the cookie is for the browser alone");
    }
    let mixed = [
        Ask::get(&a.base).header("Cookie", &b.cookie),
        Ask::get(&a.base),
        Ask::get(&a.base).header("Cookie", "frontdesk-operator="),
        Ask::get("/page/0123456789abcdef0123456789abcdef/").header("Cookie", &a.cookie),
        Ask::get("/page//").header("Cookie", &a.cookie),
    ];
    for ask in mixed {
        let response = desk.admin(ask.accept(BROWSER)).await;
        assert_eq!(response.status, 401, "{}", response.text());
    }
    // Where everybody finds the page, a cookie is no use.
    let front = desk.admin(Ask::get("/").accept(BROWSER).header("Cookie", &a.cookie)).await;
    assert!(!front.text().contains("Log out"));

    let token = a.form_token(&desk).await;
    let foreign = b.form_token(&desk).await;
    let out = |token: &str| sent(&desk, &format!("{}logout", a.base), &[("form", token)]).header("Cookie", &a.cookie);
    assert_eq!(desk.admin(out(&foreign)).await.status, 403);
    assert_eq!(desk.admin(out(&token)).await.status, 303);
    assert_eq!(desk.admin(a.get("")).await.status, 401, "logged out");
    assert_eq!(desk.admin(b.get("")).await.status, 200, "the other is not");
}

#[tokio::test]
async fn page_sessions_are_bounded_and_end_with_the_token() {
    let origin = Origin::start(agency::says).await;
    let setup = agency::before(&origin);
    let desk = setup.clone().start().await;
    let first = log_in(&desk).await;
    let mut last = log_in(&desk).await;
    for _ in 0..32 {
        last = log_in(&desk).await;
    }
    assert_eq!(desk.admin(first.get("")).await.status, 401, "the stalest made room");
    assert_eq!(desk.admin(last.get("")).await.status, 200);
    let other = "token_sha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\"";
    desk.replace_config(&setup.text(&desk.ports).replace(&operators_token(), other));
    assert_eq!(desk.reload().await.status, 200);
    assert_eq!(desk.admin(last.get("")).await.status, 401, "another token is another operator");
}

#[tokio::test]
async fn page_takes_so_many_guesses_and_no_more() {
    let (_origin, desk) = agency::open().await;
    for n in 0..20 {
        let response = match n % 2 {
            0 => try_to_log_in(&desk, &format!("guess-{n}")).await,
            _ => desk.admin(Ask::post("/desk/x", "{}").bearer(&format!("guess-{n}"))).await,
        };
        assert_eq!(response.status, 401, "{n}: {}", response.text());
    }
    // The right one tells nothing any more.
    for response in
        [try_to_log_in(&desk, OPERATOR).await, desk.admin(Ask::post("/desk/x", "{}").bearer(OPERATOR)).await]
    {
        assert_eq!((response.status, response.header("set-cookie")), (429, None), "{}", response.text());
        let wait: u64 = response.header("retry-after").expect("how long").parse().expect("seconds");
        assert!((1..=61).contains(&wait), "{wait}");
    }
    assert_eq!(desk.metric("frontdesk_rejections_total{reason=\"too_many_admin_tokens\"}").await, Some(2.0));
    assert_eq!(read(&desk).await.matches("id=\"token\"").count(), 1, "reading goes on");
    let mut elsewhere = Conn::open_from(9, desk.ports.admin).await;
    let host = desk.ports.admin.to_string();
    let response = elsewhere.ask(&Ask::get("/desk").bearer(OPERATOR).header("Host", &host)).await;
    assert_eq!(response.status, 200, "another address is not held to it");
}

#[tokio::test]
async fn page_without_a_token_says_how_deciding_is_opened() {
    let origin = Origin::start(agency::says).await;
    let desk = agency::before(&origin).start().await;
    let text = agency::before(&origin).text(&desk.ports).replace(&operators_token(), "");
    desk.replace_config(&text);
    assert_eq!(desk.reload().await.status, 200);
    let page = read(&desk).await;
    for word in ["Deciding is closed", "sha256sum", "[admin]\ntoken_sha256"] {
        assert!(page.contains(word), "{word} in {page}");
    }
    assert!(!page.contains("id=\"token\""));
    assert_eq!(try_to_log_in(&desk, "").await.status, 403);
}
