//! Messages to a client while its call is under way: server-sent events on the reply to its POST.
//!
//! Nothing is kept for a client that comes back: a stream that breaks is over, and so is what waited on it.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::Poll,
    time::Duration,
};

use bytes::Bytes;
use frontdesk_base::{accept, reply::Reply};
use frontdesk_desk::{Events, Incoming, Served};
use http::{HeaderMap, HeaderName, StatusCode, header};
use serde_json::Value;

const EVENTS: &str = "text/event-stream";
/// Tells a proxy in front to pass each event at once.
const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// How often something is sent while a person is waited for, so that a client that left without a word is noticed.
pub(super) const KNOCK: Duration = Duration::from_secs(5);

/// Whether a client takes events: its `Accept` names them. A wildcard is no promise to read a stream.
pub(super) fn is_taken(headers: &HeaderMap) -> bool {
    accept::of(headers).is_some_and(|accept| accept::names(&accept, EVENTS))
}

/// Where events go to the client; `None`: it takes none.
pub(super) fn of<'a>(incoming: &Incoming<'a>) -> Option<&'a dyn Events> {
    incoming.events.filter(|_| is_taken(incoming.headers))
}

/// Sends a message. `false`: the client has left.
pub(super) async fn send(events: &dyn Events, message: &Value) -> bool {
    put(events, event(message.to_string().as_bytes())).await
}

/// Sends a comment, which shows whether the client is still there.
pub(super) async fn knock(events: &dyn Events) -> bool {
    put(events, Bytes::from_static(b":\n\n")).await
}

/// Sends a part, with the head before the first one.
async fn put(events: &dyn Events, part: Bytes) -> bool {
    if events.has_begun() {
        return events.send(part).await;
    }
    let head = Reply::new(StatusCode::OK, EVENTS, part).with(header::CACHE_CONTROL, "no-store").with(BUFFERING, "no");
    events.begin(head).await
}

/// A reply whose stream has begun is its last event.
pub(super) fn ended(incoming: &Incoming<'_>, mut served: Served) -> Served {
    if incoming.events.is_some_and(Events::has_begun) {
        served.reply.body = event(&served.reply.body);
    }
    served
}

/// JSON as an event. A line break can only stand between its parts, and begins a line of its own.
fn event(json: &[u8]) -> Bytes {
    let mut event = b"event: message\n".to_vec();
    for line in json.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.is_empty()) {
        event.extend_from_slice(b"data: ");
        event.extend_from_slice(line);
        event.push(b'\n');
    }
    event.push(b'\n');
    event.into()
}

/// Waits for work, but no longer than something else takes; `None`: that came first.
pub(super) async fn before<T>(
    mut work: Pin<&mut impl Future<Output = T>>,
    limit: impl Future<Output = ()>,
) -> Option<T> {
    let mut limit = pin!(limit);
    poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => limit.as_mut().poll(cx).map(|()| None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_several_lines_is_one_event() {
        let text = |json: &[u8]| String::from_utf8(event(json).to_vec()).unwrap();
        assert_eq!(text(b"{\"a\":1}"), "event: message\ndata: {\"a\":1}\n\n");
        assert_eq!(text(b"{\r\n\"a\": \"b\\n\"\n\n}"), "event: message\ndata: {\ndata: \"a\": \"b\\n\"\ndata: }\n\n");
    }

    #[test]
    fn events_are_for_clients_that_name_them() {
        let takes = |accept: &str| is_taken(&HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())]));
        assert!(takes("application/json, text/event-stream") && takes("Text/Event-Stream;q=0.5"));
        assert!(!takes("application/json") && !takes("*/*") && !takes("text/event-stream;q=0"));
        assert!(!is_taken(&HeaderMap::new()));
    }
}
