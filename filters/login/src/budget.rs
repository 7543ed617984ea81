//! How often clients may ask: budgets of their own, by address and client, so that agents behind one address do not use up
//! what people and other agents there have.

use std::time::Duration;

use frontdesk_base::reply::Reply;
use frontdesk_caller::Caller;
use frontdesk_desk::Desk;
use frontdesk_state::{Amount, Away, Class, Counters, Key, Limit, Subject, Window};
use http::{StatusCode, header};

use crate::reply::{away, error};

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

/// Takes one from each limit, or from none. `false`: one of them is used up.
///
/// # Errors
///
/// The counters are unavailable.
pub(crate) async fn take(counters: &dyn Counters, limits: &[Limit]) -> Result<bool, Away> {
    Ok(counters.take(limits, Amount::ONE).await?.granted.is_some())
}

/// Counts a request for tokens, or a revocation; gives the refusal where there were too many.
pub(crate) async fn for_tokens(desk: &Desk<'_>, caller: &Caller, client: &str) -> Result<(), Reply> {
    let address = Subject::address(caller.address);
    let client = client.get(..LONGEST_ID).unwrap_or(client);
    let limits = [
        limit(address.with(Subject::named(&[b"tokens of", client.as_bytes()])), MOST_OF_CLIENT, MINUTE),
        limit(address.with(Subject::named(&[b"tokens"])), MOST_OF_ADDRESS, MINUTE),
    ];
    match take(desk.counters, &limits).await {
        Ok(true) => Ok(()),
        Ok(false) => {
            let why = "Too many requests for tokens came from this address in the last minute. Try again in a minute.";
            Err(error(StatusCode::TOO_MANY_REQUESTS, "temporarily_unavailable", why).with(header::RETRY_AFTER, "60"))
        }
        Err(Away) => Err(away()),
    }
}
