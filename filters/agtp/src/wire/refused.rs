//! Refusals of input that is no request. They are all built here, so that each has a code, a sentence, and an effect
//! on the connection.

use std::borrow::Cow;

use super::frame::Frame;

/// A malformed request; answered with status 400.
#[derive(Debug)]
pub struct Refused {
    /// For machines: `error.code`.
    pub code: &'static str,
    /// One sentence that says what is wrong and what to send instead.
    pub detail: Cow<'static, str>,
    /// The label of `frontdesk_rejections_total{reason}`.
    pub reason: &'static str,
    /// The start of the next request is unknown, so the connection closes after the answer.
    pub closes: bool,
    /// The request, where at least its method and its bounds are known.
    pub frame: Option<Box<Frame>>,
}

/// The request line is malformed (AGTP-API §5.6 names the code).
const LINE: &str = "invalid-request-line";
/// The framing is ambiguous or malformed.
const FRAMING: &str = "invalid-framing";
const TOO_LARGE: &str = "request-too-large";
const TIMEOUT: &str = "request-timeout";

impl Refused {
    /// The request line is malformed, but the end of the request is known.
    pub(super) fn line(detail: &'static str) -> Self {
        Self { code: LINE, detail: detail.into(), reason: "malformed", closes: false, frame: None }
    }

    /// It is not AGTP at all.
    pub(super) fn other_protocol() -> Self {
        let detail = "A request begins with `AGTP/1.0`, one space, the method, one space and the path.";
        Self { closes: true, ..Self::line(detail) }
    }

    /// Two readers could find different ends of this request.
    pub(super) fn framing(detail: &'static str) -> Self {
        Self { code: FRAMING, closes: true, ..Self::line(detail) }
    }

    pub(super) fn head_too_large(most: usize) -> Self {
        let detail = format!("The request line and the headers have more than the {most} bytes that are taken here.");
        Self { code: TOO_LARGE, detail: detail.into(), reason: "header_too_large", closes: true, frame: None }
    }

    pub(super) fn too_many_headers(most: usize) -> Self {
        let detail = format!("The request has more than the {most} headers that are taken here. Send fewer.");
        Self { detail: detail.into(), ..Self::head_too_large(most) }
    }

    pub(super) fn body_too_large(most: usize) -> Self {
        let detail = format!("The body is longer than the {most} bytes that are taken here. Send less.");
        Self { code: TOO_LARGE, detail: detail.into(), reason: "too_large", closes: true, frame: None }
    }

    /// The body did not arrive in time. Not status 408, which AGTP reserves for a time to live that a request
    /// declares.
    pub(super) fn late() -> Self {
        let detail = "The request's body did not arrive in time. Send it again.";
        Self { code: TIMEOUT, reason: "request_timeout", ..Self::framing(detail) }
    }
}
