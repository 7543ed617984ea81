//! Promise: a form of the site is filled in as a browser would fill it in, once; what is not as declared is a clear
//! refusal, and nothing is sent.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::support::calls::{FULL, action, assert_answer, assert_fault, call, confirmation_token, query, site};
use crate::support::rpc;
use crate::support::{Ask, Desk, Origin, Reply, Request, Response, SOON, eventually};
use serde_json::{Value, json};

const CONTACT: &str = r#"
input_schema = { type = "object", required = ["email", "text"], properties = { email = { type = "string" }, text = { type = "string" }, topic = { type = "string" } } }
[capabilities.upstream]
method = "POST"
path = "/contact/send"
rename_input = { text = "message" }
[capabilities.upstream.form]
page = "/contact"
done = { redirect = "/contact/thanks" }
failed = ".errors li"
"#;

/// What the site does.
#[derive(Default)]
struct Site {
    /// Forms that were taken.
    taken: AtomicUsize,
    /// Pages that were given; each has a token of its own.
    pages: AtomicUsize,
    /// 0: as usual. 1: a CAPTCHA. 2: another field is required. 3: people have to sign in. 4: the answer is lost.
    /// 5: it redirects in a circle. 6: 200 with a page that says nothing. 7: a redirect to another site.
    mood: AtomicUsize,
}

async fn origin() -> (Arc<Site>, Origin) {
    let site = Arc::new(Site::default());
    let state = site.clone();
    let origin = Origin::start(move |request: &Request| answer(&state, request)).await;
    (site, origin)
}

fn answer(site: &Site, request: &Request) -> Reply {
    let page = |html: String| Reply::new(200).header("Content-Type", "text/html; charset=utf-8").body(html);
    let cookie = request.header("cookie").unwrap_or_default().to_owned();
    let body = String::from_utf8_lossy(&request.body).into_owned();
    let mood = site.mood.load(Ordering::Relaxed);
    match (request.method.as_str(), request.target.as_str()) {
        ("GET", "/contact") if mood == 3 => Reply::new(302).header("Location", "/login?next=/contact"),
        ("GET", "/login?next=/contact") => {
            page("<form action=/login method=post><input type=password name=p></form>".into())
        }
        ("GET", "/contact") => {
            let n = site.pages.fetch_add(1, Ordering::Relaxed);
            let more = match mood {
                1 => "<div class=h-captcha></div>",
                2 => "<input name=age required>",
                _ => "",
            };
            page(format!(
                "<form action=/search><input name=q></form><form action='/contact/send' method=post>\
                 <input type=hidden name=csrf value=token-{n}><input name=email type=email required>\
                 <select name=topic><option value=1 selected>Other<option value=2>Prices</select>\
                 <textarea name=message required></textarea>{more}<button name=go value=send>Send</button></form>"
            ))
            .header("Set-Cookie", &format!("sid=secret-{n}; Path=/; HttpOnly"))
            .header("Set-Cookie", "lang=en; Path=/contact")
        }
        ("POST", "/contact/send") => {
            let n = site.pages.load(Ordering::Relaxed) - 1;
            let origin = request.header("origin").unwrap_or_default();
            let is_own = origin.ends_with(&format!("://{}", request.header("host").unwrap_or_default()))
                && request.header("referer") == Some(&format!("{origin}/contact"))
                && cookie == format!("lang=en; sid=secret-{n}")
                && body.starts_with(&format!("csrf=token-{n}&"));
            if !is_own {
                return Reply::new(403).body("CSRF");
            }
            if body.contains("email=bad") {
                return page(
                    "<form><div><input name=email value=bad><ul class=errors><li>Enter a valid address.</ul></div></form>".into(),
                );
            }
            site.taken.fetch_add(1, Ordering::Relaxed);
            match mood {
                4 => Reply::html("<p>Th").hang_up().then("anks"),
                5 => Reply::new(302).header("Location", "/round"),
                6 => page("<p>Welcome to our site.</p>".into()),
                7 => Reply::new(302).header("Location", "https://pay.elsewhere.test/x"),
                _ => Reply::new(302).header("Location", "thanks"),
            }
        }
        ("GET", "/contact/thanks") => {
            page("<title>Thanks</title><main><h1>Thank you</h1><p>We answer soon.</main>".into())
        }
        ("GET", "/round") => Reply::new(302).header("Location", "/round"),
        _ => Reply::new(404),
    }
}

