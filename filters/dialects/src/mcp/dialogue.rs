//! A call, and what its person is asked on the way (2025-06-18, 2025-11-25): the request goes out on the event stream
//! that answers the POST, the answer comes in another POST, and then the call is carried out.
//!
//! The confirmation token stays here all the while, so no text that a model sees confirms anything. Where the person
//! cannot be asked, nothing is done, and the call says so.

use std::{sync::Arc, time::Duration};

use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_caller::Granted;
use frontdesk_desk::{
    Account, Desk, Incoming, Served,
    pending::{self, Decision},
};
use serde_json::{Value, json};

use super::{
    super::ahp::{CANCEL, Converse, Conversed, Question, Turn, turn::Confirmation},
    answers::{self, WAIT},
    elicitation::{self, Elicits},
    envelope::Problem,
    message::Request,
    missing::{self, Missing},
    places, progress, protocol,
    session::Session,
    stream,
};

/// Questions to the person in one call.
const ROUNDS: usize = 4;
/// How often it is looked for an answer, at first and later.
const LOOK: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(1)];
const AT_FIRST: Duration = Duration::from_secs(20);
/// The error that sends a client to an address (2025-11-25).
const GO_THERE: i32 = -32042;

const NO_STREAM: &str =
    "A person has to confirm this, and could not be asked: the client takes no text/event-stream. Nothing was done.";
const TOO_MANY: &str =
    "A person has to confirm this, and too many are being asked at the moment. Nothing was done; try again later.";
const STORE_AWAY: &str = "A person has to confirm this, and could not be asked: the store is unavailable. Nothing was done; try again later.";
const GONE: &str = "The client left before its person had answered. Nothing was done.";
const LATE: &str = "Nobody answered in time. Nothing was done; call again to ask once more.";
const ENDING: &str = "The server ends before the person has answered. Nothing was done; call again.";
const CHANGED: &str =
    "The site's configuration was changed before the person had answered. Nothing was done; call again.";
const NOT_ASKED: &str = "A person has to confirm this, and the client could not ask them. Nothing was done.";
const CANCELED: &str = "The client canceled the call before its person had answered. Nothing was done.";
const NO_ANSWER: &str = "The person's answer was not understood. Nothing was done.";
const TOO_OFTEN: &str = "The person was asked several times in this call already. Nothing was done.";

/// A call of a tool.
pub(super) struct Dialogue<'a> {
    pub(super) converse: &'a Arc<Converse>,
    pub(super) desk: &'a Desk<'a>,
    pub(super) incoming: &'a Incoming<'a>,
    pub(super) request: &'a Request,
    /// The capability's index.
    pub(super) index: usize,
    /// The client's session, where it asks its person over the stream.
    pub(super) session: Option<&'a Session>,
}

/// What becomes of a call whose person was asked.
enum Next {
    /// There was nothing to ask.
    Done,
    Again,
    /// Nothing is done, for this reason.
    Not(&'static str),
    /// The client is sent to the page.
    There(Value),
}

/// What came of a question.
enum Heard {
    Answer(Value),
    Not(&'static str),
}

impl Dialogue<'_> {
    /// Carries out the call.
    ///
    /// # Errors
    ///
    /// The error that sends the client to the confirmation page.
    pub(super) async fn carry_out(&self, question: &mut Question) -> Result<Conversed, Box<Served>> {
        let mut conversed = self.once(question).await;
        let Some(session) = self.session else { return Ok(conversed) };
        let mut earlier: Vec<Account> = Vec::new();
        for round in 0..=ROUNDS {
            match self.next(session, &conversed.turn, question, round).await {
                Next::Done => break,
                Next::Again => {
                    earlier.extend(conversed.account.take().map(|account| *account));
                    conversed = self.once(question).await;
                }
                Next::Not(why) => {
                    let refusal = Refusal::from(Fault::ConfirmationRequired).saying(why);
                    conversed = Conversed { account: conversed.account, ..Conversed::refused(&refusal) };
                    break;
                }
                Next::There(data) => {
                    let message = "A person has to confirm this at an address.".to_owned();
                    let problem = Problem::new(GO_THERE, message).with_data(data).to(self.request);
                    let (reason, account) = (conversed.turn.reason(), conversed.account);
                    return Err(Box::new(Served { reason, account, ..problem.reply().into() }));
                }
            }
        }
        if let Some(account) = &mut conversed.account {
            account.steps.extend(earlier);
        }
        Ok(conversed)
    }

    async fn once(&self, question: &Question) -> Conversed {
        let call = self.converse.converse(self.desk, self.incoming, question.clone(), protocol::NAME);
        progress::along(self.desk, stream::of(self.incoming), progress::token(self.request), call).await
    }

