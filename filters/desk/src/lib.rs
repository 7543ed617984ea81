//! The one way a capability is carried out, whatever dialect it was asked in.
//!
//! Who calls and how often was settled by `decide`. What follows stands in `step`, top to bottom: is a
//! credential there, is the input right, may this caller, was this promised before, did a person confirm; then the site
//! is called, its answer read, and all of it written down. A dialect brings an [`Ask`] and puts the [`Outcome`] into
//! words; nothing here knows one.

#![forbid(unsafe_code)]

mod account;
mod acting;
pub mod address;
mod apart;
pub mod audit;
mod authority;
mod background;
mod call;
mod compiled;
mod composed;
mod composition;
mod data;
mod declaration;
mod document;
mod endpoint;
mod escalated;
mod explain;
mod freshness;
pub mod harness;
mod input;
mod kept;
mod leaving;
mod message;
mod outside;
mod pages;
mod perceived;
mod plain;
mod plan;
pub mod problem;
mod promised;
mod reading;
pub mod records;
mod seen;
mod serve;
mod shape;
mod site_facts;
mod step;
mod summary;
mod supervised;
#[cfg(test)]
mod testing;
pub mod ticket;
mod trouble;

use std::{any::Any, time::Duration};

use serde_json::{Map, Value};

pub use account::Account;
pub use apart::{Apart, Job};
use audit::Audit;
pub use authority::Authority;
pub use background::{Background, Busy, Errand, Finish, permission_of};
pub use call::{Answer, Call, Failed, READ, Upstream};
pub use compiled::Compiled;
pub use composition::{Called, Prepared};
pub use data::Data;
pub use declaration::EXTENSION;
pub use document::{ALLOW, Document, Negotiate, Variant, takes};
pub use endpoint::{Endpoint, Endpoints};
pub use explain::Explain;
use frontdesk_base::{date, expand, pattern, schema, target};
pub use message::{Standing, count};
pub use serve::*;

pub use date::{date, rfc3339};
use escalated::ESCALATED;
pub use expand::unnamed;
pub use input::Given;
pub use input::body_of;
pub use kept::Kept;
pub use leaving::Flagged;
pub use outside::Outside;
pub use pages::Talk;
pub use pattern::Pattern;
use plan::Plan;
pub use records::Holders;
pub use schema::{Referred, Schema, Violation};
pub use shape::{Raw, Told};
pub use site_facts::{site_facts, unread_library};
use step::Step;
pub use summary::Summary;
pub use target::Target;
pub use target::encoded;
pub use trouble::{TOO_LONG, not_kept};

use crate::harness::Harness;
use frontdesk_ask::Library;
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_caller::{Caller, limits::budget::UnderWay};
use frontdesk_config::Capability;
use frontdesk_state::{
    chain::Chains,
    {Counters, Records},
};
use ticket::Wish;

/// Everything that carrying out a call needs besides the call.
pub struct Desk<'a> {
    pub compiled: &'a Compiled,
    pub records: &'a dyn Records,
    pub holders: &'a dyn Holders,
    pub upstream: &'a dyn Upstream,
    /// `None`: nothing is written down.
    pub audit: Option<&'a dyn Audit>,
    pub kept: &'a Kept,
    /// Records that are signed.
    pub chains: &'a Chains,
    pub counters: &'a dyn Counters,
    /// What is reserved of the token budgets among them.
    pub under_way: &'a UnderWay,
    /// What the site's pages say.
    pub library: &'a Library,
    pub background: &'a dyn Background,
    pub outside: &'a dyn Outside,
    /// Where large answers are looked through.
    pub apart: &'a dyn Apart,
    /// Where the notes come from that are published; `None` where there is no such directory. Its handler knows what it
    /// is.
    pub handoff: Option<&'a (dyn Any + Send + Sync)>,
    /// Who is asked before something risky happens; `None`: nobody.
    pub harness: Option<&'a Harness>,
}

/// A call, in no dialect's words.
pub struct Ask<'a> {
    pub capability: Called<'a>,
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
    /// The site as the client named it, in its Host header. No promise depends on it: the client may name it otherwise when
    /// it asks again.
    pub host: &'a str,
    /// What the caller and the desk have said to each other, where it is a question in words.
    pub talk: Talk<'a>,
    /// What the site is told beside the input; no part of what is checked, confirmed or kept.
    pub beside: Map<String, Value>,
    /// How the answer is wanted, where it comes later.
    pub wish: Option<&'a Wish>,
    /// Told when there is nothing left that could stand in the way but the site.
    pub begun: Option<Box<dyn FnOnce() + Send + Sync>>,
    /// The site is not told who asks, be it proven or claimed.
    pub unnamed: bool,
}

/// Who called what, for the record.
pub struct Turned<'a> {
    pub capability: Called<'a>,
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
    NeedsConfirmation(Box<Asked>),
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

impl Compiled {
    /// Writes down a call that came no further than to be refused.
    pub fn turned_away(&self, call: &Turned<'_>, reason: &'static str, audit: Option<&dyn Audit>) -> Account {
        let Some((capability, _)) = self.called(call.capability) else { return Account::nothing() };
        let account = Account { decision: reason, ..Account::of(capability) };
        if let Some(audit) = audit {
            audit.note(account.line(call, capability));
        }
        account
    }

    /// What is called, and how it is carried out.
    fn called<'a>(&'a self, called: Called<'a>) -> Option<(&'a Capability, &'a Plan)> {
        match called {
            Called::Declared(index) => self.capability(index),
            Called::Composed(prepared) => Some((&prepared.capability, &prepared.plan)),
        }
    }
}

impl Desk<'_> {
    /// Whether somebody is worth listening to: where a credential is needed, one is there.
    ///
    /// # Errors
    ///
    /// What they are told.
    pub fn admit<'c>(&self, called: impl Into<Called<'c>>, authority: &Authority<'_>) -> Result<(), Refusal> {
        let (capability, _) = self.compiled.called(called.into()).ok_or(Fault::NotFound)?;
        authority.credential(capability, &self.compiled.settings)
    }

    /// Carries out a call.
    ///
    /// No `async fn`: that would hold a call twice, as it came and as it is carried out.
    pub fn carry_out<'c>(&'c self, ask: Ask<'c>) -> impl Future<Output = Carried> {
        let called = self.compiled.called(ask.capability);
        let mut step = called.map(|(capability, plan)| Step::new(self, ask, capability, plan));
        async move {
            if let Some(step) = &mut step {
                return step.carry_out().await.0;
            }
            let refusal = Refusal::from(Fault::NotFound);
            let account = Account { decision: refusal.reason, ..Account::nothing() };
            Carried { outcome: Outcome::Fault(Box::new(refusal)), replayed: false, account }
        }
    }
}
