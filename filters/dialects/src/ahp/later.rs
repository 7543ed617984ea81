//! Later answers (AHP §9): accepted at once, then polled by id or delivered to a callback.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};

use super::{
    answer::{Answer, AskedBack, Spent},
    asking::{Asking, Begun, Told},
    conversed::Conversed,
    error,
    prepared::Converse,
    question::Question,
    turn::{Failure, Gone, Pending, Turn},
    types::Chosen,
};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_caller::limits::budget::Purse;
use frontdesk_desk::{
    Ask, Carried, Desk, Done, Errand, Finish, Outcome, permission_of,
    ticket::{State, Ticket, Tickets, Wish},
};

/// Accepts a question that is answered later.
pub(super) async fn taken(asking: &Asking<'_>, question: &Question, turn: &Begun, input: Value) -> Told {
    let Ok(id) = turn.session.name_for_later() else {
        return (Conversed::refused(&Fault::Unavailable.into()), Spent::NOTHING, None);
    };
    let capability = asking.desk.compiled.settings.capability(asking.listed.index);
    let by_person = capability.and_then(|c| c.upstream.as_ref()).is_some_and(|call| call.desk);
    let wish = Wish {
        id,
        query: question.query.clone().unwrap_or_default(),
        intent: question.context.user_intent.clone(),
        // A person's answer costs no tokens, but a limit that the client named still holds.
        manner: manner(asking, turn, by_person && question.context.max_tokens.is_none()),
        callback: question.context.callback_url.clone(),
    };
    let result = match by_person {
        true => asked_of_a_person(asking, question, turn, input, &wish).await,
        false => in_the_background(asking, question, turn, input, &wish).await,
    };
    let (conversed, id) = match result {
        Ok((id, account)) => {
            let poll = format!("{}{id}", asking.converse.status);
            let eta = asking.prepared.eta;
            let accepted = Conversed::accepted(&id, poll, eta, wish.callback.as_deref());
            (Conversed { account: Some(account), ..accepted }, Some(id))
        }
        Err(conversed) => (*conversed, None),
    };
    let answer = if id.is_some() { "Accepted; it is answered later." } else { "" };
    let remembered = match conversed.turn {
        Turn::Failed(_) => None,
        _ => Some(asking.remembered(question, answer, &[], &[])),
    };
    (conversed, Spent::NOTHING, remembered)
}

type Opened = Result<(String, Box<frontdesk_desk::Account>), Box<Conversed>>;

async fn asked_of_a_person(
    asking: &Asking<'_>,
    question: &Question,
    turn: &Begun,
    input: Value,
    wish: &Wish,
) -> Opened {
    let ask = Ask { wish: Some(wish), ..asking.ask(question, turn, input) };
    let carried = asking.desk.carry_out(ask).await;
    let id = match &carried.outcome {
        Outcome::Done(done) => done.told.data.value()["ticket"].as_str().map(str::to_owned),
        _ => None,
    };
    match id {
        Some(id) => Ok((id, carried.account)),
        None => Err(Box::new(refused(carried, &turn.session.id))),
    }
}

async fn in_the_background(
    asking: &Asking<'_>,
    question: &Question,
    turn: &Begun,
    input: Value,
    wish: &Wish,
) -> Opened {
    let Asking { desk, request, listed, .. } = asking;
    let tickets = Tickets::of(desk);
    let ask = asking.ask(question, turn, input.clone());
    let opened = tickets.begin(&ask, wish).await;
    let id = opened.map_err(|refusal| Box::new(Conversed::refused(&refusal)))?;
    let errand = Errand {
        capability: listed.index,
        input,
        caller: request.caller.clone(),
        demands_credential: listed.needs_auth,
        confirmation: question.confirmed().map(str::to_owned),
        beside: ask.beside,
        idempotency_key: ask.idempotency_key.map(str::to_owned),
        request_id: request.request_id.to_owned(),
        dialect: asking.dialect,
        host: request.authority.to_owned(),
        wish: wish.clone(),
    };
    let is_bounded = question.context.max_tokens.is_some();
    let ending = || {
        let (purse, manner) = (turn.reserved.purse, wish.manner.clone());
        let converse = asking.converse.clone();
        Box::new(Ending { converse, id: id.clone(), purse, manner, is_bounded, is_permitted: false })
    };
    let account = frontdesk_desk::Account::accepted(desk.compiled, listed.index);
    match desk.background.run(errand, ending()).await {
        Ok(None) => Ok((id, account)),
        // It ended before the site was called, so there is nothing to poll.
        Ok(Some(Carried { outcome: Outcome::Done(done), replayed, account })) => {
            // A replay under the same key ends as the first call did.
            let accepted = frontdesk_desk::Account::accepted(desk.compiled, listed.index);
            let carried = Carried { outcome: Outcome::Done(done), replayed, account: accepted };
            ending().finish(desk, carried).await;
            Ok((id, account))
        }
        Ok(Some(carried)) => {
            let _ = tickets.forget(&id).await;
            if let Some(waits) = permission_of(&carried) {
                return Ok((waits.to_owned(), carried.account));
            }
            Err(Box::new(refused(carried, &turn.session.id)))
        }
        Err(frontdesk_desk::Busy) => {
            let _ = tickets.forget(&id).await;
            let detail = "Too much is under way at the moment. Nothing was done; try again later.";
            Err(Box::new(Conversed::refused(&Refusal::from(Fault::Unavailable).saying(detail))))
        }
    }
}

