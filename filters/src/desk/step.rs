//! One call on its way: the whole of it stands in [`Step::steps`], top to bottom.
//!
//! A read is told from what was kept, or from the site. Whatever may leave a mark is promised first, then carried out,
//! and written down before it is told.

use std::{mem::take, time::Duration};

use http::StatusCode;
use serde_json::Value;

use super::{
    Account, Ask, Asked, Call, Desk, Done, Failed, Told, Turned,
    audit::{NotWritten, Place},
    call::CallPlan,
    input,
    plan::{Plan, Way},
    promised::kept,
    records::{self, Began, Begin, Known, Promises, seconds},
    shape::{self, Ending},
    trouble::{NOBODY_KNOWS, carried_out_all_the_same, failed, not_kept, not_written},
};
use crate::{
    caller::Proof,
    fault::{Fault, Refusal},
    site::Capability,
};

/// Why a step went no further.
pub(super) enum Stop {
    Refused(Box<Refusal>),
    Replayed(Box<Refusal>),
    Asked(Box<Asked>),
}

impl<R: Into<Refusal>> From<R> for Stop {
    fn from(refusal: R) -> Self {
        Self::Refused(Box::new(refusal.into()))
    }
}

/// One call on its way.
pub(super) struct Step<'a> {
    pub(super) desk: &'a Desk<'a>,
    pub(super) ask: Ask<'a>,
    pub(super) capability: &'a Capability,
    pub(super) plan: &'a Plan,
    pub(super) account: Account,
    /// Room for its line, where it went so far that the line has to be there before the answer.
    pub(super) place: Option<Box<dyn Place>>,
}

