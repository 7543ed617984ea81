//! Reads the site as an anonymous client: complete answers, one after the other on one connection.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use pingora::upstreams::peer::HttpPeer;
use tokio::time::timeout;

use super::{Asked, Manner, Outbound, Whole, because, whole};

/// How long a connection stays open for the next request.
const KEPT: Duration = Duration::from_secs(30);

/// One request.
pub struct Question<'a> {
    /// Path and query.
    pub target: &'a str,
    pub accept: &'static str,
    /// Additional headers.
    pub headers: &'a [(HeaderName, HeaderValue)],
    /// The most bytes of the body to read.
    pub most: usize,
}

impl Outbound {
    /// GETs a target of the site and at most the first bytes of its body. `limit` bounds everything.
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
                    // The site may have closed the connection meanwhile. A GET may be sent again.
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
