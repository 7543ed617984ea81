//! The desk carries out capability calls, the same way for every dialect.
//!
//! `decide` has identified the caller and applied the rate limits before. The rest stands in `step`, top to bottom:
//! check the credential, the input, the authorisation, the idempotency record and the confirmation; call the site,
//! read its answer, write the audit line. A dialect brings an [`Ask`] and translates the [`Outcome`]; nothing here
//! knows a dialect.

#![forbid(unsafe_code)]

mod account;
mod acting;
pub mod address;
mod approval;
pub mod audit;
mod authority;
mod background;
mod call;
mod caller_urls;
mod clean_responses;
mod compiled;
mod composed;
pub mod conversation;
mod data;
mod declaration;
mod declared;
mod document;
mod endpoint;
mod escalated;
mod events;
mod exchange;
mod explain;
mod files;
mod fingerprint;
mod form_plan;
mod freshness;
pub mod harness;
mod harness_context;
mod input;
mod json_passthrough;
mod kept;
mod leaving;
mod linked_session;
pub mod live_check;
mod message;
mod models;
mod pages;
pub mod pending;
mod pending_record;
pub mod person_page;
mod plan;
pub mod problem;
mod promised;
mod reading;
pub mod records;
mod scan_threads;
mod serve;
mod shape;
mod site_cookies;
mod site_facts;
mod step;
mod submission;
mod summary;
mod supervised;
#[cfg(test)]
mod testing;
pub mod ticket;
mod trouble;
mod understood;
pub mod visitor;

use std::{any::Any, time::Duration};

use serde_json::{Map, Value};

pub use account::Account;
use approval::ESCALATED;
use audit::Audit;
pub use authority::Authority;
pub use background::{Background, Busy, Errand, Finish, permission_of};
pub use call::{Answer, Call, Failed, READ, Upstream, header_of_input, static_header};
pub use compiled::Compiled;
pub use data::Data;
pub use declaration::EXTENSION;
pub use document::{ALLOW, Document, GENERATED, Negotiate, Variant, origin, takes};
pub use endpoint::{Endpoint, Endpoints};
pub use events::Events;
pub use explain::Explain;
pub use form_plan::FormCall;
use frontdesk_base::{date, expand, pattern, schema, target};
pub use message::{Standing, count};
pub use scan_threads::{Job, ScanThreads};
pub use serve::*;

pub use caller_urls::Outside;
pub use date::{date, rfc3339};
pub use expand::unnamed;
pub use files::{Given as GivenFile, endpoint as files_endpoint};
pub use frontdesk_answers::File;
pub use input::Given;
pub use input::body_of;
pub use kept::Kept;
pub use leaving::Flagged;
pub use models::{Models, NoModels};
pub use pages::Talk;
pub use pattern::Pattern;
use plan::Plan;
pub use plan::{Called, Prepared};
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
use frontdesk_caller::{Caller, TokenServer, limits::budget::UnderWay};
use frontdesk_config::Capability;
use frontdesk_state::{
    chain::Chains,
    {Counters, Records},
};
use ticket::Wish;

/// Everything that carrying out a call needs besides the call itself.
pub struct Desk<'a> {
    pub compiled: &'a Compiled,
    pub records: &'a dyn Records,
    pub holders: &'a dyn Holders,
    pub upstream: &'a dyn Upstream,
    /// The audit log; `None`: there is none.
    pub audit: Option<&'a dyn Audit>,
    pub kept: &'a Kept,
    /// The signed records.
    pub chains: &'a Chains,
    pub counters: &'a dyn Counters,
    /// The reserved parts of the token budgets.
    pub under_way: &'a UnderWay,
    /// The index of the site's pages.
    pub library: &'a Library,
    /// The operator's models.
    pub models: &'a dyn Models,
    pub background: &'a dyn Background,
    pub outside: &'a dyn Outside,
    /// The threads that scan large answers.
    pub apart: &'a dyn ScanThreads,
    /// Where the notes come from that are published; `None` where there is no such directory. Its handler knows what it
    /// is.
    pub handoff: Option<&'a (dyn Any + Send + Sync)>,
    /// The way to the authorization server that exchanges tokens.
    pub token_server: &'a dyn TokenServer,
    /// Who is asked before something risky happens; `None`: nobody.
    pub harness: Option<&'a Harness>,
}

