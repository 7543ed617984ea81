//! Judges the site's answer to a form: done, refused with the site's words, or neither.

use std::collections::BTreeSet;

use frontdesk_base::{
    fault::{Fault, Refusal},
    schema::Violation,
};
use frontdesk_config::FormDone;
use frontdesk_page::content::css::{self, Element};
use http::{Method, StatusCode};
use url::form_urlencoded;

use super::{
    Filled, Form,
    clock::Clock,
    control::Control,
    find::{Page, all, asks_for_password_in, path},
    mask::Mask,
};
use crate::{answered::Answered, extract::changed, kind::Kind};

/// The most of the site's own words, and the longest of them in characters.
const MOST_WORDS: usize = 20;
const LONGEST_WORD: usize = 300;

/// What a segment of the path, or a value of the query, is called where people sign in; an extension (`login.php`) aside.
const SIGN_IN: [&str; 14] = [
    "login",
    "log-in",
    "log_in",
    "logon",
    "signin",
    "sign-in",
    "sign_in",
    "signon",
    "wp-login",
    "auth",
    "anmelden",
    "anmeldung",
    "einloggen",
    "connexion",
];

const UNCLEAR: &str =
    "The form was sent, and the site's answer does not show whether it took it. Find out before trying again.";
const SHOWN_AGAIN: &str = "The form was sent, and the site shows it again, which does not show whether it took it. Find out \
                           before trying again.";
const SIGN_IN_AFTER: &str = "The form was sent, and the site then asked to sign in. Whether it took the form is unknown. \
                             Find out before trying again.";

/// The answers to a form that was sent.
#[derive(Debug)]
pub struct Submitted<'a> {
    /// The status of the first answer.
    pub status: StatusCode,
    /// Path and query of every redirect that was followed, in order.
    pub redirects: &'a [String],
    /// The status and the page of the last answer; no page: it was lost.
    pub last_status: StatusCode,
    pub last: Option<&'a Answered<'a>>,
    /// What was sent.
    pub filled: &'a Filled,
    /// The paths of the form's page and of its action. `None`: a form that only reads, whose page of results may have it
    /// again.
    pub acts: Option<(&'a str, &'a str)>,
}

/// What the answer says.
#[derive(Debug)]
pub enum Judged {
    Done,
    /// The site did not do it, and says why.
    Refused(Box<Refusal>),
    /// Nothing shows whether it was done.
    Unclear(Box<Refusal>),
    /// The statuses of the capability decide: a failure without the site's words.
    Failed,
}

impl Form {
    /// Judges the answers to a form.
    pub fn judge(&self, sent: &Submitted<'_>, ours: &dyn Fn(&str) -> String) -> Judged {
        let page = sent.last.filter(|last| Kind::of(last.content_type, last.body) == Kind::Page);
        let page = page.and_then(|last| Page::read(last).ok());
        if let (Some(failed), Some(page)) = (&self.failed, &page) {
            let (root, clock) = (page.root(), Clock::started());
            let found = failed.all(&root).map(|element| (css::text(&element), element));
            let words = violations(found.take_while(|_| clock.is_running()), &root, sent.filled, ours);
            if words.is_empty() && !clock.is_running() {
                return unclear(UNCLEAR);
            }
            if !words.is_empty() {
                return refused(words);
            }
        }
        if let Some(page) = page.as_ref().filter(|page| self.is_shown_again(sent, page)) {
            let (root, clock) = (page.root(), Clock::started());
            let found = sent.filled.before.new_messages(&root, &clock).into_iter();
            // A page about a fault of the site itself says nothing about the form.
            let found = found.filter(|_| sent.last_status.is_success());
            let words = violations(found, &root, sent.filled, ours);
            return if words.is_empty() { unclear(SHOWN_AGAIN) } else { refused(words) };
        }
        let is_done = match &self.done {
            Some(FormDone::Redirect(to)) => sent.redirects.iter().any(|went| leads_to(went, to)),
            Some(FormDone::Status(status)) => sent.status.as_u16() == *status,
            Some(FormDone::Select(_)) => match (&page, &self.done_select) {
                (Some(page), Some(select)) => select.first(&page.root()).is_some(),
                _ => false,
            },
            None => (!sent.redirects.is_empty() || sent.status.is_success()) && self.may_be_done(sent, page.as_ref()),
        };
        // Many sites have a small form to sign in on every page.
        let refuses = sent.last_status == StatusCode::UNAUTHORIZED;
        let went_to_sign_in = refuses || sent.redirects.last().is_some_and(|went| is_sign_in(went));
        let asks_to_sign_in = went_to_sign_in && page.as_ref().is_some_and(|page| asks_for_password_in(&page.root()));
        if is_done && !(self.done.is_none() && asks_to_sign_in) {
            return Judged::Done;
        }
        if asks_to_sign_in && refuses && sent.redirects.is_empty() {
            let detail = "The form was sent, and the site did not take it: it wants people to sign in first.";
            return Judged::Refused(Box::new(Refusal::from(Fault::LoginRequired).saying(detail)));
        }
        if asks_to_sign_in {
            return unclear(SIGN_IN_AFTER);
        }
        let leads_elsewhere = sent.status.is_redirection() && sent.redirects.is_empty();
        if leads_elsewhere || sent.last_status.is_client_error() || sent.last_status.is_server_error() {
            return Judged::Failed;
        }
        unclear(UNCLEAR)
    }

