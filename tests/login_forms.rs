//! Promise: a form behind a sign-in is filled in and sent as its person would send it, with its token against forgery, and never
//! as anybody else; a site that says on a page who is signed in is enough.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::support::calls::{assert_answer, assert_fault, call, declare};
use crate::support::login::{self, Sessions, Stage, text};
use crate::support::{Ask, Desk, Origin, Reply, Request, Setup};
use serde_json::json;

type Emails = Arc<Mutex<HashMap<String, String>>>;

/// A site with an account page: a form with a token that belongs to the session, and who is signed in in its header.
async fn site(sessions: Sessions, emails: Emails) -> Origin {
    Origin::start(move |r: &Request| {
        let cookies = r.header("cookie").unwrap_or_default().to_owned();
        let sid = cookies.split("; ").find_map(|pair| pair.strip_prefix("sid=")).unwrap_or_default().to_owned();
        let who = sessions.lock().expect("the sessions").get(&sid).cloned();
        let page = |more: String| {
            let header = who.as_ref().map(|who| format!("<a id=me data-id=\"{who}\">{who} L.</a>")).unwrap_or_default();
            Reply::html(format!("<!doctype html><title>Account</title><header>{header}</header><main>{more}</main>"))
        };
        let mut emails = emails.lock().expect("the addresses");
        let path = r.target.split('?').next().unwrap_or_default();
        match (r.method.as_str(), path, &who) {
            ("GET", "/", _) => page("Welcome".into()),
            ("POST", "/login", _) => {
                let form: HashMap<String, String> = url::form_urlencoded::parse(&r.body).into_owned().collect();
                let sid = format!("session-of-{}", form["user"]);
                sessions.lock().expect("the sessions").insert(sid.clone(), form["user"].clone());
                Reply::new(303).header("Location", "/").header("Set-Cookie", &format!("sid={sid}; Path=/; HttpOnly"))
            }
            ("GET", "/account", Some(who)) => page(format!(
                "<form method=post action=/account><input type=hidden name=csrf value=\"token-of-{sid}\">\
                 <input name=email value=\"{}\"><button>Save</button></form>",
                emails.get(who).cloned().unwrap_or_default()
            )),
            ("POST", "/account", Some(who)) => {
                let form: HashMap<String, String> = url::form_urlencoded::parse(&r.body).into_owned().collect();
                if form.get("csrf") != Some(&format!("token-of-{sid}")) {
                    return Reply::new(403).body("CSRF");
                }
                emails.insert(who.clone(), form["email"].clone());
                Reply::new(303).header("Location", "/account/saved")
            }
            ("GET", "/account/saved", Some(_)) => page("<p class=success>Saved.</p>".into()),
            (_, "/account" | "/account/saved", None) => Reply::new(302).header("Location", "/login?next=/account"),
            _ => Reply::new(404).body("none"),
        }
    })
    .await
}

fn capability() -> String {
    let lines = "\nrisk_level = \"medium\"\nauth = \"required\"\nrequires_user_confirmation = false\n\
        input_schema = { type = \"object\", required = [\"email\"], properties = { email = { type = \"string\" } } }\n\
        [capabilities.upstream]\nmethod = \"POST\"\npath = \"/account\"\nidentity = \"caller\"\n\
        [capabilities.upstream.form]\npage = \"/account\"\ndone = { redirect = \"/account/saved\" }";
    declare("email", "commit_action", lines)
}

async fn stage(change: impl FnOnce(Setup) -> Setup) -> (Stage, Emails) {
    let (sessions, emails) = (Sessions::default(), Emails::default());
    let origin = site(sessions.clone(), emails.clone()).await;
    // The site has no API: its front page says who is signed in.
    let visitor =
        "check = \"/\"\nsubject = \"#me @data-id\"\nname = \"#me\"\nsign_in = \"/login\"\nreturn_to = \"next\"";
    let setup = login::setup_of(&origin, "", &capability()).instead("auth.visitor", visitor);
    (Stage { sessions, origin, desk: change(setup).start().await }, emails)
}

fn change(email: &str, key: &str) -> Ask {
    call("/agent/email", &json!({ "email": email })).header("Idempotency-Key", key)
}

#[tokio::test]
async fn login_forms_are_sent_in_the_name_of_their_person() {
    let (stage, emails) = stage(|setup| setup).await;
    let mut tokens = Vec::new();
    for who in ["ada", "bob"] {
        let cookies = stage.sign_in(who).await;
        let page = stage.authorize(&cookies, &[]).await;
        assert!(page.text().contains(&format!("{who} L.")), "the name on the page: {}", page.text());
        let code = stage.code(&cookies, &[], &["email"]).await;
        tokens.push((who, text(&stage.redeem(&code).await.json(), "access_token").to_owned()));
    }
    // The same key of two people at once.
    let set = async |desk: &Desk, who: &str, token: &str| {
        let answer = desk.call(change(&format!("{who}@new.test"), "key-1").bearer(token)).await;
        assert_answer(&answer, 200, who);
    };
    let ((ada, of_ada), (bob, of_bob)) = (&tokens[0], &tokens[1]);
    tokio::join!(set(&stage.desk, ada, of_ada), set(&stage.desk, bob, of_bob));
    for who in ["ada", "bob"] {
        let now = emails.lock().expect("the addresses").get(who).cloned();
        assert_eq!(now, Some(format!("{who}@new.test")), "{who}");
    }
    let posts =
        |origin: &Origin| origin.requests().iter().filter(|r| r.method == "POST" && r.target == "/account").count();
    assert_eq!(posts(&stage.origin), 2);
    // Nobody sends it without a person, and not after their sign-out.
    assert_fault(&stage.desk.call(change("x@y.test", "key-2")).await, 401, "auth_required", "no token");
    stage.sessions.lock().expect("the sessions").remove("session-of-ada");
    let refused = stage.desk.call(change("x@y.test", "key-3").bearer(of_ada)).await;
    assert_fault(&refused, 401, "auth_required", "signed out");
    assert_eq!(posts(&stage.origin), 2, "nothing was sent");
}

#[tokio::test]
async fn login_forms_with_the_callers_own_session() {
    let own = "unverified = \"site\"\nforward = [\"Cookie\"]";
    let (stage, emails) = stage(|setup| setup.set("auth", own)).await;
    let (ada, bob) = (stage.sign_in("ada").await, stage.sign_in("bob").await);
    for (who, cookies) in [("ada", &ada), ("bob", &bob)] {
        let answer = stage.desk.call(change(&format!("{who}@own.test"), "key-1").header("Cookie", cookies)).await;
        assert_answer(&answer, 200, who);
        assert_eq!(emails.lock().expect("the addresses").get(who), Some(&format!("{who}@own.test")));
    }
    let nobody = stage.desk.call(change("x@y.test", "key-2").header("Cookie", "sid=invented")).await;
    assert_fault(&nobody, 401, "auth_required", "the site leads to its sign-in page");
    assert_eq!(emails.lock().expect("the addresses").len(), 2);
}
