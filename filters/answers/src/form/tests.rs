//! Forms as they exist in the wild: what is sent is what a browser sends.

use std::collections::BTreeMap;

use bytes::Bytes;
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_config as config;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use url::Url;

use super::*;
use crate::answered::Answered;

fn page_at<'p>(body: &'p Bytes, at: &'p Url, kind: &'p str) -> Answered<'p> {
    Answered { content_type: kind, disposition: None, body, at, is_named: false, own_hosts: &[], tokens: 100 }
}

fn filled_as(
    declared: &config::Form,
    method: &Method,
    html: &[u8],
    kind: &str,
    input: Value,
) -> Result<Filled, Refusal> {
    let (body, at) = (Bytes::from(html.to_vec()), Url::parse("http://site.test/contact?x=1").unwrap());
    let given: BTreeMap<String, Input> =
        input.as_object().unwrap().iter().map(|(name, value)| (name.clone(), Input::Value(value.clone()))).collect();
    let known: Vec<String> = given.keys().cloned().collect();
    let declared_names = move |name: &str| known.iter().any(|known| known == name) && name != "undeclared";
    let ours = |name: &str| name.to_owned();
    let inputs = Inputs { given, ours: &ours, declared: &declared_names };
    Form::new(declared).unwrap().fill(&page_at(&body, &at, kind), (method, "/send"), &inputs, "XX")
}

/// What a form in this page sends with these inputs.
fn sent(html: &str, input: Value) -> Result<String, Refusal> {
    let filled = filled_as(&config::Form::default(), &Method::POST, html.as_bytes(), "text/html", input)?;
    Ok(String::from_utf8(filled.body.to_vec()).unwrap())
}

fn post(inner: &str) -> String {
    format!("<form action=/send method=post>{inner}</form>")
}

#[test]
fn hidden_fields_and_defaults_are_kept_and_inputs_put_in() {
    let html = post(
        "<input type=hidden name=csrf value='a b'><input name=name value=Old><textarea name=text>\nHi</textarea>\
         <input name=unset><input type=checkbox name=news checked><input type=checkbox name=off>\
         <button name=send value=1>Go</button><button name=other value=2>Other</button>",
    );
    let body = sent(&html, json!({ "name": "Zoë & Co", "text": "a\nb" })).unwrap();
    assert_eq!(body, "csrf=a+b&name=Zo%C3%AB+%26+Co&text=a%0D%0Ab&unset=&news=on&send=1");
}

#[test]
fn choices_are_made_by_value_or_label() {
    let html = post(
        "<select name=room><option value=s>Single<option value=d selected>Double<option disabled value=x>Suite</select>\
         <select name=days[] multiple><option>Mon<option>Tue<option selected>Wed</select>\
         <label><input type=radio name=pay value=c checked>Card</label><input type=radio name=pay value=b id=b>\
         <label for=b>By bank</label><label><input type=checkbox name=ok value=yes>Yes</label>",
    );
    assert_eq!(sent(&html, json!({})).unwrap(), "room=d&days%5B%5D=Wed&pay=c");
    let input = json!({ "room": "single", "days": ["Mon", "Tue"], "pay": "By bank", "ok": true });
    assert_eq!(sent(&html, input).unwrap(), "room=s&days%5B%5D=Mon&days%5B%5D=Tue&pay=b&ok=yes");
    for (input, at) in [
        (json!({ "room": "Suite" }), "/room"),
        (json!({ "pay": "cash" }), "/pay"),
        (json!({ "room": ["s", "d"] }), "/room"),
    ] {
        let refusal = sent(&html, input).unwrap_err();
        assert_eq!((refusal.fault, refusal.violations[0].pointer.as_str()), (Fault::InvalidInput, at));
    }
}

#[test]
fn controls_belong_to_the_form_that_owns_them() {
    let html = "<input name=outside value=o form=f><form id=f action=/send method=post><input name=in value=i>\
                <input name=away value=a form=g><fieldset disabled><legend><input name=legend value=l></legend>\
                <input name=off value=x></fieldset><input name=dis value=d disabled><input name=ro value=r readonly>\
                <datalist><input name=dl value=z></datalist></form><form id=g action=/other></form>";
    assert_eq!(sent(html, json!({})).unwrap(), "outside=o&in=i&legend=l&ro=r");
    assert_eq!(sent(html, json!({ "dis": "1" })).unwrap_err().fault, Fault::SiteChanged);
}

