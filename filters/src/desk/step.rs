//! One call on its way: the whole of it stands in [`Step::steps`], top to bottom.
//!
//! A read is told from what was kept, or from the site. Whatever may leave a mark is promised first, then carried out,
//! and written down before it is told.

use std::{mem::take, time::Duration};

use http::StatusCode;
use serde_json::{Value, json};

use super::{
    Account, Ask, Asked, Call, Desk, Done, Failed, Told, Turned,
    audit::{NotWritten, Place},
    call::CallPlan,
    input, pages,
    plan::{Plan, Way},
    promised::kept,
    records::{self, Began, Begin, Known, Promises, seconds},
    shape::{self, Ending},
    ticket::{NotOpened, State, Tickets},
    trouble::{NOBODY_KNOWS, carried_out_all_the_same, failed, not_kept, not_written},
};
use crate::{
    caller::Proof,
    concierge::MOST_TOKENS,
    fault::{Fault, Refusal},
    site::{BuiltIn, Capability},
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
enum Doing<'a> {
    Call(&'a CallPlan, Call<'a>),
    Person,
}

impl Doing<'_> {
    fn may_be_repeated(&self) -> bool {
        matches!(self, Self::Call(plan, _) if plan.idempotent)
    }

    fn limit(&self) -> Duration {
        match self {
            Self::Call(plan, _) => plan.limit(),
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
            Way::Pages(which) => return Ok(self.pages_say(*which)),
            Way::Nothing => return Err(Fault::NotImplemented.into()),
            Way::Person => return self.act(Doing::Person).await,
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
        if self.capability.kind.is_read() && !self.capability.is_confirmed() && !self.capability.idempotency_required {
            return self.read(plan, call).await;
        }
        self.act(Doing::Call(plan, call)).await
    }

    fn validate(&self) -> Result<(), Refusal> {
        self.plan.forbidden.check(&self.ask.input)?;
        match &self.capability.input {
            Some(schema) => schema.check(&self.ask.input).map_err(input::wrong),
            None => Ok(()),
        }
    }

    fn contract_says(&mut self, data: &Value) -> Done {
        let told = Told {
            status: StatusCode::OK,
            data: data.clone().into(),
            raw: None,
            at: seconds(),
            fresh: None,
            omitted: false,
        };
        self.done(told, None)
    }

    /// What the site's pages say; the same words get the same answer as long as the pages are the same.
    fn pages_say(&mut self, which: BuiltIn) -> Done {
        let query = self.ask.input["query"].as_str().unwrap_or_default();
        let talk = &self.ask.talk;
        let alone = talk.before.is_empty() && talk.clarification.is_none();
        let key = (alone && !self.plan.ttl.is_zero()).then(|| {
            let language = talk.locale.unwrap_or_default().split('-').next().unwrap_or_default().to_ascii_lowercase();
            let parts = [&self.capability.id, query, &language, &self.desk.snapshot.hash];
            // More tokens than the longest answer has make no other answer.
            let tokens = talk.max_tokens.min(MOST_TOKENS as u64);
            let numbers = [self.desk.library.number(), tokens, u64::from(talk.list)].map(u64::to_be_bytes);
            let parts = parts.iter().map(|part| part.as_bytes()).chain(numbers.iter().map(|n| &n[..]));
            records::fingerprint(&parts.collect::<Vec<_>>())
        });
        if let Some((told, left)) = key.as_deref().and_then(|key| self.desk.kept.get(key)) {
            self.account.decision = "cached";
            return self.done(told, Some(left));
        }
        let told = pages::told(self.desk.library, which, query, talk);
        if let Some(key) = key {
            self.desk.kept.keep(key, &told, self.plan.ttl);
        }
        self.done(told, None)
    }

    pub(super) fn done(&mut self, told: Told, keeps: Option<Duration>) -> Done {
        Done { told, input: take(&mut self.ask.input), replayed: false, keeps }
    }

    /// Something that leaves everything as it is: it may be told from what was kept.
    async fn read(&mut self, plan: &CallPlan, mut call: Call<'_>) -> Result<Done, Stop> {
        let (ttl, anybody) = (self.plan.ttl, self.is_for_anybody());
        // What goes on in a talk is nobody else's, nor the next talk's.
        let key = (!ttl.is_zero() && self.alone).then(|| self.kept_under(anybody));
        // Who happened to ask first must not show in what others are told.
        call.caller = call.caller.filter(|_| key.is_none() || !anybody);
        if let Some((told, left)) = key.as_deref().and_then(|key| self.desk.kept.get(key)) {
            self.account.decision = "cached";
            return Ok(self.done(told, Some(left)));
        }
        self.begun();
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
    async fn act(&mut self, doing: Doing<'_>) -> Result<Done, Stop> {
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
                Known::Unknown(version) if doing.may_be_repeated() => after = Some(version),
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
    fn begun(&mut self) {
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