/// The immediate outcome of a task that did not start.
fn refused(carried: Carried, session: &str) -> Conversed {
    let conversed = match &carried.outcome {
        Outcome::NeedsConfirmation(asked) => Conversed::asked(Some(session), asked),
        Outcome::Fault(refusal) => Conversed::refused(refusal),
        Outcome::Done(_) => Conversed::refused(&Fault::Internal.into()),
    };
    Conversed { account: Some(carried.account), ..conversed }
}

/// What is needed to word the answer later.
fn manner(asking: &Asking<'_>, turn: &Begun, whole: bool) -> Value {
    json!({
        "name": asking.listed.name, "type": turn.chosen.kind, "from": turn.chosen.fallback_from,
        "tokens": turn.reserved.answer, "whole": whole, "eta": asking.prepared.eta,
    })
}

/// The chosen type and the token limit.
fn chosen(manner: &Value) -> (Chosen, u64) {
    let kind = manner["type"].as_str().unwrap_or(super::listed::TEXT).to_owned();
    let fallback_from = manner["from"].as_str().map(str::to_owned);
    (Chosen { kind, fallback_from }, manner["tokens"].as_u64().unwrap_or(u64::MAX))
}

/// Runs when a background call has ended.
struct Ending {
    converse: Arc<Converse>,
    id: String,
    purse: Purse,
    manner: Value,
    /// The client named a token limit.
    is_bounded: bool,
    /// A person was asked for an approval, under this ticket.
    is_permitted: bool,
}

impl Ending {
    /// Pays for an answer that exceeds its reservation, so that it can be given in full; whether that succeeded.
    async fn paid(&self, desk: &Desk<'_>, outcome: &Outcome) -> bool {
        let converse = &*self.converse;
        let named = self.manner["name"].as_str().and_then(|name| converse.named(name));
        let (Outcome::Done(done), Some((listed, prepared)), false) = (outcome, named, self.is_bounded) else {
            return false;
        };
        let ((chosen, most), data) = (chosen(&self.manner), done.told.data.value());
        if AskedBack::of(listed, &data, most).is_some() {
            return false;
        }
        let answer = Answer::of(converse, (listed, prepared), &chosen, (done, &data), most);
        // The reservation was refunded when the question was accepted.
        answer.over(listed, most) > 0 && self.purse.take(desk.counters, answer.spent.of(0)).await
    }
}

#[async_trait]
impl Finish for Ending {
    async fn finish(mut self: Box<Self>, desk: &Desk<'_>, carried: Carried) {
        let paid = self.paid(desk, &carried.outcome).await;
        self.manner["whole"] = paid.into();
        let told = match carried.outcome {
            Outcome::Done(done) => Ok(done.told),
            Outcome::Fault(refusal) => Err(*refusal),
            Outcome::NeedsConfirmation(asked) => Err(asked.refusal),
        };
        let tickets = Tickets::of(desk);
        let kept = match self.is_permitted {
            true => tickets.carried_out(desk.outside, &self.id, &told, paid).await,
            false => tickets.end_in_time(desk.outside, &self.id, &told, &self.manner).await,
        };
        let ticket = match kept {
            Ok(Some(ticket)) => ticket,
            Ok(None) => return desk.outside.undelivered(&self.id, "its ticket no longer exists"),
            // A poll gets `outcome_unknown`.
            Err(_) => return desk.outside.undelivered(&self.id, "its answer could not be stored"),
        };
        let (turn, spent) = ended(&self.converse, &ticket);
        if !paid {
            let _ = self.purse.charge(desk.counters, spent.of(0)).await;
        }
        if let Some(url) = &ticket.wish.callback
            && let Err(why) = desk.outside.deliver(url, turn.json().into()).await
        {
            desk.outside.undelivered(&ticket.id, &why);
        }
    }

