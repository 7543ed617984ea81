//! The one way a capability is carried out, whatever dialect it was asked in.
//!
//! Who calls and how often was settled by `decide`. What follows stands in `steps`, top to bottom: is a
//! credential there, is the input right, may this caller, was this promised before, did a person confirm; then the site
//! is called, its answer read, and all of it written down. A dialect brings an [`Ask`] and puts the [`Outcome`] into
//! words; nothing here knows one.

mod account;
pub mod audit;
mod authority;
mod call;
mod expand;
mod input;
mod kept;
mod pattern;
mod plan;
mod records;
mod schema;
mod shape;
mod summary;
mod target;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http::StatusCode;
use serde_json::{Value, json};

pub use account::{Account, rfc3339};
use audit::{Audit, NotWritten, Place};
pub use authority::Authority;
pub(crate) use call::static_header;
pub use call::{Answer, Call, Failed, Upstream};
pub use input::Given;
pub use kept::Kept;
pub(crate) use pattern::Pattern;
pub(crate) use plan::Plan;
use plan::Way;
pub use records::Holders;
use records::{Began, Begin, Known, Promises, Token};
pub use schema::{Referred, Schema, Violation};
use shape::Ending;
pub use shape::{Raw, Told};
pub use summary::Summary;
pub use target::Target;

use crate::{
    caller::{Caller, Proof},
    fault::{Fault, Refusal},
    site::{Capability, Snapshot},
    state::{NotKept, Records},
};

/// Everything that carrying out a call needs besides the call.
pub struct Desk<'a> {
    pub snapshot: &'a Snapshot,
    pub records: &'a dyn Records,
    pub holders: &'a dyn Holders,
    pub upstream: &'a dyn Upstream,
    /// `None`: nothing is written down.
    pub audit: Option<&'a dyn Audit>,
    pub kept: &'a Kept,
}

/// A call, in no dialect's words.
pub struct Ask<'a> {
    /// Its place in the declaration.
    pub capability: usize,
    /// An object.
    pub input: Value,
    pub caller: &'a Caller,
    pub authority: Authority<'a>,
    /// The token of a confirmation.
    pub confirmation: Option<&'a str>,
    pub idempotency_key: Option<&'a str>,
    pub request_id: &'a str,
    /// Who brought it, for the record.
    pub dialect: &'static str,
    /// The site that was asked, as the client named it: behind one address there may be many.
    pub host: &'a str,
}

/// Who called what, for the record.
pub struct Turned<'a> {
    pub capability: usize,
    pub caller: &'a Caller,
    pub idempotency_key: Option<&'a str>,
    pub request_id: &'a str,
    pub dialect: &'static str,
}

/// What became of a call.
#[derive(Debug)]
pub enum Outcome {
    Done(Done),
    /// A person has to confirm it first.
    NeedsConfirmation(Asked),
    Fault(Box<Refusal>),
}

/// A call that was carried out.
#[derive(Debug)]
pub struct Done {
    pub told: Told,
    /// What it was carried out with.
    pub input: Value,
    /// It was told before, under the same idempotency key.
    pub replayed: bool,
    /// For how many seconds it may be told again.
    pub keeps: Option<Duration>,
}

/// What a person is asked.
#[derive(Debug)]
pub struct Asked {
    /// [`Fault::ConfirmationRequired`], or [`Fault::ConfirmationInvalid`] where a token was not good.
    pub refusal: Refusal,
    pub summary: String,
    pub consequence: String,
    /// Seconds since 1970.
    pub expires: u64,
    pub token: String,
    pub input: Value,
}

/// A call's outcome, and what is to be counted of it.
#[derive(Debug)]
pub struct Carried {
    pub outcome: Outcome,
    /// The failure was told before, under the same idempotency key.
    pub replayed: bool,
    pub account: Account,
}

/// Why a step went no further.
enum Stop {
    Refused(Box<Refusal>),
    Replayed(Box<Refusal>),
    Asked(Box<Asked>),
}

impl<R: Into<Refusal>> From<R> for Stop {
    fn from(refusal: R) -> Self {
        Self::Refused(Box::new(refusal.into()))
    }
}

impl Snapshot {
    /// Writes down a call that came no further than to be refused.
    pub fn turned_away(&self, call: &Turned<'_>, reason: &'static str, audit: Option<&dyn Audit>) -> Account {
        let Some((capability, _)) = self.capability(call.capability) else { return Account::nothing() };
        let account = Account { decision: reason, ..Account::of(capability) };
        if let Some(audit) = audit {
            audit.note(account.line(call, capability));
        }
        account
    }
}

