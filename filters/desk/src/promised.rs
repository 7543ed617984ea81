//! Replies from idempotency records and confirmation tokens: replays, conflicts and requests for confirmation.

use std::mem::take;

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Asked, Done, Told,
    approval::blocked,
    records::{self, Begin, Known, Promises, Token},
    step::{Reached, Step, Stop},
    trouble::{TOO_LONG, not_kept, with_a_warning},
};
use frontdesk_base::{
    fault::{Fault, Refusal},
    schema::Violation,
};

impl Step<'_> {
    /// The reply to a call whose key is in the records.
    pub(super) fn known(&mut self, known: Known) -> Result<Done, Stop> {
        if let Known::Ended(told) = &known {
            // The failure is worded again, and some wordings depend on the site's status.
            let status = told["upstream_status"].as_u64().and_then(|status| status.try_into().ok());
            self.account.upstream_status = status.filter(|_| told.get("ok").is_none());
        }
        self.reached = match &known {
            Known::Ended(told) if told.get("ok").is_some() => Reached::Done,
            Known::Ended(told) if told["fault"] == Fault::Malformed.reason() => Reached::Done,
            Known::Ended(told) if told["fault"] == Fault::SiteChanged.reason() => Reached::Done,
            Known::Ended(told) if told["fault"] == Fault::CompositionFailed.reason() => Reached::Unknown,
            Known::Ended(_) => Reached::Refused,
            _ => Reached::Unknown,
        };
        match known {
            Known::Other => Err(Fault::KeyReused.into()),
            Known::Begun(left) => Err(Refusal { retry_after: Some(left.clamp(1, 5)), ..Fault::InFlight.into() }.into()),
            Known::Ended(mut told) => match told_again(&mut told) {
                Some(Ok(told)) => Ok(Done { replayed: true, ..self.done(told, None) }),
                Some(Err(refusal)) => Err(Stop::Replayed(Box::new(refusal))),
                None => Err(Fault::OutcomeUnknown.into()),
            },
            Known::Unknown(_) | Known::Nothing => Err(Fault::OutcomeUnknown.into()),
        }
    }

    /// A failure as the record stores it, with the site's status, on which some wordings depend.
    pub(super) fn kept_failure(&self, refusal: &Refusal) -> Value {
        let mut record = kept(Err(refusal));
        record["upstream_status"] = self.account.upstream_status.into();
        record
    }

    /// The reply after another call took the same key or token first.
    pub(super) async fn beaten(&mut self, promises: &Promises<'_>, begin: &Begin<'_>) -> Result<Done, Stop> {
        let known = match begin.key {
            Some(key) => promises.look(key, begin.input, begin.now).await.map_err(not_kept)?,
            None => Known::Nothing,
        };
        match known {
            Known::Nothing => Err(self.asked(promises, begin.input, begin.now, Fault::ConfirmationInvalid).await),
            known => self.known(known),
        }
    }

    /// The confirmation of this call, or the request for one.
    pub(super) async fn confirmed(&mut self, promises: &Promises<'_>, input: &str, now: u64) -> Result<Token, Stop> {
        let fault = match self.ask.confirmation {
            None => Fault::ConfirmationRequired,
            Some(token) => {
                let mut binding = self.binding(input);
                let seen = self.seen.as_ref();
                let mut confirmed = promises.confirmed(token, seen, &binding, now).await.map_err(not_kept)?;
                // A client that names its conversation from now on may have asked before it had one.
                if confirmed.is_none() && self.is_new_conversation().await? {
                    binding = self.binding_in(input, None);
                    confirmed = promises.confirmed(token, seen, &binding, now).await.map_err(not_kept)?;
                }
                let confirmed = match confirmed {
                    Some(confirmed) => Some((confirmed, binding)),
                    None => self.confirmed_as_permitted(promises, token, &binding, now).await?,
                };
                match confirmed {
                    Some((confirmed, _)) if !self.capability.confirmation.by_page => return Ok(confirmed),
                    Some((confirmed, binding)) => {
                        if let Some(confirmed) = self.confirmed_on_page(confirmed, token, &binding).await? {
                            return Ok(confirmed);
                        }
                    }
                    None => {}
                }
                Fault::ConfirmationInvalid
            }
        };
        Err(self.asked(promises, input, now, fault).await)
    }

    /// The confirmation of a call whose arguments were changed, or the request for one.
    pub(super) async fn confirmed_anew(&mut self, promises: &Promises<'_>, now: u64) -> Result<Token, Stop> {
        if self.is_confirmed {
            // It is a step of a composition, and a person cannot be asked about a step alone.
            return Err(blocked().into());
        }
        let input = records::fingerprint(&[self.ask.input.to_string().as_bytes()]);
        match self.confirmed(promises, &input, now).await {
            Err(Stop::Asked(mut asked)) => {
                // The token was valid, but for other arguments.
                asked.refusal = Fault::ConfirmationRequired.into();
                Err(Stop::Asked(asked))
            }
            confirmed => confirmed,
        }
    }

    pub(super) async fn asked(&mut self, promises: &Promises<'_>, input: &str, now: u64, fault: Fault) -> Stop {
        let summary = self.plan.say(&self.ask.input);
        let mut binding = self.binding(input);
        match self.may_be_confirmed(&summary).await {
            // The call consumes the approval, not the request for confirmation: that reply may get lost.
            Ok(Some(permission)) => binding = permission.binding(&binding),
            Ok(None) => {}
            Err(stop) => return stop,
        }
        let lasts = self.capability.confirmation.expires;
        if self.capability.confirmation.by_page {
            return self.asked_on_page(promises, &binding, summary, now, fault).await;
        }
        match promises.offer(&binding, lasts, now).await {
            Ok(token) => Stop::Asked(Box::new(Asked {
                page: None,
                refusal: fault.into(),
                summary,
                consequence: match self.desk.records.lost_at() {
                    None => self.plan.consequence.clone(),
                    Some(at) => with_a_warning(&self.plan.consequence, at),
                },
                expires: now + lasts.as_secs(),
                token,
                input: take(&mut self.ask.input),
            })),
            Err(why) => not_kept(why).into(),
        }
    }

    /// What a confirmation is bound to: the caller, the capability and its recipe, the input, the summary's words, and the
    /// conversation whose cookies the call sends.
    pub(super) fn binding(&self, input: &str) -> String {
        self.binding_in(input, self.conversation())
    }

    fn binding_in(&self, input: &str, conversation: Option<&str>) -> String {
        let holder = self.ask.caller.holder().bytes();
        let summary = self.plan.say(&self.ask.input);
        let (recipe, version) = self.plan.recipe().unwrap_or_default();
        let texts = [&self.capability.id, recipe, version, input, &summary, &self.plan.consequence];
        let texts = texts.into_iter().chain(conversation).map(str::as_bytes);
        let parts: Vec<&[u8]> = [&holder[..]].into_iter().chain(texts).collect();
        records::fingerprint(&parts)
    }
}