    fn is_permitted(&mut self, ticket: String) {
        (self.id, self.is_permitted) = (ticket, true);
    }
}

const GONE: &str = "The process that carried it out is gone, and its outcome is unknown. Find out before asking again.";

/// A later answer as it is now (§9.2).
pub fn polled(converse: &Converse, ticket: &Ticket) -> Turn {
    let pending =
        |progress| Turn::Pending(Pending { id: ticket.id.clone(), progress, eta: ticket.wish.manner["eta"].as_u64() });
    let gone = |is_expired, message| Turn::Gone(Gone { id: ticket.id.clone(), is_expired, message });
    match ticket.state {
        State::Waiting => pending("A person has been asked."),
        State::Running => pending("It is being carried out."),
        State::Expired => gone(true, "It was not answered in time. Ask again."),
        State::Lost => gone(false, GONE),
        State::Ended if ticket.is_being_carried_out() => pending("A person has allowed it. It is being carried out."),
        State::Ended if ticket.is_lost() => gone(false, GONE),
        State::Ended => ended(converse, ticket).0,
    }
}

/// The reply for an ended ticket, and the tokens it cost.
fn ended(converse: &Converse, ticket: &Ticket) -> (Turn, Spent) {
    let manner = &ticket.wish.manner;
    let known = manner["name"].as_str().and_then(|name| converse.named(name));
    let failed = |refusal: &Refusal| {
        let refusal = Box::new(error::completed(refusal).into_owned());
        (Turn::Failed(Failure { refusal, wrong: None, id: Some(ticket.id.clone()) }), Spent::NOTHING)
    };
    let carried = ticket.carried().filter(|_| ticket.is_permission());
    if ticket.is_permission() && ticket.rejected().is_none() && carried.is_none() {
        // The call was approved and not carried out, and no process is waiting to run it.
        let detail = "A person has allowed this. Nothing was done yet: send the same question again, and it is.";
        return failed(&Refusal::from(Fault::Unavailable).saying(detail));
    }
    let (listed, prepared, told) = match (known, carried.or_else(|| ticket.told())) {
        (Some((listed, prepared)), Some(Ok(told))) => (listed, prepared, told),
        (_, Some(Err(refusal))) => return failed(&refusal),
        (None, Some(Ok(_))) => {
            let detail =
                "It was carried out. The site's declaration has changed since, so its answer is no longer available.";
            return failed(&Refusal::from(Fault::OutcomeUnknown).saying(detail));
        }
        // The stored result is unreadable.
        _ => return failed(&Refusal::from(Fault::Internal).saying("Its answer is no longer available.")),
    };
    let (chosen, most) = chosen(manner);
    let done = Done { told, input: ticket.input().clone(), replayed: false, keeps: None };
    let data = done.told.data.value();
    if let Some(asked) = AskedBack::of(listed, &data, most) {
        return (asked.conversed(&ticket.id).turn, asked.spent);
    }
    let told = |chosen: &Chosen| Answer::of(converse, (listed, prepared), chosen, (&done, &data), most);
    let mut answer = told(&chosen);
    let is_cut = manner["whole"] == false && !ticket.is_carried_whole();
    if is_cut && answer.over(listed, most) > 0 {
        answer = told(&chosen.in_words());
    }
    if let Some(words) = ticket.answer().filter(|_| !ticket.is_permission()) {
        answer.say(words, most);
    }
    (Turn::Answer(Box::new(answer.success(converse, listed, Some(&ticket.id)))), answer.spent)
}

/// The callback's URL and body for an ended ticket; `None` where there is no callback.
pub fn delivery<'t>(converse: &Converse, ticket: &'t Ticket) -> Option<(&'t str, Bytes)> {
    let url = ticket.wish.callback.as_deref()?;
    if ticket.is_being_carried_out() {
        // The callback gets the outcome, not the approval.
        return None;
    }
    Some((url, ended(converse, ticket).0.json().into()))
}
