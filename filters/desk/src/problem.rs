//! Frontdesk's errors for plain HTTP: RFC 9457 documents, or a small HTML page.
//!
//! Used by every endpoint without a dialect of its own.

use http::{StatusCode, header};

use frontdesk_base::{
    accept,
    fault::{Fault, Refusal},
    reply::Reply,
    text::escaped,
};
use frontdesk_page::Insertion;

/// The reply to a refused request: `application/problem+json`, unless the client prefers HTML. The HTML page carries
/// the notice like any other page.
pub fn reply(refusal: &Refusal, accept: Option<&str>, insertion: Option<&Insertion>) -> Reply {
    let status = refusal.fault.status();
    let title = status.canonical_reason().unwrap_or("Error");
    let reply = if accept.is_some_and(prefers_html) {
        Reply::new(status, "text/html; charset=utf-8", page(status, title, &refusal.detail, insertion))
    } else {
        Reply::new(status, "application/problem+json", problem(refusal, status, title).to_string())
    };
    refusal.dress(reply.with(header::VARY, "Accept"))
}

/// The members of RFC 9457, and our own.
fn problem(refusal: &Refusal, status: StatusCode, title: &str) -> serde_json::Value {
    let kind = match refusal.fault {
        // Registered by the RateLimit fields draft.
        Fault::RateLimited => "https://iana.org/assignments/http-problem-types#quota-exceeded",
        _ => "about:blank",
    };
    let mut body = serde_json::json!({
        "type": kind, "title": title, "status": status.as_u16(), "detail": refusal.detail, "code": refusal.reason,
    });
    if let Some(policy) = refusal.violated {
        body["violated-policies"] = serde_json::json!([policy]);
    }
    if let Some(scope) = refusal.scope {
        body["scope"] = scope.word().into();
        body["retry_after"] = refusal.told_retry_after().into();
    }
    if let Some(details) = &refusal.details {
        body["details"] = details.clone();
    }
    body
}

/// Only a client that names `text/html` gets HTML; `*/*` is what programs send.
pub fn prefers_html(accept: &str) -> bool {
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
        escaped(detail)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_get_a_problem_and_people_a_page() {
        let kind = |accept: Option<&str>| {
            let r = reply(&Fault::BadGateway.into(), accept, None);
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
        let refusal = Refusal::from(Fault::BadRequest).saying("<script>");
        let r = reply(&refusal, Some("text/html"), None);
        assert!(!String::from_utf8_lossy(&r.body).contains("<script>"));
    }
}
