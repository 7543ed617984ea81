//! What the markup of a link says about asking for it: some links send a form or ask for confirmation.

use dom_query::NodeRef;

use super::walk::{attribute, contains, has_word, name};

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
    match (scripted || ACTING.iter().any(|name| link.has_attr(name)), pressed || is_button) {
        (true, _) => Follow::Acts,
        (false, true) => Follow::Pressed,
        (false, false) => Follow::Yes,
    }
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
