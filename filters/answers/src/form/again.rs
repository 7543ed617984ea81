//! A form that the site shows again after it was sent: where the operator declared no sign of success and none of a
//! failure, it was perhaps not taken. Then only words that were not on the form's page before can say why.

use std::collections::{BTreeSet, HashSet};

use frontdesk_page::content::css::{self, Element};

use super::{
    clock::Clock,
    control::{Control, Kind},
    find::{FoundForm, all},
};

/// Words in a class or an id that mark a message about a mistake, however the name is put together.
const MARKS: [&str; 8] = ["error", "errors", "errorlist", "errormessage", "danger", "invalid", "failure", "wrong"];
/// Words beside them that say the opposite.
const OPPOSITES: [&str; 4] = ["no", "not", "without", "free"];
/// The longest message, in bytes. A longer text is a part of the page.
const LONGEST_MESSAGE: usize = 1_000;

/// What the page of a form had before the form was sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Before {
    /// The names of the fields that people fill in.
    pub(super) fields: BTreeSet<String>,
    /// The texts of messages about mistakes, such as those that a script shows.
    messages: BTreeSet<String>,
}

impl Before {
    pub(super) fn of(form: &FoundForm<'_>) -> Self {
        let messages = messages(&form.root, form.clock).into_iter().map(|(text, _)| text).collect();
        Self { fields: fields(&form.controls), messages }
    }

    /// The messages of a page about mistakes that were not on the form's page.
    pub(super) fn new_messages<'t>(&self, root: &Element<'t>, clock: &Clock) -> Vec<(String, Element<'t>)> {
        messages(root, clock).into_iter().filter(|(text, _)| !self.messages.contains(text)).collect()
    }
}

/// The names of the fields that people fill in.
pub(super) fn fields(controls: &[Control<'_>]) -> BTreeSet<String> {
    let seen = controls.iter().filter(|control| !control.is_button() && control.kind != Kind::Hidden);
    seen.map(|control| control.name.clone()).filter(|name| !name.is_empty()).collect()
}

/// The messages of a page about mistakes, the innermost elements alone.
fn messages<'t>(root: &Element<'t>, clock: &Clock) -> Vec<(String, Element<'t>)> {
    let described: BTreeSet<String> = all("[aria-invalid=true]", root)
        .iter()
        .flat_map(|control| ["aria-errormessage", "aria-describedby"].map(|name| css::attribute(control, name)))
        .flatten()
        .flat_map(|ids| ids.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let is_message = |element: &Element<'t>| {
        let of = |name: &str| css::attribute(element, name).unwrap_or_default();
        of("class").split_whitespace().any(is_mark) || is_mark(&of("id")) || described.contains(&of("id"))
    };
    let marked: Vec<Element<'t>> = all("[class], [id]", root)
        .into_iter()
        .take_while(|_| clock.is_running())
        .filter(|element| is_message(element) && is_shown(element))
        .filter(|element| all("input, select, textarea, form", element).is_empty() && !is_control(element))
        .collect();
    let around: HashSet<_> =
        marked.iter().flat_map(|element| element.ancestors_it(None).map(|above| above.id)).collect();
    let innermost = marked.into_iter().filter(|element| !around.contains(&element.id));
    innermost
        .take_while(|_| clock.is_running())
        .map(|element| (css::text(&element), element))
        .filter(|(text, _)| !text.is_empty() && text.len() <= LONGEST_MESSAGE)
        .collect()
}

/// Whether a class or an id marks a mistake: `form-error`, `fieldError`, `alert_danger`; not `no-errors`.
fn is_mark(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    let mut was_small = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || c.is_ascii_uppercase() && was_small {
            words.push(String::new());
        }
        was_small = c.is_ascii_lowercase();
        if let Some(last) = words.last_mut().filter(|_| c.is_ascii_alphanumeric()) {
            last.push(c.to_ascii_lowercase());
        }
    }
    let has = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    has(&MARKS) && !has(&OPPOSITES)
}

/// Whether people see an element, as far as the page itself says.
fn is_shown(element: &Element<'_>) -> bool {
    let is_away = |one: &Element<'_>| {
        let style = css::attribute(one, "style").unwrap_or_default().to_ascii_lowercase();
        one.has_attr("hidden") || style.split_whitespace().collect::<String>().contains("display:none")
    };
    !is_away(element) && !element.ancestors_it(None).any(|above| is_away(&above))
}

fn is_control(element: &Element<'_>) -> bool {
    matches!(css::name(element).as_str(), "input" | "select" | "textarea" | "button" | "form" | "html" | "body")
}

#[cfg(test)]
mod tests {
    use super::*;
    use frontdesk_page::content::css::Tree;

    #[test]
    fn names_of_messages_about_mistakes_are_known() {
        for name in ["error", "form-error", "fieldError", "alert_danger", "errorlist", "invalid-feedback", "is-danger"]
        {
            assert!(is_mark(name), "{name}");
        }
        for name in ["no-errors", "error-free", "terror", "notice", "", "mirrors", "alert-success"] {
            assert!(!is_mark(name), "{name}");
        }
    }

    #[test]
    fn messages_are_what_people_see_of_mistakes() {
        let html = "<div class=errors><p>Please look:<ul class=errorlist><li>A</ul></div><p class=error hidden>B</p>\
                    <div style='display: none'><i class=error>C</i></div><div class=has-error><input name=x>D</div>\
                    <b id=hint>E</b><input aria-invalid=true aria-describedby=hint><span class=invalid-feedback></span>";
        let tree = Tree::parse(html).unwrap();
        let texts: Vec<String> = messages(&tree.root(), &Clock::started()).into_iter().map(|(text, _)| text).collect();
        assert_eq!(texts, ["A", "E"]);
    }
}
