//! Records a request over frames: metrics, access log and recent activity.

use std::time::Instant;

use frontdesk_filters::{
    Reply,
    frames::{PROTOCOL, VERSION},
};
use http::header;

use super::{Frames, answer::Asked};
use crate::{
    access::Line,
    metrics::{
        Spoken,
        recent_activity::{What, Who},
    },
    traces,
};

impl Frames {
    /// Counts a request and writes its access line. `wrote`: false if the client was gone before the answer.
    pub(super) fn account(&self, asked: &mut Asked, reply: &Reply, wrote: bool) {
        let metrics = &self.front.metrics;
        let Asked { began, frame, running, address, authority, caller, error, request_id, called, trace, visited } =
            asked;
        let ended = Instant::now();
        let duration = ended.saturating_duration_since(*began);
        let status = reply.status.as_u16();
        let sent = if wrote { reply.body.len() } else { 0 };
        metrics.request(&frame.method, (Spoken::Frames, None), status, false, duration.as_secs_f64());
        metrics.request_bytes.inc_by(frame.body.len() as u64);
        metrics.response_bytes.inc_by(sent as u64);
        metrics.visited(Who::of(caller.as_ref(), true));
        if let Some(reason) = *error {
            let asked = called.as_deref().or_else(|| running.snapshot.place(&frame.method, &frame.target));
            let what = What { asked, method: frame.method.as_str(), reason, status, caller: caller.as_ref() };
            metrics.seen.refuse(&what);
        }
        let line = || Line {
            trace: traces::ids(&frame.headers),
            request_id: request_id.as_deref(),
            method: Some(frame.method.as_str()),
            path: frame.target.split('?').next(),
            host: Some(authority.as_str()).filter(|host| !host.is_empty()),
            status,
            protocol: Some(PROTOCOL),
            version: VERSION,
            client: Some(*address),
            user_agent: frame.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()),
            request_bytes: frame.body.len(),
            response_bytes: sent,
            duration,
            ended,
            upstream: visited.upstream.and_then(|index| running.pool.label(index)),
            upstream_duration: visited.took,
            proof: caller.as_ref().map(|caller| caller.proof.word()),
            caller: caller.as_ref().and_then(|caller| caller.name.as_deref()),
            decision: "answer",
            engine: None,
            engine_reason: None,
            page: None,
            error: if wrote { *error } else { Some("client_gone") },
            config: running.short_hash(),
        };
        self.front.tell(running, trace.as_deref_mut(), line);
    }
}
