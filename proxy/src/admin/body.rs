//! Bounded reads of the operator's request bodies, and form parsing.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use frontdesk_filters::media::essence;
use http::{StatusCode, header};
use pingora::protocols::http::ServerSession;

use super::{Answer, problem};

/// The longest body in bytes.
const LONGEST: usize = 64 * 1024;
/// The time limit for a whole body.
const PATIENCE: Duration = Duration::from_secs(10);

/// Reads a body. `how`: the hint for a client whose body cannot be read.
///
/// # Errors
///
/// The response: the body is too long, too slow, or broken.
pub(super) async fn read(session: &mut ServerSession, how: &str) -> Result<Bytes, Box<Answer>> {
    let wrong = || Box::new(problem(StatusCode::BAD_REQUEST, how));
    let reading = async {
        let mut body = BytesMut::new();
        while let Some(chunk) = session.read_request_body().await.map_err(|_| wrong())? {
            if body.len() + chunk.len() > LONGEST {
                let detail = format!("What is sent here has at most {LONGEST} bytes.");
                return Err(Box::new(problem(StatusCode::PAYLOAD_TOO_LARGE, &detail)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    };
    let late = |_| Box::new(problem(StatusCode::REQUEST_TIMEOUT, "The body did not come in time. Send it again."));
    tokio::time::timeout(PATIENCE, reading).await.map_err(late)?
}

/// The fields of a submitted form.
pub(super) struct Form(Vec<(String, String)>);

impl Form {
    /// Reads a form.
    ///
    /// # Errors
    ///
    /// The response: the body is not a form, or cannot be read.
    pub(super) async fn read(session: &mut ServerSession) -> Result<Self, Box<Answer>> {
        const HOW: &str = "This takes a form: Content-Type application/x-www-form-urlencoded.";
        let kind = session.req_header().headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if !essence(kind.unwrap_or_default()).eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Box::new(problem(StatusCode::UNSUPPORTED_MEDIA_TYPE, HOW)));
        }
        let body = read(session, HOW).await?;
        Ok(Self(url::form_urlencoded::parse(&body).into_owned().collect()))
    }

    /// A field, or an empty text. Line ends become `\n`.
    pub(super) fn field(&self, name: &str) -> String {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.replace("\r\n", "\n")).unwrap_or_default()
    }
}
