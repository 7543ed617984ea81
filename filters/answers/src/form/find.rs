//! Finds a form on a page, and the controls that belong to it.

use std::collections::BTreeSet;

use encoding_rs::Encoding;
use frontdesk_base::{
    charset,
    fault::{Fault, Refusal},
};
use frontdesk_page::content::{
    MAX_BYTES,
    css::{self, Css, Element, Tree, all},
};
use url::{Position, Url};

use super::{
    Form,
    clock::Clock,
    control::{self, Control, Kind},
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
const PASSWORD: &str = "input[type=password]";
/// The most controls of a form.
const MOST_CONTROLS: usize = 2_000;

/// A page that was read for its forms.
pub(super) struct Page<'p> {
    tree: Tree,
    base: Url,
    encoding: &'static Encoding,
    page: &'p Answered<'p>,
    clock: Clock,
}

/// A form on a page.
pub(super) struct FoundForm<'t> {
    pub(super) element: Element<'t>,
    /// The page that it is on.
    pub(super) root: Element<'t>,
    pub(super) controls: Vec<Control<'t>>,
    pub(super) encoding: &'static Encoding,
    pub(super) clock: &'t Clock,
    /// The declared path.
    action: String,
    base: &'t Url,
    page: &'t Answered<'t>,
}

impl<'p> Page<'p> {
    pub(super) fn read(page: &'p Answered<'p>) -> Result<Self, Refusal> {
        let clock = Clock::started();
        if page.body.len() > MAX_BYTES {
            return Err(too_large("The site's page with the form is larger than is read."));
        }
        let (html, encoding) = charset::decoded(page.body, page.content_type).ok_or_else(unknown_encoding)?;
        let tree = Tree::parse(&html).ok_or_else(|| too_large("The site's page is deeper or larger than is read."))?;
        Ok(Self { base: tree.base(page.at), tree, encoding, page, clock })
    }

    pub(super) fn root(&self) -> Element<'_> {
        self.tree.root()
    }

    /// The declared form.
    pub(super) fn form<'t>(&'t self, declared: &Form, action: &str) -> Result<FoundForm<'t>, Refusal>
    where
        'p: 't,
    {
        let root = self.tree.root();
        let found = self.element(declared, action)?;
        let mut controls = controls(&found, &root, &self.clock);
        self.clock.check()?;
        if controls.len() > MOST_CONTROLS {
            return Err(too_large(format!("The site's form has more than {MOST_CONTROLS} fields.")));
        }
        check_one_of_each_group(&mut controls);
        let captcha = Css::parse(CAPTCHAS).ok();
        let is_captcha = |control: &Control<'_>| captcha.as_ref().is_some_and(|css| css.matches(&control.element));
        if has_captcha(&found) || controls.iter().any(is_captcha) {
            return Err(changed(
                "The site now asks for a CAPTCHA here, which only a person can solve. Nothing was sent.",
            ));
        }
        let wanted = css::attribute(&found, "accept-charset").unwrap_or_default();
        let encoding = wanted
            .split([' ', ','])
            .find_map(|label| Encoding::for_label_no_replacement(label.as_bytes()))
            .unwrap_or(self.encoding)
            .output_encoding();
        let (clock, base, page, action) = (&self.clock, &self.base, self.page, path(action).to_owned());
        Ok(FoundForm { element: found, root, action, controls, encoding, clock, base, page })
    }

    /// Whether the declared form is on this page.
    pub(super) fn shows(&self, declared: &Form, action: &str) -> bool {
        match &declared.select {
            Some(select) => select.first(&self.tree.root()).is_some(),
            None => self.leading_to(action).next().is_some(),
        }
    }

    /// Whether a form that is sent to the same path by POST, and has all these fields, is on this page.
    pub(super) fn has_again(&self, action: &str, fields: &BTreeSet<String>) -> bool {
        let root = self.tree.root();
        let is_post = |form: &Element<'_>, controls: &[Control<'_>]| {
            let says = |element: &Element<'_>, name: &str| {
                css::attribute(element, name).is_some_and(|method| method.eq_ignore_ascii_case("post"))
            };
            says(form, "method") || controls.iter().any(|control| says(&control.element, "formmethod"))
        };
        !fields.is_empty()
            && self.leading_to(action).chain(self.by_button(action)).take_while(|_| self.clock.is_running()).any(
                |form| {
                    let controls = controls(&form, &root, &self.clock);
                    is_post(&form, &controls) && control::names_of_fields(&controls).is_superset(fields)
                },
            )
    }

    /// The forms of the buttons that lead to this path.
    fn by_button<'t>(&'t self, action: &str) -> impl Iterator<Item = Element<'t>> {
        let action = path(action).to_owned();
        let leads = move |button: &Element<'t>| {
            button.attr("formaction").and_then(|to| self.own(&to)).is_some_and(|to| path(&to) == action)
        };
        let buttons = all("[formaction]", &self.tree.root()).into_iter().filter(leads);
        buttons.filter_map(|button| form_of(&button, &[]))
    }

    fn element<'t>(&'t self, declared: &Form, action: &str) -> Result<Element<'t>, Refusal> {
        let root = self.tree.root();
        let forms = || all("form", &root);
        if let Some(select) = &declared.select {
            let chosen = select.first(&root).and_then(|element| form_of(&element, &forms()));
            let gone = "The form that this fills in is not on the site's page any more. Nothing was sent.";
            return chosen.ok_or_else(|| self.gone(gone));
        }
        let mut here = self.leading_to(action);
        match (here.next(), here.next()) {
            (Some(one), None) => Ok(one),
            (Some(_), Some(_)) => {
                Err(changed("Several forms on the site's page lead to the same address. Nothing was sent."))
            }
            (None, _) => {
                // A button may lead there instead.
                self.by_button(action).next().ok_or_else(|| {
                    self.gone("No form on the site's page leads where this one has to. Nothing was sent.")
                })
            }
        }
    }

    /// The forms whose action has this path.
    fn leading_to<'t>(&'t self, action: &str) -> impl Iterator<Item = Element<'t>> {
        let action = path(action).to_owned();
        let leads = move |form: &Element<'t>| {
            let to = css::attribute(form, "action").unwrap_or_default();
            self.own(&to).is_some_and(|to| path(&to) == action)
        };
        all("form", &self.tree.root()).into_iter().filter(leads)
    }

    /// Path and query of an address on this page; `None` where it leads to another site.
    fn own(&self, reference: &str) -> Option<String> {
        own_target(reference, &self.base, self.page)
    }

    /// The refusal where the form is gone: perhaps people have to sign in first.
    fn gone(&self, detail: &'static str) -> Refusal {
        let is_in_a_form = |field: &Element<'_>| field.ancestors_it(None).any(|above| css::name(&above) == "form");
        if all(PASSWORD, &self.tree.root()).iter().any(is_in_a_form) { login_required() } else { changed(detail) }
    }
}

