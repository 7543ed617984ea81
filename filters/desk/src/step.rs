//! One call in progress: [`Step::steps`] is the whole pipeline, top to bottom.
//!
//! A read is answered from a cache or from the site. A call with side effects first reserves its idempotency key, then
//! runs, and its result is stored before the reply.

use std::{
    borrow::Cow,
    mem::take,
    time::{Duration, Instant},
};

use http::header;
use serde_json::{Map, Value};

use super::{
    Account, Ask, Asked, Call, Carried, Desk, Done, Outcome, Told, Turned,
    approval::{GrantedApproval, PendingApproval, blocked},
    audit::Place,
    call::CallPlan,
    input,
    plan::{Composition, Plan, Way},
    records::{self, Seen},
};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_config::Capability;

/// Why a call stopped.
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

/// What runs after the checks.
pub(super) enum Doing<'a> {
    Call(&'a CallPlan, Call<'a>),
    Composition(&'a Composition),
    Person,
}

/// The furthest effect that the call had at the site.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reached {
    /// None: the call was not begun, or was withdrawn.
    Nothing,
    /// The site rejected it.
    Refused,
    /// Unknown: some or all of it may have been carried out.
    Unknown,
    Done,
}

impl Doing<'_> {
    pub(super) fn may_be_repeated(&self) -> bool {
        match self {
            Self::Call(plan, _) => plan.idempotent,
            // Each acting step has an idempotency key of its own, so it does not run twice.
            Self::Composition(_) => true,
            Self::Person => false,
        }
    }

    pub(super) fn limit(&self) -> Duration {
        match self {
            Self::Call(plan, _) => plan.limit(),
            Self::Composition(all) => all.limit,
            // Only a record is written.
            Self::Person => Duration::from_secs(5),
        }
    }
}

/// One call in progress.
pub(super) struct Step<'a> {
    pub(super) desk: &'a Desk<'a>,
    pub(super) ask: Ask<'a>,
    pub(super) capability: &'a Capability,
    pub(super) plan: &'a Plan,
    pub(super) account: Box<Account>,
    /// Room for the audit line, once the line has to be written before the reply.
    pub(super) place: Option<Box<dyn Place>>,
    /// The site gets the input and nothing else.
    pub(super) alone: bool,
    /// A person confirmed the composition that this call is a step of.
    pub(super) is_confirmed: bool,
    pub(super) reached: Reached,
    /// Depth of nested compositions. Above zero the result goes to the next step, and not to an agent.
    pub(super) depth: u32,
    /// The higher of its own risk and that of the composition it belongs to.
    pub(super) risk: &'a str,
    /// The approvals, each for one call.
    pub(super) permissions: Vec<GrantedApproval>,
    /// The approvals that are still missing.
    pub(super) owed: Vec<PendingApproval>,
    /// What is known of the confirmation token, after the record lookup.
    pub(super) seen: Option<Seen>,
    /// Every check has passed; only the site is left to ask.
    pub(super) has_begun: bool,
}

impl<'a> Step<'a> {
    pub(super) fn new(desk: &'a Desk<'a>, ask: Ask<'a>, capability: &'a Capability, plan: &'a Plan) -> Self {
        let mut account = Account::of(capability);
        account.dialect = ask.dialect;
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

    /// Runs the pipeline and writes the account.
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
            if let (Fault::SiteChanged, Cow::Borrowed(words)) = (refusal.fault, &refusal.detail) {
                self.account.changed = Some(*words);
            }
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

    /// The pipeline. Rate limits and the bounded reading of the body come before it.
    ///
    /// Branches that few calls take are boxed; otherwise the future of every call would have to make room for them.
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
            // Extra parameters are for one site, not for every step.
            Way::Composition(all) if self.is_read() => return Box::pin(self.read(Doing::Composition(all))).await,
            Way::Composition(all) => return Box::pin(self.act(Doing::Composition(all))).await,
            Way::Call(plan) => plan,
        };
        let doing = self.calling(plan)?;
        if self.is_read() { self.read(doing).await } else { Box::pin(self.act(doing)).await }
    }

    /// The request to the site, from the present input.
    fn calling(&mut self, plan: &'a CallPlan) -> Result<Doing<'a>, Stop> {
        let told = self.told();
        self.alone = told.is_none();
        let call = plan.call(told.as_ref().unwrap_or(&self.ask.input));
        let mut call = call.map_err(|violation| input::wrong(vec![violation]))?;
        call.caller = Some(self.ask.caller);
        call.named = !self.ask.unnamed;
        if let Some(credential) = self.ask.caller.credential.as_ref().filter(|_| plan.in_their_name) {
            call.credential = Cow::Borrowed(credential.lines());
        }
        Ok(Doing::Call(plan, call))
    }

    /// Exchanges the caller's token for one that the site takes, where an authorization server does that.
    ///
    /// # Errors
    ///
    /// The server does not exchange it, or cannot be asked. Nothing was sent to the site.
    pub(super) async fn with_exchanged_token(&self, doing: &mut Doing<'_>) -> Result<(), Stop> {
        let (Some(exchange), Doing::Call(_, call)) = (&self.desk.compiled.callers.exchange, doing) else {
            return Ok(());
        };
        let presented = call.credential.iter().position(|(name, _)| *name == header::AUTHORIZATION);
        let Some(at) = presented else { return Ok(()) };
        let now = records::seconds();
        let given = exchange.authorization(self.desk.token_server, &call.credential[at].1, now).await?;
        call.credential.to_mut()[at].1 = given;
        Ok(())
    }

    /// The input together with the extra parameters, where there are any. The extra parameters were checked, and win
    /// over the input.
    fn told(&self) -> Option<Value> {
        let Ask { input, beside, .. } = &self.ask;
        let input = input.as_object().filter(|_| !beside.is_empty())?;
        let told: Map<String, Value> = input.clone().into_iter().chain(beside.clone()).collect();
        Some(told.into())
    }

    /// What runs after supervision, and whether supervision changed the arguments.
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
                // The harness made the input invalid, not the caller.
                Err(_) => {
                    self.account.supervision = "block";
                    Err(blocked().into())
                }
            },
            doing => Ok((doing, changed)),
        }
    }

    /// Whether the call needs no idempotency record.
    fn is_read(&self) -> bool {
        self.capability.kind.is_read() && !self.capability.is_confirmed() && !self.capability.idempotency_required
    }

    pub(super) fn validate(&mut self) -> Result<(), Refusal> {
        self.plan.forbidden.check(&self.ask.input)?;
        if let Some(declared) = &self.plan.declared {
            declared.keep(&mut self.ask.input);
        }
        match &self.capability.input {
            Some(schema) => schema.check(self.told().as_ref().unwrap_or(&self.ask.input)).map_err(input::wrong),
            None => Ok(()),
        }
    }

    pub(super) fn done(&mut self, told: Told, keeps: Option<Duration>) -> Done {
        self.account.flagged = told.flags.told().to_vec();
        Done { told, input: take(&mut self.ask.input), replayed: false, keeps }
    }

    /// Marks that every check has passed and only the site is left to ask.
    pub(super) fn begun(&mut self) {
        self.has_begun = true;
        if let Some(begun) = self.ask.begun.take() {
            begun();
        }
    }

    /// The client's Host header, as far as the site gets it. The site may build links from it, which no other client
    /// should see.
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
            // The audit log itself reports a failed write. The call was carried out, so the answer still goes out.
            Some(place) => drop(place.write(line).await),
            None => audit.note(line),
        }
    }
}
