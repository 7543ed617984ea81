//! The two HTTP engines, their names in logs and metrics, and why a request was left to pingora.

use frontdesk_http1::request_head::NotPlain;

/// Which HTTP engine served a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Our own engine, for plain requests.
    FastPath,
    /// The proxy library.
    Pingora,
}

impl Engine {
    /// The value of `frontdesk.engine` in the access log and of the label `engine` in the metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::FastPath => "fast_path",
            Self::Pingora => "pingora",
        }
    }
}

/// Why the fast path left a request to pingora.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftFastPath {
    NotPlain(NotPlain),
    /// The request has a body, over HTTP/2.
    Body,
    /// `runtime.fast_path = false`.
    SwitchedOff,
    /// The head is too large, or has something else for which it is refused.
    HeadToRefuse,
    /// Our own answer is made while it is sent.
    AnswerInPieces,
    /// The body is over the endpoint's bound.
    LargeBody,
    /// The request has a body and passes to the site.
    BodyForSite,
    /// An upstream speaks HTTP/2, or has not chosen yet.
    UpstreamProtocol,
    /// The answer is made of a page of the site: Markdown, or robots.txt.
    MadePage,
}

impl LeftFastPath {
    /// The value of `frontdesk.engine_reason` in the access log.
    pub fn word(self) -> &'static str {
        match self {
            Self::NotPlain(why) => why.word(),
            Self::Body => "body",
            Self::SwitchedOff => "switched_off",
            Self::HeadToRefuse => "head_to_refuse",
            Self::AnswerInPieces => "answer_in_pieces",
            Self::LargeBody => "large_body",
            Self::BodyForSite => "body_for_site",
            Self::UpstreamProtocol => "upstream_protocol",
            Self::MadePage => "made_page",
        }
    }
}
