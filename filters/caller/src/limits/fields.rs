//! The headers that report limits: those of AHP §11.1, and the RateLimit fields of
//! draft-ietf-httpapi-ratelimit-headers.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderName, HeaderValue, StatusCode};

use super::{
    policy::{Held, Told},
    whole_seconds,
};
use frontdesk_base::reply::Reply;
use frontdesk_state::Taken;

const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");
const X_WINDOW: HeaderName = HeaderName::from_static("x-ratelimit-window");
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const LIMIT: HeaderName = HeaderName::from_static("ratelimit");

impl Held<'_> {
    /// Where the limits stand now, for a reply that is not there yet.
    pub fn fields(&self, taken: &Taken) -> Vec<(HeaderName, HeaderValue)> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.tell(taken, now, Reply::empty(StatusCode::OK)).headers
    }

    /// Adds the state of the limits to a reply. `now`: time since 1970.
    pub fn tell(&self, taken: &Taken, now: Duration, mut reply: Reply) -> Reply {
        let Some(tightest) = self.tightest(taken).filter(|tightest| tightest.level.is_counted()) else { return reply };
        let Told { most, window, declared } = &tightest.policy.told;
        // Constant for all answers within the window.
        let resets = whole_seconds(now + tightest.level.resets_in);
        reply.headers.reserve(6);
        for (name, value) in [
            (X_LIMIT, most.clone()),
            (X_REMAINING, tightest.remaining().into()),
            (X_RESET, resets.into()),
            (X_WINDOW, window.clone()),
        ] {
            reply.headers.push((name, value));
        }
        let mut standing = String::with_capacity(64);
        for one in self.standing(taken) {
            let comma = if standing.is_empty() { "" } else { ", " };
            for part in [comma, "\"", one.policy.name, "\";r="] {
                standing.push_str(part);
            }
            standing.push_str(itoa::Buffer::new().format(one.remaining()));
            standing.push_str(";t=");
            standing.push_str(itoa::Buffer::new().format(one.seconds()));
        }
        reply.headers.push((POLICY, self.declared(taken).unwrap_or_else(|| declared.clone())));
        if let Ok(standing) = HeaderValue::try_from(standing) {
            reply.headers.push((LIMIT, standing));
        }
        reply
    }

    /// The members of several policies; `None` where there is only one, which has its value prepared.
    fn declared(&self, taken: &Taken) -> Option<HeaderValue> {
        self.standing(taken).nth(1)?;
        let members: Vec<&[u8]> = self.standing(taken).map(|one| one.policy.told.declared.as_bytes()).collect();
        HeaderValue::from_bytes(&members.join(&b", "[..])).ok()
    }
}
