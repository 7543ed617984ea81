//! Progress of calls that take long (`notifications/progress`): the site does not say how far it is, so the client
//! hears that it is still being waited for, and for how long.

use std::{future::Future, pin::pin, time::Duration};

use frontdesk_desk::{Desk, Events};
use serde_json::{Value, json};

use super::{message::Request, stream};

/// How often a client hears of a call.
const EVERY: Duration = Duration::from_secs(2);
/// Maximum bytes of a token, which every notification repeats.
const LONGEST_TOKEN: usize = 256;

/// The token under which a client wants to hear of progress.
pub(super) fn token(request: &Request) -> Option<&Value> {
    let token = request.meta()?.get("progressToken")?;
    match token {
        Value::String(text) => text.len() <= LONGEST_TOKEN,
        Value::Number(number) => number.is_i64() || number.is_u64(),
        _ => false,
    }
    .then_some(token)
}

/// Waits for a call, and says every now and then that it is under way.
pub(super) async fn along<T>(
    desk: &Desk<'_>,
    events: Option<&dyn Events>,
    token: Option<&Value>,
    call: impl Future<Output = T> + Send,
) -> T {
    let mut call = pin!(call);
    let (Some(events), Some(token)) = (events, token) else { return call.await };
    let mut seconds = 0;
    loop {
        if let Some(done) = stream::before(call.as_mut(), desk.outside.pause(EVERY)).await {
            return done;
        }
        seconds += EVERY.as_secs();
        let notification = json!({
            "jsonrpc": "2.0", "method": "notifications/progress",
            "params": { "progressToken": token, "progress": seconds, "message": format!("Under way for {seconds} seconds.") },
        });
        let mut is_there = true;
        let sending = async { is_there = stream::send(events, &notification).await };
        // A client that does not read does not delay its call.
        if let Some(done) = stream::before(call.as_mut(), sending).await {
            return done;
        }
        if !is_there {
            // The client has left. What was begun is not broken off.
            return call.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_a_number_or_a_short_text() {
        let of = |token: Value| {
            let params = json!({ "_meta": { "progressToken": token } }).as_object().cloned().unwrap();
            super::token(&Request { id: json!(1), method: "tools/call".into(), params }).cloned()
        };
        assert_eq!((of(json!("a")), of(json!(0)), of(json!(-7))), (Some(json!("a")), Some(json!(0)), Some(json!(-7))));
        for wrong in [json!(null), json!(1.5), json!([]), json!("x".repeat(257))] {
            assert_eq!(of(wrong.clone()), None, "{wrong}");
        }
    }
}