    /// Whether an answer without a declared sign of success may be one. With words of a failure declared, it is one only
    /// where they could be read.
    fn may_be_done(&self, sent: &Submitted<'_>, page: Option<&Page<'_>>) -> bool {
        let has_none = sent.last_status == StatusCode::NO_CONTENT;
        let is_read = sent.last_status.is_success() && (page.is_some() || has_none);
        sent.acts.is_none() || self.failed.is_none() || is_read
    }

    /// Whether the site shows the form again after it was sent, where nothing says what that means.
    fn is_shown_again(&self, sent: &Submitted<'_>, page: &Page<'_>) -> bool {
        let Some((of_form, action)) = sent.acts.filter(|_| self.says_nothing()) else { return false };
        match sent.redirects.last() {
            None if !sent.last_status.is_success() => false,
            None => {
                let is_post = sent.filled.method == Method::POST;
                is_post && page.has_again(action, &sent.filled.before.fields)
                    || shows_again(&page.root(), &sent.filled.put_in)
            }
            Some(went) => path(went) == path(of_form) && page.shows(self, action),
        }
    }
}

/// The site's words about a failure, each under the name of the input that it is about.
fn violations<'t>(
    found: impl Iterator<Item = (String, Element<'t>)>,
    root: &Element<'t>,
    filled: &Filled,
    ours: &dyn Fn(&str) -> String,
) -> Vec<Violation> {
    let mask = masked(root, filled);
    let found = found.filter(|(text, _)| !text.is_empty()).take(MOST_WORDS);
    found
        .map(|(text, element)| {
            let text: String = mask.hides(&text).chars().take(LONGEST_WORD).collect();
            match about(&element, root, &filled.put_in) {
                Some(name) => Violation::of(&ours(&name), &text),
                None => Violation::new("", &text),
            }
        })
        .collect()
}

/// What is hidden in the form that was sent, and in the page that answers it: many sites give a new token there.
fn masked(root: &Element<'_>, filled: &Filled) -> Mask {
    let held = |which: &str, name: &str| -> Vec<String> {
        all(which, root).iter().filter_map(|one| css::attribute(one, name)).collect()
    };
    let new = [held("input[type=hidden][value]", "value"), held("meta[name*=csrf][content]", "content")].concat();
    let hidden = filled.hidden.iter().map(|(_, value)| value).chain(&new);
    Mask::of(hidden.map(String::as_str), &filled.put_in)
}

fn refused(violations: Vec<Violation>) -> Judged {
    let refusal = Refusal { violations, ..Fault::InvalidInput.into() };
    Judged::Refused(Box::new(refusal.saying("The site did not take the form, and says why below.")))
}

