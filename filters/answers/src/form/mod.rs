//! Forms of the site, filled in as a browser would: the page is read, its form found, inputs put in, and the answer
//! judged. Nothing here sends anything.

mod again;
mod checks;
mod clock;
mod control;
mod direction;
mod encode;
mod entry;
mod fill;
mod find;
mod groups;
mod judge;
mod mask;
mod shown;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;

use bytes::Bytes;
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_config as config;
use frontdesk_page::content::css::Css;
use http::Method;
use serde_json::{Map, Value};

pub use find::{has_login, is_captcha_free};
pub use judge::{Judged, Submitted};

use crate::answered::Answered;

/// The compiled declaration of `[capabilities.upstream.form]`.
#[derive(Debug, Clone)]
pub struct Form {
    select: Option<Css>,
    submit: Option<String>,
    done: Option<config::FormDone>,
    done_select: Option<Css>,
    failed: Option<Css>,
}

/// A value for a control.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    Value(Value),
    File(Upload),
}

/// A file for a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    pub name: String,
    pub media_type: String,
    pub body: Bytes,
}

/// What the inputs are, and which of them the operator declared.
pub struct Inputs<'a> {
    /// By the site's names.
    pub given: BTreeMap<String, Input>,
    /// The caller's name for a name of the site.
    pub ours: &'a dyn Fn(&str) -> String,
    /// No inputs are declared at all, so every field that people fill in is one.
    pub are_open: bool,
    /// Whether the operator declared this name of the site.
    pub declared: &'a dyn Fn(&str) -> bool,
}

/// A request that sends a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    pub method: Method,
    /// Path and query.
    pub target: String,
    /// Of the body; empty for GET.
    pub content_type: String,
    pub body: Bytes,
    /// The site's names of the inputs that were put in, with what was put in, to know the form again.
    pub put_in: Vec<(String, String)>,
    /// What the form has hidden, by the site's names.
    pub(crate) hidden: Vec<(String, String)>,
    /// What its page had, to know the form again.
    pub(crate) before: again::Before,
}

impl Form {
    /// Compiles a declaration.
    ///
    /// # Errors
    ///
    /// The key of a selector that is none, and why.
    pub fn new(declared: &config::Form) -> Result<Self, (String, String)> {
        let css = |key: &str, text: &Option<String>| {
            text.as_deref().map(|text| Css::parse(text).map_err(|why| (key.to_owned(), why))).transpose()
        };
        let done_select = match &declared.done {
            Some(config::FormDone::Select(text)) => Some(text.clone()),
            _ => None,
        };
        Ok(Self {
            select: css("select", &declared.select)?,
            submit: declared.submit.clone(),
            done: declared.done.clone(),
            done_select: css("done.select", &done_select)?,
            failed: css("failed", &declared.failed)?,
        })
    }

    /// Fills the form on a page. `method` and `action` are the declared ones, `boundary` parts a multipart body.
    ///
    /// # Errors
    ///
    /// The form is not as declared, or an input does not fit it. Nothing was sent.
    pub fn fill(
        &self,
        page: &Answered<'_>,
        (method, action): (&Method, &str),
        inputs: &Inputs<'_>,
        boundary: &str,
    ) -> Result<Filled, Refusal> {
        let read = find::Page::read(page)?;
        let form = read.form(self, action)?;
        let submitter = form.submitter(self.submit.as_deref())?;
        let entries = fill::entries(&form, submitter.as_ref(), inputs)?;
        let mut filled = encode::request(&form, submitter.as_ref(), method, entries, (inputs, boundary))?;
        if self.says_nothing() {
            filled.before = again::Before::of(&form.controls, &form.root, form.clock);
        }
        Ok(filled)
    }

    /// Whether neither a sign of success nor one of a failure is declared.
    fn says_nothing(&self) -> bool {
        self.done.is_none() && self.failed.is_none()
    }

    /// How the form on a page differs from the declared inputs.
    ///
    /// # Errors
    ///
    /// The page cannot be read, or has no such form.
    pub fn differences(&self, page: &Answered<'_>, action: &str, names: &[String]) -> Result<Differences, Refusal> {
        let read = find::Page::read(page)?;
        let form = read.form(self, action)?;
        form.target(form.submitter(self.submit.as_deref())?.as_ref())?;
        let missing = names.iter().filter(|name| form.control(name).is_none()).cloned().collect();
        let is_filled =
            |own: &str| names.iter().any(|name| name == own || own.strip_suffix("[]") == Some(name.as_str()));
        let is_seen = |control: &&control::Control<'_>| control.kind != control::Kind::Hidden && !control.is_button();
        let seen = form.controls.iter().filter(is_seen).map(|control| control.name.clone());
        let mut unfilled: Vec<String> = seen.filter(|own| !own.is_empty() && !is_filled(own)).collect();
        unfilled.dedup();
        Ok(Differences { missing, unfilled })
    }
}

/// How a form differs from the inputs that are declared for it.
#[derive(Debug, PartialEq, Eq)]
pub struct Differences {
    /// The inputs, by the site's names, without a field. Empty: the form fits.
    pub missing: Vec<String>,
    /// The fields that people see and no input is for.
    pub unfilled: Vec<String>,
}

/// The refusal for an input that the form does not take.
fn wrong(inputs: &Inputs<'_>, name: &str, message: &str) -> Refusal {
    let violation = frontdesk_base::schema::Violation::of(&(inputs.ours)(name), message);
    Refusal { violations: vec![violation], ..Fault::InvalidInput.into() }
}

/// The inputs as the caller sent them, by the site's names.
pub fn given(input: &Map<String, Value>, rename: &dyn Fn(&str) -> String) -> BTreeMap<String, Input> {
    input.iter().map(|(name, value)| (rename(name), Input::Value(value.clone()))).collect()
}
