//! The conversation (AHP §6): the one path of a question, whether it came as AHP, as an MCP tool call or as an OpenAPI
//! operation: session, types, budget, the desk, and the answer in AHP's form.

use std::{collections::HashMap, sync::Arc};

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};

use super::{
    super::Occupied,
    asking::{Asking, Begun, Stopped, clarified},
    conversed::Conversed,
    listed::{self, ActionType, BESIDE, Listed},
    manifest,
    question::{Question, Wrong},
    session::Session,
    types,
    words::Words,
};
use frontdesk_caller::limits::{
    budget::{LEAST, NotReserved},
    store_away, tokens,
};
use frontdesk_config::Declaration;
use frontdesk_desk::{
    Incoming, conversation, {Authority, Desk, Pattern, Turned},
};

/// Maximum bytes of a compiled pattern.
const PATTERN: usize = 1 << 20;

/// All capabilities, prepared for questions.
#[derive(Debug)]
pub struct Converse {
    listed: Vec<Listed>,
    prepared: Vec<Prepared>,
    by_name: HashMap<String, usize>,
    pub(super) words: Words,
    /// The permitted uses of answers (§7).
    pub(super) signals: Value,
    /// The URL for later answers, without the id.
    pub(super) status: String,
}

/// One capability, prepared for questions.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Each input that is extracted from a question, and its pattern.
    pub(super) extract: Vec<(String, Regex)>,
    pub(super) payload: Vec<(String, Pattern)>,
    /// Estimated seconds until the answer.
    pub(super) eta: Option<u64>,
}

impl Converse {
    /// Prepares the declared capabilities.
    pub fn new(declaration: &Declaration, occupied: &Occupied) -> Self {
        let settings = &declaration.settings;
        let listed = listed::all(declaration);
        let prepared = listed.iter().map(|listed| {
            let ahp = settings.capability(listed.index).map(|capability| capability.ahp.clone()).unwrap_or_default();
            let patterns = ahp.extract.iter().filter_map(|(name, text)| Some((name.clone(), pattern(text).ok()?)));
            let payload = ahp.payload.as_ref().and_then(Value::as_object);
            let members = payload.into_iter().flatten();
            Prepared {
                extract: patterns.collect(),
                payload: members.map(|(name, value)| (name.clone(), Pattern::compile(value))).collect(),
                eta: ahp.eta.map(|eta| eta.as_secs()),
            }
        });
        Self {
            prepared: prepared.collect(),
            by_name: listed.iter().enumerate().map(|(at, listed)| (listed.name.clone(), at)).collect(),
            words: Words::new(settings, &listed),
            signals: manifest::signals(declaration),
            status: format!("{}/", super::status_path(declaration, occupied)),
            listed,
        }
    }

    pub(super) fn named(&self, name: &str) -> Option<(&Listed, &Prepared)> {
        let at = *self.by_name.get(name)?;
        self.listed.get(at).zip(self.prepared.get(at))
    }

    /// Answers a question.
    pub async fn converse(
        self: &Arc<Self>,
        desk: &Desk<'_>,
        request: &Incoming<'_>,
        question: Question,
        dialect: &'static str,
    ) -> Conversed {
        let Some((listed, prepared)) = self.named(&question.capability) else {
            return Conversed::unknown_capability(&question.capability, self.listed.iter().map(|l| l.name.as_str()));
        };
        let asking = Asking { converse: self, listed, prepared, desk, request, dialect };
        let key = question.context.idempotency_key.clone();
        let mut near = None;
        let mut conversed = match asking.turned(&question).await {
            Ok(mut turned) => {
                near = turned.reserved.near;
                let standing = std::mem::take(&mut turned.standing);
                let mut conversed = asking.answered(question, turned).await;
                conversed.headers.extend(standing);
                conversed
            }
            Err(Stopped::Conversed(conversed)) => *conversed,
            Err(Stopped::Refused(refusal)) => Conversed::refused(&refusal),
        };
        if conversed.account.is_none() {
            // The desk never saw this question, so its audit line is written here.
            let Incoming { caller, request_id, .. } = *request;
            let idempotency_key = key.as_deref();
            let turned = Turned { capability: listed.index.into(), caller, idempotency_key, request_id, dialect };
            let reason = conversed.turn.reason().unwrap_or("asked_back");
            conversed.account = Some(desk.compiled.turned_away(&turned, reason, desk.audit));
        }
        if let Some(account) = &mut conversed.account {
            account.near = near;
        }
        conversed
    }
}

