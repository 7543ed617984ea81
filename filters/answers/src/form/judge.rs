//! Judges the site's answer to a form: done, refused with the site's words, or neither.

use frontdesk_base::{
    charset,
    fault::{Fault, Refusal},
    schema::Violation,
};
use frontdesk_config::FormDone;
use frontdesk_page::content::css::{self, Element, Tree};
use http::StatusCode;

use super::{
    Form,
    control::Control,
    find::{all, asks_for_password_in, login_required},
};
use crate::{answered::Answered, extract::changed, kind::Kind};

/// The most of the site's own words, and the longest of them in characters.
const MOST_WORDS: usize = 20;
const LONGEST_WORD: usize = 300;

/// Words in the address of a page where people sign in.
const SIGN_IN: [&str; 7] = ["login", "log-in", "signin", "sign-in", "sign_in", "anmeld", "auth"];

/// The answers to a form that was sent.
#[derive(Debug)]
pub struct Submitted<'a> {
    /// The status of the first answer.
    pub status: StatusCode,
    /// Path and query of every redirect that was followed, in order.
    pub redirects: &'a [String],
    /// The status and the page of the last answer.
    pub last_status: StatusCode,
    pub last: &'a Answered<'a>,
    /// What was put in, by the site's names.
    pub put_in: &'a [(String, String)],
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
        let is_page = Kind::of(sent.last.content_type, sent.last.body) == Kind::Page;
        let html = is_page.then(|| charset::text(sent.last.body, sent.last.content_type)).flatten();
        let tree = html.as_deref().and_then(Tree::parse);
        if let (Some(failed), Some(tree)) = (&self.failed, &tree) {
            let root = tree.root();
            let words: Vec<Violation> = failed
                .all(&root)
                .map(|element| (css::text(&element), element))
                .filter(|(text, _)| !text.is_empty())
                .take(MOST_WORDS)
                .map(|(text, element)| {
                    let text: String = text.chars().take(LONGEST_WORD).collect();
                    match about(&element, &root, sent.put_in) {
                        Some(name) => Violation::of(&ours(&name), &text),
                        None => Violation::new("", &text),
                    }
                })
                .collect();
            if !words.is_empty() {
                let refusal = Refusal { violations: words, ..Fault::InvalidInput.into() };
                return Judged::Refused(Box::new(
                    refusal.saying("The site did not take the form, and says why below."),
                ));
            }
        }
        let is_done = match &self.done {
            Some(FormDone::Redirect(to)) => sent.redirects.iter().any(|went| leads_to(went, to)),
            Some(FormDone::Status(status)) => sent.status.as_u16() == *status,
            Some(FormDone::Select(_)) => match (&tree, &self.done_select) {
                (Some(tree), Some(select)) => select.first(&tree.root()).is_some(),
                _ => false,
            },
            None => {
                let came_back = self.failed.is_none()
                    && sent.redirects.is_empty()
                    && tree.as_ref().is_some_and(|tree| shows_again(&tree.root(), sent.put_in));
                (!sent.redirects.is_empty() || sent.status.is_success()) && !came_back
            }
        };
        // Many sites have a small form to sign in on every page.
        let went_to_sign_in = sent.last_status == StatusCode::UNAUTHORIZED
            || sent
                .redirects
                .last()
                .is_some_and(|went| SIGN_IN.iter().any(|word| went.to_ascii_lowercase().contains(word)));
        let asks_to_sign_in = went_to_sign_in && tree.as_ref().is_some_and(|tree| asks_for_password_in(&tree.root()));
        if is_done && !(self.done.is_none() && asks_to_sign_in) {
            return Judged::Done;
        }
        if asks_to_sign_in {
            return Judged::Refused(Box::new(login_required()));
        }
        let leads_elsewhere = sent.status.is_redirection() && sent.redirects.is_empty();
        if leads_elsewhere || sent.last_status.is_client_error() || sent.last_status.is_server_error() {
            return Judged::Failed;
        }
        if self.done.is_none() {
            let violation = Violation::new("", "The site did not take the form, and shows it again.");
            return Judged::Refused(Box::new(Refusal { violations: vec![violation], ..Fault::InvalidInput.into() }));
        }
        let detail =
            "The form was sent, and the site's answer does not show whether it took it. Find out before trying again.";
        Judged::Unclear(Box::new(changed(detail)))
    }
}

/// Whether a redirect goes where it was declared: to this path, and with this query where one is declared.
fn leads_to(went: &str, declared: &str) -> bool {
    if declared.contains('?') {
        return went == declared;
    }
    let path = went.split(['?', '#']).next().unwrap_or_default();
    match declared.strip_suffix('*') {
        Some(start) => path.starts_with(start),
        None => path == declared,
    }
}

/// Whether a page has the form again, with what was put in.
fn shows_again(root: &Element<'_>, put_in: &[(String, String)]) -> bool {
    let controls: Vec<Control<'_>> =
        all("form input, form textarea, form select", root).into_iter().map(Control::of).collect();
    let holds = |(name, value): &(String, String)| controls.iter().any(|c| c.name == *name && c.value() == *value);
    let texts = put_in.iter().filter(|(_, value)| value.len() > 1);
    texts.clone().count() > 0
        && texts.clone().all(|(name, _)| controls.iter().any(|c| c.name == *name))
        && texts.clone().any(holds)
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