#[test]
fn the_base_and_the_button_decide_where_it_goes() {
    let (post, default) = (Method::POST, config::Form::default());
    let html = "<base href=/deep/><form action=../send?keep=1#x method=POST><input name=a></form>";
    let filled = filled_as(&default, &post, html.as_bytes(), "text/html", json!({ "a": "1" })).unwrap();
    assert_eq!((filled.target.as_str(), &filled.body[..]), ("/send?keep=1", &b"a=1"[..]));
    let html =
        "<form action=/send><input name=a><button name=x value=y formmethod=post formaction=/send2>Go</button></form>";
    let filled = filled_as(&default, &post, html.as_bytes(), "text/html", json!({ "a": "1" })).unwrap();
    assert_eq!((filled.target.as_str(), &filled.body[..]), ("/send2", &b"a=1&x=y"[..]));
    let html = "<form action='/send?old=1'><input type=search name=q><input type=image name=go></form>";
    let filled = filled_as(&default, &Method::GET, html.as_bytes(), "text/html", json!({ "q": "ä b" })).unwrap();
    assert_eq!((filled.target.as_str(), filled.body.len()), ("/send?q=%C3%A4+b&go.x=0&go.y=0", 0));
}

#[test]
fn the_button_may_be_named() {
    let declared = config::Form { submit: Some("second".into()), ..config::Form::default() };
    let html =
        post("<input name=a value=1><button name=first value=1>1</button><button name=second value=2>2</button>");
    let filled = filled_as(&declared, &Method::POST, html.as_bytes(), "text/html", json!({})).unwrap();
    assert_eq!(&filled.body[..], b"a=1&second=2");
    let gone = filled_as(&declared, &Method::POST, post("<input name=a>").as_bytes(), "text/html", json!({}));
    assert_eq!(gone.unwrap_err().fault, Fault::SiteChanged);
}

#[test]
fn it_is_written_in_the_pages_own_encoding_and_as_its_enctype_says() {
    let default = config::Form::default();
    let html = b"<form action=/send method=post><input type=hidden name=_charset_><input name=a></form>";
    let filled =
        filled_as(&default, &Method::POST, html, "text/html; charset=shift_jis", json!({ "a": "日 é" })).unwrap();
    assert_eq!(&filled.body[..], b"_charset_=Shift_JIS&a=%93%FA+%26%23233%3B");
    let html = "<form action=/send method=post enctype=multipart/form-data><input name='a\"b' value=1><input type=file name=f></form>";
    let filled = filled_as(&default, &Method::POST, html.as_bytes(), "text/html", json!({})).unwrap();
    assert_eq!(filled.content_type, "multipart/form-data; boundary=XX");
    assert_eq!(
        String::from_utf8_lossy(&filled.body),
        "--XX\r\nContent-Disposition: form-data; name=\"a%22b\"\r\n\r\n1\r\n--XX\r\nContent-Disposition: form-data; \
         name=\"f\"; filename=\"\"\r\nContent-Type: application/octet-stream\r\n\r\n\r\n--XX--\r\n"
    );
}

#[test]
fn what_is_not_as_declared_is_a_changed_site_and_nothing_is_sent() {
    let fault = |html: &str, input: Value| sent(html, input).unwrap_err().fault;
    assert_eq!(fault("<p>No form</p>", json!({})), Fault::SiteChanged);
    assert_eq!(fault("<form action=/login><input type=password name=p></form>", json!({})), Fault::LoginRequired);
    assert_eq!(fault(&post("<input name=new required>"), json!({})), Fault::SiteChanged);
    assert_eq!(fault(&post("<input name=a>"), json!({ "gone": "1" })), Fault::SiteChanged);
    assert_eq!(
        fault(&post("<input name=a><div class=g-recaptcha data-sitekey=x></div>"), json!({ "a": "1" })),
        Fault::SiteChanged
    );
    assert_eq!(
        fault("<form action=/send><input name=a></form>", json!({ "a": "1" })),
        Fault::SiteChanged,
        "another method"
    );
    assert_eq!(fault("<form action=https://elsewhere.test/send method=post></form>", json!({})), Fault::SiteChanged);
    assert_eq!(fault(&format!("{0}{0}", post("")), json!({})), Fault::SiteChanged);
    assert_eq!(fault(&post("<input name=a maxlength=3>"), json!({ "a": "four" })), Fault::InvalidInput);
    assert_eq!(fault(&post("<input type=number name=a max=3>"), json!({ "a": 4 })), Fault::InvalidInput);
    assert_eq!(
        fault(&post("<input type=hidden name=undeclared value=1>"), json!({ "undeclared": "2" })),
        Fault::InvalidInput
    );
}

