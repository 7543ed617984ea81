//! What the answer to a form says: done, refused with the site's words, or neither.

use super::*;

/// What the answers to a form say: `done`, `unclear`, `failed`, or why not with the violations.
fn judged(declared: &config::Form, status: u16, redirects: &[&str], html: &str) -> String {
    let last_status = if redirects.is_empty() { status } else { 200 };
    judged_as(declared, (status, last_status), redirects, Some((html, "text/html")), Some(("/contact?x=1", "/send")))
}

fn judged_as(
    declared: &config::Form,
    (status, last_status): (u16, u16),
    redirects: &[&str],
    last: Option<(&str, &str)>,
    acts: Option<(&str, &str)>,
) -> String {
    let (body, at) = (Bytes::from(last.unwrap_or_default().0.to_owned()), Url::parse("http://site.test/send").unwrap());
    let redirects: Vec<String> = redirects.iter().map(|to| (*to).to_owned()).collect();
    let [status, last_status] = [status, last_status].map(|status| StatusCode::from_u16(status).unwrap());
    let put_in = [("email".to_owned(), "no@mail".to_owned()), ("name".to_owned(), "Zoë".to_owned())].to_vec();
    let hidden = vec![("csrf".to_owned(), "TOKEN-of-the-form-1".to_owned())];
    let page_before = post(
        "<input name=email><input name=name><input type=hidden name=csrf><p class=error hidden>Fill this in.</p>\
         <p class=form-error>Old news.</p><button name=go>Go</button>",
    );
    let declared_at = Bytes::from(page_before);
    let before = {
        let (at, form) = (Url::parse("http://site.test/contact").unwrap(), Form::new(declared).unwrap());
        let (ours, known) = (|name: &str| name.to_owned(), |_: &str| true);
        let inputs = Inputs { given: BTreeMap::new(), ours: &ours, are_open: false, declared: &known };
        form.fill(&page_at(&declared_at, &at, "text/html"), (&Method::POST, "/send"), &inputs, "XX").map(|f| f.before)
    };
    let (content_type, sent) = Default::default();
    let (method, target, before) = (Method::POST, "/send".to_owned(), before.unwrap_or_default());
    let filled = Filled { method, target, content_type, body: sent, put_in, hidden, before };
    let page = page_at(&body, &at, last.unwrap_or_default().1);
    let last = last.map(|_| &page);
    let sent = Submitted { status, redirects: &redirects, last_status, last, filled: &filled, acts };
    match Form::new(declared).unwrap().judge(&sent, &|name| format!("my_{name}")) {
        Judged::Done => "done".to_owned(),
        Judged::Unclear(refusal) => {
            assert_eq!(refusal.fault, Fault::SiteChanged);
            assert!(refusal.detail.starts_with("The form was sent, and "), "{}", refusal.detail);
            "unclear".to_owned()
        }
        Judged::Failed => "failed".to_owned(),
        Judged::Refused(refusal) => {
            let words = refusal.violations.iter().map(|v| format!("{}: {}", v.pointer, v.message));
            assert!(!refusal.detail.contains("Nothing was sent"), "{}", refusal.detail);
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
    assert_eq!(judged(&default, 200, &[], again), "unclear", "saved, or not: the same page");
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
fn a_form_that_was_sent_is_never_said_to_be_unsent() {
    let default = config::Form::default();
    let login = "<header><form action=/login><input type=password name=p></form></header><p>Thanks, order 4711.";
    for to in ["/login", "/login.php?next=/x", "/account/sign-in", "/index.php?action=login", "/Auth/x"] {
        assert_eq!(judged(&default, 302, &[to], login), "unclear", "{to}");
    }
    for to in ["/author/thanks", "/thanks?authuser=0", "/thanks?auth=1", "/blogin", "/thanks?next=/login"] {
        assert_eq!(judged(&default, 302, &[to], login), "done", "{to}");
    }
    assert_eq!(judged(&default, 302, &["/login"], "<p>Thanks"), "done");
    assert_eq!(judged(&default, 401, &[], login), "login_required ");
    let select = config::Form { done: Some(config::FormDone::Select(".ok".into())), ..config::Form::default() };
    assert_eq!(judged(&select, 302, &["/login"], login), "unclear");
}

#[test]
fn a_failure_that_cannot_be_read_is_no_success() {
    let declared = config::Form { failed: Some(".error".into()), ..config::Form::default() };
    let acts = Some(("/contact", "/send"));
    let no = "<div class=error>No</div>";
    let deep = format!("{no}{}", "<div>".repeat(600));
    for (status, redirects, last) in [
        ((200, 200), vec![], Some((no, "text/plain"))),
        ((200, 200), vec![], Some(("{\"success\":false}", "application/json"))),
        ((200, 200), vec![], Some((deep.as_str(), "text/html"))),
        ((200, 200), vec![], Some((no, "text/html; charset=iso-2022-kr"))),
        ((302, 302), vec!["/contact"], None),
    ] {
        assert_eq!(judged_as(&declared, status, &redirects, last, acts), "unclear", "{last:?}");
        let done = config::FormDone::Status(status.0);
        let with_done = config::Form { done: Some(done), ..declared.clone() };
        assert_eq!(judged_as(&with_done, status, &redirects, last, acts), "done", "{last:?}");
    }
    assert_eq!(judged_as(&declared, (302, 500), &["/contact"], Some(("<p>Oops", "text/html")), acts), "failed");
    assert_eq!(judged_as(&declared, (302, 200), &["/contact"], Some(("<p>Fine", "text/html")), acts), "done");
    assert_eq!(judged_as(&declared, (204, 204), &[], Some(("", "")), acts), "done", "there is no page to read");
    // What only reads claims nothing: its answer is what the agent gets.
    assert_eq!(judged_as(&declared, (200, 200), &[], Some(("a,b", "text/csv")), None), "done");
}

#[test]
fn a_way_back_to_the_form_is_no_success() {
    let default = config::Form::default();
    let again = "<p>Sorry<form action=/send method=post><input name=email></form>";
    assert_eq!(judged(&default, 302, &["/contact"], again), "unclear");
    assert_eq!(judged(&default, 302, &["/elsewhere", "/contact?error=1"], again), "unclear");
    assert_eq!(judged(&default, 302, &["/contact"], "<p>Thanks"), "done");
    assert_eq!(judged(&default, 302, &["/thanks"], again), "done", "a form on every page");
    let page = Some((again, "text/html"));
    assert_eq!(judged_as(&default, (302, 200), &["/contact"], page, None), "done", "a search");
    let select = config::Form { select: Some("#f".into()), ..config::Form::default() };
    assert_eq!(judged(&select, 302, &["/contact"], "<form id=f></form>"), "unclear");
}

#[test]
fn the_same_form_in_the_answer_is_no_success() {
    let default = config::Form::default();
    let again = |words: &str| post(&format!("{words}<input name=email value=''><input name=name value=''>"));
    let said = |html: &str| judged(&default, 200, &[], html);
    assert_eq!(said(&again("")), "unclear", "empty");
    assert_eq!(said(&again("<input type=hidden name=csrf value=new><input name=captcha>")), "unclear", "a field more");
    assert_eq!(said(&again("<p class=success role=alert>Thank you.</p>")), "unclear", "its words are not understood");
    assert_eq!(
        said(&again("<p class=form-error>Old news.</p><p class=error hidden>Fill this in.</p>")),
        "unclear",
        "messages that were there before"
    );
    assert_eq!(
        said(&again("<p class='alert alert-danger'>Sorry, TOKEN-of-the-form-1 is old.</p>")),
        "invalid_input /my_email: Sorry, [redacted:hidden-field] is old."
    );
    let beside = "<form action=/send method=POST><div><input name=name><b class=invalid-feedback>Too short</b></div>\
                  <input name=email></form>";
    assert_eq!(said(beside), "invalid_input /my_name: Too short");
    let by_button =
        "<form><input name=email><input name=name><button formaction=/send formmethod=post>Go</button></form>";
    assert_eq!(said(by_button), "unclear", "by its button");
    // Another form, the same on every page, or one that only reads.
    for other in [
        "<p>Thanks<form action=/newsletter method=post><input name=email><input name=name></form>",
        "<p>Thanks<form action=/send method=post><input name=email></form>",
        "<p>Thanks<form action=/send><input name=email><input name=name></form>",
        "<p class=error>Thanks",
    ] {
        assert_eq!(said(other), "done", "{other}");
    }
    assert_eq!(judged(&default, 302, &["/thanks"], &again("")), "done", "a redirect to another page");
    assert_eq!(judged(&default, 302, &["/contact"], &again("<p class=error>No.</p>")), "invalid_input /my_email: No.");
    assert_eq!(judged(&default, 500, &[], &again("<p class=error>No.</p>")), "failed");
    // Where something was declared, it decides.
    let failed = config::Form { failed: Some(".bad".into()), ..config::Form::default() };
    let done = config::Form { done: Some(config::FormDone::Status(200)), ..config::Form::default() };
    for declared in [&failed, &done] {
        assert_eq!(judged(declared, 200, &[], &again("<p class=error>No.</p>")), "done");
    }
    let page = again("");
    assert_eq!(judged_as(&default, (200, 200), &[], Some((&page, "text/html")), None), "done", "a search");
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
    let long = "x".repeat(290);
    let cut = words(&format!("<p class=error>{long} TOKEN-of-the-form-1"));
    assert!(cut.ends_with("x [redacted") && !cut.contains("TOKEN"), "{cut}");
    assert_eq!(
        words(
            "<input type=hidden name=csrf value=new-TOKEN-2><p class=error>token-OF-the-form-1 is not new-TOKEN-2</p>"
        ),
        "invalid_input : [redacted:hidden-field] is not [redacted:hidden-field]"
    );
}
