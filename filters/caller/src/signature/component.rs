//! The components of a request that a signature may cover (RFC 9421 §2.1, §2.2), and their values.
//!
//! An unsupported component is refused: leaving it out, or guessing its value, would verify something that was not
//! signed.

#[cfg(test)]
mod tests;

use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderValue;
use sfv::{BareItem, Dictionary, FieldType, Item, List, ListEntry, ListSerializer, Parser};
use url::form_urlencoded;

use super::Signed;

/// Maximum bytes of the request that are read for the bases of all its signatures. A head has 32 KB, and one pass
/// covers it. The bound stops a request that names the same field again and again.
const MAX_READ: usize = 64 * 1024;

/// Fields that are known to be dictionaries; `sf` is defined only where the type is known (RFC 9421 §2.1.1).
const DICTIONARIES: [&str; 9] = [
    "accept-signature",
    "cache-control",
    "content-digest",
    "priority",
    "repr-digest",
    "signature",
    "signature-input",
    "want-content-digest",
    "want-repr-digest",
];

/// The components of one request.
pub(super) struct Components<'a> {
    request: &'a Signed<'a>,
    /// Bytes that may still be read.
    left: usize,
}

/// The parameters of a component (RFC 9421 §2.1, §2.2.8).
#[derive(Default)]
struct Parameters<'a> {
    sf: bool,
    bs: bool,
    key: Option<&'a str>,
    name: Option<&'a str>,
}

/// The name of a covered component.
pub(super) fn name(item: &Item) -> Option<&str> {
    item.bare_item.as_string().map(|name| name.as_str())
}

impl<'a> Components<'a> {
    pub(super) fn new(request: &'a Signed<'a>) -> Self {
        Self { request, left: MAX_READ }
    }

    /// The value of a component; `None` where it is unknown, absent from the request, or malformed.
    pub(super) fn value(&mut self, item: &Item) -> Option<String> {
        let name = name(item)?;
        let parameters = Parameters::of(item)?;
        match (name.starts_with('@'), &parameters) {
            (false, Parameters { name: None, .. }) => self.field(name, &parameters),
            (true, Parameters { sf: false, bs: false, key: None, name: None }) => self.derived(name),
            (true, Parameters { sf: false, bs: false, key: None, name: Some(parameter) }) if name == "@query-param" => {
                self.query_param(parameter)
            }
            _ => None,
        }
    }

    /// A derived component (RFC 9421 §2.2).
    fn derived(&mut self, name: &str) -> Option<String> {
        let Signed { method, scheme, path, query, .. } = *self.request;
        let path = if path.is_empty() { "/" } else { path };
        let with_query = || query.map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
        let value = match name {
            "@method" => method.as_str().to_owned(),
            "@scheme" => scheme.to_ascii_lowercase(),
            "@authority" => authority(self.request)?,
            "@path" => path.to_owned(),
            "@query" => format!("?{}", query.unwrap_or_default()),
            "@request-target" => with_query(),
            "@target-uri" => format!("{}://{}{}", scheme.to_ascii_lowercase(), authority(self.request)?, with_query()),
            _ => return None,
        };
        self.read(value.len())?;
        Some(value)
    }

    /// One query parameter, decoded and encoded anew (RFC 9421 §2.2.8). A parameter that occurs several times cannot
    /// be covered, because its value would be ambiguous.
    fn query_param(&mut self, encoded: &str) -> Option<String> {
        let query = self.request.query?;
        self.read(query.len())?;
        let mut values = form_urlencoded::parse(query.as_bytes())
            .filter_map(|(name, value)| (percent_encoded(&name) == encoded).then_some(value));
        let value = values.next()?;
        values.next().is_none().then(|| percent_encoded(&value))
    }

    /// An HTTP field (RFC 9421 §2.1), which must have at least one line.
    fn field(&mut self, name: &str, parameters: &Parameters) -> Option<String> {
        if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return None;
        }
        let lines: Vec<&[u8]> = self.request.headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
        let length = lines.iter().map(|line| line.len() + 2).sum();
        self.read(length)?;
        if lines.is_empty() {
            return None;
        }
        if parameters.bs {
            let encoded = lines.iter().map(|line| format!(":{}:", STANDARD.encode(line.trim_ascii())));
            return (parameters.key.is_none() && !parameters.sf).then(|| encoded.collect::<Vec<_>>().join(", "));
        }
        let lines: Option<Vec<&str>> = lines.iter().map(|line| str::from_utf8(line.trim_ascii()).ok()).collect();
        let joined = lines?.join(", ");
        match parameters.key {
            Some(key) => Some(member(Parser::new(&joined).parse::<Dictionary>().ok()?.get(key)?)),
            None if parameters.sf => structured(name, &joined),
            None => Some(joined),
        }
    }

    /// Counts bytes read.
    fn read(&mut self, bytes: usize) -> Option<()> {
        self.left = self.left.checked_sub(bytes)?;
        Some(())
    }
}

impl<'a> Parameters<'a> {
    /// `None` for parameters that a request cannot have (`req`, `tr`), and for unknown ones.
    fn of(item: &'a Item) -> Option<Self> {
        let mut parameters = Self::default();
        for (key, value) in &item.params {
            match (key.as_str(), value) {
                ("sf", BareItem::Boolean(true)) => parameters.sf = true,
                ("bs", BareItem::Boolean(true)) => parameters.bs = true,
                ("key", BareItem::String(key)) => parameters.key = Some(key.as_str()),
                ("name", BareItem::String(name)) => parameters.name = Some(name.as_str()),
                _ => return None,
            }
        }
        Some(parameters)
    }
}

/// Lower case, without the scheme's default port (RFC 9421 §2.2.3). `None` where it has user information.
fn authority(request: &Signed) -> Option<String> {
    let authority = request.authority.to_ascii_lowercase();
    let port = if request.scheme.eq_ignore_ascii_case("http") { ":80" } else { ":443" };
    let authority = authority.strip_suffix(port).or(authority.strip_suffix(':')).unwrap_or(&authority);
    (!authority.is_empty() && !authority.contains(['@', '/', '?', '#', ' '])).then(|| authority.to_owned())
}

/// The strict serialisation of a field whose type is known.
fn structured(name: &str, joined: &str) -> Option<String> {
    let dictionary = || Some(Parser::new(joined).parse::<Dictionary>().ok()?.serialize().unwrap_or_default());
    let list = || Some(Parser::new(joined).parse::<List>().ok()?.serialize().unwrap_or_default());
    match name {
        // A dictionary in the current draft, a string in earlier ones; an item parses as a list of one.
        "signature-agent" => dictionary().or_else(list),
        _ if DICTIONARIES.contains(&name) => dictionary(),
        _ => None,
    }
}

/// A member of a list or dictionary, with its parameters.
pub(super) fn member(entry: &ListEntry) -> String {
    let mut serializer = ListSerializer::new();
    serializer.members([entry]);
    serializer.finish().unwrap_or_default()
}

/// "Percent-encode after encoding" with the set of `application/x-www-form-urlencoded`, a space as `%20`.
fn percent_encoded(text: &str) -> String {
    // A literal plus is `%2B` at this point.
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}
