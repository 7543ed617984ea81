//! Media types, and whether a body's headers declare it as JSON.

use http::{HeaderMap, header};

use crate::text::{NotOnce, once};

/// The contract as TOML (AICP §6.1) and as JSON, and the Agent Object Model (AICP §7).
pub const AICP_TOML: &str = "application/aicp+toml";
pub const AICP_JSON: &str = "application/aicp+json";
pub const AOM: &str = "application/aom+json";

/// The media type of a `Content-Type`, without its parameters, as written.
pub fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// Whether a `Content-Type` is JSON, by its name or by its suffix (RFC 6839 §3.1).
pub fn is_json(content_type: &str) -> bool {
    let last = essence(content_type).as_bytes().last_chunk();
    last.is_some_and(|last: &[u8; 5]| matches!(last[0], b'/' | b'+') && last[1..].eq_ignore_ascii_case(b"json"))
}

/// Why a request's body is not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    Compressed,
    NotJson,
    Unclear(NotOnce),
}

impl Unfit {
    /// Advice for the client. `media`: the type to send.
    pub fn detail(self, media: &str) -> String {
        match self {
            Self::Compressed => "A compressed body is not taken here. Send it as it is.".to_owned(),
            Self::NotJson => format!("The body has to be JSON. Send Content-Type: {media}."),
            Self::Unclear(field) => field.to_string(),
        }
    }
}

/// Whether a body is declared as JSON; `false` without a declaration.
///
/// # Errors
///
/// It is declared as another type, or compressed.
pub fn said_json(headers: &HeaderMap) -> Result<bool, Unfit> {
    let coding = once(headers, &header::CONTENT_ENCODING).map_err(Unfit::Unclear)?;
    if coding.is_some_and(|coding| !coding.eq_ignore_ascii_case("identity")) {
        return Err(Unfit::Compressed);
    }
    match once(headers, &header::CONTENT_TYPE).map_err(Unfit::Unclear)? {
        None => Ok(false),
        Some(kind) if is_json(kind) => Ok(true),
        Some(_) => Err(Unfit::NotJson),
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn said(lines: &[(HeaderName, &'static str)]) -> Result<bool, Unfit> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(name, HeaderValue::from_static(value));
        }
        said_json(&headers)
    }

    #[test]
    fn json_is_told_by_its_type() {
        let kind = |value| said(&[(header::CONTENT_TYPE, value)]);
        for json in ["application/json", "Application/JSON ; charset=utf-8", "application/vnd.agtp+json", "text/json"] {
            assert_eq!(kind(json), Ok(true), "{json}");
        }
        for other in
            ["text/plain", "application/jsonp", "json", "", "text/plain; application/json", "multipart/form-data"]
        {
            assert_eq!(kind(other), Err(Unfit::NotJson), "{other}");
        }
        assert_eq!(said(&[]), Ok(false));
    }

    #[test]
    fn what_is_unclear_or_compressed_is_not_read() {
        let json = (header::CONTENT_TYPE, "application/json");
        let coding = |value| (header::CONTENT_ENCODING, value);
        assert_eq!(said(&[json.clone(), coding("Identity")]), Ok(true));
        assert_eq!(said(&[json.clone(), coding("gzip")]), Err(Unfit::Compressed));
        assert_eq!(said(&[coding("gzip")]), Err(Unfit::Compressed));
        assert_eq!(said(&[json.clone(), json.clone()]), Err(Unfit::Unclear(NotOnce(header::CONTENT_TYPE))));
        let twice = said(&[json, coding("identity"), coding("gzip")]);
        assert_eq!(twice, Err(Unfit::Unclear(NotOnce(header::CONTENT_ENCODING))));
    }
}
