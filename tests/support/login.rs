//! A site whose people sign in with a form and have a session cookie, and the flow by which they let an agent act for them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::calls::{call, declare};
use super::{Ask, Desk, Origin, Reply, Request, Response, Setup};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// The sessions of the site: who is signed in with which cookie.
pub type Sessions = Arc<Mutex<HashMap<String, String>>>;

pub const CLIENT: &str = "my-assistant";
pub const CALLBACK: &str = "https://assistant.example.com/callback";
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

fn cookie_of(r: &Request) -> String {
    let cookies = r.header("cookie").unwrap_or_default().to_owned();
    cookies.split("; ").find_map(|pair| pair.strip_prefix("sid=")).unwrap_or_default().to_owned()
}

/// What a person allows an agent.
pub const ALLOWED: [&str; 8] = ["orders", "renewed", "changed", "cart", "redirected", "forbidden", "flaky", "book"];

/// The site.
pub async fn site(sessions: Sessions) -> Origin {
    let (made, asked) = (Arc::new(Mutex::new(0)), AtomicUsize::new(0));
    Origin::start(move |r: &Request| {
        let mut sessions = sessions.lock().expect("the sessions");
        let sid = cookie_of(r);
        let who = sessions.get(&sid).cloned();
        let mut open = |who: &str| {
            let mut made = made.lock().expect("a count");
            *made += 1;
            let sid = format!("{who}-secret-{made}");
            sessions.insert(sid.clone(), who.to_owned());
            sid
        };
        let path = r.target.split('?').next().unwrap_or_default();
        match (r.method.as_str(), path, who) {
            ("GET", "/login", _) => Reply::html("<form method=post><input name=user><input name=password></form>"),
            ("POST", "/login", _) => {
                let form: HashMap<String, String> = url::form_urlencoded::parse(&r.body).into_owned().collect();
                let sid = open(&form["user"]);
                let next = r.target.split("next=").nth(1).map(str::to_owned).unwrap_or_else(|| "/".into());
                let next = url::form_urlencoded::parse(format!("n={next}").as_bytes())
                    .next()
                    .map(|(_, next)| next.into_owned())
                    .unwrap_or_default();
                Reply::new(303).header("Location", &next).header("Set-Cookie", &format!("sid={sid}; Path=/; HttpOnly"))
            }
            ("GET", "/api/me", Some(who)) => {
                Reply::json(json!({ "id": who, "name": format!("{who} <L.>") }).to_string())
            }
            (_, "/api/flaky", Some(who)) => match asked.fetch_add(1, Ordering::Relaxed) % 7 {
                2 => Reply::new(500).body("broken"),
                4 => Reply::json("{\"orders\":[").hang_up().then("]}"),
                _ => Reply::json(json!({ "orders": [format!("order-of-{who}")] }).to_string()),
            },
            (_, "/api/forbidden", Some(_)) => Reply::new(403).body("not you"),
            (_, "/api/redirected", None) => Reply::new(302).header("Location", "/login?next=/api/redirected").body(""),
            ("GET", "/api/renewed", Some(who)) => {
                let new = open(&who);
                sessions.remove(&sid);
                Reply::json(json!({ "orders": [format!("order-of-{who}")] }).to_string())
                    .header("Set-Cookie", &format!("sid={new}; Path=/; HttpOnly"))
                    .header("Set-Cookie", "other=1; Path=/")
            }
            // It signs somebody else in, the person out, or sends its cookie to a part of the site only.
            ("GET", "/api/changed", Some(who)) => {
                let how = r.target.split("how=").nth(1).unwrap_or_default();
                let cookie = match how {
                    "other" => format!("sid={}; Path=/", open("bob")),
                    "none" => "sid=; Path=/; Max-Age=0".to_owned(),
                    _ => format!("sid={}; Path=/api", open(&who)),
                };
                Reply::json(json!({ "orders": [format!("order-of-{who}")] }).to_string()).header("Set-Cookie", &cookie)
            }
            // Open to guests.
            ("GET", "/shop/cart", who) => {
                Reply::json(json!({ "cart_of": who.as_deref().unwrap_or("guest") }).to_string())
            }
            (_, "/api/redirected" | "/api/orders", Some(who)) => {
                Reply::json(json!({ "orders": [format!("order-of-{who}")], "cookie": r.header("cookie") }).to_string())
            }
            ("POST", "/api/book", Some(who)) => Reply::new(201)
                .header("Content-Type", "application/json")
                .body(json!({ "booked_for": who }).to_string()),
            ("GET", "/api/news", _) => {
                let shown = json!({ "cookie": r.header("cookie"), "authorization": r.header("authorization") });
                Reply::json(json!({ "news": shown }).to_string())
            }
            (_, path, None) if path.starts_with("/api/") => Reply::new(401).body("who?"),
            _ => Reply::new(404).body("none"),
        }
    })
    .await
}

