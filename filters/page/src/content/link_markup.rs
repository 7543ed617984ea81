//! What the markup of a link says about asking for it: some links send a form, want a word of confirmation, or are
//! buttons in another dress.

use dom_query::NodeRef;

use super::{
    crawl::acts,
    walk::{attribute, collapsed, contains, has_word, name},
};

/// Attributes with which a script makes another request of a click, or asks first.
const ACTING: [&str; 28] = [
    "data-confirm",
    "data-turbo-confirm",
    "data-confirm-message",
    "data-method-confirm",
    "hx-confirm",
    "data-hx-confirm",
    "up-confirm",
    "wire:confirm",
    "wire:click",
    "hx-post",
    "hx-put",
    "hx-patch",
    "hx-delete",
    "data-hx-post",
    "data-hx-put",
    "data-hx-patch",
    "data-hx-delete",
    "ic-post-to",
    "ic-put-to",
    "ic-patch-to",
    "ic-delete-from",
    "ts-req-post",
    "data-post",
    "data-post-to",
    "data-request",
    "data-delete-url",
    "formaction",
    "data-submit",
];
/// Attributes that name the method of the request.
const METHODS: [&str; 7] = [
    "data-method",
    "data-turbo-method",
    "data-http-method",
    "data-ajax-method",
    "data-type-method",
    "up-method",
    "ts-req-method",
];
/// What a script on a click does that acts, in small letters.
const SCRIPTS: [&str; 7] = ["confirm", "submit", "post(", "delete", "destroy", "xmlhttprequest", "'post'"];
const CLICKS: [&str; 5] = ["onclick", "onmousedown", "@click", "x-on:click", "ng-click"];

/// Classes of buttons that destroy.
const DANGER: [&str; 10] = [
    "btn-warning",
    "btn-outline-warning",
    "btn-danger",
    "btn-outline-danger",
    "button-danger",
    "is-danger",
    "uk-button-danger",
    "destructive",
    "submitdelete",
    "deletelink",
];
/// A part of a name that says what a script makes of a link: `empty-btn`, `js-delete`.
const BUTTONS: [&str; 6] = ["btn", "button", "link", "js", "action", "confirm"];
/// What such a link does. Other verbs are words of layout as well: `btn-block`, `clear`.
const DEEDS: [&str; 20] = [
    "delete",
    "remove",
    "destroy",
    "trash",
    "empty",
    "purge",
    "kill",
    "stop",
    "restart",
    "reboot",
    "shutdown",
    "requeue",
    "compact",
    "logout",
    "unsubscribe",
    "cancel",
    "revoke",
    "vote",
    "upvote",
    "downvote",
];
/// Attributes with such names.
const NAMES: [&str; 5] = ["class", "id", "data-role", "data-action", "data-testid"];
/// The longest text of a link that may be the name of an act, in bytes.
const LONGEST_LABEL: usize = 40;
/// The longest name of a button in a table, and the most words in it.
const LONGEST_BUTTON: usize = 24;
const MOST_WORDS_OF_BUTTON: usize = 2;
/// The cells of a row of which the last holds what is done with it.
const FEWEST_CELLS: usize = 3;

/// A part of the name of a picture, as sets of icons have them: `fa-trash`, `bi bi-power`.
const ICONS: [&str; 16] = [
    "fa",
    "fas",
    "far",
    "fal",
    "bi",
    "icon",
    "glyphicon",
    "mdi",
    "material",
    "octicon",
    "ri",
    "bx",
    "la",
    "ion",
    "ti",
    "lucide",
];
/// What such a picture says of the link that it stands in for.
const ICONS_THAT_ACT: [&str; 14] = [
    "trash", "delete", "remove", "bin", "ban", "power", "stop", "restart", "reboot", "eject", "kill", "unlink",
    "logout", "signout",
];
/// Parts of the names of fields that carry a token against forgery.
const TOKENS: [&str; 5] = ["csrf", "xsrf", "authenticity_token", "requestverificationtoken", "form_token"];

/// Whether a link is to be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    Yes,
    /// It asks not to be followed.
    No,
    /// A click on it acts: it stands in a form, or is sent by a method other than GET. The address itself may be that
    /// of a page, which another link leads to.
    Pressed,
    /// It acts: its address is left alone wherever else it stands on the page.
    Acts,
}

/// Judges a link. `pressed`: it stands in a form or in a button.
pub(super) fn follow(link: &NodeRef<'_>, pressed: bool) -> Follow {
    if has_word(link, "rel", &["nofollow"]) || link.has_attr("download") {
        return Follow::No;
    }
    let is_button = has_word(link, "role", &["button", "switch"]);
    let mut methods = METHODS.iter().filter_map(|name| attribute(link, name)).filter(|method| !method.is_empty());
    if methods.any(|method| !method.eq_ignore_ascii_case("get") && !method.eq_ignore_ascii_case("head")) {
        return Follow::Pressed;
    }
    let mut clicks = CLICKS.iter().filter_map(|name| attribute(link, name)).map(|script| script.to_ascii_lowercase());
    let scripted = clicks.any(|script| SCRIPTS.iter().any(|act| script.contains(act)));
    let is_button = is_button || is_named_as_button(link) || is_icon_that_acts(link);
    match (scripted || ACTING.iter().any(|name| link.has_attr(name)), pressed || is_button) {
        (true, _) => Follow::Acts,
        (false, true) => Follow::Pressed,
        (false, false) => Follow::Yes,
    }
}

