//! Reading the site as a stranger does: whole answers, one after the other over one connection.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use pingora::upstreams::peer::HttpPeer;
use tokio::time::timeout;

use super::{Asked, Manner, Outbound, Whole, because, whole};

/// How long a connection waits for the next question.
const KEPT: Duration = Duration::from_secs(30);

/// One question.
pub struct Question<'a> {
    /// Path and query.
    pub target: &'a str,
    pub accept: &'static str,
    /// What else is said.
    pub headers: &'a [(HeaderName, HeaderValue)],
    /// No more of the body is read, in bytes.
    pub most: usize,
}

impl Outbound {
    /// GETs a target of the site, and no more than the first bytes of its body. `limit` bounds all of it.
    pub async fn read(
        &self,
        peer: HttpPeer,
        asked: &Asked,
        question: &Question<'_>,
        limit: Duration,
    ) -> Result<Whole, String> {
        let read = async {
            loop {
                let session = self.connector.get_http_session(&peer).await;
                let (mut session, reused) = session.map_err(|e| because(&e))?;
                let Question { target, accept, headers, most } = *question;
                let manner = Manner { asked, accept, site: true, more: headers };
                match whole(&mut session, &manner, target, most).await {
                    Ok(whole) if whole.cut => {
                        session.shutdown().await;
                        return Ok(whole);
                    }
                    Ok(whole) => {
                        self.release(session, &peer, KEPT).await;
                        return Ok(whole);
                    }
                    // The site may have closed it in the meantime; a GET may be sent again.
                    Err(_) if reused => session.shutdown().await,
                    Err(why) => {
                        session.shutdown().await;
                        return Err(why);
                    }
                }
            }
        };
        timeout(limit, read).await.unwrap_or_else(|_| Err(format!("no answer within {limit:?}")))
    }
}