fn unclear(detail: &'static str) -> Judged {
    Judged::Unclear(Box::new(changed(detail)))
}

/// Whether an address is one where people sign in.
fn is_sign_in(target: &str) -> bool {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let is_one = |word: &str| {
        let word = word.split(['.', ';']).next().unwrap_or_default().to_ascii_lowercase();
        SIGN_IN.contains(&word.as_str())
    };
    path.split('/').any(is_one) || form_urlencoded::parse(query.as_bytes()).any(|(_, value)| is_one(&value))
}

/// Whether a redirect goes where it was declared: to this path, and with this query where one is declared.
fn leads_to(went: &str, declared: &str) -> bool {
    if declared.contains('?') {
        return went == declared;
    }
    let path = path(went);
    match declared.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => path == declared,
    }
}

/// Whether a page has the form again, with what was put in.
fn shows_again(root: &Element<'_>, put_in: &[(String, String)]) -> bool {
    let controls = all("form input, form textarea, form select", root).into_iter().map(Control::of);
    let held: BTreeSet<(String, String)> = controls.map(|control| (control.name.clone(), control.value())).collect();
    let names: BTreeSet<&str> = held.iter().map(|(name, _)| name.as_str()).collect();
    let mut texts = put_in.iter().filter(|(_, value)| value.len() > 1).peekable();
    texts.peek().is_some()
        && texts.clone().all(|(name, _)| names.contains(name.as_str()))
        && texts.any(|pair| held.contains(pair))
}

/// Which input the site's words are about: the one that they name, else the one beside them.
fn about(words: &Element<'_>, root: &Element<'_>, put_in: &[(String, String)]) -> Option<String> {
    let of = |name: &str| {
        let plain = name.strip_suffix("[]").unwrap_or(name).to_owned();
        put_in.iter().any(|(known, _)| known == name).then_some(plain)
    };
    for attribute in ["data-valmsg-for", "data-field", "for"] {
        if let Some(name) = css::attribute(words, attribute) {
            let by_id = || {
                all("[id][name]", root)
                    .into_iter()
                    .find(|element| css::attribute(element, "id").as_deref() == Some(name.as_str()))
                    .and_then(|element| css::attribute(&element, "name"))
            };
            if let Some(name) = of(&name).or_else(|| by_id().and_then(|name| of(&name))) {
                return Some(name);
            }
        }
    }
    // A control may name its message (aria-describedby, aria-errormessage).
    let ids: Vec<String> = std::iter::once(*words)
        .chain(words.ancestors_it(Some(3)))
        .filter_map(|element| css::attribute(&element, "id").filter(|id| !id.is_empty()))
        .collect();
    for control in all("[aria-describedby], [aria-errormessage]", root) {
        let named = ["aria-describedby", "aria-errormessage"].into_iter().filter_map(|a| css::attribute(&control, a));
        let names_it = named.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        if names_it.into_iter().any(|id| ids.contains(&id))
            && let Some(name) = css::attribute(&control, "name").and_then(|name| of(&name))
        {
            return Some(name);
        }
    }
    for above in words.ancestors_it(Some(5)) {
        if matches!(css::name(&above).as_str(), "form" | "body") {
            break;
        }
        let mut names: Vec<String> = all("input, select, textarea", &above)
            .into_iter()
            .map(Control::of)
            .filter(|control| !control.is_button())
            .filter_map(|control| of(&control.name))
            .collect();
        names.dedup();
        match names.as_slice() {
            [] => {}
            [one] => return Some(one.clone()),
            _ => break,
        }
    }
    // Django's own way: the list of errors stands right before the field's label or control.
    let item = (css::name(words) == "li").then(|| words.parent()).flatten();
    let mut next = item.unwrap_or(*words).next_element_sibling();
    for _ in 0..3 {
        let element = next?;
        let mut controls = all("input, select, textarea", &element);
        controls.insert(0, element);
        if let Some(name) = controls.into_iter().map(Control::of).find_map(|control| of(&control.name)) {
            return Some(name);
        }
        next = element.next_element_sibling();
    }
    None
}
