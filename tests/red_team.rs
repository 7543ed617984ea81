//! Promise: a model that is sent everything that Frontdesk tells an agent cannot confirm what a person has to confirm,
//! where the person is asked by the client, or on the page behind a sign-in or a notification.
//!
//! The model keeps every text, header and JSON value, takes them apart, and tries each piece in every dialect in each
//! place that could take a confirmation. It opens every address and sends every form. The same model succeeds where it
//! is handed the token, or the address of a page that anybody can open: so its attempts are such that count.

mod agent;
mod careful_client;
mod model;
mod pages;
mod ways;

use crate::support::calls::{BARE, FULL, action, upstream_calls};
use crate::support::rates::api_key;
use crate::support::{Ask, Desk, Origin, Reply, Request, Setup, rpc};
use agent::{Agent, IN_ALL, promising, some_of, turns};
use careful_client::Client;
use model::{Heard, Line};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use ways::Way;

/// Texts that the model gives its client as arguments, in several places each.
const THROUGH_THE_CLIENT: usize = 8;

/// A shop with accounts: cookies say who somebody is.
async fn shop() -> Origin {
    Origin::start(|r: &Request| {
        let cookie = r.headers.joined("cookie");
        let who = ["ada", "mallory"]
            .into_iter()
            .find(|who| cookie.split([';', ',']).any(|one| one.trim() == format!("sid={who}-session")));
        match (r.target.split('?').next().unwrap_or_default(), who) {
            ("/api/me", Some(who)) => Reply::json(format!("{{\"id\":\"{who}\",\"name\":\"{who}\"}}")),
            ("/api/me", None) => Reply::new(401).body("nobody"),
            ("/api/notify", _) => Reply::new(204),
            ("/api/orders", _) => Reply::new(201)
                .header("Content-Type", "application/json")
                .header("Set-Cookie", "visit=v-123456789; Path=/")
                .body(r#"{"order":"o-1"}"#),
            ("/login", _) => Reply::html("<form method=post><input name=user><input name=password></form>"),
            ("/", _) => {
                Reply::html("<h1>Books</h1><a href=\"/login\">Sign in</a>").header("Set-Cookie", "visit=v-1234567890")
            }
            _ => Reply::new(404).body("none"),
        }
    })
    .await
}

/// The person in whose name the key calls is the site's "ada".
fn setup(origin: &Origin, confirmation: &str, more: &str, fast_path: bool) -> Setup {
    let lines = format!(
        "\nrequired_scopes = [\"bookings:purchase\"]\n\
         input_schema = {{ type = \"object\", required = [\"book\"], properties = {{ book = {{ type = \"string\" }} }} }}\n\
         upstream = {{ method = \"POST\", path = \"/api/orders\" }}\nagtp = {{ method = \"PURCHASE\", path = \"/orders\" }}\n\
         [capabilities.confirmation]\nsummary = \"Buy {{{{ input.book }}}}.\"\nconsequence = \"Your card is charged.\"\n{confirmation}"
    );
    let buy = action("buy", &lines).replace("requires_user_confirmation = false", "requires_user_confirmation = true");
    let keys = api_key("ada", FULL, "scopes = [\"bookings:purchase\"]") + &api_key("bare", BARE, "scopes = []");
    Setup::before(origin)
        .set("site", "name = \"Books\"\norigin = \"https://site.test\"")
        .set("agtp", "server_id = \"shop.test\"")
        .set(
            "token_budget",
            "daily = \"1000000000/day\"\nanonymous = \"100000000/session\"\nauthenticated = \"100000000/session\"",
        )
        .set("runtime", &format!("fast_path = {fast_path}"))
        .instead("content", "start = [\"/\"]")
        .tail(&(keys + &buy + more))
}

const VISITOR: &str = "\n[auth.visitor]\ncheck = \"/api/me\"\nsubject = \"/id\"\nname = \"/name\"\nsign_in = \"/login\"\nreturn_to = \"next\"\n";

/// How often each book was bought.
fn bought(origin: &Origin) -> BTreeMap<String, usize> {
    let mut books = BTreeMap::new();
    for order in upstream_calls(origin).iter().filter(|r| r.target == "/api/orders") {
        let order: Value = serde_json::from_slice(&order.body).expect("JSON");
        *books.entry(order["book"].as_str().expect("a book").to_owned()).or_default() += 1;
    }
    books
}

fn emma(_: Way) -> String {
    "Emma".to_owned()
}

fn each_its_own(way: Way) -> String {
    format!("Emma by {way:?}")
}

/// One of each way's books.
fn one_each() -> BTreeMap<String, usize> {
    ways::ALL.map(|way| (each_its_own(way), 1)).into()
}

// ── the attempts count ──────────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn red_team_succeeds_where_it_is_handed_the_token() {
    let origin = shop().await;
    let desk = setup(&origin, "", "", true).start().await;
    let mut agent = Agent::reading(&desk, Some(FULL)).await;
    agent.asks(each_its_own).await;
    assert_eq!(bought(&origin), BTreeMap::new(), "asking alone does nothing");
    let answers = agent.answers();
    agent.confirms(&answers, each_its_own).await;
    assert_eq!(bought(&origin), one_each(), "in every dialect");
}

