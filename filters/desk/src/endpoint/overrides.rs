//! Detects method overrides.
//!
//! Frameworks let clients that can send only GET and POST name another method in a header (`X-HTTP-Method-Override`),
//! in the query or in a form (`_method`). Some apply it to a GET too (WordPress, Slim).

use frontdesk_base::method_override;
use http::{HeaderMap, Method};

/// Whether the site may see another method. Forms are not parsed here: any POST may have an override in its body.
pub(super) fn may_be_overridden(method: &Method, target: &str, headers: Option<&HeaderMap>) -> bool {
    *method == Method::POST || in_query(target) || headers.is_some_and(in_headers)
}

fn in_headers(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| method_override::is_header(name.as_str()))
}

fn in_query(target: &str) -> bool {
    let Some((_, query)) = target.split_once('?') else { return false };
    let pairs = query.split(['&', ';']).flat_map(|pair| url::form_urlencoded::parse(pair.as_bytes()));
    pairs.into_iter().any(|(name, _)| method_override::is_field(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_method_is_asked_for_in_the_query_or_in_a_header() {
        for (target, is_override) in [
            ("/a", false),
            ("/a?method=card", false),
            ("/a?payment_method=card&x=_method", false),
            ("/a?_method=POST", true),
            ("/a?x=1&_METHOD=post", true),
            ("/a?%5Fmethod=post", true),
            ("/a?.method=post", true),
            ("/a?x;_method[]=post", true),
            ("/a?X-HTTP-Method-Override=POST", true),
        ] {
            assert_eq!(may_be_overridden(&Method::GET, target, None), is_override, "{target}");
        }
        for (name, is_override) in [
            ("accept", false),
            ("access-control-request-method", false),
            ("x-http-method-override", true),
            ("x_http_method_override", true),
            ("x-http-method", true),
            ("x-method-override", true),
        ] {
            let headers = HeaderMap::from_iter([(name.parse().unwrap(), "POST".parse().unwrap())]);
            assert_eq!(may_be_overridden(&Method::GET, "/a", Some(&headers)), is_override, "{name}");
        }
        assert!(may_be_overridden(&Method::POST, "/a", None), "in its body");
        assert!(!may_be_overridden(&Method::DELETE, "/a", None));
    }
}
