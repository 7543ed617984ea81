//! Promise: with `confirmation.by = "page"` a call waits until its person has confirmed it on the page, and an agent that
//! holds everything it was told cannot confirm by itself where the site says who is signed in or sends the link itself.

use crate::support::calls::{FULL, action, assert_answer, assert_fault, call, checked, site, upstream_calls};
use crate::support::handshake::{asking, question, with};
use crate::support::rpc::{self, post};
use crate::support::{Ask, Desk, Dir, Origin, Reply, Request, Response, SOON, Setup, Via, eventually};
use serde_json::{Value, json};

/// A shop whose people sign in with a cookie.
async fn shop() -> Origin {
    Origin::start(|r: &Request| {
        let cookie = r.header("cookie").unwrap_or_default();
        let who = ["ada", "bob"].into_iter().find(|who| cookie.contains(&format!("sid={who}-session")));
        match (r.target.split('?').next().unwrap_or_default(), who) {
            ("/api/me", Some(who)) => Reply::json(json!({ "id": who, "name": format!("{who} <b>L.</b>") }).to_string()),
            ("/api/me", None) => Reply::new(401).body("nobody"),
            ("/api/notify", _) => Reply::new(204),
            ("/api/orders", _) => Reply::new(201).header("Content-Type", "application/json").body(r#"{"order":"o-1"}"#),
            _ => Reply::new(404).body("none"),
        }
    })
    .await
}

fn buying(more: &str) -> String {
    let lines = format!(
        "\ninput_schema = {{ type = \"object\", properties = {{ book = {{ type = \"string\" }} }} }}\n\
         upstream = {{ method = \"POST\", path = \"/api/orders\", identity = \"caller\" }}\n\
         [capabilities.confirmation]\nby = \"page\"\nsummary = \"Buy {{{{ input.book }}}} <now>.\"\n\
         consequence = \"Your card is charged.\"\n{more}"
    );
    action("buy", &lines).replace("requires_user_confirmation = false", "requires_user_confirmation = true")
}

fn setup(origin: &Origin, more: &str) -> Setup {
    site(origin, &buying(more)).set("auth", "unverified = \"site\"\nforward = [\"Authorization\", \"Cookie\"]")
}

const VISITOR: &str =
    "check = \"/api/me\"\nsubject = \"/id\"\nname = \"/name\"\nsign_in = \"/login?x=1\"\nreturn_to = \"next\"";

fn buy(book: &str) -> Ask {
    call("/agent/buy", &json!({ "book": book }))
}

fn as_ada(ask: Ask) -> Ask {
    ask.header("Cookie", "sid=ada-session")
}

/// The token and the page's path of a 428.
#[track_caller]
fn asked(response: &Response) -> (String, String) {
    let body = assert_fault(response, 428, "confirmation_required", "before it was confirmed");
    let asked = &body["confirmation"];
    let url = asked["url"].as_str().unwrap_or_else(|| panic!("an address: {body}"));
    let path = url.strip_prefix("https://site.test").unwrap_or_else(|| panic!("on this site: {url}"));
    assert!(path.starts_with("/agent/confirm/"), "{path}");
    (asked["token"].as_str().expect("a token").to_owned(), path.to_owned())
}

fn press(path: &str, button: &str) -> Ask {
    Ask::post(path, format!("decision={button}"))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Sec-Fetch-Site", "same-origin")
}

fn orders(origin: &Origin) -> usize {
    upstream_calls(origin).iter().filter(|r| r.target == "/api/orders").count()
}

#[tokio::test]
async fn confirmation_page_carries_out_once_after_the_person_said_yes() {
    let origin = shop().await;
    let desk = setup(&origin, "").start().await;
    let first = desk.call(buy("Emma").bearer(FULL)).await;
    let (token, path) = asked(&first);
    assert!(!first.text().contains(path.rsplit('/').next().unwrap_or_default()) || !token.contains(&path[15..]));
    // The token alone confirms nothing, however often.
    for _ in 0..2 {
        let pending = desk.call(buy("Emma").bearer(FULL).header("AICP-Confirmation", &token)).await;
        let body = assert_fault(&pending, 428, "confirmation_pending", "nobody decided");
        assert_eq!(body["confirmation"]["token"], json!(token));
    }
    assert_eq!(asked(&desk.call(buy("Emma").bearer(FULL)).await), (token.clone(), path.clone()), "one question");
    // Looking decides nothing.
    let page = desk.get(&path).await;
    assert_eq!((page.status, page.media_type().as_str()), (200, "text/html"));
    let text = page.text();
    assert!(text.contains("Emma") && text.contains("&lt;now&gt;.") && text.contains("Your card is charged."), "{text}");
    assert!(text.contains("full") && text.contains("verified"), "who asks: {text}");
    assert_eq!(orders(&origin), 0);
    let pressed = desk.call(press(&path, "confirm")).await;
    assert_eq!((pressed.status, pressed.header("location")), (303, Some(path.as_str())));
    assert!(desk.get(&path).await.text().contains("You confirmed this"));
    assert_eq!(orders(&origin), 0, "it is the agent's call that acts");
    let done = desk.call(buy("Emma").bearer(FULL).header("AICP-Confirmation", &token)).await;
    assert_answer(&done, 201, "confirmed");
    let again = desk.call(buy("Emma").bearer(FULL).header("AICP-Confirmation", &token)).await;
    assert_eq!(again.status, 428, "{}", again.text());
    assert_eq!(orders(&origin), 1);
    assert_ne!(asked(&desk.call(buy("Emma").bearer(FULL)).await).1, path, "another purchase is another question");
}

#[tokio::test]
async fn confirmation_page_addresses_stand_in_no_log() {
    let origin = shop().await;
    let desk = setup(&origin, "").start().await;
    let (_, path) = asked(&desk.call(buy("Emma").bearer(FULL)).await);
    assert_eq!(desk.get(&path).await.status, 200);
    assert_eq!(desk.call(press(&path, "decline")).await.status, 303);
    let folder = path.rsplit_once('/').map(|(folder, _)| format!("{folder}/")).expect("a path");
    let of_page = async || desk.access_log().iter().filter(|line| line["url.path"] == json!(folder)).count() == 2;
    eventually("a line for each request", SOON, of_page).await;
    let secret = &path[folder.len()..];
    assert!(secret.len() > 20, "{path}");
    for log in [desk.stderr(), desk.stdout()] {
        assert!(!log.contains(secret), "{log}");
    }
}

#[tokio::test]
async fn confirmation_page_a_no_stays_a_no() {
    let origin = shop().await;
    let desk = setup(&origin, "").start().await;
    let (token, path) = asked(&desk.call(buy("Emma").bearer(FULL)).await);
    assert_eq!(desk.call(press(&path, "decline")).await.status, 303);
    assert!(desk.get(&path).await.text().contains("You declined this"));
    assert_eq!(desk.call(press(&path, "confirm")).await.status, 303);
    for ask in [buy("Emma").bearer(FULL).header("AICP-Confirmation", &token), buy("Emma").bearer(FULL)] {
        assert_fault(&desk.call(ask).await, 403, "confirmation_declined", "declined");
    }
    assert_eq!(orders(&origin), 0);
}

#[tokio::test]
async fn confirmation_page_cannot_be_forged_framed_or_kept() {
    let origin = shop().await;
    let desk = setup(&origin, "").start().await;
    let (_, path) = asked(&desk.call(buy("Emma").bearer(FULL)).await);
    let page = desk.get(&path).await;
    assert!(page.headers.tokens("cache-control").contains(&"no-store".to_owned()));
    let policy = page.header("content-security-policy").unwrap_or_default();
    assert!(policy.contains("frame-ancestors 'none'") && policy.contains("default-src 'none'"), "{policy}");
    assert_eq!(page.header("x-frame-options"), Some("DENY"));
    assert_eq!(page.header("referrer-policy"), Some("same-origin"));
    assert!(!page.text().contains("<script"));
    let form = |headers: &[(&str, &str)]| {
        let ask = Ask::post(&path, "decision=confirm").header("Content-Type", "application/x-www-form-urlencoded");
        headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value))
    };
    for headers in [
        &[][..],
        &[("Sec-Fetch-Site", "cross-site")],
        &[("Sec-Fetch-Site", "same-site")],
        &[("Sec-Fetch-Site", "none")],
        &[("Origin", "https://evil.test")],
        &[("Origin", "null")],
        &[("Sec-Fetch-Site", "same-origin"), ("Origin", "https://evil.test")],
    ] {
        let forged = desk.call(form(headers)).await;
        assert_eq!(forged.status, 403, "{headers:?}: {}", forged.text());
    }
    assert!(!desk.get(&path).await.text().contains("You confirmed"));
    assert_eq!(desk.call(press(&path, "maybe")).await.status, 400);
    // Guesses lead nowhere.
    let other = format!("{}{}", &path[..path.len() - 1], if path.ends_with('0') { "1" } else { "0" });
    for wrong in [&other, "/agent/confirm/p:x", "/agent/confirm/0", "/agent/confirm/"] {
        let nothing = desk.get(wrong).await;
        assert_eq!(nothing.status, 404, "{wrong}");
        assert!(!nothing.text().contains("Emma"), "{wrong}");
    }
}

