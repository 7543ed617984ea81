//! The conversation (AHP §6): the one path of a question, whether it came as AHP, as an MCP tool call or as an OpenAPI
//! operation: session, types, budget, the desk, and the answer in AHP's form.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    asking::{Asking, Begun},
    conversed::Conversed,
    listed::BESIDE,
    prepared::Converse,
    question::{Question, Wrong},
    session::Session,
    types,
};
use frontdesk_base::fault::Refusal;
use frontdesk_caller::limits::{
    budget::{LEAST, NotReserved},
    store_away, tokens,
};
use frontdesk_desk::{Desk, Incoming, Turned, conversation};

impl Converse {
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

/// Why a question goes no further.
enum Stopped {
    Conversed(Box<Conversed>),
    Refused(Box<Refusal>),
}

impl From<Refusal> for Stopped {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<Box<Conversed>> for Stopped {
    fn from(conversed: Box<Conversed>) -> Self {
        Self::Conversed(conversed)
    }
}

impl Asking<'_> {
    /// The checks before the desk: credential, limits, type, session, budget.
    async fn turned(&self, question: &Question) -> Result<Begun, Stopped> {
        let Self { listed, desk, request, .. } = self;
        let wrong = |wrong: Wrong| Stopped::Conversed(wrong.into());
        let authority = self.authority();
        desk.admit(listed.index, &authority)?;
        self.idempotency_key(question)?;
        let standing = self.within_rates(question).await.map_err(Stopped::Refused)?;
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
}