/// A result as the record stores it.
pub(super) fn kept(told: Result<&Told, &Refusal>) -> Value {
    match told {
        Ok(told) => json!({ "ok": told.kept() }),
        Err(refusal) => json!({
            "fault": refusal.fault.reason(), "status": status(refusal.fault), "name": refusal.name.as_deref(),
            "detail": refusal.detail, "details": refusal.details, "too_long": refusal.reason == TOO_LONG,
            "retry_after": refusal.retry_after,
            "violations": refusal.violations.iter().map(|v| json!([v.pointer, v.message])).collect::<Vec<_>>(),
        }),
    }
}

/// The status of a fault; a named failure has the site's own.
fn status(fault: Fault) -> u16 {
    let Fault::Named(status) = fault else { return fault.status().as_u16() };
    status.as_u16()
}

pub(super) fn told_again(kept: &mut Value) -> Option<Result<Told, Refusal>> {
    if let Some(told) = kept.get_mut("ok") {
        return Told::from_kept(told).map(Ok);
    }
    let status = || StatusCode::from_u16(u16::try_from(kept["status"].as_u64()?).ok()?).ok();
    let refusal: Refusal = match kept["name"].as_str() {
        Some(name) => Refusal { name: Some(name.into()), ..Fault::Named(status()?).into() },
        None if kept["too_long"] == true => Refusal { reason: TOO_LONG, ..Fault::Malformed.into() },
        None if kept["fault"] == Fault::Malformed.reason() => Fault::Malformed.into(),
        None if kept["fault"] == Fault::CompositionFailed.reason() => Fault::CompositionFailed.into(),
        None => [Fault::SiteChanged, Fault::LoginRequired, Fault::InvalidInput]
            .into_iter()
            .find(|fault| kept["fault"] == fault.reason())
            .unwrap_or(Fault::SiteFailed)
            .into(),
    };
    // The site's own words about a form.
    let violations = kept["violations"].as_array().into_iter().flatten();
    let violations: Vec<Violation> =
        violations.filter_map(|pair| Some(Violation::new(pair[0].as_str()?, pair[1].as_str()?))).collect();
    let refusal = Refusal { violations, ..refusal };
    let details = Some(kept["details"].take()).filter(|details| !details.is_null());
    let refusal = Refusal { details, retry_after: kept["retry_after"].as_u64().or(refusal.retry_after), ..refusal };
    let detail = kept["detail"].as_str().map(str::to_owned);
    Some(Err(match detail {
        Some(detail) => Refusal::saying(refusal, detail),
        None => refusal,
    }))
}