#[tokio::test]
async fn confirmation_page_only_the_person_in_whose_name_it_is_may_decide() {
    let origin = shop().await;
    let desk = setup(&origin, "").tail(&format!("\n[auth.visitor]\n{VISITOR}\n")).start().await;
    let (token, path) = asked(&desk.call(as_ada(buy("Emma"))).await);
    // The agent opens the page itself: it is sent to the site's own login.
    for ask in [Ask::get(&path), press(&path, "confirm"), Ask::get(&path).header("Cookie", "sid=guess")] {
        let sent = desk.call(ask).await;
        let login = format!("/login?x=1&next={}", path.replace('/', "%2F"));
        assert_eq!((sent.status, sent.header("location")), (303, Some(login.as_str())));
    }
    // Somebody else has the link.
    for ask in [Ask::get(&path), press(&path, "confirm")] {
        let other = desk.call(ask.header("Cookie", "sid=bob-session")).await;
        assert_eq!(other.status, 403);
        assert!(!other.text().contains("Emma") && other.text().contains("&lt;b&gt;"), "{}", other.text());
    }
    let pending = desk.call(as_ada(buy("Emma")).header("AICP-Confirmation", &token)).await;
    assert_fault(&pending, 428, "confirmation_pending", "still");
    let page = desk.call(as_ada(Ask::get(&path))).await;
    assert!(page.text().contains("Emma") && page.text().contains("ada &lt;b&gt;"), "{}", page.text());
    assert_eq!(desk.call(as_ada(press(&path, "confirm"))).await.status, 303);
    assert_answer(&desk.call(as_ada(buy("Emma")).header("AICP-Confirmation", &token)).await, 201, "confirmed");
    assert_eq!(orders(&origin), 1);
}

