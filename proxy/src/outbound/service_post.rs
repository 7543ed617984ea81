//! One POST to a service that the operator declared, and the beginning of its answer.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, header};
use pingora::{http::RequestHeader, protocols::http::client::HttpSession};
use tokio::time::timeout;
use url::Url;

use super::{Outbound, Whole, answered, because, external_target::ExternalTarget, headless, rest};

/// The most addresses to try: "localhost" usually has two, and the service may listen on only one.
const ADDRESSES: usize = 4;

impl Outbound {
    /// Sends the request unchanged and reads at most `bound` bytes of the answer. Follows no redirect. `limit` bounds
    /// everything, name resolution included.
    ///
    /// # Errors
    ///
    /// Why there is no answer, in a few words.
    pub async fn post(&self, request: Request<Bytes>, bound: usize, limit: Duration) -> Result<Whole, String> {
        let posted = timeout(limit, self.post_now(request, bound)).await;
        posted.map_err(|_| format!("no answer within {limit:?}"))?
    }

    async fn post_now(&self, request: Request<Bytes>, bound: usize) -> Result<Whole, String> {
        let url = Url::parse(&request.uri().to_string()).map_err(|e| e.to_string())?;
        let named = ExternalTarget::of(&url)?;
        let mut why = named.has_no_address();
        for address in named.addresses().await?.take(ADDRESSES) {
            match self.connector.get_http_session(&named.peer_at(address)).await {
                Ok((mut session, _)) => {
                    let answered = exchange(&mut session, &named, request, bound).await;
                    session.shutdown().await;
                    return answered.map_err(|e| because(&e));
                }
                Err(e) => why = because(&e),
            }
        }
        Err(why)
    }
}

async fn exchange(
    session: &mut HttpSession,
    named: &ExternalTarget<'_>,
    request: Request<Bytes>,
    bound: usize,
) -> pingora::Result<Whole> {
    let (parts, body) = request.into_parts();
    let mut head = RequestHeader::build(parts.method, named.target().as_bytes(), Some(parts.headers.len() + 2))?;
    for (name, value) in &parts.headers {
        head.append_header(name.clone(), value.clone())?;
    }
    head.insert_header(header::HOST, named.authority())?;
    head.insert_header(header::CONTENT_LENGTH, HeaderValue::from(body.len()))?;
    let head = answered(session, head, body).await?.ok_or_else(headless)?;
    let (status, headers) = (head.status, head.headers.clone());
    let (body, cut) = rest(session, bound).await?;
    Ok(Whole { status, headers, body, cut })
}
