//! Who is asking, and what somebody is told who did not prove it.

use http::HeaderValue;

use super::{Decided, Desk};
use crate::{
    caller::{Caller, Once, Proof, Rejected},
    dialect::Explain,
    fault::{Fault, REALM, Refusal},
    limits::{Held, Policies, store_away},
    state::{Amount, Away, Class, Counters, Key, Limit, Taken, Window},
};

/// Why somebody is nobody in particular.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unproven {
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
    pub(super) fn is_unknown(self) -> bool {
        matches!(self, Self::Away | Self::Rejected(Rejected::KeysAway))
    }

    /// A key is not known here that may have been published since.
    pub(super) fn might_be_news(self) -> bool {
        let news = [Rejected::TokenNotValid, Rejected::SignatureUnknownKey, Rejected::KeysAway];
        news.map(Self::Rejected).contains(&self)
    }

    /// What they are told.
    pub(super) fn refusal(self) -> Refusal {
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
    /// What somebody is told, and where the limit of their address stands: what is not valid counts against it.
    pub(super) async fn counted<'p>(
        self,
        policies: &'p Policies,
        counters: &dyn Counters,
        caller: &Caller,
        now: u64,
    ) -> (Refusal, Option<(Held<'p>, Taken)>) {
        let refusal = self.refusal();
        // Nobody is to blame for what is not known.
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

impl Desk<'_> {
    /// Who is asking, and what of it is not proven. Nonces are used up.
    pub(super) async fn identified(&self, on_page: bool) -> (Caller, Option<Unproven>) {
        let (caller, proven) = self.snapshot.callers.identify(self.request, on_page);
        let nonces = match proven {
            Ok(nonces) if nonces.is_empty() => return (caller, None),
            Ok(nonces) => nonces,
            Err(why) => return (caller, Some(Unproven::Rejected(why))),
        };
        let limits: Vec<Limit> = nonces
            .into_iter()
            .map(|Once { subject, keeps }| Limit {
                key: Key::new(Class::Nonce, subject),
                most: 1,
                window: Window::Fixed(keeps),
            })
            .collect();
        let unproven = match self.counters.take(&limits, Amount::ONE).await {
            Ok(taken) if taken.granted.is_some() => return (caller, None),
            Ok(_) => Unproven::Rejected(Rejected::SignatureReplayed),
            Err(Away) => Unproven::Away,
        };
        (caller.disproved(), Some(unproven))
    }

    /// Who is asking for a page. A doubt about them is no reason to refuse it, and our answer does not tell whether a key
    /// is right; but the site is told who it is, and its answer may. So a wrong key counts as a guess here too, and a right
    /// one proves nothing while its address is guessing.
    pub(super) async fn identified_on_page(&self) -> Caller {
        let (caller, unproven) = self.identified(true).await;
        let policies = &self.snapshot.policies;
        if unproven.is_some() && self.snapshot.callers.presents_wrong_key(self.request.headers) {
            let held = policies.held_for_wrong(&caller, self.request.now);
            // Where the counts are away the page passes uncounted, as all pages do.
            let _ = Box::pin(held.take(self.counters, Amount::ONE)).await;
        }
        let is_guessing = caller.proof == Proof::Key
            && Box::pin(policies.guessing(self.counters, &caller, self.request.now)).await.is_some();
        if is_guessing { caller.disproved() } else { caller }
    }

    /// What somebody lacks who presented nothing wrong. What may come `later` is not missing yet.
    pub(super) fn missing(&self, caller: &Caller, later: bool) -> Option<Unproven> {
        let signed = caller.agent.as_ref().is_some_and(|agent| agent.verified);
        if self.snapshot.callers.signature_required && !signed {
            return Some(Unproven::Unsigned);
        }
        (!later && caller.name.is_none() && !self.snapshot.settings.policies.anonymous_access)
            .then_some(Unproven::Anonymous)
    }

    /// Refuses somebody with the right key while their address is presenting too many wrong credentials: they hear what
    /// they would with a wrong one. Nobody guesses a token or a signature.
    pub(super) async fn guessing(&self, caller: &Caller, explain: Explain) -> Option<Decided> {
        if caller.proof != Proof::Key {
            return None;
        }
        let policies = &self.snapshot.policies;
        let (held, taken) = policies.guessing(self.counters, caller, self.request.now).await?;
        let refusal = Err(held.exceeded(&taken).into());
        Some(self.told(Caller::at(caller.address), refusal, explain, Some((&held, &taken))))
    }

    /// Refuses somebody.
    pub(super) async fn unproven(&self, caller: Caller, unproven: Unproven, explain: Explain) -> Decided {
        let wants_keys = unproven.might_be_news();
        let (refusal, standing) =
            unproven.counted(&self.snapshot.policies, self.counters, &caller, self.request.now).await;
        let standing = standing.as_ref().map(|(held, taken)| (held, taken));
        Decided { wants_keys, ..self.told(caller, Err(refusal.into()), explain, standing) }
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