/// A call, independent of the dialect.
pub struct Ask<'a> {
    pub capability: Called<'a>,
    /// The input, an object.
    pub input: Value,
    pub caller: &'a Caller,
    pub authority: Authority<'a>,
    /// The confirmation token.
    pub confirmation: Option<&'a str>,
    pub idempotency_key: Option<&'a str>,
    pub request_id: &'a str,
    /// Name of the dialect, for the audit log.
    pub dialect: &'static str,
    /// The site as the client named it in its Host header. No idempotency record depends on it, because a retry may
    /// name another host.
    pub host: &'a str,
    /// The conversation so far, for a question in words.
    pub talk: Talk<'a>,
    /// Extra parameters for the site. They are not validated, confirmed or stored with the input.
    pub beside: Map<String, Value>,
    /// How the caller wants an answer that comes later.
    pub wish: Option<&'a Wish>,
    /// Runs once every check has passed and only the site is left to ask.
    pub begun: Option<Box<dyn FnOnce() + Send + Sync>>,
    /// The site is not told who asks, neither the proven nor the claimed identity.
    pub unnamed: bool,
}

/// Who called what, for the audit log.
pub struct Turned<'a> {
    pub capability: Called<'a>,
    pub caller: &'a Caller,
    pub idempotency_key: Option<&'a str>,
    pub request_id: &'a str,
    pub dialect: &'static str,
}

/// The result of a call.
#[derive(Debug)]
pub enum Outcome {
    Done(Done),
    /// A person has to confirm the call first.
    NeedsConfirmation(Box<Asked>),
    Fault(Box<Refusal>),
}

/// A call that was carried out.
#[derive(Debug)]
pub struct Done {
    pub told: Told,
    /// The input that it was carried out with.
    pub input: Value,
    /// It is a replay under the same idempotency key.
    pub replayed: bool,
    /// For how many seconds it may be cached.
    pub keeps: Option<Duration>,
}

/// The request for a confirmation.
#[derive(Debug)]
pub struct Asked {
    /// [`Fault::ConfirmationRequired`], or [`Fault::ConfirmationInvalid`] where the token was invalid.
    pub refusal: Refusal,
    pub summary: String,
    pub consequence: String,
    /// When the token expires, in seconds since 1970.
    pub expires: u64,
    pub token: String,
    /// Where a person confirms it, if not the agent asks them.
    pub page: Option<ConfirmationPage>,
    pub input: Value,
}

/// The page on which a person confirms a call. The token alone confirms nothing then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfirmationPage {
    /// Its address, for the agent to hand to the person.
    At(String),
    /// The site was told the address, and sends it to the person.
    Sent,
}

impl ConfirmationPage {
    /// The address, where the agent may know it.
    pub fn url(&self) -> Option<&str> {
        match self {
            Self::At(url) => Some(url),
            Self::Sent => None,
        }
    }
}

/// A call's outcome, and what metrics and the audit log count of it.
#[derive(Debug)]
pub struct Carried {
    pub outcome: Outcome,
    /// The failure is a replay under the same idempotency key.
    pub replayed: bool,
    pub account: Box<Account>,
}

impl Compiled {
    /// Writes the audit line of a call that was refused before it reached the desk.
    pub fn turned_away(&self, call: &Turned<'_>, reason: &'static str, audit: Option<&dyn Audit>) -> Box<Account> {
        let Some((capability, _)) = self.called(call.capability) else { return Account::nothing() };
        let mut account = Account::of(capability);
        account.decision = reason;
        if let Some(audit) = audit {
            audit.note(account.line(call, capability));
        }
        account
    }

    /// The capability that is called, and its plan.
    fn called<'a>(&'a self, called: Called<'a>) -> Option<(&'a Capability, &'a Plan)> {
        match called {
            Called::Declared(index) => self.capability(index),
            Called::Composed(prepared) => Some((&prepared.capability, &prepared.plan)),
        }
    }
}

impl Desk<'_> {
    /// Checks, before any input is read, that a required credential is there.
    ///
    /// # Errors
    ///
    /// The refusal for the caller.
    pub fn admit<'c>(&self, called: impl Into<Called<'c>>, authority: &Authority<'_>) -> Result<(), Refusal> {
        let (capability, _) = self.compiled.called(called.into()).ok_or(Fault::NotFound)?;
        authority.credential(capability, &self.compiled.settings)
    }

    /// Carries out a call.
    ///
    /// Not an `async fn`: its future would hold the call twice.
    pub fn carry_out<'c>(&'c self, ask: Ask<'c>) -> impl Future<Output = Carried> {
        let called = self.compiled.called(ask.capability);
        let mut step = called.map(|(capability, plan)| Step::new(self, ask, capability, plan));
        async move {
            if let Some(step) = &mut step {
                return step.carry_out().await.0;
            }
            let refusal = Refusal::from(Fault::NotFound);
            let mut account = Account::nothing();
            account.decision = refusal.reason;
            Carried { outcome: Outcome::Fault(Box::new(refusal)), replayed: false, account }
        }
    }
}