    /// Asks the person what the call needs, and puts the answer into its question.
    async fn next(&self, session: &Session, turn: &Turn, question: &mut Question, round: usize) -> Next {
        if let Turn::Confirm(asked) = turn
            && let Some(page) = elicitation::page_id(asked.page.as_ref()).filter(|_| session.elicits.url)
        {
            return self.on_page(page, asked, question, round).await;
        }
        if let Turn::Failed(_) = turn {
            return self.fill_in(session, turn, question, round).await;
        }
        let Some(params) = elicitation::params(turn, Elicits { url: false, ..session.elicits }) else {
            return Next::Done;
        };
        match turn {
            Turn::Confirm(_) if round == ROUNDS => Next::Not(TOO_OFTEN),
            Turn::Confirm(asked) => {
                let answer = match self.ask(session, params, asked.expires).await {
                    Heard::Answer(answer) => answer,
                    Heard::Not(why) => return Next::Not(why),
                };
                question.session_id = asked.session.clone().or(question.session_id.take());
                question.confirmation = match answer.as_object().map(elicitation::agreed) {
                    Some(Some(true)) => Some(asked.token.clone()),
                    Some(Some(false)) => Some(CANCEL.to_owned()),
                    _ if answer.is_null() => return Next::Not(NOT_ASKED),
                    _ => return Next::Not(NO_ANSWER),
                };
                Next::Again
            }
            Turn::Clarify(asked) if round < ROUNDS => {
                // A question without an answer is told as to any client: nothing in it confirms anything.
                let Heard::Answer(answer) = self.ask(session, params, u64::MAX).await else { return Next::Done };
                let Some(said) = answer.as_object().and_then(elicitation::said) else { return Next::Done };
                question.session_id = asked.session.clone().or(question.session_id.take());
                question.clarification = Some(said);
                Next::Again
            }
            _ => Next::Done,
        }
    }

    /// Asks the person for the inputs that the call lacks. Without an answer the model is told what is missing.
    async fn fill_in(&self, session: &Session, turn: &Turn, question: &mut Question, round: usize) -> Next {
        let may_ask = session.elicits.form && round < ROUNDS;
        let Some(capability) = self.desk.compiled.settings.capability(self.index).filter(|_| may_ask) else {
            return Next::Done;
        };
        let lacks = Missing::of(turn, question, capability, session.elicits.choices);
        let Some(lacks) = lacks else { return Next::Done };
        let Heard::Answer(answer) = self.ask(session, lacks.params(), u64::MAX).await else { return Next::Done };
        let Some(filled) = answer.as_object().and_then(missing::filled) else { return Next::Done };
        missing::merge(question, capability.input_schema.as_ref(), &filled);
        Next::Again
    }

    /// Sends the client to the page. A repeated call waits a while for the person to decide there.
    async fn on_page(&self, page: &str, asked: &Confirmation, question: &mut Question, round: usize) -> Next {
        let decision = || async { pending::look(self.desk, page).await.ok().flatten().map(|pending| pending.decision) };
        let lasts = self.desk.compiled.settings.capability(self.index).map(|c| c.confirmation.expires.as_secs());
        let was_asked = lasts.is_some_and(|lasts| asked.expires < self.desk.records.now() + lasts);
        if was_asked && decision().await == Some(Decision::Pending) {
            let is_there = elicitation::decided(self.desk, page, stream::of(self.incoming)).await;
            if !is_there {
                return Next::Not(GONE);
            }
        }
        match decision().await {
            Some(Decision::Confirmed | Decision::Declined) if round == 0 => {
                question.session_id = asked.session.clone().or(question.session_id.take());
                question.confirmation = Some(asked.token.clone());
                Next::Again
            }
            _ => {
                let url = asked.page.as_ref().and_then(|page| page.url());
                let elicitation = json!({ "mode": "url", "elicitationId": page, "url": url, "message": asked.says() });
                Next::There(json!({ "elicitations": [elicitation] }))
            }
        }
    }

    /// How long an answer is waited for: until the question or the caller's token expires, both in seconds since 1970.
    fn patience(&self, expires: u64) -> Duration {
        let expires = match &self.incoming.caller.granted {
            Granted::Token(token) => expires.min(token.expires),
            _ => expires,
        };
        WAIT.min(Duration::from_secs(expires.saturating_sub(self.desk.records.now())))
    }

    /// Has the client ask its person, and waits for the answer.
    async fn ask(&self, session: &Session, mut params: Value, expires: u64) -> Heard {
        let limit = self.patience(expires);
        let Some(events) = stream::of(self.incoming) else { return Heard::Not(NO_STREAM) };
        let Some(_place) = places::take(self.incoming.caller) else { return Heard::Not(TOO_MANY) };
        let Ok(open) = answers::open(self.desk, session).await else { return Heard::Not(STORE_AWAY) };
        // Forms are what 2025-06-18 has, and has no word for.
        if let Some(params) = params.as_object_mut() {
            params.remove("mode");
        }
        let request = json!({ "jsonrpc": "2.0", "id": open.id, "method": "elicitation/create", "params": params });
        let mut is_there = stream::send(events, &request).await;
        let (mut waited, mut knocked) = (Duration::ZERO, Duration::ZERO);
        while is_there && !events.is_gone() && waited < limit && !events.is_ending() {
            // A store that is away for a moment is asked again.
            if let Ok(Some(answer)) = open.look(self.desk).await {
                open.close(self.desk).await;
                return match answers::is_canceled(self.desk, session, &self.request.id).await {
                    true => Heard::Not(CANCELED),
                    // Nobody would get the result.
                    false if events.is_gone() => Heard::Not(GONE),
                    false if events.is_outdated() => Heard::Not(CHANGED),
                    false => Heard::Answer(answer),
                };
            }
            if waited >= knocked + stream::KNOCK {
                (is_there, knocked) = (stream::knock(events).await, waited);
            }
            let pause = LOOK[usize::from(waited > AT_FIRST)];
            self.desk.outside.pause(pause).await;
            waited += pause;
        }
        open.close(self.desk).await;
        Heard::Not(match waited < limit {
            _ if !is_there || events.is_gone() => GONE,
            true => ENDING,
            false => LATE,
        })
    }
}