#[tokio::test]
async fn confirmation_page_the_link_goes_to_the_site_and_never_to_the_agent() {
    let origin = shop().await;
    let desk = setup(&origin, "notify_url = \"/api/notify\"").start().await;
    let first = desk.call(buy("Emma").bearer(FULL)).await;
    let body = assert_fault(&first, 428, "confirmation_required", "first");
    assert!(body["confirmation"]["url"].is_null(), "{body}");
    let told = upstream_calls(&origin).into_iter().find(|r| r.target == "/api/notify").expect("a notification");
    let told: Value = serde_json::from_slice(&told.body).expect("JSON");
    assert_eq!((&told["subject"], &told["summary"]), (&json!("full"), &json!("Buy \"Emma\" <now>.")));
    assert!(told["expires_at"].is_string() && told["consequence"].is_string(), "{told}");
    let path = told["url"].as_str().and_then(|url| url.strip_prefix("https://site.test")).expect("the page").to_owned();
    let id = path.rsplit('/').next().expect("its id").to_owned();
    let token = body["confirmation"]["token"].as_str().expect("a token").to_owned();
    let mut heard = first.text();
    heard += &desk.call(buy("Emma").bearer(FULL)).await.text();
    heard += &desk.call(buy("Emma").bearer(FULL).header("AICP-Confirmation", &token)).await.text();
    heard += &desk
        .ask(Via::H1, asking(&with(question("buy", "buy"), json!({ "input": { "book": "Emma" } }))).bearer(FULL))
        .await
        .text();
    heard +=
        &desk.ask(Via::H1, post(rpc::call("buy", json!({ "book": "Emma" })).to_string()).bearer(FULL)).await.text();
    assert!(!heard.contains(&id), "the agent heard the address: {heard}");
    let notified = upstream_calls(&origin).iter().filter(|r| r.target == "/api/notify").count();
    assert_eq!(notified, 1, "a person is asked once about one call");
    assert_eq!(desk.call(press(&path, "confirm")).await.status, 303);
    assert_answer(&desk.call(buy("Emma").bearer(FULL).header("AICP-Confirmation", &token)).await, 201, "confirmed");
    // A site that cannot send it: nothing was asked.
    let desk = setup(&origin, "notify_url = \"/api/absent\"").start().await;
    let failed = desk.call(buy("Emma").bearer(FULL)).await;
    assert_eq!((failed.status, failed.json()["error"]["code"].as_str().is_some()), (503, true), "{}", failed.text());
}

