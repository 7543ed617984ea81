//! Promise: a hostile page or answer changes nothing about a form. It is sent once, to the declared path. The agent hears
//! "done" or "not sent" only where that is known, and never sees hidden values.

use crate::support::calls::{FULL, action, assert_answer, assert_fault, call, confirmation_token, query, site};
use crate::support::rpc;
use crate::support::verbs::verb;
use crate::support::{Ask, Dir, Origin, Reply, Request, SOON, eventually};
use serde_json::json;

fn posts(origin: &Origin) -> Vec<Request> {
    origin.requests().into_iter().filter(|request| request.method == "POST").collect()
}

/// A site with one form of a kind, and what it answers to it.
async fn site_of(form: &'static str, answers: fn(&Request) -> Reply) -> Origin {
    Origin::start(move |request: &Request| match (request.method.as_str(), request.target.as_str()) {
        ("GET", "/form") => Reply::html(form),
        _ => answers(request),
    })
    .await
}

const MESSAGE: &str = "\ninput_schema = { type = \"object\", properties = { msg = { type = \"string\" } } }";

fn posting(path: &str, more: &str) -> String {
    format!(
        "{MESSAGE}\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"{path}\"\n[capabilities.upstream.form]\npage = \"/form\"\n{more}"
    )
}

#[tokio::test]
async fn form_attacks_that_lead_back_or_cannot_be_read_are_not_called_done() {
    let form = "<form action=/send method=post><input name=msg></form>";
    let origin = site_of(form, |request| match request.target.as_str() {
        "/send" if request.body.ends_with(b"back") => Reply::new(302).header("Location", "/form"),
        "/send" if request.body.ends_with(b"lost") => Reply::new(302).header("Location", "/lost"),
        "/send" if request.body.ends_with(b"login") => Reply::new(302).header("Location", "/login"),
        "/send" => Reply::new(200).header("Content-Type", "application/json").body("{\"success\":false}"),
        "/lost" => Reply::html("<p>Th").hang_up().then("anks"),
        _ => Reply::html("<form action=/login><input type=password name=p></form>"),
    })
    .await;
    let all = action("plain", &posting("/send", "")) + &action("words", &posting("/send", "failed = \".errors\""));
    let desk = site(&origin, &all).start().await;
    for (path, msg) in [
        ("/agent/plain", "back"),
        ("/agent/plain", "login"),
        ("/agent/words", "lost"),
        ("/agent/words", "json"),
        ("/agent/words", "login"),
    ] {
        let before = posts(&origin).len();
        let ask = || call(path, &json!({ "msg": msg })).bearer(FULL).header("Idempotency-Key", &format!("{path}{msg}"));
        let unclear = desk.call(ask()).await;
        assert_eq!(unclear.status, 502, "{path} {msg}: {}", unclear.text());
        let said = unclear.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        assert!(said.starts_with("The form was sent, and "), "{path} {msg}: {said}");
        let again = desk.call(ask()).await;
        assert_eq!((again.status, posts(&origin).len()), (409, before + 1), "{path} {msg}: {}", again.text());
    }
}

#[tokio::test]
async fn form_attacks_are_sent_where_they_were_declared_alone() {
    let form = "<form action=/send method=post><input name=msg><button formaction=/account/delete>Go</button></form>";
    let origin = site_of(form, |_| Reply::html("<p>Gone.")).await;
    let desk = site(&origin, &action("send", &posting("/send", ""))).start().await;
    let changed = desk.call(call("/agent/send", &json!({ "msg": "x" })).bearer(FULL)).await;
    assert_fault(&changed, 502, "site_changed", "a button that leads elsewhere");
    assert_eq!(posts(&origin).len(), 0);
}

#[tokio::test]
async fn form_attacks_show_no_hidden_values_in_addresses() {
    let form = "<form action=/find><input type=hidden name=tok value=SECRETTOKEN><input name=msg></form>\
                <form action=/send method=post><input type=hidden name=tok value=SECRETTOKEN><input name=msg></form>";
    let origin = site_of(form, |request| match request.target.split('?').next() {
        Some("/find") if request.target.contains("round") => Reply::new(302).header("Location", &request.target),
        Some("/find") => {
            Reply::html("<main><p>One result of it: <a href='#x'>here</a> <a href='?page=2'>more</a></main>")
        }
        Some("/send") => Reply::new(302).header("Location", "/lost?t=SECRETTOKEN&id=4"),
        _ => Reply::html("<p>Th").hang_up().then("anks"),
    })
    .await;
    let find = format!(
        "{MESSAGE}\n[capabilities.upstream]\nmethod = \"GET\"\npath = \"/find\"\n[capabilities.upstream.form]\npage = \"/form\"\n"
    );
    let desk = site(&origin, &(query("find", &find) + &action("send", &posting("/send", "")))).start().await;
    let found = desk.call(call("/agent/find", &json!({ "msg": "red chair" }))).await;
    let data = assert_answer(&found, 200, "found")["data"].clone();
    assert_eq!(data["url"], "https://site.test/find?msg=red+chair");
    let sent = desk.call(call("/agent/send", &json!({ "msg": "x" })).bearer(FULL)).await;
    assert_eq!(assert_answer(&sent, 200, "sent")["data"]["location"], "/lost?id=4");
    assert!(!format!("{}{}", found.text(), sent.text()).contains("SECRETTOKEN"));
    // What redirects to itself is asked once.
    let round = desk.call(call("/agent/find", &json!({ "msg": "round" }))).await;
    assert_fault(&round, 502, "upstream_error", "a circle");
    assert_eq!(origin.requests().iter().filter(|request| request.target.contains("round")).count(), 1);
}

