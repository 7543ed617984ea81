//! Capability calls to the site or to another service: one request and one complete answer, within the call's limits.

use std::{
    borrow::Cow,
    net::IpAddr,
    pin::pin,
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use async_trait::async_trait;
use frontdesk_filters::{
    boxed,
    desk::{Answer, Call, Failed, Upstream},
    page::{Coding, whole::decoded},
    redirects::Addresses,
};
use http::{HeaderName, HeaderValue, Version, header};
use pingora::{Error, ErrorSource, ErrorType, upstreams::peer::HttpPeer};
use tokio::time::timeout;
use url::Url;

use super::{
    Outbound,
    exchange::{Asking, Cut, Line},
    external_target::ExternalTarget,
    upstream_timings::UpstreamTimings,
};
use crate::{
    clock::since_boot,
    error_text::ErrorText,
    label::Label,
    running::Running,
    traces::{Place, Span},
    upstream::{Backend, NoPlace, UNRESOLVED, advice},
};

/// The most connect attempts, each to the next upstream. A retry is safe: no byte is sent before a connection exists.
const TRIES: usize = 2;

/// A call that exceeds its limit by more than this was running while the process was paused.
const STOPPED: Duration = Duration::from_millis(250);
/// How long such a call may still read data that has arrived meanwhile.
const CAME_MEANWHILE: Duration = Duration::from_millis(250);
/// The same for other calls. After a pause the timer may fire before arrived data is seen.
const LAST_LOOK: Duration = Duration::from_millis(20);

/// Headers that describe the upstream request, and not the client.
const OF_THE_SITE: [HeaderName; 2] =
    [HeaderName::from_static("x-forwarded-host"), HeaderName::from_static("x-forwarded-proto")];

/// The forwarding headers for the upstream.
#[derive(Clone, Default)]
pub struct Told {
    /// The host that the client requested.
    pub host: Option<HeaderValue>,
    /// In sending order. A name may occur more than once.
    pub lines: Vec<(Label, HeaderValue)>,
}

/// Carries the calls of one request.
pub struct Carrier<'a> {
    pub outbound: &'a Outbound,
    pub running: &'a Running,
    /// The forwarding headers. The call itself holds the verified caller, who may have been proven only by the body.
    pub told: &'a (dyn Fn() -> pingora::Result<Told> + Send + Sync),
    /// The client whose share of upstream requests the call uses.
    pub client: Option<IpAddr>,
    /// The place in the trace, if tracing is on.
    pub trace: Option<&'a Place>,
    /// The timings for the access log.
    pub visits: &'a UpstreamTimings,
}

#[async_trait]
impl Upstream for Carrier<'_> {
    async fn call(&self, call: Call<'_>) -> Result<Answer, Failed> {
        boxed(|| self.carried(&call)).await
    }
}

