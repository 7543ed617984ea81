//! One call on its way: the whole of it stands in [`Step::steps`], top to bottom.
//!
//! A read is told from what was kept, or from the site. Whatever may leave a mark is promised first, then carried out,
//! and written down before it is told.

use std::{
    mem::take,
    time::{Duration, Instant},
};

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Account, Ask, Asked, Call, Carried, Desk, Done, Failed, Outcome, Told, Turned,
    audit::{NotWritten, Place},
    call::CallPlan,
    composition::Composition,
    input,
    plan::{Plan, Way},
    promised::kept,
    records::{self, Began, Begin, Known, Promises, seconds},
    shape::{self, Ending},
    ticket::{NotOpened, State, Tickets},
    trouble::{NOBODY_KNOWS, carried_out_all_the_same, failed, not_kept, not_written},
};
use crate::{
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

/// What is done once it is promised.
pub(super) enum Doing<'a> {
    Call(&'a CallPlan, Call<'a>),
    Composition(&'a Composition),
    Person,
}

/// How far it came at the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reached {
    /// Nothing was begun, or all of it was taken back.
    Nothing,
    /// The site said no.
    Refused,
    /// It may have been carried out, or some of it was.
    Unknown,
    Done,
}

impl Doing<'_> {
    fn may_be_repeated(&self) -> bool {
        match self {
            Self::Call(plan, _) => plan.idempotent,
            // What a step did is promised by itself, and is not done again.
            Self::Composition(_) => true,
            Self::Person => false,
        }
    }

    fn limit(&self) -> Duration {
        match self {
            Self::Call(plan, _) => plan.limit(),
            Self::Composition(all) => all.limit,
            // Only a record is made.
            Self::Person => Duration::from_secs(5),
        }
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
    /// The input is all that the site is told.
    pub(super) alone: bool,
    /// A person confirmed what it is a part of.
    pub(super) is_confirmed: bool,
    pub(super) reached: Reached,
}

impl<'a> Step<'a> {
    pub(super) fn new(desk: &'a Desk<'a>, ask: Ask<'a>, capability: &'a Capability, plan: &'a Plan) -> Self {
        let account = Account::of(capability);
        let (place, alone, is_confirmed, reached) = (None, true, false, Reached::Nothing);
        Self { desk, ask, capability, plan, account, place, alone, is_confirmed, reached }
    }

    /// All of it, and what is written down of it.
    pub(super) async fn carry_out(mut self) -> (Carried, Reached) {
        let began = Instant::now();
        let result = self.steps().await;
        let replayed = matches!(result, Err(Stop::Replayed(_)));
        let outcome = match result {
            Ok(done) => Outcome::Done(done),
            Err(Stop::Asked(asked)) => Outcome::NeedsConfirmation(asked),
            Err(Stop::Refused(refusal) | Stop::Replayed(refusal)) => Outcome::Fault(refusal),
        };
        self.account.decision = match &outcome {
            Outcome::Done(Done { replayed: true, .. }) => "replayed",
            Outcome::Done(_) if self.account.decision.is_empty() => "done",
            Outcome::Done(_) => self.account.decision,
            Outcome::NeedsConfirmation(asked) => asked.refusal.reason,
            Outcome::Fault(_) if replayed => "replayed",
            Outcome::Fault(refusal) => refusal.reason,
        };
        self.account.duration = began.elapsed();
        if let Outcome::Fault(refusal) = &outcome {
            self.account.named = refusal.name.as_deref().map(str::to_owned);
        }
        self.write_down().await;
        (Carried { outcome, replayed, account: self.account }, self.reached)
    }

    /// The whole way. Limits by address and credential, and reading the body with its bound, lie before it.
    pub(super) async fn steps(&mut self) -> Result<Done, Stop> {
        let settings = &self.desk.snapshot.settings;
        self.ask.authority.credential(self.capability, settings)?;
        self.validate()?;
        self.ask.authority.scoped(self.capability)?;
        self.ask.authority.strong(self.capability, settings)?;
        let plan = match &self.plan.way {
            Way::Contract(data) => return Ok(self.contract_says(data)),
            Way::Pages(which) => return Ok(self.pages_say(*which)),
            Way::Nothing => return Err(Fault::NotImplemented.into()),
            Way::Person => return self.act(Doing::Person).await,
            // What is told beside the input is for one site, and not for every step.
            Way::Composition(all) if self.is_read() => return self.read(Doing::Composition(all)).await,
            Way::Composition(all) => return self.act(Doing::Composition(all)).await,
            Way::Call(plan) => plan,
        };
        let beside = take(&mut self.ask.beside);
        let told = match beside.is_empty() {
            true => None,
            false => self.ask.input.as_object().map(|input| beside.into_iter().chain(input.clone()).collect()),
        };
        self.alone = told.is_none();
        let told = told.map(Value::Object);
        let call = plan.call(told.as_ref().unwrap_or(&self.ask.input));
        let mut call = call.map_err(|violation| input::wrong(vec![violation]))?;
        call.caller = Some(self.ask.caller);
        call.named = !self.ask.unnamed;
        let doing = Doing::Call(plan, call);
        if self.is_read() { self.read(doing).await } else { self.act(doing).await }
    }