/// Compiles a pattern that extracts an input from a question.
///
/// # Errors
///
/// What is wrong with it.
pub fn pattern(text: &str) -> Result<Regex, String> {
    let pattern = RegexBuilder::new(text).case_insensitive(false).size_limit(PATTERN).build();
    pattern.map_err(|e| e.to_string())
}

impl Asking<'_> {
    /// The checks before the desk: credential, limits, type, session, budget.
    async fn turned(&self, question: &Question) -> Result<Begun, Stopped> {
        let Self { listed, desk, request, .. } = self;
        let wrong = |wrong: Wrong| Stopped::Conversed(wrong.into());
        let authority = self.authority();
        desk.admit(listed.index, &authority)?;
        self.idempotency_key(question)?;
        let standing = self.within_rates(question).await?;
        // A question to the pages needs words (§6.1); with anything else the answer would not fit.
        let asks = |input: &Map<String, Value>| input.get("query").and_then(Value::as_str).is_some();
        let in_words = question.query.is_some() || question.clarification.is_some();
        if self.is_built_in() && !in_words && !question.input.as_ref().is_some_and(asks) {
            return Err(wrong(Wrong::Missing("query")));
        }
        let claims = |name: &&str| question.input.as_ref().is_some_and(|input| input.contains_key(*name));
        if let Some(name) = BESIDE.into_iter().find(claims).filter(|_| listed.is_concierge) {
            let what = format!("Send {name} beside input and not in it.");
            return Err(wrong(Wrong::Invalid(what)));
        }
        let context = &question.context;
        let Some(chosen) = types::choose(listed, context.accept_types.as_deref()) else {
            let available = listed.response_types.clone();
            return Err(wrong(Wrong::UnsupportedType { available }));
        };
        if let Some(url) = &context.callback_url {
            let unfit = |why: String| wrong(Wrong::Invalid(format!("context.callback_url {why}")));
            desk.outside.check(url).map_err(unfit)?;
        }
        let session = Session::turn(desk, question.session_id.as_deref(), request.caller).await?;
        let words = [&question.query, &question.clarification].into_iter().flatten();
        let words: u64 = words.map(|text| u64::from(tokens::count(text))).sum();
        // An object has about one token per four bytes.
        let asked =
            words + question.input.as_ref().map_or(0, |input| Value::from(input.clone()).to_string().len() as u64 / 4);
        let budgets = &desk.compiled.budgets;
        let answer = budgets.ceiling(context.max_tokens);
        let (counts, wanted) = ((desk.counters, desk.under_way), (asked, answer, LEAST.min(answer)));
        match budgets.reserve(counts, request.caller, &session.id, wanted).await {
            Ok(reserved) => {
                let hands_none_on = question.session_id.is_none() && self.dialect != super::DIALECT.name;
                let standing_session = hands_none_on.then(|| conversation::of_credential(request)).flatten();
                let kept = Default::default();
                Ok(Begun { chosen, session, reserved, asked, standing, kept, standing_session })
            }
            Err(NotReserved::Exhausted(refusal)) => Err(Stopped::Refused(refusal)),
            Err(NotReserved::Away) => Err(store_away().into()),
        }
    }

    pub(super) fn authority(&self) -> Authority<'_> {
        let demands_credential = self.listed.needs_auth;
        Authority { demands_credential, ..Authority::of(self.request.caller) }
    }

    /// Extra parameters for an operator's concierge, so that it can follow the conversation. They are not part of the
    /// question.
    pub(super) fn beside(&self, question: &Question, session: &Session) -> Map<String, Value> {
        let mut beside = Map::new();
        for (name, value) in BESIDE.into_iter().zip([Some(session.id.as_str()), clarified(question)]) {
            if let Some(value) = value.filter(|_| self.listed.takes_beside(name)) {
                beside.insert(name.to_owned(), value.into());
            }
        }
        beside
    }

    /// Whether the site's pages answer it.
    pub(super) fn is_built_in(&self) -> bool {
        self.desk.compiled.settings.capability(self.listed.index).is_some_and(|c| c.built_in.is_some())
    }

    /// Whether it is answered later.
    pub(super) fn is_later(&self) -> bool {
        self.listed.action_type == ActionType::Async
    }
}