impl Carrier<'_> {
    /// Carries a call and returns its outcome.
    async fn carried(&self, call: &Call<'_>) -> Result<Answer, Failed> {
        let (began, sent) = (Instant::now(), AtomicBool::new(false));
        // The span names no path: paths hold inputs.
        let at = call.elsewhere.map(|url| url.origin().ascii_serialization());
        let span = self.trace.map(|place| place.question(call.method, at.as_deref(), ""));
        let carried = {
            let mut carrying = pin!(self.carry(call, span.as_ref().map(Span::place), &sent));
            match timeout(call.limit, &mut carrying).await {
                Ok(carried) => Ok(carried),
                // Data may have arrived that was not read yet.
                Err(_) => {
                    let was_stopped = began.elapsed() > call.limit + STOPPED;
                    timeout(if was_stopped { CAME_MEANWHILE } else { LAST_LOOK }, &mut carrying).await
                }
            }
        };
        let result = match carried {
            Ok(result) => result,
            Err(_) if sent.load(Ordering::Relaxed) => Err(Failed::TimedOut),
            Err(_) => {
                // Log no path: it holds inputs.
                tracing::warn!(method = %call.method, "capability call: not sent before its timeout");
                Err(Failed::NotSent)
            }
        };
        if call.elsewhere.is_none() {
            self.visits.over(began);
        }
        if let Some(span) = span {
            span.got(match &result {
                Ok(answer) => Ok(answer.status.as_u16()),
                Err(Failed::TooLong(status)) => Ok(status.as_u16()),
                Err(Failed::TimedOut) => Err("timeout"),
                Err(Failed::NotSent) => Err("unreachable"),
                Err(Failed::Busy | Failed::ClientShare) => Err("busy"),
                Err(Failed::Broken) => Err("broken"),
            });
        }
        result
    }

    async fn carry(&self, call: &Call<'_>, span: Option<&Place>, sent: &AtomicBool) -> Result<Answer, Failed> {
        // The limit of upstream requests does not cover other services.
        let _place = match call.elsewhere {
            None => Some(self.running.place(self.client).map_err(no_place)?),
            Some(_) => None,
        };
        let (line, asking) = self.connected(call, span).await?;
        if let Some(late) = call.send_by.and_then(|by| since_boot().checked_sub(by)) {
            tracing::warn!(
                late_by_ms = late.as_millis(),
                "capability call: not sent, because this process was paused for too long"
            );
            return Err(Failed::NotSent);
        }
        sent.store(true, Ordering::Relaxed);
        let mut answer = line.exchange(self.outbound, &asking).await.map_err(|cut| match cut {
            Cut::Broken(e) => broken(&e),
            Cut::Headless => Failed::Broken,
            Cut::TooLong(status) => Failed::TooLong(status),
        })?;
        if call.elsewhere.is_none() {
            self.stay_at_the_site(&mut answer, asking.host());
        }
        undo_coding(&mut answer, call.most);
        Ok(answer)
    }

    /// Shortens a redirect to the site's own absolute URL to a path.
    fn stay_at_the_site(&self, answer: &mut Answer, host: &HeaderValue) {
        let Some(location) = answer.headers.get(header::LOCATION).and_then(|value| value.to_str().ok()) else { return };
        let upstreams = &self.running.snapshot.settings.upstream.urls;
        let addresses = host.to_str().ok().and_then(|host| Addresses::new(upstreams, host, false));
        let path = addresses.and_then(|addresses| HeaderValue::from_str(addresses.path(location)?).ok());
        if let Some(path) = path {
            answer.headers.insert(header::LOCATION, path);
        }
    }

    async fn connected<'c>(&self, call: &'c Call<'_>, span: Option<&Place>) -> Result<(Line<'_>, Asking<'c>), Failed> {
        // Boxed, like the call below: most calls go to the site with our own engine and need no room for this.
        if let Some(url) = call.elsewhere {
            return Box::pin(self.connected_elsewhere(call, url)).await;
        }
        let pool = &self.running.pool;
        let mut tried = None;
        for _ in 0..TRIES {
            let index = pool.choose(tried);
            self.visits.at(index);
            let backend = &pool.backends()[index];
            let Told { host, mut lines } =
                (self.told)().map_err(|e| not_sent(&backend.label, &ErrorText(&e).to_string()))?;
            let host = host.filter(|_| self.running.snapshot.settings.upstream.preserve_host);
            let host = host.unwrap_or_else(|| backend.authority.clone());
            match call.caller {
                Some(caller) if call.named => {
                    lines.extend(caller.told().map(|(name, value)| (Label::Other(name), value)));
                }
                Some(_) => {}
                None => lines.retain(|(label, _)| OF_THE_SITE.contains(label.name())),
            }
            // Other services get no trace context: the trace is the operator's own.
            if let Some(span) = span {
                span.tell(&mut lines);
            }
            let asking = Asking::new(call, host, lines).map_err(|e| not_sent(&backend.label, &e.to_string()))?;
            match self.line(backend).await {
                Ok(line) => return Ok((line, asking)),
                Err(e) if *e.etype() == UNRESOLVED => {
                    return Err(not_sent(&backend.label, "its name cannot be resolved"));
                }
                Err(e) => {
                    pool.refused(index);
                    let (upstream, advice) = (&backend.label, advice(&e));
                    tracing::warn!(upstream, error = %ErrorText(&e), advice, "capability call: upstream unreachable");
                    tried = Some(index);
                }
            }
        }
        Err(Failed::NotSent)
    }

    async fn connected_elsewhere<'c>(&self, call: &'c Call<'c>, url: &Url) -> Result<(Line<'_>, Asking<'c>), Failed> {
        // Log no path and query: they may hold the client's data.
        let whom = url.origin().ascii_serialization();
        let failed = |e: &Error| not_sent(&whom, &ErrorText(e).to_string());
        let (peer, host) = elsewhere(url).await.map_err(|why| not_sent(&whom, &why))?;
        let asking = Asking::new(call, host, Vec::new()).map_err(|e| not_sent(&whom, &e.to_string()))?;
        let session = self.outbound.connected(&peer).await.map_err(|e| failed(&e))?;
        Ok((Line::library(session, peer), asking))
    }

    /// A connection to an upstream of the site, kept or new.
    async fn line<'a>(&self, backend: &'a Backend) -> pingora::Result<Line<'a>> {
        if backend.speaks_http1() && self.running.snapshot.settings.fast_path {
            return backend.connect(Instant::now()).await.map(|plain| Line::Plain(plain, backend));
        }
        let by_library = async {
            let peer = backend.peer().await?;
            let session = self.outbound.connected(&peer).await?;
            backend.spoke(if session.as_http2().is_some() { Version::HTTP_2 } else { Version::HTTP_11 });
            Ok(Line::library(session, peer))
        };
        Box::pin(by_library).await
    }
}

