//! Why somebody is nobody in particular, and what they are told.

use frontdesk_base::{Fault, Refusal, fault::REALM};
use frontdesk_state::{Amount, Away, Counters, Taken};
use http::HeaderValue;

use crate::{
    Caller, Rejected,
    limits::{Held, Policies, store_away},
};

/// Why somebody is nobody in particular.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unproven {
    /// What was presented is not valid.
    Rejected(Rejected),
    /// Nobody can say whether a nonce was used before.
    Away,
    /// A signature is required here.
    Unsigned,
    /// Anonymous callers are not served.
    Anonymous,
}

impl Unproven {
    /// Nobody can say at the moment.
    pub fn is_unknown(self) -> bool {
        matches!(self, Self::Away | Self::Rejected(Rejected::KeysAway))
    }

    /// A key is not known here that may have been published since.
    pub fn might_be_news(self) -> bool {
        let news = [Rejected::TokenNotValid, Rejected::SignatureUnknownKey, Rejected::KeysAway];
        news.map(Self::Rejected).contains(&self)
    }

    /// What they are told.
    pub fn refusal(self) -> Refusal {
        match self {
            Self::Away => store_away(),
            Self::Rejected(Rejected::KeysAway) => keys_away(),
            Self::Rejected(why) => challenged(why.reason(), why.advice(), why.is_bearers()),
            Self::Unsigned => {
                let advice = "Sign the request (RFC 9421, tag \"web-bot-auth\"); Accept-Signature says how.";
                challenged("signature_required", advice, false)
            }
            Self::Anonymous => {
                challenged("auth_required", "This site serves no anonymous agents; present a credential.", false)
            }
        }
    }
}

impl Unproven {
    /// The refusal, and where the limit of the caller's address stands: a credential that is not valid counts against it.
    pub async fn counted<'p>(
        self,
        policies: &'p Policies,
        counters: &dyn Counters,
        caller: &Caller,
        now: u64,
    ) -> (Refusal, Option<(Held<'p>, Taken)>) {
        let refusal = self.refusal();
        // An outage of the store or of the keys is not the caller's fault: nothing is counted.
        let (held, amount) = match self {
            _ if self.is_unknown() => (policies.held_for_nothing(caller), Amount::NOTHING),
            Self::Rejected(_) => (policies.held_for_wrong(caller, now), Amount::ONE),
            _ => (policies.held_for_nothing(caller), Amount::ONE),
        };
        match held.take(counters, amount).await {
            Ok(taken) if taken.granted.is_none() => (held.exceeded(&taken), Some((held, taken))),
            Ok(taken) => (refusal, Some((held, taken))),
            Err(Away) => (refusal, None),
        }
    }
}

/// A 401 that says how to prove who one is (RFC 6750 §3).
fn challenged(reason: &'static str, advice: &'static str, bearer: bool) -> Refusal {
    let error =
        if bearer { format!(", error=\"invalid_token\", error_description=\"{advice}\"") } else { String::new() };
    let challenge = HeaderValue::try_from(format!("{REALM}{error}")).ok();
    Refusal { reason, challenge, ..Refusal::from(Fault::Unauthenticated).saying(advice) }
}

fn keys_away() -> Refusal {
    let why = Rejected::KeysAway;
    // They are asked for again every ten seconds.
    let retry_after = Some(10);
    Refusal { reason: why.reason(), retry_after, ..Refusal::from(Fault::Unavailable).saying(why.advice()) }
}
