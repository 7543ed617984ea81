//! A question with all that it is asked with: the capability, the caller, and what the checks have settled. The call to
//! the desk, at once or later, is made of it.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    answer::Spent,
    conversed::Conversed,
    kept::Kept,
    listed::{ActionType, BESIDE, Listed},
    prepared::{Converse, Prepared},
    question::Question,
    session::Session,
    types::Chosen,
};
use frontdesk_base::{fault::Refusal, text::clip};
use frontdesk_caller::limits::budget::Reserved;
use frontdesk_desk::{Ask, Authority, Desk, Incoming, Talk, checked_key};

/// The context of a question.
pub(super) struct Asking<'a> {
    pub(super) converse: &'a Arc<Converse>,
    pub(super) listed: &'a Listed,
    pub(super) prepared: &'a Prepared,
    pub(super) desk: &'a Desk<'a>,
    pub(super) request: &'a Incoming<'a>,
    pub(super) dialect: &'static str,
}

/// What the checks before the desk have settled.
pub(super) struct Begun {
    pub(super) chosen: Chosen,
    pub(super) session: Session,
    pub(super) reserved: Reserved,
    /// Tokens of the question.
    pub(super) asked: u64,
    /// The headers of the limits that were checked here.
    pub(super) standing: Vec<(http::HeaderName, http::HeaderValue)>,
    /// What the session remembers of the input.
    pub(super) kept: Kept,
    /// The conversation's id that the credential gives, for a question without a session in a protocol whose clients
    /// hand none on.
    pub(super) standing_session: Option<String>,
}

/// An answer, its cost, and what the session remembers of it.
pub(super) type Told = (Conversed, Spent, Option<frontdesk_ask::Turn>);

/// Maximum characters of a question in memory.
const REMEMBERED_QUERY: usize = 500;
const REMEMBERED_ANSWER: usize = 400;
/// Maximum sources and options of a turn in memory.
const REMEMBERED_PARTS: usize = 6;

impl Asking<'_> {
    pub(super) fn ask<'q>(&'q self, question: &'q Question, turn: &'q Begun, input: Value) -> Ask<'q> {
        Ask {
            capability: self.listed.index.into(),
            input,
            caller: self.request.caller,
            authority: self.authority(),
            confirmation: question.confirmed(),
            // Validated before.
            idempotency_key: self.idempotency_key(question).ok().flatten(),
            request_id: self.request.request_id,
            dialect: self.dialect,
            host: self.request.authority,
            talk: Talk {
                before: &turn.session.before,
                clarification: question.clarified(),
                max_tokens: turn.reserved.answer,
                locale: question.context.locale.as_deref(),
                list: turn.chosen.kind == super::listed::FEED,
                session: Some(&turn.session.id),
                standing_session: turn.standing_session.as_deref(),
                named_session: question.session_id.as_deref(),
            },
            beside: self.beside(question, &turn.session),
            wish: None,
            begun: None,
            unnamed: false,
        }
    }

    /// The idempotency key. An invalid key is an error, because otherwise a retry would be a new call.
    pub(super) fn idempotency_key<'q>(&'q self, question: &'q Question) -> Result<Option<&'q str>, Refusal> {
        match question.context.idempotency_key.as_deref() {
            Some(key) => checked_key(key).map(Some),
            None => self.request.idempotency_key(),
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
        for (name, value) in BESIDE.into_iter().zip([Some(session.id.as_str()), question.clarified()]) {
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

    /// What the session remembers of the question and its answer.
    pub(super) fn remembered(
        &self,
        question: &Question,
        answer: &str,
        sources: &[(String, String)],
        options: &[String],
    ) -> frontdesk_ask::Turn {
        let short = |text: &str, most| clip(text, most).to_owned();
        frontdesk_ask::Turn {
            query: short(question.query.as_deref().unwrap_or_default(), REMEMBERED_QUERY),
            capability: self.listed.name.clone(),
            // A capability's answer may contain personal data, so only answers from the pages are remembered.
            answer: if self.is_built_in() { short(answer, REMEMBERED_ANSWER) } else { String::new() },
            sources: sources
                .iter()
                .take(REMEMBERED_PARTS)
                .map(|(title, url)| (short(title, 100), short(url, 300)))
                .collect(),
            options: options.iter().take(REMEMBERED_PARTS).map(|option| short(option, 200)).collect(),
        }
    }
}
