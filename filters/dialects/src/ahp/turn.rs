//! One question on its way to the desk, and what the desk said on its way back.

use std::sync::Arc;

use serde_json::Value;

use super::{
    answer::{Answer, AskedBack, Spent},
    converse::{Converse, Prepared},
    inputs::{Inputs, Kept},
    later,
    listed::Listed,
    question::Question,
    said::{CANCEL, Said},
    session::Session,
    types::Chosen,
};
use frontdesk_base::{fault::Refusal, text::clip};
use frontdesk_caller::limits::budget::Reserved;
use frontdesk_config::Capability;
use frontdesk_desk::{
    {Ask, Carried, Desk, Done, Outcome, Talk, records}, {Incoming, checked_key},
};

/// Who asks what of whom.
pub(super) struct Asking<'a> {
    pub(super) converse: &'a Arc<Converse>,
    pub(super) listed: &'a Listed,
    pub(super) prepared: &'a Prepared,
    pub(super) desk: &'a Desk<'a>,
    pub(super) request: &'a Incoming<'a>,
    pub(super) dialect: &'static str,
}

/// What was settled before the desk is asked.
pub(super) struct Turn {
    pub(super) chosen: Chosen,
    pub(super) session: Session,
    pub(super) reserved: Reserved,
    /// Tokens of the question.
    pub(super) asked: u64,
    /// Where the limits stand that were taken from here.
    pub(super) standing: Vec<(http::HeaderName, http::HeaderValue)>,
    /// What of its input is kept for the turns to come.
    pub(super) kept: Kept,
}

/// An answer, what it took, and what is remembered of it.
pub(super) type Told = (Said, Spent, Option<frontdesk_ask::Turn>);

/// Why it goes no further.
pub(super) enum Turning {
    Said(Box<Said>),
    Refused(Box<Refusal>),
}

impl From<Refusal> for Turning {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl From<Box<Said>> for Turning {
    fn from(said: Box<Said>) -> Self {
        Self::Said(said)
    }
}

/// Characters of what is remembered of a turn.
const REMEMBERED_QUERY: usize = 500;
const REMEMBERED_ANSWER: usize = 400;
/// Sources and options that are remembered of one.
const REMEMBERED_PARTS: usize = 6;

impl Asking<'_> {
    /// Asks the desk, and puts what it says into words.
    pub(super) async fn answered(&self, question: Question, mut turn: Turn) -> Said {
        let (mut said, spent, remembered) = self.told(&question, &mut turn).await;
        let spent = spent.of(turn.asked);
        // Nobody waits for a count to be put right; what is away now was away when it was taken.
        let _ = turn.reserved.settle(self.desk.counters, spent).await;
        if let Some(remembered) = remembered {
            let id = said.body["session_id"].as_str().unwrap_or(&turn.session.id).to_owned();
            let session = turn.session.going_on_as(&id);
            if !session.keep(self.desk, self.request.caller, &remembered, &turn.kept).await
                && said.body["status"] != "accepted"
            {
                said.body["session_id"] = Value::Null;
            }
        }
        if let Some(meta) = said.body.get_mut("meta") {
            meta["tokens_used"] = spent.into();
        }
        said
    }

    /// The answer, the tokens it took, and what is remembered of it.
    async fn told(&self, question: &Question, turn: &mut Turn) -> Told {
        let session = turn.session.id.clone();
        let session = Some(session.as_str());
        if self.is_cancelled(question) {
            // What this conversation did before is not known here, and must not be denied.
            let words = "Cancelled: nothing is done now. What was begun or done before stays.";
            let mut body = self.success(turn, &Answer::words(words));
            if let Some(meta) = body["meta"].as_object_mut() {
                meta.remove("tools_used");
            }
            return (Said::ok(body), Spent::NOTHING, Some(self.remembered(question, "Cancelled.", &[], &[])));
        }
        let Inputs { input, lacking, kept } = self.input(question, turn.session.kept.as_ref());
        turn.kept = kept;
        if !lacking.is_empty() {
            let asked = self.asks_back(&lacking);
            let said = Said::unclear(session, &asked, None, true);
            return (said, Spent::NOTHING, Some(self.remembered(question, &asked, &[], &[])));
        }
        if self.is_later() {
            return later::taken(self, question, turn, input).await;
        }
        let ask = self.ask(question, turn, input);
        let Carried { outcome, replayed, account } = self.desk.carry_out(ask).await;
        let cached = account.decision == "cached";
        let (mut said, spent, remembered) = match &outcome {
            Outcome::Done(done) => self.done(question, turn, done, cached).await,
            Outcome::NeedsConfirmation(asked) => {
                let words = [asked.summary.as_str(), asked.consequence.as_str()].join(" ");
                (Said::asked(session, asked), Spent::NOTHING, Some(self.remembered(question, &words, &[], &[])))
            }
            Outcome::Fault(refusal) => (Said::refused(refusal), Spent::NOTHING, None),
        };
        if replayed || matches!(&outcome, Outcome::Done(Done { replayed: true, .. })) {
            said.headers
                .push((http::HeaderName::from_static("idempotency-replayed"), http::HeaderValue::from_static("true")));
        }
        said.account = Some(account);
        (said, spent, remembered)
    }

