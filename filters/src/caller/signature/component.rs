//! The components of a request that a signature may cover (RFC 9421 §2.1, §2.2), and their values.
//!
//! What we do not understand is refused: a component left out or guessed at would be one that nobody signed.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::HeaderValue;
use sfv::{BareItem, Dictionary, FieldType, Item, List, ListEntry, ListSerializer, Parser};
use url::form_urlencoded;

use super::Signed;

/// Bytes of the request that are read for the bases of all its signatures. A head has 32 KB and is covered once; a
/// request that asks for the same field again and again would have us do its work.
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

    /// The value of a component; `None` where it is unknown, absent from the request, or of another form than it must
    /// have.
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

    /// One parameter of the query, decoded and encoded anew (RFC 9421 §2.2.8). One that is there several times is not
    /// to be covered: which would it be?
    fn query_param(&mut self, encoded: &str) -> Option<String> {
        let query = self.request.query?;
        self.read(query.len())?;
        let mut values = form_urlencoded::parse(query.as_bytes())
            .filter_map(|(name, value)| (percent_encoded(&name) == encoded).then_some(value));
        let value = values.next()?;
        values.next().is_none().then(|| percent_encoded(&value))
    }

    /// An HTTP field (RFC 9421 §2.1), of which there must be at least one line.
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
    /// `None` for what has no meaning in a request (`req`, `tr`) or at all.
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

