//! Verifies a credential that came in a request's body, and counts the call as if it had come in the head.
//!
//! The request was admitted as anonymous, because its body was not read yet, and most endpoints counted it against the
//! address. Once the caller is proven, the call counts against the proven identity, and the address is refunded. An
//! endpoint that counts each message by itself (`frontdesk_desk::message`) has counted nothing before.

use std::time::{SystemTime, UNIX_EPOCH};

use frontdesk_base::Refusal;
use frontdesk_state::{Amount, Away, Counters};
use http::{HeaderName, HeaderValue};

use crate::{
    Caller, Callers, Proof, Unproven,
    limits::{Counted, Policies, store_away},
};

/// What a credential is judged by.
#[derive(Clone, Copy)]
pub struct Judge<'a> {
    pub callers: &'a Callers,
    pub policies: &'a Policies,
    /// `policies.anonymous_access`.
    pub anonymous_access: bool,
}

/// Who calls after all.
pub struct Proven {
    /// `None`: who it was before.
    pub caller: Option<Caller>,
    /// Where their limits stand; empty where nothing was counted anew.
    pub standing: Vec<(HeaderName, HeaderValue)>,
}

/// Who does not, and what they are told.
pub struct Disproved {
    pub refusal: Refusal,
    pub standing: Vec<(HeaderName, HeaderValue)>,
    /// A key is not known here that may have been published since.
    pub wants_keys: bool,
}

/// What every call of an endpoint counts as. An action is counted as such when it is carried out.
const CALL: Counted = Counted::Call { action: false };

/// Verifies the presented credential and counts the call against the proven caller. Refunds the address, which was
/// charged before.
pub async fn prove(
    judge: Judge<'_>,
    counters: &dyn Counters,
    caller: &Caller,
    presented: Option<&str>,
) -> Result<Proven, Box<Disproved>> {
    let Some(proven) = proven(judge, counters, caller, presented).await? else {
        return Ok(Proven { caller: None, standing: Vec::new() });
    };
    let held = judge.policies.held(CALL, &proven);
    match held.take(counters, Amount::ONE).await {
        Ok(taken) if taken.granted.is_some() => {
            judge.policies.held(CALL, caller).give_back(counters).await;
            Ok(Proven { standing: held.fields(&taken), caller: Some(proven) })
        }
        Ok(taken) => {
            let refusal = held.exceeded(&taken);
            Err(Box::new(Disproved { refusal, standing: held.fields(&taken), wants_keys: false }))
        }
        Err(Away) => Err(Box::new(Disproved { refusal: store_away(), standing: Vec::new(), wants_keys: false })),
    }
}

/// Verifies the presented credential; `None`: the caller stays the same. Refuses an anonymous caller where anonymous
/// access is off. Counts only wrong credentials.
pub async fn proven(
    judge: Judge<'_>,
    counters: &dyn Counters,
    caller: &Caller,
    presented: Option<&str>,
) -> Result<Option<Caller>, Box<Disproved>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let proven = match presented.map(|presented| judge.callers.also(caller, presented, now)) {
        None => None,
        Some(Ok(proven)) => {
            if proven.proof == Proof::Key
                && let Some((held, taken)) = judge.policies.guessing(counters, &proven, now).await
            {
                let (refusal, standing) = (held.exceeded(&taken), held.fields(&taken));
                return Err(Box::new(Disproved { refusal, standing, wants_keys: false }));
            }
            Some(proven)
        }
        Some(Err(why)) => return Err(refuse(judge, counters, caller, Unproven::Rejected(why), now).await),
    };
    let is_somebody = proven.as_ref().unwrap_or(caller).name.is_some();
    if !is_somebody && !judge.anonymous_access {
        return Err(refuse(judge, counters, caller, Unproven::Anonymous, now).await);
    }
    // A credential that only the site can verify changes whose records are used, and not whose limits.
    Ok(proven.filter(|proven| proven.holder() != caller.holder()))
}

async fn refuse(
    judge: Judge<'_>,
    counters: &dyn Counters,
    caller: &Caller,
    unproven: Unproven,
    now: u64,
) -> Box<Disproved> {
    let (refusal, standing) = unproven.counted(judge.policies, counters, caller, now).await;
    let standing = standing.map(|(held, taken)| held.fields(&taken)).unwrap_or_default();
    Box::new(Disproved { refusal, standing, wants_keys: unproven.might_be_news() })
}
