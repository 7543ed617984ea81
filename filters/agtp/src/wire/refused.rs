//! What could not be read as a request: said in one place, so that every refusal has a code, a sentence, and an end.

use std::borrow::Cow;

use super::reader::Frame;

/// A request that cannot be understood; answered with status 400.
#[derive(Debug)]
pub struct Refused {
    /// For machines: `error.code`.
    pub code: &'static str,
    /// One sentence that says what is wrong, and what to send instead.
    pub detail: Cow<'static, str>,
    /// The label of `frontdesk_rejections_total{reason}`.
    pub reason: &'static str,
    /// Nobody can tell where the next request begins: the connection ends with the answer.
    pub closes: bool,
    /// What was asked, where at least the method could be read and the bounds of the request are known.
    pub frame: Option<Box<Frame>>,
}

/// The request line is not one (AGTP-API §5.6 names the code).
const LINE: &str = "invalid-request-line";
/// What frames a request is ambiguous, or cannot be read.
const FRAMING: &str = "invalid-framing";
const TOO_LARGE: &str = "request-too-large";
const TIMEOUT: &str = "request-timeout";

impl Refused {
    /// The request line is wrong; where the request ends is known all the same.
    pub(super) fn line(detail: &'static str) -> Self {
        Self { code: LINE, detail: detail.into(), reason: "malformed", closes: false, frame: None }
    }

    /// It is not even this protocol.
    pub(super) fn other_protocol() -> Self {
        let detail = "A request begins with `AGTP/1.0`, one space, the method, one space and the path.";
        Self { closes: true, ..Self::line(detail) }
    }

    /// Two readers could find two ends of this request.
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

    /// The body did not come in time. Not status 408, which this protocol keeps for a time to live that a request declares.
    pub(super) fn late() -> Self {
        let detail = "The request's body did not arrive in time. Send it again.";
        Self { code: TIMEOUT, reason: "request_timeout", ..Self::framing(detail) }
    }
}
