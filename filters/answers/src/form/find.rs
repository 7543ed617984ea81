//! Finds a form on a page, and the controls that belong to it.

use std::collections::BTreeSet;

use encoding_rs::Encoding;
use frontdesk_base::{
    charset,
    fault::{Fault, Refusal},
};
use frontdesk_page::content::{
    MAX_BYTES,
    css::{self, Css, Element, Tree},
};
use url::{Position, Url};

use super::{
    Form,
    control::{Control, Kind},
};
use crate::{
    answered::{Answered, too_large, unknown_encoding},
    extract::{changed, own_path},
};

/// Marks of a CAPTCHA.
const CAPTCHAS: &str = ".g-recaptcha, .h-captcha, .cf-turnstile, .frc-captcha, altcha-widget, [data-sitekey], \
    iframe[src*=recaptcha], iframe[src*=hcaptcha], input[name*=captcha], input[id*=captcha], img[src*=captcha], \
    input[name*=Captcha], textarea[name*=g-recaptcha]";

const CONTROLS: &str = "input, select, textarea, button";

/// A page that was read for its forms.
pub(super) struct Page<'p> {
    tree: Tree,
    base: Url,
    encoding: &'static Encoding,
    page: &'p Answered<'p>,
}

/// A form on a page.
pub(super) struct FoundForm<'t> {
    pub(super) element: Element<'t>,
    /// Where it leads: path and query of the site.
    pub(super) action: String,
    pub(super) controls: Vec<Control<'t>>,
    pub(super) encoding: &'static Encoding,
    base: &'t Url,
    page: &'t Answered<'t>,
}

impl<'p> Page<'p> {
    pub(super) fn read(page: &'p Answered<'p>) -> Result<Self, Refusal> {
        if page.body.len() > MAX_BYTES {
            return Err(too_large("The site's page with the form is larger than is read."));
        }
        let (html, encoding) = charset::decoded(page.body, page.content_type).ok_or_else(unknown_encoding)?;
        let tree = Tree::parse(&html).ok_or_else(|| too_large("The site's page is deeper or larger than is read."))?;
        Ok(Self { base: tree.base(page.at), tree, encoding, page })
    }

    /// The declared form.
    pub(super) fn form<'t>(&'t self, declared: &Form, action: &str) -> Result<FoundForm<'t>, Refusal>
    where
        'p: 't,
    {
        let root = self.tree.root();
        let forms: Vec<Element<'t>> = all("form", &root);
        let path = |target: &str| target.split(['?', '#']).next().unwrap_or_default().to_owned();
        let found = match &declared.select {
            Some(select) => {
                let chosen = select.first(&root).and_then(|element| form_of(&element, &forms));
                chosen.ok_or_else(|| {
                    self.gone(&forms, "The form that this fills in is not on the site's page any more.")
                })?
            }
            None => {
                let here: Vec<&Element<'t>> = forms
                    .iter()
                    .filter(|form| self.leads_to(form).is_some_and(|to| path(&to) == path(action)))
                    .collect();
                match here.as_slice() {
                    [one] => **one,
                    [] => return Err(self.gone(&forms, "No form on the site's page leads where this one has to.")),
                    _ => return Err(changed("Several forms on the site's page lead to the same address.")),
                }
            }
        };
        let leads_to = self.leads_to(&found).filter(|to| path(to) == path(action));
        let action = leads_to.ok_or_else(|| changed("The site's form now leads to another address than declared."))?;
        let mut controls = controls(&found, &root);
        check_one_of_each_group(&mut controls);
        if has_captcha(&found) || controls.iter().any(|control| is_captcha(&control.element)) {
            return Err(changed("The site now asks for a CAPTCHA here, which only a person can solve."));
        }
        let wanted = css::attribute(&found, "accept-charset").unwrap_or_default();
        let encoding = wanted
            .split([' ', ','])
            .find_map(|label| Encoding::for_label_no_replacement(label.as_bytes()))
            .unwrap_or(self.encoding)
            .output_encoding();
        Ok(FoundForm { element: found, action, controls, encoding, base: &self.base, page: self.page })
    }

    /// The refusal where the form is gone: perhaps people have to sign in first.
    fn gone(&self, forms: &[Element<'_>], detail: &'static str) -> Refusal {
        if forms.iter().any(asks_for_password_in) { login_required() } else { changed(detail) }
    }

    /// Path and query of a form's action; `None` where it leads to another site.
    fn leads_to(&self, form: &Element<'_>) -> Option<String> {
        let action = css::attribute(form, "action").unwrap_or_default();
        own_target(&action, &self.base, self.page)
    }
}

