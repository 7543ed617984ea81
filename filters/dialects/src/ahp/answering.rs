//! One turn: a question goes to the desk, and its outcome becomes an answer that the session remembers.

use super::{
    answer::{Answer, AskedBack, Spent},
    asking::{Asking, Begun, Told},
    conversed::{CANCEL, Conversed},
    inputs::Inputs,
    later,
    question::Question,
    turn::{Answered, Turn},
    types::Chosen,
};
use frontdesk_config::Capability;
use frontdesk_desk::{Carried, Done, Outcome};

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
}
