//! Identifies the caller of a request, and words the refusal of a caller without valid credentials.

use super::{Decided, Desk};
use crate::{
    caller::{Caller, Head, Introspected, OnPage, Once, Proof, Rejected, Unproven},
    dialect::Explain,
    state::{Amount, Away, Class, Key, Limit, Window},
};

impl Desk<'_> {
    /// Identifies the caller, and says what is not proven. Consumes nonces.
    pub(super) async fn identified(&self, on_page: bool) -> (Caller, Option<Unproven>) {
        let (head, callers) = (self.request.head(), &self.snapshot.callers);
        let introspected = match on_page {
            true => None,
            false if callers.presents_link(&head) => Box::pin(callers.linked(self.request.records, &head)).await,
            false if !callers.introspects() => None,
            false => Box::pin(self.introspected(&head)).await,
        };
        let (caller, proven) = callers.identify(&head, on_page, introspected);
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

    /// Asks the authorization server about an opaque token. An address that presented too many wrong credentials gets no
    /// more answers from it.
    async fn introspected(&self, head: &Head<'_>) -> Option<Introspected> {
        let anybody = Caller::at(self.request.address);
        let policies = &self.snapshot.policies;
        if policies.guessing(self.counters, &anybody, self.request.now).await.is_some() {
            return None;
        }
        self.snapshot.callers.introspect(self.request.token_server?, head).await
    }

    /// Identifies the caller of a page. An invalid credential is no reason to refuse a page, and our own answer does
    /// not reveal whether a key is right. But the site learns the identity, and its answer may reveal it. So a wrong
    /// key counts as a guess here too, and a right one proves nothing while its address is over the limit for guesses.
    pub(super) async fn identified_on_page(&self) -> Caller {
        let (caller, unproven) = self.identified(true).await;
        let (policies, callers) = (&self.snapshot.policies, &self.snapshot.callers);
        let presented = callers.authorization_on_page(self.request.headers);
        let wrong = match &presented {
            // The site's own tokens come again and again; a guess is another one each time.
            Some(OnPage::Other(all)) => all.iter().filter(|value| policies.is_new_guess(&caller, value)).count(),
            _ => 0,
        };
        let wrong = match wrong {
            0 if unproven.is_some() && callers.presents_wrong_key(self.request.headers) => 1,
            wrong => u64::try_from(wrong).unwrap_or(u64::MAX),
        };
        if wrong > 0 {
            let held = policies.held_for_wrong(&caller, self.request.now);
            // While the counters are unavailable the page passes uncounted, as all pages do.
            let _ = Box::pin(held.take(self.counters, Amount { wanted: wrong, least: 1 })).await;
        }
        let is_ours = matches!(presented, Some(OnPage::Ours));
        let is_guessing = (is_ours || caller.proof == Proof::Key)
            && Box::pin(policies.guessing(self.counters, &caller, self.request.now)).await.is_some();
        let caller = if is_guessing { caller.disproved() } else { caller };
        let is_of_a_link = callers.presents_link(&self.request.head());
        Caller { hides_authorization: is_ours && !is_guessing || is_of_a_link, ..caller }
    }

    /// What a caller who presented nothing invalid still lacks. With `later`, a credential may still come in the body.
    pub(super) fn missing(&self, caller: &Caller, later: bool) -> Option<Unproven> {
        let signed = caller.agent.as_ref().is_some_and(|agent| agent.verified);
        if self.snapshot.callers.signature_required && !signed {
            return Some(Unproven::Unsigned);
        }
        (!later && caller.name.is_none() && !self.snapshot.settings.policies.anonymous_access)
            .then_some(Unproven::Anonymous)
    }

    /// Refuses a caller with the right key while their address is over the limit for wrong credentials. They get the
    /// same answer as for a wrong key. Tokens and signatures are exempt: they cannot be guessed.
    pub(super) async fn guessing(&self, caller: &Caller, explain: Explain) -> Option<Decided> {
        if caller.proof != Proof::Key {
            return None;
        }
        let policies = &self.snapshot.policies;
        let (held, taken) = policies.guessing(self.counters, caller, self.request.now).await?;
        let refusal = Err(held.exceeded(&taken).into());
        Some(self.told(Caller::at(caller.address), refusal, explain, Some((&held, &taken))))
    }

    /// Refuses a caller.
    pub(super) async fn unproven(&self, caller: Caller, unproven: Unproven, explain: Explain) -> Decided {
        let wants_keys = unproven.might_be_news();
        let (refusal, standing) =
            unproven.counted(&self.snapshot.policies, self.counters, &caller, self.request.now).await;
        let standing = standing.as_ref().map(|(held, taken)| (held, taken));
        Decided { wants_keys, ..self.told(caller, Err(refusal.into()), explain, standing) }
    }
}