    /// Whether a person does not want it. Where nothing is done and nobody confirms, the same word is an answer like any
    /// other; where something may be done it never is: whoever means it as an input sends it as such.
    fn is_cancelled(&self, question: &Question) -> bool {
        let capability = self.desk.compiled.settings.capability(self.listed.index);
        let may_be = self.listed.is_action || capability.is_some_and(Capability::is_confirmed);
        question.confirmation.as_deref() == Some(CANCEL) || may_be && question.clarification.as_deref() == Some(CANCEL)
    }

    pub(super) fn ask<'q>(&'q self, question: &'q Question, turn: &'q Turn, input: Value) -> Ask<'q> {
        Ask {
            capability: self.listed.index.into(),
            input,
            caller: self.request.caller,
            authority: self.authority(),
            confirmation: confirmation(question),
            // Looked at before.
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
            },
            beside: self.beside(question, &turn.session),
            wish: None,
            begun: None,
            unnamed: false,
        }
    }

    /// The key that makes a retry the same call; one that cannot be kept is refused, or a retry would be another.
    pub(super) fn idempotency_key<'q>(&'q self, question: &'q Question) -> Result<Option<&'q str>, Refusal> {
        match question.context.idempotency_key.as_deref() {
            Some(key) => checked_key(key).map(Some),
            None => self.request.idempotency_key(),
        }
    }

    async fn done(&self, question: &Question, turn: &mut Turn, done: &Done, cached: bool) -> Told {
        let data = done.told.data.value();
        if let Some(asked) = AskedBack::of(self.listed, &data, turn.reserved.answer) {
            let options = asked.options.as_deref().unwrap_or_default();
            let remembered = self.remembered(question, &asked.question, &[], options);
            return (asked.said(&turn.session.id), asked.spent, Some(remembered));
        }
        let told = |chosen: &Chosen| {
            Answer::of(self.converse, (self.listed, self.prepared), chosen, (done, &data), turn.reserved.answer)
        };
        let mut answer = told(&turn.chosen);
        // What is told beside the words has to be paid for too.
        let over = answer.over(self.listed, turn.reserved.answer);
        if over > 0 {
            let words = told(&turn.chosen.in_words());
            // Whoever named a bound meant it.
            if question.context.max_tokens.is_some() || !turn.reserved.grow(self.desk.counters, over).await {
                answer = words;
            }
        }
        let mut body = self.success(turn, &answer);
        if cached {
            body["meta"]["cached"] = true.into();
        }
        let sources: Vec<(String, String)> = answer
            .sources
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|s| Some((s["title"].as_str()?.to_owned(), s["url"].as_str()?.to_owned())))
            .collect();
        let remembered = self.remembered(question, &answer.text, &sources, &[]);
        (Said::ok(body), answer.spent, Some(remembered))
    }

    fn success(&self, turn: &Turn, answer: &Answer) -> Value {
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
            // What others say may be about somebody; only what the pages say is remembered.
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

/// What was said when asked back: neither a confirmation nor its refusal.
pub(super) fn clarified(question: &Question) -> Option<&str> {
    let said = question.clarification.as_deref()?;
    (confirmation(question) != Some(said)).then_some(said)
}

/// What confirms a call: a token by its name, or as what was chosen of what was asked back.
pub(super) fn confirmation(question: &Question) -> Option<&str> {
    let chosen = || question.clarification.as_deref().filter(|said| records::looks_like_token(said));
    question.confirmation.as_deref().or_else(chosen)
}
