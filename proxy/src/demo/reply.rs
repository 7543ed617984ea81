//! Turns a page or an API result into a whole HTTP response: validators, 304, HEAD, and the headers of every response.

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use httpdate::parse_http_date;
use serde_json::{Value, json};

/// When the fixed part of the site was last edited.
const LAST_EDITED: &str = "Mon, 03 Feb 2025 09:00:00 GMT";

/// A response before it is adapted to its request. Cheap to clone, because the body is shared.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: StatusCode,
    content_type: &'static str,
    cache_control: &'static str,
    pub body: Bytes,
    /// The body's hash, for replies with an entity tag.
    hash: Option<u64>,
    /// Part of the fixed site: carries `Last-Modified`.
    fixed: bool,
    /// `Allow`, on a 405.
    allow: Option<&'static str>,
    /// `Location`, on a redirect and on what was created.
    location: Option<Box<str>>,
}

impl Reply {
    /// A reply that is computed for each request.
    pub fn new(status: StatusCode, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        let (body, cache_control) = (body.into(), "no-store");
        Self { status, content_type, cache_control, body, hash: None, fixed: false, allow: None, location: None }
    }

    /// A JSON reply that no cache keeps.
    pub fn json(status: StatusCode, value: &Value) -> Self {
        Self::new(status, "application/json", value.to_string())
    }

    /// An API error: a code for programs, a message for people.
    pub fn error(status: StatusCode, code: &str, message: &str) -> Self {
        Self::json(status, &json!({ "error": code, "message": message }))
    }

    /// Lets caches keep the reply and revalidate it by entity tag.
    pub fn cached(mut self, cache_control: &'static str) -> Self {
        self.hash = Some(fnv1a(&self.body));
        self.cache_control = cache_control;
        self
    }

    /// Marks a part of the fixed site: cached, and with a date of its own.
    pub fn fixed(self, cache_control: &'static str) -> Self {
        Self { fixed: true, ..self.cached(cache_control) }
    }

    /// Names the allowed methods.
    pub fn allowing(self, methods: &'static str) -> Self {
        Self { allow: Some(methods), ..self }
    }

    /// Names the location, a path of the site.
    pub fn at(self, path: String) -> Self {
        Self { location: Some(path.into()), ..self }
    }

    /// The response to this request: a 304 if the client has it already, no body for HEAD.
    pub fn answer<B>(self, request: &Request<B>) -> Response<Bytes> {
        let reading = matches!(*request.method(), Method::GET | Method::HEAD);
        let unchanged = reading && self.status == StatusCode::OK && self.is_current(request);
        let status = if unchanged { StatusCode::NOT_MODIFIED } else { self.status };

        let mut response = Response::new(Bytes::new());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(self.cache_control));
        if let Some(tag) = self.tag().and_then(|tag| HeaderValue::try_from(tag).ok()) {
            headers.insert(header::ETAG, tag);
        }
        if self.fixed {
            headers.insert(header::LAST_MODIFIED, HeaderValue::from_static(LAST_EDITED));
        }
        if let Some(allow) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        if let Some(location) = self.location.and_then(|location| HeaderValue::from_str(&location).ok()) {
            headers.insert(header::LOCATION, location);
        }
        if unchanged || status == StatusCode::NO_CONTENT {
            return response;
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::CONTENT_LENGTH, HeaderValue::from(self.body.len()));
        if request.method() != Method::HEAD {
            *response.body_mut() = self.body;
        }
        response
    }

    /// A strong entity tag: the body's hash, and its length.
    fn tag(&self) -> Option<String> {
        self.hash.map(|hash| format!("\"{hash:016x}-{:x}\"", self.body.len()))
    }

    /// Whether the client's copy is still good. A tag, where one is sent, decides alone (RFC 9110, 13.2.2).
    fn is_current<B>(&self, request: &Request<B>) -> bool {
        let headers = request.headers();
        if headers.contains_key(header::IF_NONE_MATCH) {
            let Some(own) = self.tag() else { return false };
            let sent = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
            return sent
                .flat_map(|line| line.split(','))
                .map(str::trim)
                .any(|tag| tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == own);
        }
        let since = headers.get(header::IF_MODIFIED_SINCE).and_then(|value| value.to_str().ok());
        // An invalid condition is ignored.
        let since = since.and_then(|since| parse_http_date(since).ok());
        self.fixed && since.is_some_and(|since| parse_http_date(LAST_EDITED).is_ok_and(|edited| edited <= since))
    }
}

/// FNV-1a: quick, and the same wherever the site runs.
fn fnv1a(body: &[u8]) -> u64 {
    body.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> Reply {
        Reply::new(StatusCode::OK, "text/plain", "hello").fixed("public, max-age=300")
    }

    fn with(name: header::HeaderName, value: &str) -> Response<Bytes> {
        page().answer(&Request::builder().header(name, value).body(()).unwrap())
    }

    #[test]
    fn a_current_copy_is_not_sent_again() {
        let etag = page().tag().unwrap();
        for value in [etag.clone(), format!("\"other\", W/{etag}"), "*".into()] {
            let response = with(header::IF_NONE_MATCH, &value);
            assert_eq!(response.status(), StatusCode::NOT_MODIFIED, "{value}");
            assert_eq!(response.headers()[header::ETAG], etag.as_str());
            assert!(response.body().is_empty() && !response.headers().contains_key(header::CONTENT_LENGTH));
        }
        assert_eq!(with(header::IF_NONE_MATCH, "\"other\"").status(), StatusCode::OK);
        assert_eq!(with(header::IF_MODIFIED_SINCE, LAST_EDITED).status(), StatusCode::NOT_MODIFIED);
        assert_eq!(with(header::IF_MODIFIED_SINCE, "Tue, 04 Feb 2025 08:00:00 GMT").status(), StatusCode::NOT_MODIFIED);
        let (earlier, broken) = ("Sun, 02 Feb 2025 09:00:00 GMT", "Tue, 4 Foo 2025 09:00:00 GMT");
        for value in [earlier, broken, "Tue, 04 Feb 2025 09:00:00", "yesterday", ""] {
            assert_eq!(with(header::IF_MODIFIED_SINCE, value).status(), StatusCode::OK, "{value}");
        }
    }

    #[test]
    fn the_tag_wins_over_the_date() {
        let request = Request::builder()
            .header(header::IF_NONE_MATCH, "\"other\"")
            .header(header::IF_MODIFIED_SINCE, LAST_EDITED)
            .body(())
            .unwrap();
        assert_eq!(page().answer(&request).status(), StatusCode::OK);
    }

    #[test]
    fn head_says_what_get_would_send() {
        let response = page().answer(&Request::head("/").body(()).unwrap());
        assert!(response.body().is_empty());
        assert_eq!(response.headers()[header::CONTENT_LENGTH], "5");
    }
}
