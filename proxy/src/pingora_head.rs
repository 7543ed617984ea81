//! Adapts pingora's heads to the HTTP/1 rules in `frontdesk_http1`. Pingora keeps the case of names beside the headers,
//! so each change has to go through its methods.

use frontdesk_http1::{Line, Malformed, ResponseHead, edit_head::EditHead};
use http::{HeaderMap, HeaderName, HeaderValue};
use pingora::{
    Error, ErrorType, OrErr, Result,
    http::{RequestHeader, ResponseHeader, header_value_from_raw},
};

/// A request's head that the rules may change.
pub struct RequestEdit<'a>(pub &'a mut RequestHeader);

/// A response's head that the rules may change.
pub struct ResponseEdit<'a>(pub &'a mut ResponseHeader);

impl EditHead for RequestEdit<'_> {
    type Error = Box<Error>;

    fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    fn remove_present(&mut self, name: &HeaderName) {
        self.0.remove_header(name);
    }

    fn insert(&mut self, name: HeaderName, value: HeaderValue) -> Result<()> {
        self.0.insert_header(name, value)
    }

    fn append(&mut self, name: HeaderName, value: HeaderValue) -> Result<()> {
        self.0.append_header(name, value).map(drop)
    }
}

impl EditHead for ResponseEdit<'_> {
    type Error = Box<Error>;

    fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    fn remove_present(&mut self, name: &HeaderName) {
        self.0.remove_header(name);
    }

    fn insert(&mut self, name: HeaderName, value: HeaderValue) -> Result<()> {
        self.0.insert_header(name, value)
    }

    fn append(&mut self, name: HeaderName, value: HeaderValue) -> Result<()> {
        self.0.append_header(name, value).map(drop)
    }
}

/// The pingora error for a malformed message.
pub fn invalid(why: Malformed) -> Box<Error> {
    match why {
        Malformed::Head(e) => Error::because(ErrorType::InvalidHTTPHeader, "the answer's head is not HTTP", e),
        Malformed::Rule(why) => Error::explain(ErrorType::InvalidHTTPHeader, why),
    }
}

/// A pingora head. `cased`: keeps the case of names.
pub fn response_header(head: &ResponseHead, cased: bool) -> Result<ResponseHeader> {
    let room = Some(head.len() + 4);
    let mut whole = match cased {
        true => ResponseHeader::build(head.status, room)?,
        false => ResponseHeader::build_no_case(head.status, room)?,
    };
    whole.set_version(head.version);
    let reason = std::str::from_utf8(head.reason()).or_err(ErrorType::InvalidHTTPHeader, "the reason is no text")?;
    whole.set_reason_phrase(Some(reason))?;
    for Line { name, value, .. } in head.lines() {
        whole.append_header(head.share(name), header_value_from_raw(head.share(value)))?;
    }
    Ok(whole)
}

/// A map of the lines that `keep` selects, with room for more.
pub fn header_map(head: &ResponseHead, room: usize, mut keep: impl FnMut(&Line<'_>) -> bool) -> Result<HeaderMap> {
    let mut map = HeaderMap::with_capacity(head.len() + room);
    for Line { name, value, .. } in head.lines().filter(|line| keep(line)) {
        let name = HeaderName::from_bytes(name).or_err(ErrorType::InvalidHTTPHeader, "a header without a name")?;
        map.append(name, header_value_from_raw(head.share(value)));
    }
    Ok(map)
}