impl Desk<'_> {
    /// Whether somebody is worth listening to: where a credential is needed, one is there.
    ///
    /// # Errors
    ///
    /// What they are told.
    pub fn admit(&self, capability: usize, authority: &Authority<'_>) -> Result<(), Refusal> {
        let (capability, _) = self.snapshot.capability(capability).ok_or(Fault::NotFound)?;
        authority.credential(capability, &self.snapshot.settings)
    }

    /// Carries out a call.
    pub async fn carry_out(&self, ask: Ask<'_>) -> Carried {
        let began = Instant::now();
        let Some((capability, plan)) = self.snapshot.capability(ask.capability) else {
            let refusal = Refusal::from(Fault::NotFound);
            let account = Account { decision: refusal.reason, ..Account::nothing() };
            return Carried { outcome: Outcome::Fault(Box::new(refusal)), replayed: false, account };
        };
        let mut step = Step { desk: self, ask, capability, plan, account: Account::of(capability), place: None };
        let result = step.steps().await;
        let replayed = matches!(result, Err(Stop::Replayed(_)));
        let outcome = match result {
            Ok(done) => Outcome::Done(done),
            Err(Stop::Asked(asked)) => Outcome::NeedsConfirmation(*asked),
            Err(Stop::Refused(refusal) | Stop::Replayed(refusal)) => Outcome::Fault(refusal),
        };
        step.account.decision = match &outcome {
            Outcome::Done(Done { replayed: true, .. }) => "replayed",
            Outcome::Done(_) if step.account.decision.is_empty() => "done",
            Outcome::Done(_) => step.account.decision,
            Outcome::NeedsConfirmation(asked) => asked.refusal.reason,
            Outcome::Fault(_) if replayed => "replayed",
            Outcome::Fault(refusal) => refusal.reason,
        };
        step.account.duration = began.elapsed();
        if let Outcome::Fault(refusal) = &outcome {
            step.account.named = refusal.name.as_deref().map(str::to_owned);
        }
        step.write_down().await;
        Carried { outcome, replayed, account: step.account }
    }
}

/// One call on its way. Its line is written even where nobody waits for the answer any more: see [`Step::write_down`].
struct Step<'a> {
    desk: &'a Desk<'a>,
    ask: Ask<'a>,
    capability: &'a Capability,
    plan: &'a Plan,
    account: Account,
    /// Room for its line, where it went so far that the line has to be there before the answer.
    place: Option<Box<dyn Place>>,
}

