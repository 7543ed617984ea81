//! Heads as pingora keeps them, for the rules of HTTP/1 in `frontdesk_http1`: pingora keeps the case of names beside the
//! headers, so that each change has to go through it.

use frontdesk_http1::{Line, Malformed, ResponseHead, hop::EditHead};
use http::{HeaderMap, HeaderName, HeaderValue};
use pingora::{
    Error, ErrorType, OrErr, Result,
    http::{RequestHeader, ResponseHeader, header_value_from_raw},
};

/// The head of a request that is to be changed.
pub struct RequestEdit<'a>(pub &'a mut RequestHeader);

/// The head of a response that is to be changed.
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

/// What is wrong with a message, as an error of pingora's.
pub fn invalid(why: Malformed) -> Box<Error> {
    match why {
        Malformed::Head(e) => Error::because(ErrorType::InvalidHTTPHeader, "the answer's head is not HTTP", e),
        Malformed::Rule(why) => Error::explain(ErrorType::InvalidHTTPHeader, why),
    }
}

/// A head as pingora has it. `cased`: its names are to be seen as they were written.
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

/// A map of those lines that are to be kept, and room for some more.
pub fn header_map(head: &ResponseHead, room: usize, mut keep: impl FnMut(&Line<'_>) -> bool) -> Result<HeaderMap> {
    let mut map = HeaderMap::with_capacity(head.len() + room);
    for Line { name, value, .. } in head.lines().filter(|line| keep(line)) {
        let name = HeaderName::from_bytes(name).or_err(ErrorType::InvalidHTTPHeader, "a header without a name")?;
        map.append(name, header_value_from_raw(head.share(value)));
    }
    Ok(map)
}