/// Another service. The machine's root certificates verify it.
async fn elsewhere(url: &Url) -> Result<(HttpPeer, HeaderValue), String> {
    let named = ExternalTarget::of(url)?;
    let peer = named.peer().await?;
    Ok((peer, HeaderValue::try_from(named.authority()).map_err(|e| e.to_string())?))
}

/// Decodes the answer, because some sites compress it although the request asked for `identity`. An answer that cannot
/// be decoded, or would exceed `most` bytes, stays as it is, and its head shows the coding to the caller.
fn undo_coding(answer: &mut Answer, most: usize) {
    let mut codings = answer.headers.get_all(header::CONTENT_ENCODING).iter();
    let (Some(coding), None) = (codings.next(), codings.next()) else { return };
    let Some(coding) = coding.to_str().ok().and_then(Coding::parse) else { return };
    // An empty body has no coding.
    let plain = match answer.body.is_empty() {
        true => None,
        false => match decoded(coding, &answer.body, most) {
            Some(Cow::Borrowed(_)) => None,
            Some(Cow::Owned(plain)) => Some(plain.into()),
            None => return,
        },
    };
    answer.headers.remove(header::CONTENT_ENCODING);
    answer.body = plain.unwrap_or_else(|| std::mem::take(&mut answer.body));
}

fn no_place(why: NoPlace) -> Failed {
    match why {
        NoPlace::SiteBusy => Failed::Busy,
        NoPlace::ClientShare => Failed::ClientShare,
    }
}

fn not_sent(whom: &str, why: &str) -> Failed {
    tracing::warn!(upstream = whom, error = why, "capability call: not sent");
    Failed::NotSent
}

fn broken(e: &Error) -> Failed {
    tracing::warn!(error = %ErrorText(e), "capability call: the upstream's response is incomplete");
    match (e.esource(), e.etype()) {
        (ErrorSource::Upstream | ErrorSource::Unset, ErrorType::ReadTimedout | ErrorType::WriteTimedout) => {
            Failed::TimedOut
        }
        _ => Failed::Broken,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use http::{HeaderMap, StatusCode};

    use super::*;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(plain).unwrap();
        out.finish().unwrap()
    }

    /// The decoded body of an answer with this coding, and whether its head still names the coding.
    fn undone(coding: &'static str, body: &[u8], most: usize) -> (Vec<u8>, bool) {
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static(coding))]);
        let mut answer = Answer { status: StatusCode::OK, headers, body: body.to_vec().into() };
        undo_coding(&mut answer, most);
        (answer.body.to_vec(), answer.headers.contains_key(header::CONTENT_ENCODING))
    }

    #[test]
    fn what_came_packed_is_unpacked_within_bounds() {
        let (plain, bomb) = (b"{\"a\":1}".to_vec(), vec![b' '; 1 << 20]);
        assert_eq!(undone("gzip", &gzip(&plain), 100), (plain.clone(), false));
        assert_eq!(undone("X-GZIP", &gzip(&plain), 100), (plain.clone(), false));
        assert_eq!(undone("identity", &plain, 100), (plain.clone(), false));
        assert_eq!(undone("gzip", b"", 100), (Vec::new(), false));
        assert_eq!(undone("gzip", &gzip(&bomb), 100_000), (gzip(&bomb), true));
        assert_eq!(undone("gzip", &plain, 100), (plain.clone(), true));
        assert_eq!(undone("gzip, br", &plain, 100), (plain.clone(), true));
        assert_eq!(undone("pack200", &plain, 100), (plain, true));
    }
}