#[tokio::test]
async fn red_team_succeeds_on_a_page_that_anybody_can_open() {
    let origin = shop().await;
    let desk = setup(&origin, "by = \"page\"", "", true).start().await;
    let mut agent = Agent::reading(&desk, Some(FULL)).await;
    agent.asks(each_its_own).await;
    let (answers, pages) = (agent.answers(), agent.pages());
    assert_eq!(pages.len(), ways::ALL.len(), "{pages:?}");
    pages::press(&mut agent.line, &mut agent.heard, &pages, FULL).await;
    assert_eq!(bought(&origin), BTreeMap::new(), "the page alone does nothing");
    agent.confirms(&answers, each_its_own).await;
    assert_eq!(bought(&origin), one_each(), "in every dialect");
}

// ── the page, guarded ───────────────────────────────────────────────────────────────────────────────────────────────

/// Confirms on a page, as a person's browser does.
async fn person_confirms(desk: &Desk, path: &str, cookie: &str) {
    let press = Ask::post(path, "decision=confirm")
        .header("Content-Type", "application/x-www-form-urlencoded")
        .header("Sec-Fetch-Site", "same-origin")
        .header("Origin", "https://site.test")
        .header("Cookie", cookie);
    let pressed = desk.call(press).await;
    assert_eq!((pressed.status, pressed.header("location")), (303, Some(path)), "{}", pressed.text());
    let page = desk.call(Ask::get(path).header("Cookie", cookie)).await;
    assert!(page.text().contains("You confirmed this"), "{}", page.text());
}

/// The paths of the pages that the site was asked to send to the person.
fn notified(origin: &Origin) -> Vec<String> {
    let told = upstream_calls(origin).into_iter().filter(|r| r.target == "/api/notify");
    let url = told.map(|r| serde_json::from_slice::<Value>(&r.body).expect("JSON")["url"].clone());
    url.map(|url| url.as_str().and_then(|url| url.strip_prefix("https://site.test")).expect("a page").to_owned())
        .collect()
}

async fn fails_on_a_guarded_page(notifies: bool, fast_path: bool) {
    let origin = shop().await;
    let (by, more) = match notifies {
        true => ("by = \"page\"\nnotify_url = \"/api/notify\"", ""),
        false => ("by = \"page\"", VISITOR),
    };
    let desk = setup(&origin, by, more, fast_path).start().await;
    let mut agent = Agent::reading(&desk, Some(FULL)).await;
    agent.asks(emma).await;
    // One question in all dialects.
    let pages = if notifies { notified(&origin) } else { agent.pages() };
    let [page] = &pages[..] else { panic!("not one question: {pages:?}") };
    let (page, answers) = (page.clone(), agent.answers());
    agent.tries_everything(emma).await;
    println!("{} attempts with {} pieces", agent.attempts, agent.heard.pieces.len());
    assert_eq!(bought(&origin), BTreeMap::new(), "nobody confirmed");
    let id = page.rsplit('/').next().expect("its id");
    assert_eq!(agent.heard.pieces.iter().any(|piece| piece.contains(id)), !notifies, "who is told the address");
    // The person confirms: not another book, and this one once.
    person_confirms(&desk, &page, "sid=ada-session").await;
    agent.confirms(&answers, |_| "Ulysses".to_owned()).await;
    // A text can name the question itself, as A2A's task does: that goes on with the book that was confirmed.
    assert!(!bought(&origin).contains_key("Ulysses"), "another book was not confirmed");
    agent.confirms(&answers, emma).await;
    agent.tries_elsewhere(&promising(&answers), emma).await;
    agent.confirms(&answers, emma).await;
    let mut all = BTreeMap::from([("Emma".to_owned(), 1)]);
    assert_eq!(bought(&origin), all, "what the person confirmed, once");
    // Each dialect gets its own confirmation through.
    agent.documents = agent.heard.clone();
    let before = if notifies { notified(&origin) } else { agent.pages() };
    agent.asks(each_its_own).await;
    let answers = agent.answers();
    let pages = if notifies { notified(&origin) } else { agent.pages() };
    let pages: Vec<String> = pages.into_iter().filter(|page| !before.contains(page)).collect();
    assert_eq!(pages.len(), ways::ALL.len(), "{pages:?}");
    agent.confirms(&answers, each_its_own).await;
    assert_eq!(bought(&origin), all, "nobody confirmed these");
    for page in &pages {
        person_confirms(&desk, page, "sid=ada-session").await;
    }
    all.extend(one_each());
    // An attempt that takes longer than its client stays is no attempt, so there are several.
    for round in 0..4 {
        if round < 2 || !notifies && bought(&origin) != all {
            agent.confirms(&answers, each_its_own).await;
        }
    }
    if notifies {
        // There is no address that the client could show its person, so it goes on as one that cannot ask.
        for text in &answers {
            let ask = Way::Mcp(rpc::NEWEST).confirming(&each_its_own(Way::McpAsking), text);
            agent.attempts(Way::McpAsking, ask).await;
        }
    }
    assert_eq!(bought(&origin), all, "each once");
}