impl Step<'_> {
    /// The whole way. Limits by address and credential, and reading the body with its bound, lie before it.
    async fn steps(&mut self) -> Result<Done, Stop> {
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

    fn done(&mut self, told: Told, keeps: Option<Duration>) -> Done {
        Done { told, input: std::mem::take(&mut self.ask.input), replayed: false, keeps }
    }

    /// Something that leaves everything as it is: it may be told from what was kept.
    async fn read(&mut self, plan: &call::CallPlan, mut call: Call<'_>) -> Result<Done, Stop> {
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
    async fn act(&mut self, plan: &call::CallPlan, call: Call<'_>) -> Result<Done, Stop> {
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
                        known => self.known(known),
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
        plan: &call::CallPlan,
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

    /// What a caller is told of a key that is known.
    fn known(&mut self, known: Known) -> Result<Done, Stop> {
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

    /// Somebody else was first with this key, or this token.
    async fn beaten(&mut self, promises: &Promises<'_>, begin: &Begin<'_>) -> Result<Done, Stop> {
        let known = match begin.key {
            Some(key) => promises.look(key, begin.input, begin.now).await.map_err(not_kept)?,
            None => Known::Nothing,
        };
        match known {
            Known::Nothing => Err(self.asked(promises, begin.input, begin.now, Fault::ConfirmationInvalid).await),
            known => self.known(known),
        }
    }

    /// The confirmation of this very call, or what a person has to be asked.
    async fn confirmed(&mut self, promises: &Promises<'_>, input: &str, now: u64) -> Result<Token, Stop> {
        let fault = match self.ask.confirmation {
            None => Fault::ConfirmationRequired,
            Some(token) => {
                let binding = self.binding(input);
                match promises.confirmed(token, &binding, now).await.map_err(not_kept)? {
                    Some(token) => return Ok(token),
                    None => Fault::ConfirmationInvalid,
                }
            }
        };
        Err(self.asked(promises, input, now, fault).await)
    }

    async fn asked(&mut self, promises: &Promises<'_>, input: &str, now: u64, fault: Fault) -> Stop {
        let lasts = self.capability.confirmation.expires;
        match promises.offer(&self.binding(input), lasts, now).await {
            Ok(token) => Stop::Asked(Box::new(Asked {
                refusal: fault.into(),
                summary: self.plan.summary.say(&self.ask.input),
                consequence: self.plan.consequence.clone(),
                expires: now + lasts.as_secs(),
                token,
                input: std::mem::take(&mut self.ask.input),
            })),
            Err(why) => not_kept(why).into(),
        }
    }

    /// The site that was asked.
    fn site(&self) -> String {
        self.ask.host.to_ascii_lowercase()
    }

    /// What a confirmation holds for: this caller, this capability, this input, and these words.
    fn binding(&self, input: &str) -> String {
        let holder = self.ask.caller.holder().bytes();
        let summary = self.plan.summary.say(&self.ask.input);
        let site = self.site();
        let texts = [&site, &self.capability.id, input, &summary, &self.plan.consequence];
        let parts: Vec<&[u8]> = [&holder[..]].into_iter().chain(texts.map(str::as_bytes)).collect();
        records::fingerprint(&parts)
    }

    async fn write_down(&mut self) {
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

/// Nobody should try again before they know.
const NOBODY_KNOWS: &str =
    "The site gave no answer that says whether this was carried out. Find out before trying again.";

/// An answer that cannot be told is an answer: the site has acted on the call.
fn carried_out_all_the_same(refusal: Refusal) -> Refusal {
    if refusal.fault != Fault::Malformed {
        return refusal;
    }
    refusal.saying(
        "The site took this call, but its answer cannot be passed on. Find out what it did before trying again.",
    )
}

/// A failure of the site's, and whether it is known what became of the call.
fn failed(failure: Failed) -> Refusal {
    match failure {
        Failed::NotSent => Fault::Unreachable.into(),
        Failed::TimedOut => Fault::GatewayTimeout.into(),
        Failed::Broken => Fault::BadGateway.into(),
        Failed::TooLong(_) => {
            Refusal::from(Fault::Malformed).saying("The site's answer is longer than this desk passes on.")
        }
    }
}

/// The records cannot be reached: nothing is promised, and so nothing is done.
fn not_kept(why: NotKept) -> Refusal {
    let (reason, detail) = match why {
        NotKept::Away => {
            ("store_away", "What was promised cannot be looked up at the moment. Nothing was done; try again later.")
        }
        NotKept::Full => ("store_full", "No more can be promised at the moment. Nothing was done; try again later."),
    };
    Refusal { reason, ..Refusal::from(Fault::Unavailable).saying(detail) }
}

/// What cannot be written down is not done.
fn not_written() -> Refusal {
    let detail = "This cannot be written down at the moment, and so it is not done. Try again later.";
    Refusal { reason: "audit_unavailable", retry_after: Some(30), ..Refusal::from(Fault::Unavailable).saying(detail) }
}

/// What a record keeps of what was told.
fn kept(told: &Result<Told, Refusal>) -> Value {
    match told {
        Ok(told) => json!({ "ok": told.kept() }),
        Err(refusal) => json!({
            "fault": refusal.fault.reason(), "status": refusal.fault.status().as_u16(), "name": refusal.name.as_deref(),
            "detail": refusal.detail,
        }),
    }
}

fn told_again(kept: &mut Value) -> Option<Result<Told, Refusal>> {
    if let Some(told) = kept.get_mut("ok") {
        return Told::from_kept(told).map(Ok);
    }
    let status = || StatusCode::from_u16(u16::try_from(kept["status"].as_u64()?).ok()?).ok();
    let refusal: Refusal = match kept["name"].as_str() {
        Some(name) => Refusal { name: Some(name.into()), ..Fault::Named(status()?).into() },
        None if kept["fault"] == Fault::Malformed.reason() => Fault::Malformed.into(),
        None => Fault::SiteFailed.into(),
    };
    let detail = kept["detail"].as_str().map(str::to_owned);
    Some(Err(match detail {
        Some(detail) => Refusal::saying(refusal, detail),
        None => refusal,
    }))
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