#[tokio::test]
async fn confirmation_page_over_every_dialect() {
    let origin = shop().await;
    let desk = setup(&origin, "").start().await;
    let over_mcp = |more: Value| {
        let mut arguments = json!({ "book": "Emma" });
        arguments.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        post(rpc::call("buy", arguments).to_string()).bearer(FULL)
    };
    let text = desk.ask(Via::H1, over_mcp(json!({}))).await.text();
    let path = text.split("https://site.test").nth(1).and_then(|rest| rest.split(['"', ';', ' ', '\\']).next());
    let path = path.unwrap_or_else(|| panic!("an address: {text}")).to_owned();
    let (token, other) = asked(&desk.call(buy("Emma").bearer(FULL)).await);
    assert_eq!(path, other, "one question in all dialects");
    let pending = desk.ask(Via::H1, over_mcp(json!({ "confirmation": token }))).await.text();
    assert!(pending.contains("confirmation_pending"), "{pending}");
    assert_eq!(desk.call(press(&path, "confirm")).await.status, 303);
    let done = desk.ask(Via::H1, over_mcp(json!({ "confirmation": token }))).await;
    assert!(done.text().contains("o-1"), "{}", done.text());
    assert_eq!(orders(&origin), 1);
}

#[tokio::test]
async fn confirmation_page_is_open_to_people_where_agents_need_credentials() {
    let origin = shop().await;
    let desk = setup(&origin, "").set("policies", "anonymous_access = false").start().await;
    let (token, path) = asked(&desk.call(buy("Emma").bearer(FULL)).await);
    let page = desk.call(Ask::get(&path).header("Authorization", "Bearer of-the-site")).await;
    assert_eq!(page.status, 200, "{}", page.text());
    assert_eq!(desk.call(press(&path, "confirm")).await.status, 303);
    assert_answer(&desk.call(buy("Emma").bearer(FULL).header("AICP-Confirmation", &token)).await, 201, "confirmed");
}

#[tokio::test]
async fn confirmation_page_check_warns_where_an_agent_could_confirm() {
    let origin = shop().await;
    let visitor = format!("\n[auth.visitor]\n{VISITOR}\n");
    let open = "an agent that can open pages could confirm by itself";
    let nobodys = "a call without a credential is nobody's: anybody who is signed in could confirm it";
    let says = |setup: &Setup| {
        let said = checked(setup);
        [open, nobodys].map(|warning| said.matches(warning).count())
    };
    assert_eq!(says(&setup(&origin, "")), [1, 0]);
    assert_eq!(says(&setup(&origin, "notify_url = \"/api/notify\"")), [0, 0]);
    assert_eq!(says(&setup(&origin, "").tail(&visitor)), [0, 0]);
    let anonymous = buying("").replace("auth = \"required\"", "auth = \"optional\"");
    assert_eq!(says(&site(&origin, &anonymous).tail(&visitor)), [0, 1]);
    let closed = site(&origin, &anonymous).tail(&visitor).set("policies", "anonymous_access = false");
    assert_eq!(says(&closed), [0, 0]);
}

