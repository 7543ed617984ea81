//! Forms as they exist in the wild: what is sent is what a browser sends.

mod judged;

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
    let are_open = given.contains_key("open");
    let inputs = Inputs { given, ours: &ours, are_open, declared: &declared_names };
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
    let elsewhere = filled_as(&default, &post, html.as_bytes(), "text/html", json!({ "a": "1" }));
    assert_eq!(elsewhere.unwrap_err().fault, Fault::SiteChanged);
    let html = html.replace("/send2", "/send?two");
    let filled = filled_as(&default, &post, html.as_bytes(), "text/html", json!({ "a": "1" })).unwrap();
    assert_eq!((filled.target.as_str(), &filled.body[..]), ("/send?two", &b"a=1&x=y"[..]));
    let html = html.replace("action=/send>", "action=/elsewhere>");
    let filled = filled_as(&default, &post, html.as_bytes(), "text/html", json!({ "a": "1" })).unwrap();
    assert_eq!(filled.target, "/send?two", "the declared address is the button's");
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
    for field in ["type=hidden", "readonly", "style='display:none'", ""] {
        let html = post(&format!("<input {field} name=undeclared value=1>"));
        assert_eq!(fault(&html, json!({ "undeclared": "2" })), Fault::InvalidInput, "{field}");
    }
    // Without any declared input, those are taken that people fill in.
    let open = |field: &str| post(&format!("<input name=open><input {field} name=undeclared value=1>"));
    let inputs = json!({ "open": "x", "undeclared": "2" });
    assert_eq!(sent(&open(""), inputs.clone()).unwrap(), "open=x&undeclared=2");
    for field in ["type=hidden", "readonly", "style='display:none'"] {
        assert_eq!(fault(&open(field), inputs.clone()), Fault::InvalidInput, "{field}");
    }
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

#[test]
fn a_hidden_field_of_the_same_name_stays_as_it_is() {
    let rails = post("<input type=hidden name=news value=0><input type=checkbox name=news value=1>");
    let dotnet = post("<input type=checkbox name=news value=true><input type=hidden name=news value=false>");
    for (html, input, body) in [
        (&rails, json!({ "news": false }), "news=0"),
        (&rails, json!({ "news": true }), "news=0&news=1"),
        (&rails, json!({}), "news=0"),
        (&dotnet, json!({ "news": false }), "news=false"),
        (&dotnet, json!({ "news": true }), "news=true&news=false"),
    ] {
        assert_eq!(sent(html, input.clone()).unwrap(), body, "{input}");
    }
    let tags = post("<input type=hidden name=tags[] value=''><select multiple name=tags[]><option>a<option>b</select>");
    assert_eq!(sent(&tags, json!({ "tags": ["b", "a", "b"] })).unwrap(), "tags%5B%5D=&tags%5B%5D=a&tags%5B%5D=b");
    let plain = post("<input type=hidden name=tags><label><input type=checkbox name=tags[] value=1>One</label>");
    assert_eq!(sent(&plain, json!({ "tags": ["one"] })).unwrap(), "tags=&tags%5B%5D=1");
    let needed = post("<input type=hidden name=ok value=0><input type=checkbox name=ok value=1 required>");
    assert_eq!(sent(&needed, json!({ "ok": false })).unwrap_err().fault, Fault::InvalidInput);
}

#[test]
fn what_the_site_has_hidden_or_does_not_name_is_not_told() {
    let default = config::Form::default();
    let html = "<form action=/send><input type=hidden name=tok value=SECRETTOKEN><input name=q><input name=lang value=en></form>";
    let filled = filled_as(&default, &Method::GET, html.as_bytes(), "text/html", json!({ "q": "a b" })).unwrap();
    assert_eq!(filled.target, "/send?tok=SECRETTOKEN&q=a+b&lang=en");
    assert_eq!(filled.shown(&filled.target), "/send?q=a+b&lang=en");
    let said = |inner: &str| {
        let refusal = sent(&post(inner), json!({ "c": ["none"] })).unwrap_err();
        refusal.violations[0].message.clone()
    };
    let bare = "<input type=checkbox name=c value=SECRETTOKEN>";
    assert_eq!(said(bare), "The site takes one choice here, which has no label.");
    assert_eq!(said(&bare.repeat(3)), "The site takes one of 3 choices here, none of which has a label.");
    assert_eq!(
        said(&format!("<label><input type=checkbox name=c>One</label>{}", bare.repeat(2))),
        "The site takes one of these here: One; or one of 2 without a label."
    );
}

#[test]
fn a_line_of_a_plain_text_form_is_one_field() {
    let html = "<form action=/send method=post enctype=text/plain><input type=hidden name=role value=user>\
                <textarea name=msg></textarea><textarea name=kept>a\nb</textarea></form>";
    for text in ["hi\r\nrole=admin", "hi\nrole=admin", "hi\rrole=admin"] {
        let refusal = sent(html, json!({ "msg": text })).unwrap_err();
        assert_eq!((refusal.fault, refusal.violations[0].pointer.as_str()), (Fault::InvalidInput, "/msg"));
    }
    assert_eq!(sent(html, json!({ "msg": "hi" })).unwrap(), "role=user\r\nmsg=hi\r\nkept=a\r\nb\r\n");
}

#[test]
fn many_fields_options_and_values_cost_what_they_weigh() {
    let many = |count: usize, one: &dyn Fn(usize) -> String| post(&(0..count).map(one).collect::<String>());
    // What takes more than its share of CPU time is refused (`clock`), so each answer says that it did not.
    let boxes = many(1_000, &|n| {
        format!("<label for=i{n}>Label {n}</label><input type=checkbox id=i{n} name=tags[] value=v{n}>")
    });
    let all: Vec<String> =
        (0..1_000).map(|n| if n % 2 == 0 { format!("v{n}") } else { format!("label {n}") }).collect();
    let body = sent(&boxes, json!({ "tags": all }));
    assert_eq!(body.unwrap().matches("tags%5B%5D=v").count(), 1_000);
    let options = many(1, &|_| {
        let options: String = (0..5_000).map(|n| format!("<option value=v{n}>L{n}")).collect();
        format!("<select multiple name=tags>{options}</select>")
    });
    let last: Vec<String> = (0..2_000).map(|n| format!("l{}", 3_000 + n)).collect();
    let body = sent(&options, json!({ "tags": last }));
    assert_eq!(body.unwrap().matches("tags=v").count(), 2_000);
    let body = sent(&many(2_000, &|_| "<input name=m[]>".to_owned()), json!({ "m": ["a", "b"] }));
    assert!(body.unwrap().starts_with("m%5B%5D=a&m%5B%5D=b"));
    let body = sent(&many(2_001, &|_| "<input name=m>".to_owned()), json!({ "m": "a" }));
    assert_eq!(body.unwrap_err().reason, "response_too_large");
    let body = sent(&options, json!({ "tags": vec!["v1"; 2_001] }));
    assert_eq!(body.unwrap_err().reason, "invalid_input");
}