pub fn capabilities() -> String {
    let read = |id: &str, path: &str| {
        let lines = format!(
            "\nrisk_level = \"low\"\nauth = \"required\"\nupstream = {{ method = \"GET\", path = \"{path}\", identity = \"caller\" }}"
        );
        declare(id, "query", &lines)
    };
    let book = "\nrisk_level = \"medium\"\nauth = \"required\"\nrequires_user_confirmation = false\n\
                upstream = { method = \"POST\", path = \"/api/book\", identity = \"caller\" }";
    let news = "\nrisk_level = \"low\"\nauth = \"optional\"\nupstream = { method = \"GET\", path = \"/api/news\" }";
    let ours = "\nrisk_level = \"low\"\nauth = \"required\"\nupstream = { method = \"GET\", path = \"/api/news\" }";
    read("orders", "/api/orders")
        + &read("renewed", "/api/renewed")
        + &read("changed", "/api/changed")
        + &read("cart", "/shop/cart")
        + &read("redirected", "/api/redirected")
        + &read("forbidden", "/api/forbidden")
        + &read("flaky", "/api/flaky")
        + &declare("book", "commit_action", book)
        + &declare("news", "query", news)
        + &declare("ours", "query", ours)
}

/// A desk before the site, with more lines of `[auth.login]`.
pub fn setup(origin: &Origin, login: &str) -> Setup {
    setup_of(origin, login, &capabilities())
}

/// The same with these capabilities.
pub fn setup_of(origin: &Origin, login: &str, capabilities: &str) -> Setup {
    super::calls::site(origin, capabilities)
        .set("auth.visitor", "check = \"/api/me\"\nsubject = \"/id\"\nname = \"/name\"\nsign_in = \"/login\"\nreturn_to = \"next\"")
        .set("auth.login", &format!("cookies = [\"sid\"]\n{login}"))
        .set("sessions", "allow_http_callbacks = true")
        .tail(&format!(
            "\n[[auth.login.clients_listed]]\nid = \"{CLIENT}\"\nname = \"My Assistant\"\n\
             redirect_uris = [\"{CALLBACK}\", \"http://127.0.0.1/cb\"]\n\
             [[auth.login.clients_listed]]\nid = \"other\"\nname = \"Other\"\nredirect_uris = [\"https://other.test/cb\"]\n"
        ))
}

/// The site, its sessions and a desk.
pub struct Stage {
    pub sessions: Sessions,
    pub origin: Origin,
    pub desk: Desk,
}

impl Stage {
    pub async fn new(login: &str) -> Stage {
        Stage::with(login, |setup| setup).await
    }

    pub async fn with(login: &str, change: impl FnOnce(Setup) -> Setup) -> Stage {
        let sessions = Sessions::default();
        let origin = site(sessions.clone()).await;
        let desk = change(setup(&origin, login)).start().await;
        Stage { sessions, origin, desk }
    }

    /// Signs a person in, and gives their cookies.
    pub async fn sign_in(&self, who: &str) -> String {
        let login = Ask::post("/login?next=/", format!("user={who}&password=x"));
        let response = self.desk.call(login.header("Content-Type", FORM)).await;
        let set = response.header("set-cookie").unwrap_or_else(|| panic!("a cookie: {}", response.text()));
        set.split(';').next().expect("a pair").to_owned()
    }

    /// The person's browser at an authorization request.
    pub async fn authorize(&self, cookies: &str, changes: &[(&str, &str)]) -> Response {
        self.desk.call(Ask::get(&authorize(changes)).header("Cookie", cookies).accept("text/html")).await
    }

