//! The head of a response as pingora has it, on its way through a hop.

use frontdesk_http1::{Framing, framing, hop};
use http::{HeaderMap, Method, Version};
use pingora::{
    Result,
    http::{RequestHeader, ResponseHeader},
};

use crate::pingora_head::{RequestEdit, ResponseEdit, invalid};

/// Whether an interim response may go on. `count`: how many the request has been given, this one included; `asked`: the
/// request, where it asks for an upgrade.
///
/// # Errors
///
/// Where the site switches to what nobody asked for, or goes on without end.
pub fn check_interim(response: &ResponseHeader, count: usize, asked: Option<&HeaderMap>) -> Result<()> {
    hop::check_interim(response.status, &response.headers, count, asked).map_err(invalid)
}

/// Takes the blanks away around the values of a request over HTTP/2.
pub fn trim_request(request: &mut RequestHeader) -> Result<()> {
    hop::trim_values(&mut RequestEdit(request))
}

/// The same for a response of a site that speaks HTTP/2.
pub fn trim_response(response: &mut ResponseHeader) -> Result<()> {
    if response.version == Version::HTTP_2 { hop::trim_values(&mut ResponseEdit(response)) } else { Ok(()) }
}

/// Decides how a response is framed, leaves that one framing in it, and removes what belongs to one hop only. An upgrade
/// keeps its handshake. `has_trailers`: they are passed on.
///
/// # Errors
///
/// Where the response could be framed in more than one way.
pub fn end_hop(response: &mut ResponseHeader, method: &Method, has_trailers: bool) -> Result<Framing> {
    let (status, version) = (response.status, response.version);
    let framing = framing::of(method, status, version, &response.headers).map_err(|why| invalid(why.into()))?;
    hop::end_response(&mut ResponseEdit(response), status, framing, has_trailers)?;
    Ok(framing)
}