#[tokio::test]
async fn confirmation_page_of_an_expired_question_says_so() {
    let origin = shop().await;
    let desk = setup(&origin, "expires = \"1s\"").start().await;
    let (token, path) = asked(&desk.call(buy("Emma").bearer(FULL)).await);
    eventually("it expires", SOON, async || desk.get(&path).await.status == 410).await;
    assert_eq!(desk.call(press(&path, "confirm")).await.status, 303);
    let late = desk.call(buy("Emma").bearer(FULL).header("AICP-Confirmation", &token)).await;
    assert_eq!(late.status, 428);
    assert_eq!(orders(&origin), 0);
}

#[tokio::test]
async fn confirmation_page_speaks_the_visitors_language() {
    let origin = shop().await;
    let desk = setup(&origin, "").start().await;
    let (_, path) = asked(&desk.call(buy("Emma").bearer(FULL)).await);
    for (language, word) in [("de", "Bestätigen"), ("fr", "Confirmer"), ("es", "Rechazar"), ("ja", "拒否する")] {
        let page: Response = desk.call(Ask::get(&path).header("Accept-Language", language)).await;
        assert!(page.text().contains(word) && page.text().contains(&format!("lang=\"{language}\"")), "{language}");
    }
}

#[tokio::test]
async fn confirmation_page_two_replicas_carry_out_once() {
    use crate::support::redis::Redis;
    let redis = Redis::start().await;
    let origin = shop().await;
    let setup = setup(&origin, "").set("store", &format!("url = \"{}\"", redis.url()));
    let (one, two): (Desk, Desk) = (setup.clone().start().await, setup.start().await);
    for round in 0..10 {
        let book = format!("Emma {round}");
        let (token, path) = asked(&one.call(buy(&book).bearer(FULL)).await);
        assert_eq!(two.call(press(&path, "confirm")).await.status, 303);
        let ask = || buy(&book).bearer(FULL).header("AICP-Confirmation", &token);
        let (here, there) = tokio::join!(one.call(ask()), two.call(ask()));
        let done = [here.status, there.status].into_iter().filter(|status| *status == 201).count();
        assert_eq!(done, 1, "{} {}", here.text(), there.text());
    }
    assert_eq!(orders(&origin), 10);
}

#[tokio::test]
async fn confirmation_page_shows_the_store_neither_the_person_nor_the_question() {
    const PERSON: &str = "customer-4711-lovelace";
    let origin = Origin::start(|r: &Request| match r.target.as_str() {
        "/api/me" => Reply::json(json!({ "id": PERSON, "name": "Augusta Ada" }).to_string()),
        _ => Reply::new(201).header("Content-Type", "application/json").body(r#"{"order":"o-1"}"#),
    })
    .await;
    let kept = Dir::new();
    let setup = setup(&origin, "")
        .tail(&format!("\n[auth.visitor]\n{VISITOR}\n"))
        .set("store", &format!("url = \"file:{}\"", kept.path().display()));
    let desk = setup.start().await;
    let ask = |book: &str| as_ada(buy(book)).header("X-AHP-Key", FULL);
    let (token, path) = asked(&desk.call(ask("Middlemarch")).await);
    let id = path.rsplit('/').next().expect("an id");
    let nothing_shown = |when: &str| {
        let files = kept.files();
        assert!(files.iter().any(|(_, bytes)| bytes.len() > 1_000), "{when}: the store was read");
        for (file, bytes) in files {
            for secret in [PERSON, "Augusta", "Middlemarch", "Your card is charged", id, &token, "ada-session"] {
                let is_there = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
                assert!(!is_there, "{when}: {secret} is in {}", file.display());
            }
        }
    };
    nothing_shown("pending");
    // It is still found, by the person and by the call.
    let page = desk.call(as_ada(Ask::get(&path))).await.text();
    assert!(page.contains("Middlemarch") && page.contains("Augusta Ada"), "{page}");
    assert_eq!(asked(&desk.call(ask("Middlemarch")).await), (token.clone(), path.clone()), "one question");
    assert_eq!(desk.call(as_ada(press(&path, "confirm"))).await.status, 303);
    nothing_shown("confirmed");
    let done = desk.call(ask("Middlemarch").header("AICP-Confirmation", &token)).await;
    assert_answer(&done, 201, "confirmed");
    nothing_shown("carried out");
}