async fn sent(desk: &Desk, input: Value, key: &str) -> Response {
    desk.call(call("/agent/contact", &input).bearer(FULL).header("Idempotency-Key", key)).await
}

fn posts(origin: &Origin) -> Vec<Request> {
    origin.requests().into_iter().filter(|request| request.method == "POST").collect()
}

#[tokio::test]
async fn site_forms_are_sent_as_a_browser_sends_them() {
    let (taken, origin) = origin().await;
    let desk = site(&origin, &action("contact", CONTACT)).start().await;
    let input = json!({ "email": "a@b.test", "text": "Hello\nthere", "topic": "Prices" });
    let answer = sent(&desk, input.clone(), "k1").await;
    let data = assert_answer(&answer, 200, "sent")["data"].clone();
    assert!(data["markdown"].as_str().is_some_and(|text| text.contains("We answer soon.")), "{data}");
    let post = posts(&origin).pop().expect("a POST");
    assert_eq!(post.header("content-type"), Some("application/x-www-form-urlencoded"));
    assert_eq!(
        String::from_utf8(post.body).expect("text"),
        "csrf=token-0&email=a%40b.test&topic=2&message=Hello%0D%0Athere&go=send"
    );
    // One key, one submission.
    let again = sent(&desk, input, "k1").await;
    assert_eq!(again.headers.get("idempotency-replayed"), Some("true"));
    assert_eq!((posts(&origin).len(), taken.taken.load(Ordering::Relaxed)), (1, 1));
    // What the form hides stays here.
    let told = format!("{}{}{}{}", answer.text(), again.text(), desk.stdout(), desk.stderr());
    assert!(!told.contains("token-") && !told.contains("secret-"), "{told}");
}

#[tokio::test]
async fn site_forms_tell_the_sites_own_words_about_a_failure() {
    let (taken, origin) = origin().await;
    let desk = site(&origin, &action("contact", CONTACT)).start().await;
    let refused = sent(&desk, json!({ "email": "bad", "text": "x" }), "k1").await;
    let body = assert_fault(&refused, 422, "invalid_input", "a bad address");
    assert_eq!(body["error"]["details"], json!([{ "pointer": "/email", "message": "Enter a valid address." }]));
    let wrong = sent(&desk, json!({ "email": "a@b.test", "text": "x", "topic": "Weather" }), "k2").await;
    let body = assert_fault(&wrong, 422, "invalid_input", "no such option");
    assert_eq!(body["error"]["details"][0]["message"], "The site takes one of these here: Other; Prices.");
    assert_eq!((posts(&origin).len(), taken.taken.load(Ordering::Relaxed)), (1, 0));
}

#[tokio::test]
async fn site_forms_that_are_not_as_declared_send_nothing() {
    let (taken, origin) = origin().await;
    let gone = CONTACT.replace("page = \"/contact\"", "page = \"/gone\"");
    let desk = site(&origin, &(action("contact", CONTACT) + &action("gone", &gone))).start().await;
    let input = json!({ "email": "a@b.test", "text": "x" });
    for (mood, code) in [(1, "site_changed"), (2, "site_changed"), (3, "login_required")] {
        taken.mood.store(mood, Ordering::Relaxed);
        let refused = assert_fault(&sent(&desk, input.clone(), "same").await, 502, code, &format!("mood {mood}"));
        let said = refused["error"]["message"].as_str().unwrap_or_default();
        assert!(code != "site_changed" || said.ends_with("Nothing was sent."), "mood {mood}: {said}");
    }
    eventually("the log says why", SOON, async || desk.stderr().contains("Nothing was sent.")).await;
    let gone = desk.call(call("/agent/gone", &input).bearer(FULL)).await;
    assert_fault(&gone, 502, "site_changed", "a page that is gone");
    assert_eq!(posts(&origin).len(), 0);
    // Nothing was promised: the same key goes through once the site is itself again.
    taken.mood.store(0, Ordering::Relaxed);
    assert_answer(&sent(&desk, input, "same").await, 200, "later");
}

