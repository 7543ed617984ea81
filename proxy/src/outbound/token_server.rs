//! Asks the operator's authorization server: introspection (RFC 7662) and token exchange (RFC 8693).

use std::{fmt, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use frontdesk_filters::caller::TokenServer;
use http::{HeaderValue, Method, Request, StatusCode, header};

use super::Outbound;

/// The time limit for an answer; a client waits for it.
const LIMIT: Duration = Duration::from_secs(3);
/// Maximum bytes of an answer.
const BOUND: usize = 64 * 1024;

impl fmt::Debug for Outbound {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Outbound")
    }
}

#[async_trait]
impl TokenServer for Outbound {
    async fn post_form(
        &self,
        url: &str,
        authorization: HeaderValue,
        form: String,
    ) -> Result<(StatusCode, Bytes), String> {
        let posted = async {
            let request = Request::builder()
                .method(Method::POST)
                .uri(url)
                .header(header::AUTHORIZATION, authorization)
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header(header::ACCEPT, "application/json")
                .body(Bytes::from(form))
                .map_err(|e| e.to_string())?;
            let whole = self.post(request, BOUND, LIMIT).await?;
            if whole.cut {
                return Err(format!("the answer has more than {BOUND} bytes"));
            }
            Ok((whole.status, whole.body))
        };
        let answered = posted.await;
        // Log no body: it holds tokens.
        match &answered {
            Err(why) => tracing::warn!(
                url,
                why,
                "authorization server: no answer; calls that need it get 503 until it answers again"
            ),
            Ok((status, _)) if matches!(status.as_u16(), 401 | 403 | 500..) => tracing::warn!(
                url,
                status = status.as_u16(),
                "authorization server: refused Frontdesk; check client_id and client_secret"
            ),
            Ok(_) => {}
        }
        answered
    }
}