    /// The consent form, sent as the page would send it.
    pub async fn decide(&self, cookies: &str, form: &[(&str, &str)]) -> Response {
        self.desk
            .call(
                posted("/agent/oauth/consent", form).header("Cookie", cookies).header("Sec-Fetch-Site", "same-origin"),
            )
            .await
    }

    /// A code that a person has allowed, for these capabilities.
    pub async fn code(&self, cookies: &str, changes: &[(&str, &str)], allow: &[&str]) -> String {
        let page = self.authorize(cookies, changes).await;
        let ticket = ticket(&page);
        let mut form = vec![("ticket", ticket.as_str()), ("decision", "allow")];
        form.extend(allow.iter().map(|id| ("allow", *id)));
        let answer = self.decide(cookies, &form).await;
        parameter(&answer, "code").unwrap_or_else(|| panic!("a code: {} {}", answer.status, answer.text()))
    }

    pub async fn token(&self, form: &[(&str, &str)]) -> Response {
        self.desk.call(posted("/agent/oauth/token", form)).await
    }

    /// Tokens for a code.
    pub async fn redeem(&self, code: &str) -> Response {
        self.token(&redemption(code)).await
    }

    pub async fn refresh(&self, token: &str) -> Response {
        self.token(&[("grant_type", "refresh_token"), ("refresh_token", token), ("client_id", CLIENT)]).await
    }

    /// A person signed in, and tokens of an agent that may do everything.
    pub async fn linked(&self, who: &str) -> (String, Value) {
        let cookies = self.sign_in(who).await;
        let code = self.code(&cookies, &[], &ALLOWED).await;
        let response = self.redeem(&code).await;
        assert_eq!(response.status, 200, "{}", response.text());
        (cookies, response.json())
    }

    pub async fn called(&self, id: &str, token: &str) -> Response {
        self.desk.call(call(&format!("/agent/{id}"), &json!({})).bearer(token)).await
    }
}

pub const FORM: &str = "application/x-www-form-urlencoded";

pub fn posted(path: &str, form: &[(&str, &str)]) -> Ask {
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    Ask::post(path, body).header("Content-Type", FORM)
}

/// The address of an authorization request, with these changes; an empty value leaves a parameter out.
pub fn authorize(changes: &[(&str, &str)]) -> String {
    let usual = [
        ("response_type", "code"),
        ("client_id", CLIENT),
        ("redirect_uri", CALLBACK),
        ("state", "s-1 &="),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
        ("resource", "https://site.test/mcp"),
    ];
    let kept = usual.iter().filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
    let all = kept.chain(changes).filter(|(_, value)| !value.is_empty());
    format!(
        "/agent/oauth/authorize?{}",
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(all).finish()
    )
}

pub fn redemption(code: &str) -> Vec<(&str, &str)> {
    vec![
        ("grant_type", "authorization_code"),
        ("code", code),
        ("client_id", CLIENT),
        ("redirect_uri", CALLBACK),
        ("code_verifier", VERIFIER),
        ("resource", "https://site.test/mcp"),
    ]
}

/// The ticket in a consent page.
#[track_caller]
pub fn ticket(page: &Response) -> String {
    let text = page.text();
    let ticket = text.split("name=\"ticket\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    ticket.unwrap_or_else(|| panic!("a consent page: {} {text}", page.status)).to_owned()
}

/// A parameter of the address that a redirect leads to.
pub fn parameter(response: &Response, name: &str) -> Option<String> {
    let to = url::Url::parse(response.header("location")?).ok()?;
    to.query_pairs().find(|(n, _)| n == name).map(|(_, value)| value.into_owned())
}

#[track_caller]
pub fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_else(|| panic!("{name}: {value}"))
}

/// Checks that a token request was refused with this error.
#[track_caller]
pub fn assert_error(response: &Response, code: &str) {
    assert_eq!((response.status, response.json()["error"].as_str()), (400, Some(code)), "{}", response.text());
    assert!(response.headers.tokens("cache-control").contains(&"no-store".to_owned()));
}

/// The challenge that belongs to a verifier.
pub fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes()))
}
