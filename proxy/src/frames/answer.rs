//! Handles one request over frames, from its frame to its reply, with the same decisions as over HTTP.

use std::{
    borrow::Cow,
    net::IpAddr,
    sync::Arc,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use frontdesk_filters::{
    About, Decision, Fault, Framed, Incoming, Refusal, Reply, Request, Serve, Serving, accept,
    caller::Caller,
    decide_spoken, decide_unread,
    frames::{Frame, Refused, TOKEN},
    problem,
};
use http::{HeaderMap, HeaderValue, header};

use super::{Connection, Frames};
use crate::{
    front::{call::Work, forwarding::ForwardingContext, request_id::request_id},
    outbound::Visited,
    running::Running,
    traces::Trace,
};

/// A request in flight.
pub(super) struct Asked {
    pub(super) began: Instant,
    pub(super) frame: Frame,
    /// One configuration for the whole request, even if a swap happens meanwhile.
    pub(super) running: Arc<Running>,
    /// The client address.
    pub(super) address: IpAddr,
    /// The requested host; empty if there is none.
    pub(super) authority: String,
    /// The caller, once identified.
    pub(super) caller: Option<Caller>,
    /// Why the request was refused, if it was.
    pub(super) error: Option<&'static str>,
    /// The request's id in all records, once it is needed.
    pub(super) request_id: Option<String>,
    /// The id of the capability whose call was refused.
    pub(super) called: Option<String>,
    /// The request's spans, if tracing is on.
    pub(super) trace: Option<Box<Trace>>,
    /// The upstream timings of the desk.
    pub(super) visited: Visited,
}

impl Asked {
    pub(super) fn new(frames: &Frames, on: &Connection, frame: Frame) -> Self {
        let running = frames.front.live.current();
        // A proxy states the client address in the PROXY protocol. The frame itself is written by the client.
        let address = on.conn.info().client.ip().to_canonical();
        let authority = on.server_name.as_deref().or_else(|| host(&frame.headers)).unwrap_or_default().to_owned();
        let traces = frames.front.traces.as_ref();
        let trace = traces.map(|traces| traces.request(&frame.headers, &frame.method));
        Self {
            began: Instant::now(),
            frame,
            running,
            address,
            authority,
            caller: None,
            error: None,
            request_id: None,
            called: None,
            trace,
            visited: Visited::default(),
        }
    }

    fn accept(&self) -> Option<Cow<'_, str>> {
        accept::of(&self.frame.headers)
    }
}

impl Frames {
    /// Answers a request.
    pub(super) async fn answer(&self, on: &Connection, asked: &mut Asked) -> Reply {
        let running = asked.running.clone();
        let request = Request {
            method: &asked.frame.method,
            target: &asked.frame.target,
            headers: &asked.frame.headers,
            address: asked.address,
            authority: &asked.authority,
            tls: on.conn.info().tls,
            now: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
            harness: running.harness.as_deref(),
            token_server: Some(self.front.outbound.as_ref()),
            records: Some(running.store.records.as_ref()),
        };
        let decided = decide_spoken(&running.snapshot, running.store.counters.as_ref(), &request).await;
        if decided.wants_keys {
            self.front.live.want_keys();
        }
        if let Some(near) = &decided.near {
            self.front.metrics.seen.close(near, &decided.caller);
        }
        asked.caller = Some(decided.caller);
        let refused = match decided.decision {
            Decision::Answer(reply) => return reply,
            Decision::Serve(serving) => match too_long(asked, &serving) {
                None => return self.call(on, asked, Work::Serve(serving)).await,
                Some(refusal) => {
                    let reply = serving.refused(&running.snapshot, &refusal, asked.accept().as_deref());
                    (reply, refusal.reason, serving.about())
                }
            },
            Decision::Refuse(reply, reason) => (reply, reason, decided.about),
            // Requests over this socket never go to the site.
            Decision::Pass | Decision::Make(_) => {
                let refusal = Refusal::from(Fault::Internal);
                (problem::reply(&refusal, asked.accept().as_deref(), None), refusal.reason, None)
            }
        };
        self.refuse(on, asked, refused, decided.finish).await
    }

