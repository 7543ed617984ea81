//! The examples of RFC 9421, and refusals.

use http::{HeaderMap, HeaderName, Method};

use super::*;

/// The values of a request's components with these header lines, up to the first failure.
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
    let lines: [(&str, &[u8]); 2] = [("cache-control", b"  max-age=60 "), ("cache-control", b"\t must-revalidate\t")];
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