/// What the answers to a form say: `done`, `unclear`, `failed`, or why not with the violations.
fn judged(declared: &config::Form, status: u16, redirects: &[&str], html: &str) -> String {
    let (body, at) = (Bytes::from(html.to_owned()), Url::parse("http://site.test/send").unwrap());
    let redirects: Vec<String> = redirects.iter().map(|to| (*to).to_owned()).collect();
    let status = StatusCode::from_u16(status).unwrap();
    let put_in = [("email".to_owned(), "no@mail".to_owned()), ("name".to_owned(), "Zoë".to_owned())];
    let page = page_at(&body, &at, "text/html");
    let last_status = if redirects.is_empty() { status } else { StatusCode::OK };
    let sent = Submitted { status, redirects: &redirects, last_status, last: &page, put_in: &put_in };
    match Form::new(declared).unwrap().judge(&sent, &|name| format!("my_{name}")) {
        Judged::Done => "done".to_owned(),
        Judged::Unclear(_) => "unclear".to_owned(),
        Judged::Failed => "failed".to_owned(),
        Judged::Refused(refusal) => {
            let words = refusal.violations.iter().map(|v| format!("{}: {}", v.pointer, v.message));
            format!("{} {}", refusal.reason, words.collect::<Vec<_>>().join("; "))
        }
    }
}

#[test]
fn the_answer_says_whether_it_was_done() {
    let default = config::Form::default();
    let done = |done| config::Form { done: Some(done), ..config::Form::default() };
    let again = "<form><input name=email value='no@mail'><input name=name value=''></form>";
    assert_eq!(judged(&default, 302, &["/thanks"], "<p>Thanks"), "done");
    assert_eq!(judged(&default, 200, &[], "<p>Thanks"), "done");
    assert_eq!(
        judged(&default, 200, &[], again),
        "invalid_input : The site did not take the form, and shows it again."
    );
    assert_eq!(judged(&default, 302, &["/login"], "<input type=password name=p>"), "login_required ");
    assert_eq!(judged(&default, 500, &[], "<p>Oops"), "failed");
    assert_eq!(judged(&default, 302, &[], ""), "failed", "a redirect elsewhere");
    let redirect = done(config::FormDone::Redirect("/contact/thanks".into()));
    assert_eq!(judged(&redirect, 302, &["/contact/thanks?id=1"], ""), "done");
    assert_eq!(judged(&redirect, 200, &[], "<p>Something else"), "unclear");
    assert_eq!(judged(&redirect, 302, &["/contact"], "<p>Please try again"), "unclear");
    let select = done(config::FormDone::Select(".success".into()));
    assert_eq!(judged(&select, 200, &[], "<p class=success>OK"), "done");
    assert_eq!(judged(&select, 200, &[], "<p>Error"), "unclear");
    assert_eq!(judged(&done(config::FormDone::Status(201)), 201, &[], ""), "done");
}

#[test]
fn the_sites_own_words_are_told_with_the_names_of_the_inputs() {
    let declared = config::Form { failed: Some(".error, .errorlist li".into()), ..config::Form::default() };
    let words = |html: &str| judged(&declared, 200, &[], html);
    assert_eq!(
        words(
            "<form><div><input name=email><span class=error>Not an address</span></div><p class=error>Try again</p></form>"
        ),
        "invalid_input /my_email: Not an address; : Try again"
    );
    assert_eq!(
        words("<form><ul class=errorlist><li>Needed.</ul><p><label>E-mail <input name=email></label></p></form>"),
        "invalid_input /my_email: Needed."
    );
    assert_eq!(
        words("<form><input name=name aria-describedby=e1><input name=email><b class=error id=e1>Too short</b></form>"),
        "invalid_input /my_name: Too short"
    );
    assert_eq!(words("<form></form><p>Fine"), "done");
}

#[test]
fn what_is_held_is_what_browsers_hold() {
    // Each as Chromium sends it: tests/sites/forms.py.
    let html = post(
        "<input type=color name=a><input type=range name=b><input type=number name=c value=abc><input name=d value='x&#10;y'>\
         <input type=radio name=e value=1 checked><input type=radio name=e value=2 checked><div dir=rtl><input name=f \
         dirname=f.dir></div><button disabled name=no value=1>No</button><input type=submit name=go>",
    );
    let body = sent(&html, json!({ "f": "To: a\nBcc: b" })).unwrap();
    assert_eq!(body, "a=%23000000&b=50&c=&d=xy&e=2&f=To%3A+a+Bcc%3A+b&f.dir=rtl&go=Submit");
    let auto = post("<input name=a dir=auto dirname=way value='1 &#x5d0;b'><textarea name=b dirname=w></textarea>");
    assert_eq!(sent(&auto, json!({ "b": "x" })).unwrap(), "a=1+%D7%90b&way=rtl&b=x&w=ltr");
    let charset = post("<input type=hidden name=_charset_ value=x>");
    assert_eq!(sent(&charset, json!({})).unwrap(), "_charset_=UTF-8");
    let refusal = sent(&post("<input type=date name=day>"), json!({ "day": "26.11.2026" })).unwrap_err();
    assert_eq!((refusal.fault, refusal.violations[0].pointer.as_str()), (Fault::InvalidInput, "/day"));
}