#[tokio::test]
async fn site_forms_claim_nothing_that_the_site_does_not_show() {
    let (taken, origin) = origin().await;
    let desk = site(&origin, &action("contact", CONTACT)).start().await;
    let input = json!({ "email": "a@b.test", "text": "x" });
    for (mood, status, code) in [
        (4, 502, "upstream_connection_error"),
        (5, 502, "upstream_error"),
        (6, 502, "site_changed"),
        (7, 502, "upstream_error"),
    ] {
        taken.mood.store(mood, Ordering::Relaxed);
        let key = format!("mood-{mood}");
        assert_fault(&sent(&desk, input.clone(), &key).await, status, code, &key);
        let before = posts(&origin).len();
        let again = sent(&desk, input.clone(), &key).await;
        assert_ne!(again.status, 200, "{key}: {}", again.text());
        assert_eq!(posts(&origin).len(), before, "{key}: sent twice");
    }
    assert!(origin.requests().iter().all(|request| request.target != "/x"));
    assert!(origin.requests().iter().filter(|request| request.target == "/round").count() <= 5);
}

#[tokio::test]
async fn site_forms_are_confirmed_over_what_they_would_send() {
    let (_, origin) = origin().await;
    let lines = format!("\nidempotency_required = true{CONTACT}");
    let capability = action("contact", &lines)
        .replace("requires_user_confirmation = false", "requires_user_confirmation = true")
        + "\n[capabilities.confirmation]\nsummary = \"Send {{ input.text }} from {{ input.email }}\"\n";
    let desk = site(&origin, &capability).start().await;
    let input = json!({ "email": "a@b.test", "text": "Hi" });
    let asked = sent(&desk, input.clone(), "k").await;
    assert_eq!(asked.json()["confirmation"]["summary"], "Send \"Hi\" from \"a@b.test\"");
    let token = confirmation_token(&asked);
    assert!(origin.requests().iter().all(|request| request.target != "/contact"), "not even looked at");
    let ask =
        call("/agent/contact", &input).bearer(FULL).header("Idempotency-Key", "k").header("AICP-Confirmation", &token);
    assert_answer(&desk.call(ask).await, 200, "confirmed");
    assert_eq!(posts(&origin).len(), 1);
}

#[tokio::test]
async fn site_forms_for_searching_are_reads() {
    let origin = Origin::start(|request: &Request| {
        let page = |html: &str| Reply::new(200).header("Content-Type", "text/html").body(html);
        match request.target.as_str() {
            "/" => page("<form role=search action=/find><input type=hidden name=lang value=en><input name=q></form>"),
            "/find?lang=en&q=red+chair" => page("<main><ul><li><a href=/p/1>Red chair</a></ul></main>"),
            _ => Reply::new(404),
        }
    })
    .await;
    let lines = "\n[capabilities.upstream]\nmethod = \"GET\"\npath = \"/find\"\n[capabilities.upstream.form]\npage = \"/\"\n\
                 [capabilities.upstream.extract]\neach = \"li\"\nfields = { title = \"a\", url = \"a @href\" }\nmust = \"main\"\n";
    let desk = site(&origin, &query("find", lines)).start().await;
    let found = assert_answer(&desk.call(call("/agent/find", &json!({ "q": "red chair" }))).await, 200, "found");
    assert_eq!(found["data"], json!({ "items": [{ "title": "Red chair", "url": "/p/1" }] }));
}

