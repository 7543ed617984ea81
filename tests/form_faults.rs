//! Promise: whatever a site does while a form is sent, the form is sent once at most, and nothing is claimed that the site
//! did not show. One test for each fault that sites have; a lost answer and a circle are in `site_forms.rs`.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::support::calls::{FULL, action, assert_answer, assert_fault, call, site};
use crate::support::{Ask, Gate, Origin, Reply, Request};
use serde_json::json;

const ORDER: &str = "
idempotency_required = true
input_schema = { type = \"object\", properties = { item = { type = \"string\" }, size = { type = \"string\" } } }
[capabilities.upstream]
method = \"POST\"
path = \"/order\"
TIMEOUT
[capabilities.upstream.form]
page = \"/shop\"
done = { redirect = \"/thanks\" }
failed = \".error\"
";

fn order(timeout: &str) -> String {
    action("order", &ORDER.replace("TIMEOUT", timeout))
}

fn ask(item: &str, key: &str) -> Ask {
    call("/agent/order", &json!({ "item": item })).bearer(FULL).header("Idempotency-Key", key)
}

fn posts(origin: &Origin) -> Vec<Request> {
    origin.requests().into_iter().filter(|request| request.method == "POST").collect()
}

fn body(request: &Request) -> String {
    String::from_utf8_lossy(&request.body).into_owned()
}

const FORM: &str = "<form action=/order method=post><input name=item></form>";

/// A site with the form of an order, whose token is new on every page, and which takes each token once.
async fn with_new_tokens(taken: Arc<AtomicUsize>) -> Origin {
    let given = AtomicUsize::new(0);
    Origin::start(move |request: &Request| match (request.method.as_str(), request.target.as_str()) {
        ("GET", "/shop") => {
            let n = given.fetch_add(1, Ordering::SeqCst);
            let token = format!("<input type=hidden name=token value=t{n}>");
            Reply::html(FORM.replace("<input name", &format!("{token}<input name")))
        }
        ("POST", "/order") => {
            let newest = given.load(Ordering::SeqCst) - 1;
            if !body(request).starts_with(&format!("token=t{newest}&")) {
                return Reply::html(format!("<p class=error>The page is too old.</p>{FORM}"));
            }
            taken.fetch_add(1, Ordering::SeqCst);
            Reply::new(303).header("Location", "/thanks")
        }
        ("GET", "/thanks") => Reply::html("<main><p>Thank you.</main>"),
        _ => Reply::new(404),
    })
    .await
}

#[tokio::test]
async fn form_faults_a_token_that_changes_each_time_is_read_anew_for_each_call() {
    let taken = Arc::new(AtomicUsize::new(0));
    let origin = with_new_tokens(taken.clone()).await;
    let desk = site(&origin, &order("")).start().await;
    for n in 0..3 {
        assert_answer(&desk.call(ask("chair", &format!("key-{n}"))).await, 200, "an order");
    }
    let again = desk.call(ask("chair", "key-1")).await;
    assert_eq!(again.headers.get("idempotency-replayed"), Some("true"));
    let sent: Vec<String> = posts(&origin).iter().map(body).collect();
    assert_eq!(sent, ["token=t0&item=chair", "token=t1&item=chair", "token=t2&item=chair"]);
    assert_eq!(taken.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn form_faults_a_token_that_another_page_made_old_is_the_sites_refusal_and_not_sent_again() {
    let stale = Origin::start(move |request: &Request| match request.method.as_str() {
        "GET" => Reply::html(FORM.replace("<input name", "<input type=hidden name=token value=t-old><input name")),
        _ => Reply::html(format!("<p class=error>The page is too old.</p>{FORM}")),
    })
    .await;
    let desk = site(&stale, &order("")).start().await;
    for what in ["an old token", "the same key"] {
        let said = assert_fault(&desk.call(ask("chair", "key")).await, 422, "invalid_input", what);
        assert_eq!(said["error"]["details"], json!([{ "pointer": "/item", "message": "The page is too old." }]));
    }
    assert_eq!(posts(&stale).len(), 1, "a refusal is an answer: the form is not tried again");
}

#[tokio::test]
async fn form_faults_two_cookies_of_one_name_go_back_as_a_browser_sends_them() {
    let origin = Origin::start(|request: &Request| match (request.method.as_str(), request.target.as_str()) {
        ("GET", "/shop") => Reply::html(FORM)
            .header("Set-Cookie", "sid=first; Path=/")
            .header("Set-Cookie", "sid=second; Path=/")
            .header("Set-Cookie", "sid=of-orders; Path=/order; HttpOnly"),
        ("POST", "/order") => Reply::new(303)
            .header("Location", "/thanks")
            .header("Set-Cookie", "sid=third; Path=/")
            .header("Set-Cookie", "sid=; Path=/order; Max-Age=0"),
        _ => Reply::html("<main><p>Thank you.</main>"),
    })
    .await;
    let desk = site(&origin, &order("")).start().await;
    assert_answer(&desk.call(ask("chair", "key")).await, 200, "an order");
    // The later one of a name and path replaces the earlier one, and the longer path comes first (RFC 6265, 5.3 and 5.4).
    assert_eq!(posts(&origin)[0].header("cookie"), Some("sid=of-orders; sid=second"));
    let thanks = origin.requests().into_iter().find(|request| request.target == "/thanks").expect("the last page");
    assert_eq!(thanks.header("cookie"), Some("sid=third"));
}

#[tokio::test]
async fn form_faults_a_page_about_a_fault_with_200_is_no_success() {
    let origin = Origin::start(|request: &Request| match request.method.as_str() {
        "GET" => Reply::html(FORM),
        _ => Reply::html("<title>Error 500</title><h1>Something went wrong</h1><p>Our team was told.</p>"),
    })
    .await;
    let desk = site(&origin, &order("")).start().await;
    let unclear = assert_fault(&desk.call(ask("chair", "key")).await, 502, "site_changed", "an error page");
    let said = unclear["error"]["message"].as_str().unwrap_or_default();
    assert!(said.starts_with("The form was sent, and the site's answer does not show"), "{said}");
    assert_fault(&desk.call(ask("chair", "key")).await, 409, "outcome_unknown", "the same key");
    assert_eq!(posts(&origin).len(), 1);
}

#[tokio::test]
async fn form_faults_a_slow_site_gets_the_form_once_or_not_at_all() {
    let (page, taken) = (Gate::closed(), Gate::closed());
    let (before, after) = (page.clone(), taken.clone());
    let origin = Origin::start(move |request: &Request| match (request.method.as_str(), request.target.as_str()) {
        ("GET", "/slow-shop") => Reply::html("<p>").wait(&before).then(FORM),
        ("GET", "/shop") => Reply::html(FORM),
        _ => Reply::html("<p>").wait(&after).then("Thank you."),
    })
    .await;
    let slow_page = order("timeout = \"300ms\"").replace("\"/shop\"", "\"/slow-shop\"").replace("order\"", "early\"");
    let slow_page = slow_page.replace("path = \"/early\"", "path = \"/order\"");
    let desk = site(&origin, &(slow_page + &order("timeout = \"300ms\""))).start().await;
    let early = |key: &str| call("/agent/early", &json!({ "item": "x" })).bearer(FULL).header("Idempotency-Key", key);
    let refused = desk.call(early("key")).await;
    assert!(refused.text().contains("Nothing was sent; try again later."), "{}", refused.text());
    assert_eq!(posts(&origin).len(), 0);
    // Nothing was promised: the key is free for the day on which the site is quick.
    page.open();
    // The form reached the site, and its answer did not come in time.
    let unknown = desk.call(ask("chair", "slow")).await;
    assert_eq!(unknown.status, 504, "{}", unknown.text());
    taken.open();
    assert_fault(&desk.call(ask("chair", "slow")).await, 409, "outcome_unknown", "the same key");
    assert_eq!(posts(&origin).iter().filter(|request| body(request) == "item=chair").count(), 1);
}

#[tokio::test]
async fn form_faults_a_site_that_answers_in_another_language_is_read_by_its_marks() {
    // The page of the form is English today and German tomorrow; the answer comes in Latin-1.
    let tongue = Arc::new(AtomicUsize::new(0));
    let spoken = tongue.clone();
    let origin = Origin::start(move |request: &Request| {
        let german = spoken.load(Ordering::SeqCst) == 1;
        let (small, large) = if german { ("Klein", "Groß") } else { ("Small", "Large") };
        match (request.method.as_str(), request.target.as_str()) {
            ("GET", "/shop") => Reply::html(format!(
                "<form action=/order method=post><input name=item><select name=size><option value=1>{small}<option value=2>{large}</select></form>"
            )),
            ("POST", "/order") if body(request).contains("item=none") => {
                let words: &[u8] = if german { b"<p class=error>Gibt es nicht f\xfcr Sie.</p>" } else { b"<p class=error>There is none.</p>" };
                Reply::new(200).header("Content-Type", "text/html; charset=iso-8859-1").body(words)
            }
            ("POST", "/order") => Reply::new(303).header("Location", "/thanks"),
            _ => Reply::html("<main><p>Vielen Dank.</main>"),
        }
    })
    .await;
    let desk = site(&origin, &order("")).start().await;
    let sized = |size: &str, item: &str, key: &str| {
        call("/agent/order", &json!({ "item": item, "size": size })).bearer(FULL).header("Idempotency-Key", key)
    };
    assert_answer(&desk.call(sized("Large", "chair", "english")).await, 200, "in English");
    tongue.store(1, Ordering::SeqCst);
    // A choice by its English label is none any more: that is said, and nothing is sent. Its value still is one.
    let sent = posts(&origin).len();
    let wrong = assert_fault(&desk.call(sized("Large", "chair", "label")).await, 422, "invalid_input", "a label");
    assert_eq!(wrong["error"]["details"][0]["message"], "The site takes one of these here: Klein; Groß.");
    assert_eq!(posts(&origin).len(), sent);
    assert_answer(&desk.call(sized("2", "chair", "value")).await, 200, "by its value");
    let refused = assert_fault(&desk.call(sized("2", "none", "words")).await, 422, "invalid_input", "its words");
    assert_eq!(refused["error"]["details"], json!([{ "pointer": "", "message": "Gibt es nicht für Sie." }]));
    assert_eq!(posts(&origin).len(), sent + 2);
}
