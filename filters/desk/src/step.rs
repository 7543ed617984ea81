//! One call on its way: the whole of it stands in [`Step::steps`], top to bottom.
//!
//! A read is told from what was kept, or from the site. Whatever may leave a mark is promised first, then carried out,
//! and written down before it is told.

use std::{
    mem::take,
    time::{Duration, Instant},
};

use serde_json::{Map, Value};

use super::{
    Account, Ask, Asked, Call, Carried, Desk, Done, Outcome, Told, Turned,
    audit::Place,
    call::CallPlan,
    composition::Composition,
    escalated::Permission,
    input,
    plan::{Plan, Way},
    records::Seen,
    supervised::{Owed, blocked},
};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_config::Capability;

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
    pub(super) fn may_be_repeated(&self) -> bool {
        match self {
            Self::Call(plan, _) => plan.idempotent,
            // What a step did is promised by itself, and is not done again.
            Self::Composition(_) => true,
            Self::Person => false,
        }
    }

    pub(super) fn limit(&self) -> Duration {
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
    /// It is a step of so many that were called as one: what the site says goes on to the next, and not to an agent.
    pub(super) depth: u32,
    /// Its own, or that of what it is a part of, whichever is greater.
    pub(super) risk: &'a str,
    /// What people allowed, each for one call.
    pub(super) permissions: Vec<Permission>,
    /// What they have yet to allow.
    pub(super) owed: Vec<Owed>,
    /// What is known already of the token that was presented.
    pub(super) seen: Option<Seen>,
    /// From here on only the site could stand in the way.
    pub(super) has_begun: bool,
}

impl<'a> Step<'a> {
    pub(super) fn new(desk: &'a Desk<'a>, ask: Ask<'a>, capability: &'a Capability, plan: &'a Plan) -> Self {
        let account = Account { dialect: ask.dialect, ..Account::of(capability) };
        let (place, alone, is_confirmed, reached) = (None, true, false, Reached::Nothing);
        let (depth, risk, permissions, owed) = (0, capability.risk(), Vec::new(), Vec::new());
        Self {
            desk,
            ask,
            capability,
            plan,
            account,
            place,
            alone,
            is_confirmed,
            reached,
            depth,
            risk,
            permissions,
            owed,
            seen: None,
            has_begun: false,
        }
    }

    /// All of it, and what is written down of it.
    pub(super) async fn carry_out(&mut self) -> (Carried, Reached) {
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
        let unknown = Fault::OutcomeUnknown.reason();
        self.account.in_doubt = self.reached == Reached::Unknown || self.account.decision == unknown;
        if let Outcome::Fault(refusal) = &outcome {
            self.account.named = refusal.name.as_deref().map(str::to_owned);
        }
        self.tell_outcome(match &outcome {
            Outcome::Done(_) => None,
            Outcome::NeedsConfirmation(asked) => Some(&asked.refusal),
            Outcome::Fault(refusal) => Some(refusal),
        });
        self.write_down().await;
        let account = std::mem::replace(&mut self.account, Account::nothing());
        (Carried { outcome, replayed, account }, self.reached)
    }

    /// The whole way. Limits by address and credential, and reading the body with its bound, lie before it.
    ///
    /// Boxed is what few calls need: what all of them hold is moved, and made room for, in all of them.
    pub(super) async fn steps(&mut self) -> Result<Done, Stop> {
        let settings = &self.desk.compiled.settings;
        self.ask.authority.credential(self.capability, settings)?;
        self.validate()?;
        self.ask.authority.scoped(self.capability)?;
        self.ask.authority.strong(self.capability, settings)?;
        let plan = match &self.plan.way {
            Way::Contract(data) => return Ok(self.contract_says(data)),
            Way::Pages(which) => return Ok(Box::pin(self.pages_say(*which)).await?),
            Way::Nothing => return Err(Fault::NotImplemented.into()),
            Way::Person => return Box::pin(self.act(Doing::Person)).await,
            // What is told beside the input is for one site, and not for every step.
            Way::Composition(all) if self.is_read() => return Box::pin(self.read(Doing::Composition(all))).await,
            Way::Composition(all) => return Box::pin(self.act(Doing::Composition(all))).await,
            Way::Call(plan) => plan,
        };
        let doing = self.calling(plan)?;
        if self.is_read() { self.read(doing).await } else { Box::pin(self.act(doing)).await }
    }

    /// The request to the site, with the input as it is now.
    fn calling(&mut self, plan: &'a CallPlan) -> Result<Doing<'a>, Stop> {
        let told = self.told();
        self.alone = told.is_none();
        let call = plan.call(told.as_ref().unwrap_or(&self.ask.input));
        let mut call = call.map_err(|violation| input::wrong(vec![violation]))?;
        call.caller = Some(self.ask.caller);
        call.named = !self.ask.unnamed;
        Ok(Doing::Call(plan, call))
    }

    /// The input with what is told beside it, where that is anything. What is told beside it was looked at, and stands
    /// whatever the input says.
    fn told(&self) -> Option<Value> {
        let Ask { input, beside, .. } = &self.ask;
        let input = input.as_object().filter(|_| !beside.is_empty())?;
        let told: Map<String, Value> = input.clone().into_iter().chain(beside.clone()).collect();
        Some(told.into())
    }

    /// What is to be done once whoever supervises has had a say, and whether the arguments are others now.
    pub(super) async fn allowed(&mut self, doing: Doing<'a>) -> Result<(Doing<'a>, bool), Stop> {
        if self.desk.harness.is_none() {
            return Ok((doing, false));
        }
        if let Doing::Composition(all) = &doing {
            Box::pin(self.may_be_composed(all)).await?;
            return Ok((doing, false));
        }
        let changed = Box::pin(self.supervised()).await?;
        match doing {
            Doing::Call(plan, _) if changed => match self.calling(plan) {
                Ok(doing) => Ok((doing, true)),
                // Who called did not send what cannot be sent.
                Err(_) => {
                    self.account.supervision = "block";
                    Err(blocked().into())
                }
            },
            doing => Ok((doing, changed)),
        }
    }

    /// Whether nothing has to be promised of it.
    fn is_read(&self) -> bool {
        self.capability.kind.is_read() && !self.capability.is_confirmed() && !self.capability.idempotency_required
    }

    pub(super) fn validate(&self) -> Result<(), Refusal> {
        self.plan.forbidden.check(&self.ask.input)?;
        match &self.capability.input {
            Some(schema) => schema.check(self.told().as_ref().unwrap_or(&self.ask.input)).map_err(input::wrong),
            None => Ok(()),
        }
    }

    pub(super) fn done(&mut self, told: Told, keeps: Option<Duration>) -> Done {
        self.account.flagged = told.flags.told().to_vec();
        Done { told, input: take(&mut self.ask.input), replayed: false, keeps }
    }

    /// From here on only the site can stand in the way.
    pub(super) fn begun(&mut self) {
        self.has_begun = true;
        if let Some(begun) = self.ask.begun.take() {
            begun();
        }
    }

    /// The client's Host header as far as the site is told of it: what the site answers may have links in it that are made
    /// of it, which no other client should be shown.
    pub(super) fn host_for_the_site(&self) -> String {
        match self.desk.compiled.settings.upstream.preserve_host {
            true => self.ask.host.to_ascii_lowercase(),
            false => String::new(),
        }
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