#[tokio::test]
async fn site_forms_take_files() {
    let origin = Origin::start(|request: &Request| {
        let page = |html: &str| Reply::new(200).header("Content-Type", "text/html").body(html);
        match (request.method.as_str(), request.target.as_str()) {
            ("GET", "/apply") => {
                page("<form action=/apply method=post enctype=multipart/form-data><input name=who><input type=file name=cv></form>")
            }
            ("GET", "/cv.pdf") => Reply::new(200).header("Content-Type", "application/pdf").header("Cache-Control", "private").body("%PDF"),
            ("POST", "/apply") => page("<p>Got it.</p>"),
            _ => Reply::new(404),
        }
    })
    .await;
    let lines = "\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"/apply\"\n[capabilities.upstream.form]\npage = \"/apply\"\n";
    let file = "\nupstream = { method = \"GET\", path = \"/cv.pdf\", response = \"file\" }";
    let schema = "\ninput_schema = { type = \"object\", properties = { who = { type = \"string\" }, cv = {} } }";
    let all = action("apply", &format!("{schema}{lines}")) + &query("cv", file);
    let desk = site(&origin, &all).start().await;
    let along = json!({ "who": "Zoë", "cv": { "name": "a.txt", "media_type": "text/plain", "data": "SGk=" } });
    assert_answer(&desk.call(call("/agent/apply", &along).bearer(FULL)).await, 200, "a file sent along");
    let body = String::from_utf8(posts(&origin).pop().expect("a POST").body).expect("text");
    assert!(body.contains("name=\"cv\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nHi\r\n"), "{body}");
    let given = assert_answer(&desk.call(call("/agent/cv", &json!({})).bearer(FULL)).await, 200, "a file of the site");
    let ticket = given["data"]["file"]["url"].clone();
    let by_ticket = json!({ "who": "Zoë", "cv": { "url": ticket } });
    assert_answer(&desk.call(call("/agent/apply", &by_ticket).bearer(FULL)).await, 200, "a file by its ticket");
    let body = String::from_utf8(posts(&origin).pop().expect("a POST").body).expect("text");
    assert!(body.contains("filename=\"cv.pdf\"\r\nContent-Type: application/pdf\r\n\r\n%PDF\r\n"), "{body}");
}

#[tokio::test]
async fn site_forms_keep_a_basket_with_the_conversation_alone() {
    let origin = Origin::start(|request: &Request| {
        let cookie = request.header("cookie").unwrap_or_default().to_owned();
        let items = cookie.strip_prefix("basket=").unwrap_or_default().to_owned();
        let page = |html: String| Reply::new(200).header("Content-Type", "text/html").body(html);
        match (request.method.as_str(), request.target.split('?').next().unwrap_or_default()) {
            ("GET", "/shop") => page("<form action=/basket method=post><input name=item></form>".into()),
            ("POST", "/basket") => {
                let item = String::from_utf8_lossy(&request.body).replace("item=", "");
                Reply::new(303)
                    .header("Location", "/basket")
                    .header("Set-Cookie", &format!("basket={items}.{item}; Path=/"))
            }
            ("GET", "/basket") => page(format!("<main><p class=items>{items}</main>")),
            _ => Reply::new(404),
        }
    })
    .await;
    let read = "\n[capabilities.upstream.extract]\nfields = { items = \".items\" }\nmust = \"main\"\n";
    let schema = "\ninput_schema = { type = \"object\", properties = { item = { type = \"string\" } } }";
    let add = format!(
        "{schema}\n[capabilities.upstream]\nmethod = \"POST\"\npath = \"/basket\"\ncookies = \"session\"\n[capabilities.upstream.form]\n\
         page = \"/shop\"\ndone = {{ redirect = \"/basket\" }}{read}"
    );
    let show =
        format!("{schema}\n[capabilities.upstream]\nmethod = \"GET\"\npath = \"/basket\"\ncookies = \"session\"{read}");
    let desk = site(&origin, &(action("add", &add) + &query("basket", &show))).start().await;
    let ask = |path: &str, input: Value, session: &str| -> Ask {
        call(path, &input).bearer(FULL).header("AICP-Session", session)
    };
    let (mine, other) = ("a-conversation-of-mine", "another-conversation-");
    let items = async |ask: Ask| assert_answer(&desk.call(ask).await, 200, "a basket")["data"]["items"].clone();
    assert_eq!(items(ask("/agent/add", json!({ "item": "chair" }), mine)).await, ".chair");
    assert_eq!(items(ask("/agent/add", json!({ "item": "lamp" }), mine)).await, ".chair.lamp");
    assert_eq!(items(ask("/agent/basket", json!({}), mine)).await, ".chair.lamp");
    assert_eq!(items(ask("/agent/basket", json!({}), other)).await, "");
    // The credential is a conversation of its own.
    let bare = |path: &str, input: Value| call(path, &input).bearer(FULL);
    assert_eq!(items(bare("/agent/add", json!({ "item": "vase" }))).await, ".vase");
    assert_eq!(items(bare("/agent/basket", json!({}))).await, ".vase");
    // Clients of MCP hand no session on, unless they are told to.
    let tool = async |name: &str, arguments: Value, session: Option<&str>| {
        let mut message = rpc::call(name, arguments);
        if let Some(session) = session {
            message["params"]["_meta"]["session_id"] = session.into();
        }
        desk.call(rpc::post(message.to_string()).bearer(FULL)).await.json()["result"].clone()
    };
    let first = tool("add", json!({ "item": "mcp" }), None).await;
    assert!(first.to_string().contains(".vase.mcp"), "{first}");
    let session = first["_meta"]["session_id"].as_str().unwrap_or_else(|| panic!("a session: {first}"));
    let second = tool("add", json!({ "item": "rug" }), Some(session)).await;
    assert!(second.to_string().contains(".vase.mcp.rug"), "{second}");
    let shown = tool("basket", json!({}), Some(session)).await;
    assert!(shown.to_string().contains(".vase.mcp.rug"), "{shown}");
}

