//! Frontdesk's own errors for whoever speaks plain HTTP: RFC 9457 documents, or a small page for a person.
//!
//! The set of faults is closed; each has one status, one title and one sentence about what to do.

use http::{HeaderValue, StatusCode, header};

use crate::{accept, page::Insertion, reply::Reply};

/// Why a request cannot be carried out, before any dialect is involved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Framing or authority is ambiguous or malformed.
    BadRequest,
    /// The path is one of ours under a spelling that is not the declared one.
    NotFound,
    MethodNotAllowed,
    /// Raw head above `protection.max_header`.
    HeaderTooLarge,
    /// The upstream answered with something that is not HTTP, or hung up.
    BadGateway,
    /// The upstream cannot be reached.
    Unreachable,
    /// Frontdesk cannot take more at the moment.
    Unavailable,
    /// The upstream did not answer in time.
    GatewayTimeout,
    /// The client stopped sending its request's body.
    RequestTimeout,
    Internal,
}

impl Fault {
    /// The HTTP status.
    pub fn status(self) -> StatusCode {
        match self {
            Self::BadRequest => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::HeaderTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::BadGateway | Self::Unreachable => StatusCode::BAD_GATEWAY,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            Self::GatewayTimeout => StatusCode::GATEWAY_TIMEOUT,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The label of `frontdesk_rejections_total{reason}`, and what the access line says.
    pub fn reason(self) -> &'static str {
        match self {
            Self::BadRequest => "bad_request",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::HeaderTooLarge => "header_too_large",
            Self::BadGateway => "bad_gateway",
            Self::Unreachable => "upstream_unreachable",
            Self::Unavailable => "unavailable",
            Self::GatewayTimeout => "upstream_timeout",
            Self::RequestTimeout => "request_timeout",
            Self::Internal => "internal",
        }
    }

    /// What the reader can do about it; nothing that tells an attacker about the inside.
    pub fn detail(self) -> &'static str {
        match self {
            Self::BadRequest => "The request is ambiguous or malformed. Send one Host and one kind of body framing.",
            Self::NotFound => "There is nothing under this spelling of the path. Use the path as it was announced.",
            Self::MethodNotAllowed => "This address does not take this method. See the Allow header.",
            Self::HeaderTooLarge => {
                "The request's headers are larger than this site accepts. Send fewer or smaller ones."
            }
            Self::BadGateway => {
                "The site behind this address gave an answer that cannot be passed on. Try again later."
            }
            Self::Unreachable => "The site behind this address cannot be reached at the moment. Try again later.",
            Self::Unavailable => "This address cannot take more requests at the moment. Try again later.",
            Self::GatewayTimeout => "The site behind this address did not answer in time. Try again later.",
            Self::RequestTimeout => "The request's body did not arrive in time. Send it again.",
            Self::Internal => "Something went wrong here. Try again later; if it stays, tell the operator.",
        }
    }
}

/// The reply for a fault: `application/problem+json` unless the client prefers HTML.
///
/// `extra` replaces the general sentence where more is known. The page carries the notice like any other page.
pub fn reply(fault: Fault, extra: Option<&str>, accept: Option<&str>, insertion: Option<&Insertion>) -> Reply {
    let status = fault.status();
    let title = status.canonical_reason().unwrap_or("Error");
    let detail = extra.unwrap_or(fault.detail());
    let html = accept.is_some_and(prefers_html);
    let reply = if html {
        Reply::new(status, "text/html; charset=utf-8", page(status, title, detail, insertion))
    } else {
        let body = serde_json::json!({
            "type": "about:blank", "title": title, "status": status.as_u16(), "detail": detail, "code": fault.reason(),
        });
        Reply::new(status, "application/problem+json", body.to_string())
    };
    let reply = reply.with(header::CACHE_CONTROL, "no-store").with(header::VARY, "Accept");
    match fault {
        Fault::Unavailable => reply.with_value(header::RETRY_AFTER, HeaderValue::from_static("5")),
        _ => reply,
    }
}

/// Only somebody who names `text/html` gets a page; `*/*` is what machines send.
fn prefers_html(accept: &str) -> bool {
    accept::names(accept, "text/html")
        && accept::weight_of(accept, "text/html") >= accept::weight_of(accept, "application/json")
        && !accept::prefers_explicitly(accept, "application/json")
        && !accept::prefers_explicitly(accept, "application/problem+json")
}

fn page(status: StatusCode, title: &str, detail: &str, insertion: Option<&Insertion>) -> String {
    let mut links = String::new();
    let mut notice = String::new();
    if let Some(insertion) = insertion {
        for link in &insertion.links {
            links.push_str(&String::from_utf8_lossy(&link.html));
        }
        notice = String::from_utf8_lossy(&insertion.notice).into_owned();
    }
    let code = status.as_u16();
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{code} {title}</title>{links}</head>\
         <body>{notice}<h1>{title}</h1><p>{}</p></body></html>\n",
        escape(detail)
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_get_a_problem_and_people_a_page() {
        let kind = |accept: Option<&str>| {
            let r = reply(Fault::BadGateway, None, accept, None);
            r.headers[0].1.to_str().unwrap().to_owned()
        };
        assert_eq!(kind(None), "application/problem+json");
        assert_eq!(kind(Some("*/*")), "application/problem+json");
        assert_eq!(kind(Some("application/json")), "application/problem+json");
        assert_eq!(kind(Some("application/json, text/html;q=0.9")), "application/problem+json");
        assert_eq!(kind(Some("text/html,application/xhtml+xml,*/*;q=0.8")), "text/html; charset=utf-8");
        assert_eq!(kind(Some("text/html")), "text/html; charset=utf-8");
    }

    #[test]
    fn a_detail_cannot_become_markup() {
        let r = reply(Fault::BadRequest, Some("<script>"), Some("text/html"), None);
        assert!(!String::from_utf8_lossy(&r.body).contains("<script>"));
    }
}