    /// Whether nothing has to be promised of it.
    fn is_read(&self) -> bool {
        self.capability.kind.is_read() && !self.capability.is_confirmed() && !self.capability.idempotency_required
    }

    fn validate(&self) -> Result<(), Refusal> {
        self.plan.forbidden.check(&self.ask.input)?;
        match &self.capability.input {
            Some(schema) => schema.check(&self.ask.input).map_err(input::wrong),
            None => Ok(()),
        }
    }

    pub(super) fn done(&mut self, told: Told, keeps: Option<Duration>) -> Done {
        Done { told, input: take(&mut self.ask.input), replayed: false, keeps }
    }

    /// Something that may leave a mark: promised once, confirmed where it has to be, written down.
    async fn act(&mut self, doing: Doing<'_>) -> Result<Done, Stop> {
        let promises = Promises { records: self.desk.records, holders: self.desk.holders };
        let now = seconds();
        let holder = self.ask.caller.holder();
        let input = self.ask.input.to_string();
        let input = match &doing {
            // Another version of a recipe does something else.
            Doing::Composition(all) => {
                records::fingerprint(&[input.as_bytes(), all.name.as_bytes(), all.version.as_bytes()])
            }
            _ => records::fingerprint(&[input.as_bytes()]),
        };
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
                Known::Unknown(version) if doing.may_be_repeated() => after = Some(version),
                known => return self.known(known),
            }
        }

        // Did a person confirm it? A retry of what was begun was confirmed when it was begun.
        let mut token = None;
        if self.capability.is_confirmed() && after.is_none() && !self.is_confirmed {
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
        let before = self.is_confirmed || after.is_some();
        self.account.confirmed = token.is_some() || before && self.capability.is_confirmed();

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
            limit: doing.limit(),
            now,
            version: 0,
        };
        match promises.begin(&begin).await.map_err(not_kept)? {
            Began::Yes(version) => begin.version = version,
            Began::No => return self.beaten(&promises, &begin).await,
        }
        match doing {
            Doing::Call(plan, call) => self.carried(&promises, &begin, plan, call).await,
            Doing::Composition(all) => self.composed(&promises, &begin, all).await,
            Doing::Person => self.handed_over(&promises, &begin).await,
        }
    }

    /// Leaves the call to a person, and keeps where their answer will be.
    async fn handed_over(&mut self, promises: &Promises<'_>, begin: &Begin<'_>) -> Result<Done, Stop> {
        let tickets = Tickets::of(self.desk);
        let opened = match self.ask.wish {
            Some(wish) => tickets.open(&self.ask, wish, State::Waiting).await,
            None => Err(NotOpened::NoWish),
        };
        match opened {
            Ok(id) => {
                let data = json!({ "ticket": id });
                let status = StatusCode::ACCEPTED;
                let told = Told { status, data: data.into(), raw: None, at: seconds(), fresh: None, omitted: false };
                let told = Ok(told);
                self.account.unkept |= promises.end(begin, Some(&kept(&told))).await.is_err();
                Ok(self.done(told?, None))
            }
            Err(why) => {
                self.account.unkept |= promises.take_back(begin).await.is_err();
                Err(why.refusal().into())
            }
        }
    }

    /// From here on only the site can stand in the way.
    pub(super) fn begun(&mut self) {
        if let Some(begun) = self.ask.begun.take() {
            begun();
        }
    }

    /// Calls the site, and keeps what it said.
    async fn carried(
        &mut self,
        promises: &Promises<'_>,
        begin: &Begin<'_>,
        plan: &CallPlan,
        call: Call<'_>,
    ) -> Result<Done, Stop> {
        self.begun();
        self.reached = Reached::Unknown;
        let told = match self.desk.upstream.call(call).await {
            Ok(answer) => {
                self.account.upstream_status = Some(answer.status.as_u16());
                match shape::ending(plan, &answer) {
                    Ending::Known => shape::told(plan, answer, seconds()).map_err(carried_out_all_the_same),
                    Ending::NotDone => {
                        self.reached = Reached::Nothing;
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
                self.reached = Reached::Nothing;
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
        self.reached = match &told {
            Err(refusal) if refusal.fault != Fault::Malformed => Reached::Refused,
            _ => Reached::Done,
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