#[tokio::test]
async fn form_attacks_of_a_conversation_have_their_keys_and_confirmations_there() {
    let form = "<form action=/order method=post><input name=msg></form>";
    let origin = site_of(form, |request| {
        let cookie = request.header("cookie").unwrap_or_default().to_owned();
        let page = Reply::html(format!("<main><p>Ordered from {cookie}.</p></main>"));
        if cookie.is_empty() { page.header("Set-Cookie", &format!("sid={}; Path=/", request.body.len())) } else { page }
    })
    .await;
    let lines = posting("/order", "").replace("method = \"POST\"", "method = \"POST\"\ncookies = \"session\"");
    let confirmed =
        action("buy", &lines).replace("requires_user_confirmation = false", "requires_user_confirmation = true");
    let desk = site(&origin, &(action("order", &lines) + &confirmed)).start().await;
    let (mine, other, fresh) = ("a-conversation-of-mine", "another-conversation-", "a-third-conversation");
    let ask = |path: &str, msg: &str, key: &str, session: &str| -> Ask {
        call(path, &json!({ "msg": msg })).bearer(FULL).header("Idempotency-Key", key).header("AICP-Session", session)
    };
    for (msg, session) in [("a", mine), ("bb", other)] {
        assert_answer(&desk.call(ask("/agent/order", msg, session, session)).await, 200, "a basket");
    }
    // One key in two conversations is two orders; in one it is one.
    let order = async |session: &str| desk.call(ask("/agent/order", "all", "key", session)).await;
    let (first, second, again) = (order(mine).await, order(other).await, order(mine).await);
    assert_answer(&second, 200, "the other's order");
    assert_ne!(first.json()["data"], second.json()["data"]);
    assert_eq!(again.headers.get("idempotency-replayed"), Some("true"));
    assert_eq!(posts(&origin).len(), 4);
    // A person who confirmed one basket has not confirmed another.
    let buy = |session: &str, token: Option<&str>| {
        let ask = ask("/agent/buy", "all", "buy", session);
        token.map_or(ask.clone(), |token| ask.header("AICP-Confirmation", token))
    };
    let token = confirmation_token(&desk.call(buy(mine, None)).await);
    let elsewhere = desk.call(buy(other, Some(&token))).await;
    assert_ne!(elsewhere.status, 200, "{}", elsewhere.text());
    assert_eq!(posts(&origin).len(), 4);
    assert_answer(&desk.call(buy(mine, Some(&token))).await, 200, "confirmed");
    // A client may ask before it names its conversation.
    let early = call("/agent/buy", &json!({ "msg": "now" })).bearer(FULL).header("Idempotency-Key", "early");
    let token = confirmation_token(&desk.call(early.clone()).await);
    let late =
        |session: &str| desk.call(early.clone().header("AICP-Session", session).header("AICP-Confirmation", &token));
    assert_ne!(late(other).await.status, 200);
    assert_answer(&late(fresh).await, 200, "a conversation without cookies");
}