/// An address without its query.
pub(super) fn path(target: &str) -> &str {
    target.split(['?', '#']).next().unwrap_or_default()
}

/// Path and query of an address of the site; the page's own where it is empty.
fn own_target(reference: &str, base: &Url, page: &Answered<'_>) -> Option<String> {
    let mut url = if reference.trim().is_empty() { page.at.clone() } else { base.join(reference.trim()).ok()? };
    url.set_fragment(None);
    let path = own_path(&url, page);
    (path.starts_with('/') && !path.starts_with("//")).then(|| url[Position::BeforePath..].to_owned())
}

impl<'t> FoundForm<'t> {
    /// The button that goes along: the declared one, else the first one that can be pressed and leads where the form has
    /// to, else the first one that can be pressed.
    pub(super) fn submitter(&self, name: Option<&str>) -> Result<Option<Control<'t>>, Refusal> {
        let mut buttons = self.controls.iter().filter(|control| control.submits());
        match name {
            None => {
                let pressable: Vec<&Control<'t>> = buttons.filter(|button| !button.is_disabled).collect();
                let fits = pressable.iter().find(|button| self.target(Some(**button)).is_ok());
                Ok(fits.or(pressable.first()).map(|button| (*button).clone()))
            }
            Some(name) => buttons
                .find(|button| button.name == name)
                .cloned()
                .map(Some)
                .ok_or_else(|| changed("The button that sends the site's form is gone. Nothing was sent.")),
        }
    }

    /// The controls with this name, or with the name of a list (`a[]`).
    pub(super) fn control(&self, name: &str) -> Option<&Control<'t>> {
        let listed = format!("{name}[]");
        let fits = |wanted: &str| self.controls.iter().find(|c| c.name == wanted && !c.is_button());
        fits(name).or_else(|| fits(&listed))
    }

    /// Where the form is sent: its button may lead elsewhere than the form.
    ///
    /// # Errors
    ///
    /// That is not the declared path.
    pub(super) fn target(&self, submitter: Option<&Control<'t>>) -> Result<String, Refusal> {
        let of_button = submitter.and_then(|button| css::attribute(&button.element, "formaction"));
        let to = of_button.or_else(|| css::attribute(&self.element, "action")).unwrap_or_default();
        own_target(&to, self.base, self.page)
            .filter(|to| path(to) == self.action)
            .ok_or_else(|| changed("The site's form now leads to another address than declared. Nothing was sent."))
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
fn controls<'t>(form: &Element<'t>, root: &Element<'t>, clock: &Clock) -> Vec<Control<'t>> {
    let id = css::attribute(form, "id").filter(|id| !id.is_empty());
    let is_own = |element: &Element<'t>| match css::attribute(element, "form") {
        Some(owner) => Some(&owner) == id.as_ref(),
        None => {
            element.ancestors_it(None).find(|above| css::name(above) == "form").is_some_and(|above| above.id == form.id)
        }
    };
    let some = |root: &Element<'t>, is_own: &dyn Fn(&Element<'t>) -> bool| -> Vec<Control<'t>> {
        let all = all(CONTROLS, root).into_iter().take_while(|_| clock.is_running());
        all.filter(is_own).take(MOST_CONTROLS + 1).map(Control::of).collect()
    };
    let own = some(root, &is_own);
    let table = form.ancestors_it(None).find(|above| css::name(above) == "table");
    match table.filter(|_| own.is_empty()) {
        // A form that begins between the rows of a table ends there for the parser, and not for browsers.
        Some(table) => {
            let is_free = |element: &Element<'t>| {
                !element.has_attr("form") && element.ancestors_it(None).all(|above| css::name(&above) != "form")
            };
            some(&table, &is_free)
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

pub(super) fn login_required() -> Refusal {
    Fault::LoginRequired.into()
}

pub(super) fn asks_for_password_in(form: &Element<'_>) -> bool {
    !all(PASSWORD, form).is_empty()
}

fn has_captcha(form: &Element<'_>) -> bool {
    !all(CAPTCHAS, form).is_empty()
}

/// Whether a page asks people to sign in.
pub fn has_login(tree: &Tree) -> bool {
    asks_for_password_in(&tree.root())
}

/// Whether a form is one without a CAPTCHA.
pub fn is_captcha_free(form: &Element<'_>) -> bool {
    !has_captcha(form)
}
