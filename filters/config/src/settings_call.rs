//! The typed settings of a capability's call to the site: where it goes, how inputs are written, and how the answer is
//! read.

use std::time::Duration;

use frontdesk_base::parameter::Style as ParameterStyle;

/// `[capabilities.upstream]`: the call to the unmodified site.
#[derive(Debug, Clone, Default)]
pub struct Call {
    pub method: Option<String>,
    /// With `{placeholders}`; may have a query.
    pub path: Option<String>,
    /// Another service: https, with `{placeholders}` after its host.
    pub url: Option<String>,
    pub recipe: Option<String>,
    /// A person answers, at the human desk.
    pub desk: bool,
    /// The declared name, and the site's name for it.
    pub rename_input: Vec<(String, String)>,
    pub rename_output: Vec<(String, String)>,
    /// A status of the site, and the name of the failure.
    pub errors: Vec<(u16, String)>,
    pub timeout: Option<Duration>,
    /// The form of the body; `None`: JSON, where the method has a body.
    pub body: Option<BodyForm>,
    /// Its media type, where it is not the usual one of its form.
    pub content_type: Option<String>,
    /// Without any input for it there is no body.
    pub body_optional: bool,
    /// How single inputs are written, by their declared names.
    pub parameters: Vec<(String, Parameter)>,
    /// Inputs that the input schema does not name are left out.
    pub drop_undeclared: bool,
    pub headers: Vec<(String, String)>,
    /// The site tolerates repeated calls.
    pub idempotent: bool,
    pub response: ResponseKind,
    pub identity: Identity,
    /// Names of failures by what the answer says: `POINTER=VALUE`.
    pub says: Vec<(String, String)>,
    /// The body, written out; then `body` is `None`.
    pub body_template: Option<String>,
    /// What in a 2xx says that it failed.
    pub failed: Option<String>,
    /// Data out of a page.
    pub extract: Option<Extract>,
    /// A form of the site.
    pub form_of_page: Option<Form>,
    /// The site's cookies live with the caller's conversation, and not only with the call.
    pub keeps_cookies: bool,
}

/// `identity`: whose credential a call carries to the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Identity {
    /// No credential but the operator's own headers.
    #[default]
    None,
    /// The caller's own, as it came.
    Caller,
}

/// `[capabilities.upstream.extract]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extract {
    pub each: Option<String>,
    pub fields: Vec<(String, ExtractField)>,
    pub must: Option<String>,
    pub next: Option<String>,
}

/// A field of it: a selector, perhaps with an attribute (`a @href`).
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractField {
    pub select: String,
    pub all: bool,
    pub kind: FieldKind,
}

/// What a field is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldKind {
    #[default]
    Text,
    /// The first number in the text.
    Number,
    /// Whether it is there.
    Boolean,
    Date,
    Markdown,
}

/// `[capabilities.upstream.form]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Form {
    /// Read first; with `{placeholders}`.
    pub page: String,
    pub select: Option<String>,
    pub submit: Option<String>,
    pub done: Option<FormDone>,
    pub failed: Option<String>,
}

/// What shows that a form was taken.
#[derive(Debug, Clone, PartialEq)]
pub enum FormDone {
    /// A redirect to this path.
    Redirect(String),
    /// An element of the page that follows.
    Select(String),
    /// The status of the answer.
    Status(u16),
}

/// The form of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyForm {
    Json,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/form-data`.
    Multipart,
    /// No body: inputs go to the query.
    None,
}

/// How one input is written into the request.
#[derive(Debug, Clone, Default)]
pub struct Parameter {
    /// `None`: where the method's other inputs go, or into its place of the path.
    pub place: Option<ParameterPlace>,
    pub style: Option<ParameterStyle>,
    /// Its name at the site, where the style writes it into the path.
    pub name: Option<String>,
}

/// Where an input goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterPlace {
    Path,
    Query,
    Header,
    /// The whole body.
    Body,
}

/// The form of a 2xx answer from the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResponseKind {
    #[default]
    Json,
    /// Any body, as `{content_type, status, body}`.
    Wrap,
    /// Any body, unchanged.
    Raw,
    /// What the answer's Content-Type says.
    Auto,
    /// A page, as `{title, url, markdown}`.
    Page,
    /// Text, as `{text}`.
    Text,
    /// CSV or TSV, as `{columns, rows}`.
    Table,
    /// XML, as an object.
    Xml,
    /// Anything, as `{file: {url, media_type, size, name}}`.
    File,
    /// A page, by the selectors of [`Call::extract`].
    Extract,
}