/// Whether a link has the name of a button that acts, for a script or for its looks.
fn is_named_as_button(link: &NodeRef<'_>) -> bool {
    let has = |words: &[&str], list: &[&str]| words.iter().any(|word| list.contains(word));
    NAMES.iter().filter_map(|name| attribute(link, name)).any(|value| {
        value.to_ascii_lowercase().split_ascii_whitespace().any(|token| {
            let words: Vec<&str> = token.split(['-', '_']).collect();
            DANGER.contains(&token) || has(&words, &BUTTONS) && has(&words, &DEEDS)
        })
    })
}

/// Whether a link without words is a picture of what it does.
fn is_icon_that_acts(link: &NodeRef<'_>) -> bool {
    let acts = |name: &str| {
        let name = name.to_ascii_lowercase();
        let words: Vec<&str> = name.split(['-', '_']).collect();
        words.iter().any(|word| ICONS_THAT_ACT.contains(word)).then(|| words.iter().any(|word| ICONS.contains(word)))
    };
    let is_icon = |node: NodeRef<'_>| {
        let class = attribute(&node, "class").unwrap_or_default();
        let drawn = ["href", "xlink:href"]
            .iter()
            .filter_map(|name| attribute(&node, name))
            .any(|drawn| name(&node) == "use" && drawn.rsplit_once('#').is_some_and(|(_, name)| acts(name).is_some()));
        drawn || class.split_ascii_whitespace().any(|token| acts(token) == Some(true))
    };
    !link.text().chars().any(char::is_alphabetic) && link.descendants_it().any(is_icon)
}

/// Whether a cell is the one in which the buttons of its row are: the last of several, with a button, a form or a link
/// that acts in it.
pub(super) fn holds_controls(cell: &NodeRef<'_>) -> bool {
    if cell.next_element_sibling().is_some() {
        return false;
    }
    let cells = cell.parent().map_or(0, |row| row.children_it(false).filter(|child| name(child) == "td").count());
    let is_control = |node: NodeRef<'_>| match name(&node).as_str() {
        "button" | "form" => true,
        "input" => has_word(&node, "type", &["submit", "button", "image"]),
        "a" => {
            let is_called_so = label(&node).is_some_and(|label| acts::is_called_so(&label, "/"));
            is_called_so || matches!(follow(&node, false), Follow::Acts | Follow::Pressed)
        }
        _ => false,
    };
    cells >= FEWEST_CELLS && !contains(cell, &["table"]) && cell.descendants_it().any(is_control)
}

/// Whether a link is called as buttons are: in a word or two.
pub(super) fn is_short(link: &NodeRef<'_>) -> bool {
    let text = collapsed(&link.text());
    text.len() <= LONGEST_BUTTON && text.split(' ').count() <= MOST_WORDS_OF_BUTTON
}

/// Whether a field carries a token against forgery: the form is one of an application.
pub(super) fn carries_token(input: &NodeRef<'_>) -> bool {
    let name = attribute(input, "name").unwrap_or_default().to_ascii_lowercase();
    has_word(input, "type", &["hidden"]) && TOKENS.iter().any(|part| name.contains(part))
}

/// What a link is called: its text, or what stands in for it where it is a picture.
pub(super) fn label(link: &NodeRef<'_>) -> Option<String> {
    let text = collapsed(&link.text());
    let label = match text.chars().any(char::is_alphabetic) {
        true => Some(text),
        false => attribute(link, "aria-label").or_else(|| attribute(link, "title")),
    };
    label.filter(|label| label.len() <= LONGEST_LABEL)
}

/// Whether links in an element are pressed rather than followed: a button, or a form that is not the whole page, as
/// some frameworks have it.
pub(super) fn presses(node: &NodeRef<'_>) -> bool {
    match name(node).as_str() {
        "button" => true,
        "form" => !contains(node, &["main", "nav", "article", "header", "h1"]) && !is_web_form(node),
        _ => false,
    }
}

/// ASP.NET Web Forms put everything into one form.
fn is_web_form(form: &NodeRef<'_>) -> bool {
    form.descendants_it()
        .any(|below| name(&below) == "input" && below.attr("name").is_some_and(|n| &*n == "__VIEWSTATE"))
}

/// Whether an element asks for a password.
pub(super) fn asks_for_password(node: &NodeRef<'_>) -> bool {
    name(node) == "input" && has_word(node, "type", &["password"])
}