#[tokio::test]
async fn site_forms_keep_a_basket_for_a_client_that_names_its_conversation_later() {
    // A site that sets its cookie once, and keeps the basket itself.
    let baskets = std::sync::Mutex::new(std::collections::BTreeMap::<String, String>::new());
    let origin = Origin::start(move |request: &Request| {
        let page = |html: String| Reply::new(200).header("Content-Type", "text/html").body(html);
        let mut baskets = baskets.lock().expect("the baskets");
        let cookie = request.header("cookie").map(str::to_owned);
        let is_new = cookie.is_none();
        let cookie = cookie.unwrap_or_else(|| format!("sid=s{}", baskets.len()));
        let basket = baskets.entry(cookie.clone()).or_default();
        let reply = match (request.method.as_str(), request.target.split('?').next().unwrap_or_default()) {
            ("GET", "/shop") => page("<form action=/basket method=post><input name=item></form>".into()),
            ("POST", "/basket") => {
                *basket += &format!(".{}", String::from_utf8_lossy(&request.body).replace("item=", ""));
                Reply::new(303).header("Location", "/basket")
            }
            _ => page(format!("<main><p class=items>{basket}</main>")),
        };
        if is_new { reply.header("Set-Cookie", &format!("{cookie}; Path=/")) } else { reply }
    })
    .await;
    let lines = "\ninput_schema = { type = \"object\", properties = { item = { type = \"string\" } } }\n[capabilities.upstream]\n\
                 method = \"POST\"\npath = \"/basket\"\ncookies = \"session\"\n[capabilities.upstream.form]\npage = \"/shop\"\n\
                 done = { redirect = \"/basket\" }\n[capabilities.upstream.extract]\nfields = { items = \".items\" }\nmust = \"main\"\n";
    let desk = site(&origin, &action("add", lines)).start().await;
    let add = async |item: &str, session: Option<&str>| {
        let mut message = rpc::call("add", json!({ "item": item }));
        if let Some(session) = session {
            message["params"]["_meta"]["session_id"] = session.into();
        }
        let result = desk.call(rpc::post(message.to_string()).bearer(FULL)).await.json()["result"].clone();
        let session =
            result["_meta"]["session_id"].as_str().unwrap_or_else(|| panic!("a session: {result}")).to_owned();
        (result.to_string(), session)
    };
    let (first, _) = add("chair", None).await;
    assert!(first.contains(".chair"), "{first}");
    // The second call sets no cookie, and the third names the conversation that the second was told.
    let (second, session) = add("lamp", None).await;
    assert!(second.contains(".chair.lamp"), "{second}");
    let (third, _) = add("rug", Some(&session)).await;
    assert!(third.contains(".chair.lamp.rug"), "{third}");
}
