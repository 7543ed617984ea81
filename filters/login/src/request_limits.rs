//! How often clients may ask: budgets of their own, by address and client, so that agents behind one address do not use up
//! what people and other agents there have.

use std::time::Duration;

use frontdesk_caller::Caller;
use frontdesk_desk::Desk;
use frontdesk_state::{Amount, Away, Class, Counters, Key, Limit, Subject, Window};
use http::{StatusCode, header};

use crate::reply::{Answer, away, error};

const MINUTE: Duration = Duration::from_secs(60);
/// Requests for tokens of one client at one address, and of all clients there, in a minute.
const MOST_OF_CLIENT: u64 = 120;
const MOST_OF_ADDRESS: u64 = 600;
/// Maximum bytes of a client's id that make another count.
const LONGEST_ID: usize = 1024;

/// A limit in a window of its own.
pub(crate) fn limit(subject: Subject, most: u64, window: Duration) -> Limit {
    Limit { key: Key::new(Class::Links, subject), most, window: Window::Fixed(window) }
}

/// Takes one from each limit, or from none. `Some`: one of them is used up, for so long.
///
/// # Errors
///
/// The counters are unavailable.
pub(crate) async fn take(counters: &dyn Counters, limits: &[Limit]) -> Result<Option<Duration>, Away> {
    let taken = counters.take(limits, Amount::ONE).await?;
    if taken.granted.is_some() {
        return Ok(None);
    }
    let used_up = limits.iter().zip(&taken.levels).filter(|(limit, level)| level.used >= limit.most);
    Ok(Some(used_up.map(|(_, level)| level.resets_in).max().unwrap_or_default()))
}

/// What has a budget of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Budget {
    Tokens,
    Registrations,
}

impl Budget {
    /// The label of `frontdesk_rejections_total{reason}`, also in the access log.
    fn reason(self) -> &'static str {
        match self {
            Self::Tokens => "too_many_token_requests",
            Self::Registrations => "too_many_registrations",
        }
    }

    /// Refuses a request for which nothing is left for so long.
    pub(crate) fn refusal(self, wait: Duration) -> Answer {
        let why = match self {
            Self::Tokens => "Too many requests for tokens came from this address in the last minute.",
            Self::Registrations => "Too many clients were registered in the last hour.",
        };
        let why = format!("{why} Retry after the time in Retry-After.");
        // Rounded up: a client that waits for exactly that long is not refused again.
        let seconds = wait.as_secs() + 1;
        let reply = error(StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable", &why)
            .with_value(header::RETRY_AFTER, seconds.into());
        Answer { reason: Some(self.reason()), ..reply.into() }
    }
}

/// Counts a request for tokens, or a revocation; gives the refusal where there were too many.
pub(crate) async fn for_tokens(desk: &Desk<'_>, caller: &Caller, client: &str) -> Result<(), Answer> {
    let address = Subject::address(caller.address);
    let client = client.get(..LONGEST_ID).unwrap_or(client);
    let limits = [
        limit(address.with(Subject::named(&[b"tokens of", client.as_bytes()])), MOST_OF_CLIENT, MINUTE),
        limit(address.with(Subject::named(&[b"tokens"])), MOST_OF_ADDRESS, MINUTE),
    ];
    match take(desk.counters, &limits).await {
        Ok(None) => Ok(()),
        Ok(Some(wait)) => Err(Budget::Tokens.refusal(wait)),
        Err(Away) => Err(away().into()),
    }
}