#[tokio::test]
async fn red_team_fails_where_the_site_says_who_is_signed_in() {
    fails_on_a_guarded_page(false, true).await;
}

#[tokio::test]
async fn red_team_fails_where_the_site_says_who_is_signed_in_over_the_library_too() {
    fails_on_a_guarded_page(false, false).await;
}

#[tokio::test]
async fn red_team_fails_where_the_site_sends_the_link() {
    fails_on_a_guarded_page(true, true).await;
}

#[tokio::test]
async fn red_team_fails_where_the_site_sends_the_link_over_the_library_too() {
    fails_on_a_guarded_page(true, false).await;
}

// ── elicitation ─────────────────────────────────────────────────────────────────────────────────────────────────────

/// The model names a tool and arguments to its client, which holds the credential. It can send any request besides, with
/// no credential and with one of its own; and with the client's, as if it had leaked, in the places of a confirmation.
async fn fails_where_the_client_asks(fast_path: bool) {
    let origin = shop().await;
    let desk = setup(&origin, "", "", fast_path).start().await;
    let mut model = Agent::reading(&desk, Some(BARE)).await;
    let mut waiting = Vec::new();
    for version in careful_client::VERSIONS {
        let client = Client::begin(&desk, version, &mut model.heard).await;
        let call = client.call(&desk, json!({ "book": format!("Emma of {version}") }), &mut model.heard).await;
        waiting.push((client, call.expect("the person is asked")));
    }
    // Through the client, whose person cancels.
    let answers = model.answers();
    for (client, _) in &waiting {
        let book = format!("Emma of {}", client.version);
        let guesses = ["yes", "true", "confirm"].map(str::to_owned);
        let texts = guesses.into_iter().chain(some_of(promising(&answers), THROUGH_THE_CLIENT));
        let all: Vec<Value> = texts.flat_map(|text| careful_client::arguments(&book, &text)).collect();
        for some in all.chunks(4) {
            let calls = some.iter().map(|arguments| async {
                let mut heard = Heard::default();
                if let Some(asked) = client.call(&desk, arguments.clone(), &mut heard).await {
                    let done = client.answers(&desk, asked, careful_client::no(), &mut heard).await;
                    assert!(done["content"][0]["text"].is_string(), "{done}");
                }
                heard
            });
            for heard in futures_util::future::join_all(calls).await {
                model.attempts += 1;
                heard.pieces.iter().for_each(|piece| model.heard.text(piece));
            }
        }
    }
    assert_eq!(bought(&origin), BTreeMap::new(), "the person said no");
    // Around the client.
    let books = careful_client::VERSIONS.map(|version| format!("Emma of {version}"));
    model.tries_everything(|_| books[0].clone()).await;
    model.key = None;
    for book in &books {
        model.confirms_in_turns(&answers, IN_ALL, |_| book.clone()).await;
    }
    model.tries_elsewhere(&promising(&answers), |_| books[2].clone()).await;
    model.key = Some(BARE);
    let (mut line, mut tried) = (Line::to(&desk), 0);
    for (way, text) in turns(&model.heard.strings(), IN_ALL).filter(|(way, _)| *way != Way::McpAsking) {
        // What is said to the client's credential is not said to the model.
        line.ask(&way.confirming(&books[tried % books.len()], text).bearer(FULL)).await;
        tried += 1;
    }
    println!("{} attempts with {} pieces", model.attempts + tried, model.heard.pieces.len());
    assert_eq!(bought(&origin), BTreeMap::new(), "nobody confirmed");
    // The person does, and what was used is tried again.
    for (client, call) in waiting {
        let done = client.answers(&desk, call, careful_client::yes(), &mut model.heard).await;
        assert!(done.to_string().contains("o-1"), "{done}");
    }
    let all = BTreeMap::from(books.clone().map(|book| (book, 1)));
    assert_eq!(bought(&origin), all, "each once");
    for book in &books {
        model.confirms_in_turns(&answers, IN_ALL, |_| book.clone()).await;
    }
    assert_eq!(bought(&origin), all, "and not again");
}

#[tokio::test]
async fn red_team_fails_where_the_client_asks_its_person() {
    fails_where_the_client_asks(true).await;
}

#[tokio::test]
async fn red_team_fails_where_the_client_asks_its_person_over_the_library_too() {
    fails_where_the_client_asks(false).await;
}