    /// The reply to a request that could not be read.
    pub(super) async fn unread(&self, on: &Connection, asked: Option<&mut Asked>, refused: &Refused) -> Reply {
        let running = asked.as_ref().map_or_else(|| self.front.live.current(), |asked| asked.running.clone());
        let address = asked.as_ref().map_or_else(|| on.conn.info().client.ip().to_canonical(), |asked| asked.address);
        let counters = running.store.counters.as_ref();
        let decided = decide_unread(&running.snapshot, counters, address, refused, asked.is_some()).await;
        let (reply, reason) = match decided.decision {
            Decision::Refuse(reply, reason) => (reply, reason),
            Decision::Answer(reply) => (reply, refused.reason),
            _ => (problem::reply(&Fault::Internal.into(), None, None), refused.reason),
        };
        match asked {
            Some(asked) => {
                asked.caller = Some(decided.caller);
                self.refuse(on, asked, (reply, reason, None), decided.finish).await
            }
            None => {
                self.front.metrics.rejected(reason);
                reply
            }
        }
    }

    /// Counts a refusal and builds its reply.
    async fn refuse(
        &self,
        on: &Connection,
        asked: &mut Asked,
        (reply, reason, about): (Reply, &'static str, Option<About>),
        finish: Option<Arc<dyn Serve>>,
    ) -> Reply {
        self.front.metrics.rejected(reason);
        asked.error = Some(reason);
        if let (Some(about), Some(caller)) = (about, &asked.caller) {
            let request_id = asked.request_id.get_or_insert_with(|| request_id(&asked.frame.headers));
            self.front.record(request_id, &asked.running, caller, about, reason);
        }
        match finish {
            Some(finish) => self.call(on, asked, Work::Finish(finish, reply)).await,
            None => reply,
        }
    }

    async fn call(&self, on: &Connection, asked: &mut Asked, work: Work) -> Reply {
        let Some(caller) = &asked.caller else { return problem::reply(&Fault::Internal.into(), None, None) };
        let request_id = asked.request_id.get_or_insert_with(|| request_id(&asked.frame.headers)).clone();
        let forwarding = ForwardingContext {
            headers: &asked.frame.headers,
            host: HeaderValue::from_str(&asked.authority).ok().filter(|host| !host.is_empty()),
            protocol: TOKEN,
            connection: on.conn.info(),
            client: asked.address,
            proxied: false,
            trace: asked.trace.as_ref().map(|trace| trace.place()),
        };
        let incoming = Incoming {
            method: &asked.frame.method,
            target: &asked.frame.target,
            headers: &asked.frame.headers,
            body: asked.frame.body.clone(),
            caller,
            authority: &asked.authority,
            request_id: &request_id,
            framed: Some(Framed { digest: asked.frame.digest, connection: &on.id }),
            events: None,
        };
        let (served, visited) = self.front.call(&asked.running, &forwarding, &incoming, work).await;
        asked.visited = visited;
        if served.reason.is_some() {
            asked.called = served.account.map(|account| account.capability).or(asked.called.take());
        }
        asked.error = served.reason.or(asked.error);
        served.reply
    }
}

/// The refusal of a body that fits the socket's limit but exceeds the endpoint's.
fn too_long(asked: &Asked, serving: &Serving) -> Option<Refusal> {
    let most = serving.most(&asked.running.snapshot.settings);
    let detail = || format!("The body is longer than the {most} bytes that are taken here. Send less.");
    (asked.frame.body.len() > most).then(|| Refusal::from(Fault::TooLarge).saying(detail()))
}

/// The host in `Host`. Its port belongs to our socket and says nothing about the site.
fn host(headers: &HeaderMap) -> Option<&str> {
    let text = headers.get(header::HOST)?.to_str().ok()?;
    let host = match text.strip_prefix('[') {
        Some(rest) => &text[..rest.find(']')? + 2],
        None => text.split(':').next()?,
    };
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._[]:".contains(&b);
    host.bytes().all(plain).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address_without_its_port() {
        let hosts = [
            ("a.test", Some("a.test")),
            ("a.test:4480", Some("a.test")),
            ("[::1]:4480", Some("[::1]")),
            ("127.0.0.1", Some("127.0.0.1")),
            ("[::1", None),
            ("a b", None),
            ("user@host", None),
            ("a/b", None),
        ];
        for (sent, host) in hosts {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(sent))]);
            assert_eq!(super::host(&headers), host, "{sent}");
        }
        assert_eq!(super::host(&HeaderMap::new()), None);
    }
}