/// Path and query of an address of the site; the page's own where it is empty.
fn own_target(reference: &str, base: &Url, page: &Answered<'_>) -> Option<String> {
    let mut url = if reference.trim().is_empty() { page.at.clone() } else { base.join(reference.trim()).ok()? };
    url.set_fragment(None);
    let path = own_path(&url, page);
    (path.starts_with('/') && !path.starts_with("//")).then(|| url[Position::BeforePath..].to_owned())
}

impl<'t> FoundForm<'t> {
    /// The button that goes along: the declared one, else the first one that submits and can be pressed.
    pub(super) fn submitter(&self, name: Option<&str>) -> Result<Option<Control<'t>>, Refusal> {
        let mut buttons = self.controls.iter().filter(|control| control.submits());
        match name {
            None => Ok(buttons.find(|button| !button.is_disabled).cloned()),
            Some(name) => buttons
                .find(|button| button.name == name)
                .cloned()
                .map(Some)
                .ok_or_else(|| changed("The button that sends the site's form is gone.")),
        }
    }

    /// The controls with this name, or with the name of a list (`a[]`).
    pub(super) fn control(&self, name: &str) -> Option<&Control<'t>> {
        let listed = format!("{name}[]");
        let fits = |wanted: &str| self.controls.iter().find(|c| c.name == wanted && !c.is_button());
        fits(name).or_else(|| fits(&listed))
    }

    /// Where a button leads instead of the form.
    pub(super) fn target(&self, submitter: Option<&Control<'t>>) -> Result<String, Refusal> {
        let Some(own) = submitter.and_then(|button| css::attribute(&button.element, "formaction")) else {
            return Ok(self.action.clone());
        };
        own_target(&own, self.base, self.page).ok_or_else(|| changed("The site's form now leads to another site."))
    }
}

/// The form that an element is, lies in, or holds.
fn form_of<'t>(element: &Element<'t>, forms: &[Element<'t>]) -> Option<Element<'t>> {
    if css::name(element) == "form" {
        return Some(*element);
    }
    let above = element.ancestors_it(None).find(|above| css::name(above) == "form");
    above.or_else(|| forms.iter().find(|form| form.ancestors_it(None).any(|above| above.id == element.id)).copied())
}

/// The controls of a form in the order of the page: those in it that belong to no other, and those elsewhere that name
/// it.
fn controls<'t>(form: &Element<'t>, root: &Element<'t>) -> Vec<Control<'t>> {
    let id = css::attribute(form, "id").filter(|id| !id.is_empty());
    let is_own = |element: &Element<'t>| match css::attribute(element, "form") {
        Some(owner) => Some(&owner) == id.as_ref(),
        None => {
            element.ancestors_it(None).find(|above| css::name(above) == "form").is_some_and(|above| above.id == form.id)
        }
    };
    let own: Vec<Control<'t>> = all(CONTROLS, root).into_iter().filter(is_own).map(Control::of).collect();
    let table = form.ancestors_it(None).find(|above| css::name(above) == "table");
    match table.filter(|_| own.is_empty()) {
        // A form that begins between the rows of a table ends there for the parser, and not for browsers.
        Some(table) => {
            let is_free = |element: &Element<'t>| {
                !element.has_attr("form") && element.ancestors_it(None).all(|above| css::name(&above) != "form")
            };
            all(CONTROLS, &table).into_iter().filter(is_free).map(Control::of).collect()
        }
        None => own,
    }
}

/// Of radio buttons with one name that are checked on the page, the last one is.
fn check_one_of_each_group(controls: &mut [Control<'_>]) {
    let mut groups = BTreeSet::new();
    for control in controls.iter_mut().rev().filter(|control| control.kind == Kind::Radio && control.is_checked) {
        control.is_checked = groups.insert(control.name.clone());
    }
}

pub(super) fn all<'t>(selector: &str, root: &Element<'t>) -> Vec<Element<'t>> {
    Css::parse(selector).map(|css| css.all(root).collect()).unwrap_or_default()
}

pub(super) fn login_required() -> Refusal {
    Fault::LoginRequired.into()
}

pub(super) fn asks_for_password_in(form: &Element<'_>) -> bool {
    !all("input[type=password]", form).is_empty()
}

fn has_captcha(form: &Element<'_>) -> bool {
    !all(CAPTCHAS, form).is_empty()
}

fn is_captcha(control: &Element<'_>) -> bool {
    Css::parse(CAPTCHAS).is_ok_and(|css| css.matches(control))
}

/// Whether a page asks people to sign in.
pub fn has_login(tree: &Tree) -> bool {
    asks_for_password_in(&tree.root())
}

/// Whether a form is one without a CAPTCHA.
pub fn is_captcha_free(form: &Element<'_>) -> bool {
    !has_captcha(form)
}