/// Lower case, without the port that goes without saying (RFC 9421 §2.2.3). Not with a name and password before it.
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
        // A dictionary in today's draft, a string in those before; an item is a list of one.
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
    // A plus of the text itself is `%2B` by then.
    form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, Method};

    use super::*;

    /// The values of components of a request with these header lines, the first that fails ending it.
    fn values(components: &str, query: Option<&str>, headers: &[(&'static str, &[u8])]) -> Option<Vec<String>> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(HeaderName::from_static(name), HeaderValue::from_bytes(value).unwrap());
        }
        let request = Signed {
            method: &Method::POST,
            authority: "WWW.Example.com:443",
            scheme: "https",
            path: "/path",
            query,
            headers: &map,
        };
        let list: List = Parser::new(&format!("({components})")).parse().unwrap();
        let [ListEntry::InnerList(list)] = &list[..] else { panic!() };
        let mut made = Components::new(&request);
        list.items.iter().map(|item| made.value(item)).collect()
    }

    fn value(component: &str, headers: &[(&'static str, &[u8])]) -> Option<String> {
        values(component, None, headers)?.pop()
    }

    #[test]
    fn derived_components_of_rfc_9421_2_2() {
        let derived = |component: &str, query| values(component, query, &[]).unwrap().pop().unwrap();
        assert_eq!(derived("\"@method\"", None), "POST");
        assert_eq!(derived("\"@scheme\"", None), "https");
        assert_eq!(derived("\"@authority\"", None), "www.example.com");
        assert_eq!(derived("\"@path\"", None), "/path");
        assert_eq!(derived("\"@query\"", Some("param=value")), "?param=value");
        assert_eq!(derived("\"@query\"", None), "?");
        assert_eq!(derived("\"@query\"", Some("")), "?");
        assert_eq!(derived("\"@request-target\"", Some("a=b")), "/path?a=b");
        assert_eq!(derived("\"@target-uri\"", Some("a=b")), "https://www.example.com/path?a=b");
        assert_eq!(derived("\"@target-uri\"", None), "https://www.example.com/path");
    }

    #[test]
    fn query_parameters_of_rfc_9421_2_2_8() {
        let query = Some("param=value&foo=bar&baz=batman&qux=");
        let parameter = |name: &str, query| {
            values(&format!("\"@query-param\";name=\"{name}\""), query, &[]).map(|values| values.concat())
        };
        assert_eq!(parameter("baz", query).unwrap(), "batman");
        assert_eq!(parameter("qux", query).unwrap(), "");
        let query =
            Some("var=this%20is%20a%20big%0Amultiline%20value&bar=with+plus+whitespace&fa%C3%A7ade%22%3A%20=something");
        let is = |name: &str, value: &str| assert_eq!(parameter(name, query).unwrap(), value);
        is("var", "this%20is%20a%20big%0Amultiline%20value");
        is("bar", "with%20plus%20whitespace");
        is("fa%C3%A7ade%22%3A%20", "something");
        assert_eq!(parameter("a", Some("a=1+%2B")).unwrap(), "1%20%2B");
        for (name, query) in [("a", None), ("a", Some("b=1")), ("a", Some("a=1&a=1")), ("a", Some("a=1&%61=2"))] {
            assert_eq!(parameter(name, query), None, "{name} {query:?}");
        }
        assert_eq!(values("\"@query-param\"", Some("a=1"), &[]), None);
        assert_eq!(values("\"@query\";name=\"a\"", Some("a=1"), &[]), None);
    }

    #[test]
    fn fields_of_rfc_9421_2_1() {
        let lines: [(&str, &[u8]); 2] =
            [("cache-control", b"  max-age=60 "), ("cache-control", b"\t must-revalidate\t")];
        assert_eq!(value("\"cache-control\"", &lines).unwrap(), "max-age=60, must-revalidate");
        assert_eq!(value("\"cache-control\";sf", &lines).unwrap(), "max-age=60, must-revalidate");
        assert_eq!(value("\"x-empty\"", &[("x-empty", b"")]).unwrap(), "");
        let dictionary: [(&str, &[u8]); 1] = [("example-dict", b" a=1,    b=2;x=1;y=2,   c=(a   b   c), d")];
        for (key, expected) in [("a", "1"), ("d", "?1"), ("b", "2;x=1;y=2"), ("c", "(a b c)")] {
            assert_eq!(value(&format!("\"example-dict\";key=\"{key}\""), &dictionary).unwrap(), expected);
        }
        assert_eq!(value("\"example-dict\";key=\"e\"", &dictionary), None);
        assert_eq!(value("\"example-dict\";sf", &dictionary), None, "its type is not known");
        let spaced: [(&str, &[u8]); 1] = [("content-digest", b" a=:AAAA:,    b=2;x=1,   c=(a   b), d")];
        assert_eq!(value("\"content-digest\";sf", &spaced).unwrap(), "a=:AAAA:, b=2;x=1, c=(a b), d");
        let lines: [(&str, &[u8]); 2] = [("example-header", b"value, with, lots"), ("example-header", b"of, commas")];
        let expected = ":dmFsdWUsIHdpdGgsIGxvdHM=:, :b2YsIGNvbW1hcw==:";
        assert_eq!(value("\"example-header\";bs", &lines).unwrap(), expected);
        assert_eq!(value("\"x\";bs", &[("x", b"\xff")]).unwrap(), ":/w==:");
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let headers: [(&str, &[u8]); 4] = [("x", b"1"), ("y", b"\xff"), ("z", "é".as_bytes()), ("priority", b"(")];
        for component in [
            "\"@unknown\"",
            "\"@status\"",
            "\"@signature-params\"",
            "\"@\"",
            "\"\"",
            "\"absent\"",
            "\"X\"",
            "\"a b\"",
            "\"x\";req",
            "\"x\";tr",
            "\"x\";sf",
            "\"x\";bs;sf",
            "\"x\";bs;key=\"a\"",
            "\"x\";key=\"a\"",
            "\"x\";sf=?0",
            "\"x\";key=a",
            "\"x\";key",
            "\"x\";name=\"a\"",
            "\"x\";new",
            "\"@method\";req",
            "\"@path\";sf",
            "\"@path\";key=\"a\"",
            "\"y\"",
            "\"y\";key=\"a\"",
            "\"priority\";sf",
            "x",
            "1",
            ":eA==:",
            "?1",
        ] {
            assert_eq!(values(component, None, &headers), None, "{component}");
        }
    }

    #[test]
    fn the_authority_is_normalised() {
        let headers = HeaderMap::new();
        let normal = |scheme, authority| {
            let method = &Method::GET;
            self::authority(&Signed { method, authority, scheme, path: "/", query: None, headers: &headers })
        };
        for (scheme, given, expected) in [
            ("https", "Example.COM", "example.com"),
            ("https", "example.com:443", "example.com"),
            ("https", "example.com:80", "example.com:80"),
            ("http", "example.com:80", "example.com"),
            ("http", "example.com:8080", "example.com:8080"),
            ("HTTP", "example.com:", "example.com"),
            ("https", "[2001:DB8::1]:443", "[2001:db8::1]"),
            ("https", "[2001:db8::443]", "[2001:db8::443]"),
        ] {
            assert_eq!(normal(scheme, given).as_deref(), Some(expected), "{given}");
        }
        for given in ["", ":443", "user@example.com", "example.com/path", "a b"] {
            assert_eq!(normal("https", given), None, "{given}");
        }
    }

    #[test]
    fn the_work_is_bounded() {
        let long = [b"a=\"", &[b'x'; 30_000][..], b"\", b"].concat();
        let headers: [(&str, &[u8]); 1] = [("x", &long)];
        assert!(values("\"x\";key=\"a\" \"x\";key=\"b\"", None, &headers).is_some());
        assert!(values("\"x\";key=\"a\" \"x\";key=\"b\" \"x\"", None, &headers).is_none());
    }
}