impl Step<'_> {
    /// The whole way. Limits by address and credential, and reading the body with its bound, lie before it.
    pub(super) async fn steps(&mut self) -> Result<Done, Stop> {
        let settings = &self.desk.snapshot.settings;
        self.ask.authority.credential(self.capability, settings)?;
        self.validate()?;
        self.ask.authority.scoped(self.capability)?;
        self.ask.authority.strong(self.capability, settings)?;
        let plan = match &self.plan.way {
            Way::Contract(data) => return Ok(self.contract_says(data)),
            Way::Nothing => return Err(Fault::NotImplemented.into()),
            Way::Call(plan) => plan,
        };
        let call = plan.call(&self.ask.input).map_err(|violation| input::wrong(vec![violation]))?;
        if self.capability.kind.is_read() && !self.capability.is_confirmed() && !self.capability.idempotency_required {
            return self.read(plan, call).await;
        }
        self.act(plan, call).await
    }

    fn validate(&self) -> Result<(), Refusal> {
        self.plan.forbidden.check(&self.ask.input)?;
        match &self.capability.input {
            Some(schema) => schema.check(&self.ask.input).map_err(input::wrong),
            None => Ok(()),
        }
    }

    fn contract_says(&mut self, data: &Value) -> Done {
        let told =
            Told { status: StatusCode::OK, data: data.clone(), raw: None, at: seconds(), fresh: None, omitted: false };
        self.done(told, None)
    }

    pub(super) fn done(&mut self, told: Told, keeps: Option<Duration>) -> Done {
        Done { told, input: take(&mut self.ask.input), replayed: false, keeps }
    }

    /// Something that leaves everything as it is: it may be told from what was kept.
    async fn read(&mut self, plan: &CallPlan, mut call: Call<'_>) -> Result<Done, Stop> {
        let (ttl, anybody) = (self.plan.ttl, self.is_for_anybody());
        let key = (!ttl.is_zero()).then(|| self.kept_under(anybody));
        // Who happened to ask first must not show in what others are told.
        call.for_anybody = key.is_some() && anybody;
        if let Some((told, left)) = key.as_deref().and_then(|key| self.desk.kept.get(key)) {
            self.account.decision = "cached";
            return Ok(self.done(told, Some(left)));
        }
        let answer = self.desk.upstream.call(call).await.map_err(failed)?;
        self.account.upstream_status = Some(answer.status.as_u16());
        let told = shape::told(plan, answer, seconds())?;
        if let Some(key) = key {
            self.desk.kept.keep(key, &told, ttl);
        }
        Ok(self.done(told, (!ttl.is_zero()).then_some(ttl)))
    }

    /// Site, capability, input, configuration, and the caller unless the answer is for anybody.
    fn kept_under(&self, anybody: bool) -> String {
        let holder = if anybody { [0; 16] } else { self.ask.caller.holder().bytes() };
        let (site, input) = (self.site(), self.ask.input.to_string());
        let texts = [self.desk.snapshot.hash.as_str(), &site, &self.capability.id, &input];
        let shared = [u8::from(anybody)];
        let parts: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).chain([&shared[..], &holder]).collect();
        records::fingerprint(&parts)
    }

    /// Whether the answer is about nobody, and asked for by nobody in particular.
    fn is_for_anybody(&self) -> bool {
        self.capability.is_public() && self.ask.caller.proof == Proof::None
    }

    /// Something that may leave a mark: promised once, confirmed where it has to be, written down.
    async fn act(&mut self, plan: &CallPlan, call: Call<'_>) -> Result<Done, Stop> {
        let promises = Promises { records: self.desk.records, holders: self.desk.holders };
        let now = seconds();
        let holder = self.ask.caller.holder();
        let input = records::fingerprint(&[self.ask.input.to_string().as_bytes()]);
        let site = self.site();
        let key = self.ask.idempotency_key.map(|key| records::key_of(holder, &site, &self.capability.id, key));
        if self.capability.idempotency_required && key.is_none() {
            return Err(Fault::KeyRequired.into());
        }

        // Was it promised before?
        let mut after = None;
        if let Some(key) = &key {
            match promises.look(key, &input, now).await.map_err(not_kept)? {
                Known::Nothing => {}
                Known::Unknown(version) if plan.idempotent => after = Some(version),
                known => return self.known(known),
            }
        }

        // Did a person confirm it? A retry of what was begun was confirmed when it was begun.
        let mut token = None;
        if self.capability.is_confirmed() && after.is_none() {
            match self.confirmed(&promises, &input, now).await {
                Ok(confirmed) => token = Some(confirmed),
                // Its equal may just have been first, with the same key and the same token.
                Err(Stop::Asked(asked)) if asked.refusal.fault == Fault::ConfirmationInvalid && key.is_some() => {
                    let key = key.as_deref().unwrap_or_default();
                    return match promises.look(key, &input, now).await.map_err(not_kept)? {
                        Known::Nothing => Err(Stop::Asked(asked)),
                        known => {
                            self.ask.input = asked.input;
                            self.known(known)
                        }
                    };
                }
                Err(stop) => return Err(stop),
            }
        }
        self.account.confirmed = token.is_some() || after.is_some() && self.capability.is_confirmed();

        // (harness: supervision has its say here)

        if let Some(audit) = self.desk.audit.filter(|_| !self.capability.kind.is_read()) {
            self.place = Some(audit.reserve().await.map_err(|NotWritten| not_written())?);
        }
        let now = seconds();
        let mut begin = Begin {
            key: key.as_deref(),
            after,
            input: &input,
            token: token.as_ref(),
            limit: plan.limit(),
            now,
            version: 0,
        };
        match promises.begin(&begin).await.map_err(not_kept)? {
            Began::Yes(version) => begin.version = version,
            Began::No => return self.beaten(&promises, &begin).await,
        }
        self.carried(&promises, &begin, plan, call).await
    }

    /// Calls the site, and keeps what it said.
    async fn carried(
        &mut self,
        promises: &Promises<'_>,
        begin: &Begin<'_>,
        plan: &CallPlan,
        call: Call<'_>,
    ) -> Result<Done, Stop> {
        let told = match self.desk.upstream.call(call).await {
            Ok(answer) => {
                self.account.upstream_status = Some(answer.status.as_u16());
                match shape::ending(plan, &answer) {
                    Ending::Known => shape::told(plan, answer, seconds()).map_err(carried_out_all_the_same),
                    Ending::NotDone => {
                        self.account.unkept |= promises.take_back(begin).await.is_err();
                        return Err(shape::told(plan, answer, seconds())
                            .err()
                            .unwrap_or(Fault::SiteFailed.into())
                            .into());
                    }
                    Ending::Unknown => {
                        self.account.unkept |= promises.end(begin, None).await.is_err();
                        return Err(Refusal::from(Fault::SiteFailed).saying(NOBODY_KNOWS).into());
                    }
                }
            }
            Err(Failed::NotSent) => {
                // What cannot be taken back now is unknown later, which is no less safe.
                self.account.unkept |= promises.take_back(begin).await.is_err();
                return Err(failed(Failed::NotSent).into());
            }
            Err(failure @ (Failed::TimedOut | Failed::Broken)) => {
                self.account.unkept |= promises.end(begin, None).await.is_err();
                return Err(failed(failure).saying(NOBODY_KNOWS).into());
            }
            Err(failure @ Failed::TooLong(status)) => {
                self.account.upstream_status = Some(status.as_u16());
                Err(carried_out_all_the_same(failed(failure)))
            }
        };
        // Where it cannot be kept, a retry is told that nobody knows; the caller who waits is told.
        self.account.unkept |= promises.end(begin, Some(&kept(&told))).await.is_err();
        Ok(self.done(told?, None))
    }

    /// The site that was asked.
    pub(super) fn site(&self) -> String {
        self.ask.host.to_ascii_lowercase()
    }

    pub(super) async fn write_down(&mut self) {
        let Some(audit) = self.desk.audit else { return };
        let Ask { capability, caller, idempotency_key, request_id, dialect, .. } = self.ask;
        let call = Turned { capability, caller, idempotency_key, request_id, dialect };
        let line = self.account.line(&call, self.capability);
        match self.place.take() {
            // That it could not be written after all is told by whoever writes; it was done, and its answer is due.
            Some(place) => drop(place.write(line).await),
            None => audit.note(line),
        }
    }
}