#[tokio::test]
async fn form_attacks_show_no_hidden_values_in_the_words_of_a_failure() {
    const TOKEN: &str = "9f8e7d6c5b4a39281706f5e4";
    const NEXT: &str = "0a1b2c3d4e5f60718293a4b5";
    let origin = Origin::start(|request: &Request| {
        let page = |token: &str, words: &str| {
            let fields = "<input type=hidden name=step value=s4t8><input name=msg>";
            let html = format!("{words}<form action=/send method=post><input type=hidden name=csrf value={token}>{fields}</form>");
            Reply::html(&html)
        };
        match request.method.as_str() {
            "GET" => page(TOKEN, ""),
            _ => {
                let upper = TOKEN.to_uppercase();
                let far = " far".repeat(70);
                page(NEXT, &format!(
                    "<p class=e>Token {upper} is old (step s4t8); now {NEXT}.</p><p class=e>{}… was shown.</p><p class=e>It is{far} {TOKEN}</p>",
                    &TOKEN[..12]
                ))
            }
        }
    })
    .await;
    let lines = posting("/send", "failed = \".e\"")
        .replace(MESSAGE, &format!("{MESSAGE}\nagtp = {{ method = \"EXECUTE\", path = \"/send\" }}"));
    let kept = Dir::new();
    let mut setup = site(&origin, &action("send", &lines))
        .set("agtp", "server_id = \"shop.test\"")
        .set("audit", "enabled = true\npath = \"audit.jsonl\"")
        .set("store", &format!("url = \"file:{}\"", kept.path().display()));
    setup.env.push(("RUST_LOG".into(), "trace".into()));
    let desk = setup.start().await;
    let input = json!({ "msg": "hello" });
    let parts = json!([{ "data": { "capability": "send", "input": input } }]);
    let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": parts });
    let question = json!({ "ahp": "0.1", "capability": "send", "query": "send it", "input": input });
    let keyed = || call("/agent/send", &input).header("Idempotency-Key", "k");
    for (dialect, ask) in [
        ("aicp", keyed()),
        ("aicp, again", keyed()),
        ("plain", call("/agent/send", &input).accept("application/json")),
        ("ahp", call("/agent/converse", &question)),
        ("mcp", rpc::post(rpc::call("send", input.clone()).to_string())),
        ("a2a", call("/a2a", &rpc::message("SendMessage", json!({ "message": message }))).header("A2A-Version", "1.0")),
        ("openapi", call("/capabilities/send", &json!({ "query": "send it", "msg": "hello" }))),
        ("agtp", verb("EXECUTE", "/send").json(&input)),
    ] {
        let text = desk.call(ask.bearer(FULL)).await.text();
        assert!(text.contains("Token [redacted:hidden-field] is old"), "{dialect}: {text}");
        for secret in [TOKEN, &TOKEN.to_uppercase(), &TOKEN[..8], &NEXT[..8], "s4t8"] {
            assert!(!text.contains(secret), "{dialect} tells {secret}: {text}");
        }
    }
    assert_eq!(posts(&origin).len(), 7, "each was sent, but the one again");
    eventually("the access log", SOON, async || desk.stdout().contains("/agent/send")).await;
    let files = [desk.dir.files(), kept.files()].concat();
    assert!(files.len() > 2, "the store and the audit log were read");
    let logs = [desk.stdout(), desk.stderr()].map(|log| ("a log".into(), log.into_bytes()));
    for (path, bytes) in files.into_iter().chain(logs) {
        for secret in [&TOKEN[..8], &NEXT[..8]] {
            assert!(!bytes.windows(8).any(|part| part.eq_ignore_ascii_case(secret.as_bytes())), "{}", path.display());
        }
    }
}

#[tokio::test]
async fn form_attacks_that_show_the_form_again_are_not_called_done() {
    const FORM: &str = "<form action=/send method=post><input type=hidden name=csrf value=SECRETTOKEN><input name=msg>\
                        <p class=error hidden>Write something.</p></form>";
    const NEWS: &str = "<form action=/news method=post><input name=msg></form><form action=/find><input name=q></form>";
    let origin = Origin::start(|request: &Request| {
        let said = String::from_utf8_lossy(&request.body).into_owned();
        let refused =
            FORM.replace("<input name=msg>", "<p class=form-error>Too short for SECRETTOKEN.</p><input name=msg>");
        Reply::html(match request.target.as_str() {
            _ if request.method == "GET" => format!("{FORM}{NEWS}"),
            "/send" if said.ends_with("msg=taken") => format!("<main><p>Thanks</main>{NEWS}"),
            "/send" if said.ends_with("msg=short") => format!("{refused}{NEWS}"),
            "/send" => format!("{FORM}{NEWS}"),
            _ => format!("<main><p>Thanks</main>{FORM}{NEWS}"),
        })
    })
    .await;
    let news = format!("{}select = \"form[action='/news']\"\n", posting("/news", ""));
    let desk = site(&origin, &(action("send", &posting("/send", "")) + &action("news", &news))).start().await;
    let ask = |path: &str, msg: &str| call(path, &json!({ "msg": msg })).bearer(FULL).header("Idempotency-Key", msg);
    assert_answer(&desk.call(ask("/agent/send", "taken")).await, 200, "another form on every page");
    let refused = assert_fault(&desk.call(ask("/agent/send", "short")).await, 422, "invalid_input", "words");
    assert_eq!(
        refused["error"]["details"],
        json!([{ "pointer": "/msg", "message": "Too short for [redacted:hidden-field]." }])
    );
    for (path, key) in [("/agent/send", "empty"), ("/agent/news", "same form")] {
        let unclear = assert_fault(&desk.call(ask(path, key)).await, 502, "site_changed", key);
        let said = unclear["error"]["message"].as_str().unwrap_or_default();
        assert!(said.starts_with("The form was sent, and the site shows it again"), "{said}");
        let before = posts(&origin).len();
        assert_fault(&desk.call(ask(path, key)).await, 409, "outcome_unknown", "the same key again");
        assert_eq!(posts(&origin).len(), before, "{key}: sent twice");
    }
}
