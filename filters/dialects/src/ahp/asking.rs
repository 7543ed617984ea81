//! One turn: a question on its way to the desk, and the answer on its way back.

use std::sync::Arc;

use serde_json::Value;

use super::{
    answer::{Answer, AskedBack, Spent},
    converse::{Converse, Prepared},
    conversed::{CANCEL, Conversed},
    inputs::{Inputs, Kept},
    later,
    listed::Listed,
    question::Question,
    session::Session,
    turn::{Answered, Turn},
    types::Chosen,
};
use frontdesk_base::{fault::Refusal, text::clip};
use frontdesk_caller::limits::budget::Reserved;
use frontdesk_config::Capability;
use frontdesk_desk::{
    {Ask, Carried, Desk, Done, Outcome, Talk, records}, {Incoming, checked_key},
};

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

/// Why a question goes no further.
pub(super) enum Stopped {
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

/// Maximum characters of a question in memory.
const REMEMBERED_QUERY: usize = 500;
const REMEMBERED_ANSWER: usize = 400;
/// Maximum sources and options of a turn in memory.
const REMEMBERED_PARTS: usize = 6;

impl Asking<'_> {
    /// Asks the desk and words its outcome.
    pub(super) async fn answered(&self, question: Question, mut turn: Begun) -> Conversed {
        let (mut conversed, spent, remembered) = self.told(&question, &mut turn).await;
        let spent = spent.of(turn.asked);
        // The reply does not depend on this correction. If the counters are unavailable, the reservation stays
        // charged.
        let _ = turn.reserved.settle(self.desk.counters, spent).await;
        if let Some(remembered) = remembered {
            let id = conversed.turn.session().unwrap_or(&turn.session.id).to_owned();
            let session = turn.session.going_on_as(&id);
            if !session.keep(self.desk, self.request.caller, &remembered, &turn.kept).await {
                conversed.turn.without_session();
            }
        }
        if let Turn::Answer(answer) = &mut conversed.turn {
            answer.tokens_used = spent;
        }
        conversed
    }

    /// The answer, its cost in tokens, and what is remembered of it.
    async fn told(&self, question: &Question, turn: &mut Begun) -> Told {
        let session = turn.session.id.clone();
        let session = Some(session.as_str());
        if self.is_cancelled(question) {
            // Earlier calls of this conversation are unknown here, so the message must not deny them.
            let words = "Cancelled: nothing is done now. What was begun or done before stays.";
            let mut answer = self.success(turn, &Answer::words(words));
            answer.declined = true;
            return (
                Turn::Answer(Box::new(answer)).into(),
                Spent::NOTHING,
                Some(self.remembered(question, "Cancelled.", &[], &[])),
            );
        }
        let Inputs { input, lacking, kept } = self.input(question, turn.session.kept.as_ref());
        turn.kept = kept;
        if !lacking.is_empty() {
            let asked = self.asks_back(&lacking);
            let conversed = Conversed::unclear(session, &asked, None, true);
            return (conversed, Spent::NOTHING, Some(self.remembered(question, &asked, &[], &[])));
        }
        if self.is_later() {
            return later::taken(self, question, turn, input).await;
        }
        let ask = self.ask(question, turn, input);
        let Carried { outcome, replayed, account } = self.desk.carry_out(ask).await;
        let cached = account.decision == "cached";
        let (mut conversed, spent, remembered) = match &outcome {
            Outcome::Done(done) => self.done(question, turn, done, cached).await,
            Outcome::NeedsConfirmation(asked) => {
                let words = [asked.summary.as_str(), asked.consequence.as_str()].join(" ");
                (Conversed::asked(session, asked), Spent::NOTHING, Some(self.remembered(question, &words, &[], &[])))
            }
            Outcome::Fault(refusal) => (Conversed::refused(refusal), Spent::NOTHING, None),
        };
        if replayed || matches!(&outcome, Outcome::Done(Done { replayed: true, .. })) {
            conversed
                .headers
                .push((http::HeaderName::from_static("idempotency-replayed"), http::HeaderValue::from_static("true")));
        }
        conversed.account = Some(account);
        (conversed, spent, remembered)
    }

    /// Whether the caller declines. The word counts as a refusal where a confirmation is pending or the call would
    /// have effects. A caller who means it as an input sends it as structured input.
    fn is_cancelled(&self, question: &Question) -> bool {
        let capability = self.desk.compiled.settings.capability(self.listed.index);
        let may_be = self.listed.is_action || capability.is_some_and(Capability::is_confirmed);
        question.confirmation.as_deref() == Some(CANCEL) || may_be && question.clarification.as_deref() == Some(CANCEL)
    }

    pub(super) fn ask<'q>(&'q self, question: &'q Question, turn: &'q Begun, input: Value) -> Ask<'q> {
        Ask {
            capability: self.listed.index.into(),
            input,
            caller: self.request.caller,
            authority: self.authority(),
            confirmation: confirmation(question),
            // Validated before.
            idempotency_key: self.idempotency_key(question).ok().flatten(),
            request_id: self.request.request_id,
            dialect: self.dialect,
            host: self.request.authority,
            talk: Talk {
                before: &turn.session.before,
                clarification: clarified(question),
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

    async fn done(&self, question: &Question, turn: &mut Begun, done: &Done, cached: bool) -> Told {
        let data = done.told.data.value();
        if let Some(asked) = AskedBack::of(self.listed, &data, turn.reserved.answer) {
            let options = asked.options.as_deref().unwrap_or_default();
            let remembered = self.remembered(question, &asked.question, &[], options);
            return (asked.conversed(&turn.session.id), asked.spent, Some(remembered));
        }
        let told = |chosen: &Chosen| {
            Answer::of(self.converse, (self.listed, self.prepared), chosen, (done, &data), turn.reserved.answer)
        };
        let mut answer = told(&turn.chosen);
        // The parts beside the words cost tokens too.
        let over = answer.over(self.listed, turn.reserved.answer);
        if over > 0 {
            let words = told(&turn.chosen.in_words());
            // A token limit that the client named is binding.
            if question.context.max_tokens.is_some() || !turn.reserved.grow(self.desk.counters, over).await {
                answer = words;
            }
        }
        let answered = Answered { cached, file: done.told.file.clone(), ..self.success(turn, &answer) };
        let sources: Vec<(String, String)> = answer
            .sources
            .iter()
            .flatten()
            .filter_map(|s| Some((s["title"].as_str()?.to_owned(), s["url"].as_str()?.to_owned())))
            .collect();
        let remembered = self.remembered(question, &answer.text, &sources, &[]);
        (Turn::Answer(Box::new(answered)).into(), answer.spent, Some(remembered))
    }

    fn success(&self, turn: &Begun, answer: &Answer) -> Answered {
        answer.success(self.converse, self.listed, Some(&turn.session.id))
    }

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

/// The answer to a clarifying question, unless it confirms or declines.
pub(super) fn clarified(question: &Question) -> Option<&str> {
    let said = question.clarification.as_deref()?;
    (confirmation(question) != Some(said)).then_some(said)
}

/// The confirmation token, from its own member or as the chosen clarification.
pub(super) fn confirmation(question: &Question) -> Option<&str> {
    let chosen = || question.clarification.as_deref().filter(|said| records::looks_like_token(said));
    question.confirmation.as_deref().or_else(chosen)
}
