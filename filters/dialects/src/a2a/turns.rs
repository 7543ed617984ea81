//! A message on its way to the conversation, and what becomes of it: a message, or a task.

use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_desk::{
    Account, Desk, Incoming, Turned, not_kept, records,
    ticket::{State as Waits, Ticket, Tickets},
};
use frontdesk_state::NotKept;
use serde_json::{Map, Value, json};

use super::{
    super::{
        ahp::{self, CANCEL, Conversed, Question, Turn, listed::TEXT},
        jsonrpc::INVALID_PARAMS,
    },
    form::{Part, State},
    offered::{Known, Offered},
    outcome,
    problem::{CONTENT_TYPE, NO_TASK, NOT_CANCELABLE, Problem, UNSUPPORTED, is_passing},
    sent::{Call, Sent},
    tasks::{self, Asked, Stage, Stored, Task},
};

/// What a message is answered with.
pub(super) enum Outcome {
    Message { context: String, parts: Vec<Part>, flags: Vec<String> },
    Task(Box<Task>),
}

/// The answer to a message, with what the desk counts of it.
pub(super) struct Done {
    pub(super) outcome: Outcome,
    pub(super) account: Option<Box<Account>>,
    pub(super) reason: Option<&'static str>,
}

/// A message that is refused.
pub(super) struct Stopped {
    pub(super) problem: Problem,
    pub(super) account: Option<Box<Account>>,
}

impl From<Problem> for Box<Stopped> {
    fn from(problem: Problem) -> Self {
        Self::new(Stopped { problem, account: None })
    }
}

/// How a task's question is asked again.
#[derive(Default)]
struct Again<'a> {
    confirmation: Option<String>,
    clarification: Option<&'a str>,
}

/// The context of one request.
pub(super) struct Turns<'a> {
    pub(super) offered: &'a Offered,
    pub(super) desk: &'a Desk<'a>,
    pub(super) incoming: &'a Incoming<'a>,
}

impl Turns<'_> {
    /// Answers a message.
    pub(super) async fn send(&self, sent: Sent) -> Result<Done, Box<Stopped>> {
        match &sent.task {
            None => self.begin(sent).await,
            Some(id) => {
                let stored = self.find(id).await?;
                self.go_on(stored, sent).await
            }
        }
    }

    /// A message that begins something.
    async fn begin(&self, sent: Sent) -> Result<Done, Box<Stopped>> {
        let known = self.asked_of(&sent)?;
        let idempotency_key = self.key(&sent, known)?;
        let Sent { context, words, data, takes_data, .. } = sent;
        // A call without words and without an input is one with an empty input.
        let input = match data.and_then(|call| call.input) {
            None if words.is_none() => Some(Map::new()),
            input => input,
        };
        let asked = Asked {
            capability: known.name.clone(),
            query: words,
            input,
            accept_types: if takes_data { known.types.clone() } else { vec![TEXT.to_owned()] },
            idempotency_key,
        };
        let session = match &context {
            Some(context) => self.session(context).await?,
            None => None,
        };
        let conversed = self.converse(known, &asked, session, Again::default()).await?;
        let Conversed { turn, status, headers, account } = conversed;
        let (session, reason) = (turn.session().map(str::to_owned), turn.reason());
        let context = match context {
            Some(context) => {
                if let Some(session) = session.as_deref().filter(|session| *session != context) {
                    // The answer does not depend on it: at worst the next message begins a new session.
                    let _ = tasks::remember(self.desk, self.incoming.caller, &context, session).await;
                }
                context
            }
            None => session.clone().map_or_else(unguessable, Ok)?,
        };
        match &turn {
            Turn::Failed(failure) => {
                Err(Box::new(Stopped { problem: Problem::failed(failure, status, headers), account }))
            }
            Turn::Answer(answer) => {
                let (parts, flags) = (outcome::answered(answer), answer.flags.clone());
                Ok(Done { outcome: Outcome::Message { context, parts, flags }, account, reason })
            }
            _ => {
                let stage = outcome::stage(&turn);
                let id = match &stage {
                    Stage::Later(id) => id.clone(),
                    _ => unguessable()?,
                };
                let status = outcome::status(&turn, self.desk.records.now());
                let is_later = matches!(stage, Stage::Later(_));
                let task = Task { id, context, session, asked, stage, status };
                if let Err(why) = tasks::begin(self.desk, self.incoming.caller, &task).await {
                    let lost = "It was accepted and is carried out, but its task could not be stored.";
                    let refusal = not_kept(why);
                    let refusal = if is_later { refusal.saying(lost) } else { refusal };
                    return Err(Box::new(Stopped { problem: Problem::refused(&refusal), account }));
                }
                Ok(Done { outcome: Outcome::Task(Box::new(task)), account, reason })
            }
        }
    }

    /// A message in a task: the answer to what the task asked.
    async fn go_on(&self, stored: Stored, sent: Sent) -> Result<Done, Box<Stopped>> {
        let task = &stored.task;
        if sent.context.as_ref().is_some_and(|context| *context != task.context) {
            return Err(Problem::new(INVALID_PARAMS, "This task belongs to another context.").into());
        }
        let known = self.offered.known(&task.asked.capability);
        let known =
            known.ok_or_else(|| Problem::new(UNSUPPORTED, "This site no longer offers what this task is about."))?;
        let names = |call: &Call| call.capability.as_deref().and_then(|name| self.offered.known(name));
        if sent.data.as_ref().and_then(names).is_some_and(|named| named.name != known.name) {
            let message = format!("This task is about {}. Send another call without `message.taskId`.", known.name);
            return Err(Problem::new(INVALID_PARAMS, message).into());
        }
        let over = || Problem::new(UNSUPPORTED, "This task is over. Send a new message without `message.taskId`.");
        let mut asked = task.asked.clone();
        let mut session = task.session.clone();
        let as_it_is = || Done { outcome: Outcome::Task(Box::new(task.clone())), account: None, reason: None };
        let again = match &task.stage {
            Stage::Over => return Err(over().into()),
            Stage::Confirm(token) => match sent.confirms() {
                Some(true) => Again { confirmation: Some(token.clone()), ..Again::default() },
                Some(false) => Again { confirmation: Some(CANCEL.to_owned()), ..Again::default() },
                // Nothing but a yes confirms; the question stands.
                None => return Ok(as_it_is()),
            },
            Stage::Later(id) => {
                let (turn, _) = self.later(id).await?;
                match turn {
                    Turn::Clarify(_) => session = Some(id.clone()),
                    Turn::Pending(_) => return Err(worked_on().into()),
                    _ => return Err(over().into()),
                }
                clarifies(&sent, &mut asked)
            }
            Stage::Clarify => clarifies(&sent, &mut asked),
            Stage::Acting { .. } => return Err(worked_on().into()),
        };
        if again.confirmation.is_none() && again.clarification.is_none() && asked.input == task.asked.input {
            return Ok(as_it_is());
        }
        let session = match session {
            Some(session) if self.is_known(&session).await? => Some(session),
            _ => None,
        };
        let is_clarified = again.confirmation.is_none();
        let is_refused = again.confirmation.as_deref() == Some(CANCEL);
        let stored = if is_refused {
            stored
        } else {
            let held = tasks::hold(self.desk, self.incoming.caller, stored).await.map_err(away)?;
            held.ok_or_else(worked_on)?
        };
        let task = &stored.task;
        let Conversed { turn, status, headers, account } = self.converse(known, &asked, session, again).await?;
        if let Turn::Failed(failure) = &turn {
            let may_be_corrected = is_clarified && failure.refusal.fault == Fault::InvalidInput;
            if failure.wrong.is_some() || is_passing(failure.refusal.fault) || may_be_corrected {
                // The task stands as it was, so the message may be sent again: at once, or if the store is away after a
                // while.
                let _ = tasks::step(self.desk, self.incoming.caller, &stored, task.clone()).await;
                return Err(Box::new(Stopped { problem: Problem::failed(failure, status, headers), account }));
            }
        }
        let reason = turn.reason();
        let next = Task {
            session: turn.session().map(str::to_owned).or_else(|| task.session.clone()),
            asked,
            stage: outcome::stage(&turn),
            status: outcome::status(&turn, self.desk.records.now()),
            ..task.clone()
        };
        // What was done is said also where it could not be stored.
        let next = match tasks::step(self.desk, self.incoming.caller, &stored, next.clone()).await {
            Ok(now) => now,
            Err(_) => next,
        };
        Ok(Done { outcome: Outcome::Task(Box::new(next)), account, reason })
    }

    /// A task as it is now.
    pub(super) async fn get(&self, id: &str) -> Result<Task, Problem> {
        let stored = self.find(id).await?;
        if stored.task.is_acting() {
            let mut task = stored.task;
            task.status.state = State::Working;
            task.status.message = vec![Part::Text("It is being carried out.".to_owned())];
            return Ok(task);
        }
        let Stage::Later(ticket) = &stored.task.stage else { return Ok(stored.task) };
        let (turn, ticket) = self.later(ticket).await?;
        let mut task = stored.task.clone();
        let since = task.status.since;
        task.status = outcome::status(&turn, self.desk.records.now());
        if ticket.is_rejected() {
            task.status.state = State::Rejected;
        }
        if !task.status.state.is_over() {
            task.status.since = since;
            return Ok(task);
        }
        // From now on it says the same, also when the answer itself is no longer kept.
        task.stage = Stage::Over;
        let kept = tasks::step(self.desk, self.incoming.caller, &stored, task.clone()).await;
        Ok(kept.unwrap_or(task))
    }

    /// Cancels a task.
    pub(super) async fn cancel(&self, id: &str) -> Result<Task, Problem> {
        let stored = self.find(id).await?;
        let not_cancelable = |message: &str| Problem::new(NOT_CANCELABLE, message);
        let too_late = || not_cancelable("This task is carried out already, or over, and cannot be canceled.");
        match &stored.task.stage {
            Stage::Over => return Err(not_cancelable("This task is over.")),
            Stage::Confirm(_) | Stage::Clarify => {}
            Stage::Acting { .. } => return Err(too_late()),
            Stage::Later(ticket) => {
                let (turn, ticket) = self.later(ticket).await?;
                let is_withdrawn = match (&turn, ticket.state) {
                    (Turn::Clarify(_), _) => true,
                    // A person was asked and has not answered.
                    (_, Waits::Waiting) => Tickets::of(self.desk).withdraw(&ticket).await.map_err(away)?,
                    _ => false,
                };
                if !is_withdrawn {
                    return Err(too_late());
                }
            }
        }
        let mut task = stored.task.clone();
        task.stage = Stage::Over;
        task.status.state = State::Canceled;
        task.status.since = self.desk.records.now();
        task.status.message = vec![Part::Text("Canceled. Nothing was done.".to_owned())];
        let now = tasks::step(self.desk, self.incoming.caller, &stored, task).await.map_err(away)?;
        if now.status.state == State::Canceled { Ok(now) } else { Err(too_late()) }
    }

    /// The capability that a message asks.
    fn asked_of(&self, sent: &Sent) -> Result<&Known, Problem> {
        match &sent.data {
            Some(Call { capability: Some(name), .. }) => self.offered.known(name).ok_or_else(|| {
                let unknown = Conversed::unknown_capability(name, self.offered.names());
                match &unknown.turn {
                    Turn::Failed(failure) => Problem::failed(failure, unknown.status, Vec::new()),
                    _ => Problem::new(INVALID_PARAMS, "The capability is not supported."),
                }
            }),
            Some(Call { confirmed: Some(_), .. }) => {
                let message = "There is nothing to confirm: name the task that asked, as `message.taskId`.";
                Err(Problem::new(INVALID_PARAMS, message))
            }
            Some(_) => Err(Problem::new(INVALID_PARAMS, "`data.capability` is missing.")),
            None if sent.words.is_none() => Err(Problem::new(INVALID_PARAMS, "The message says nothing.")),
            None => self.offered.for_words().ok_or_else(|| {
                let message =
                    "Questions in words are not answered here. Send a data part with `capability` and `input`.";
                Problem::new(CONTENT_TYPE, message)
            }),
        }
    }

    /// The idempotency key. A message that is sent again has the same id, so it is the key of an action that has no
    /// other: the retry acts once.
    fn key(&self, sent: &Sent, known: &Known) -> Result<Option<String>, Problem> {
        if let Some(key) = sent.data.as_ref().and_then(|call| call.idempotency_key.clone()) {
            return Ok(Some(key));
        }
        let header = self.incoming.idempotency_key().map_err(|refusal| Problem::refused(&refusal))?;
        Ok(header.map(str::to_owned).or_else(|| {
            let input = json!([sent.words, sent.data.as_ref().map(|call| &call.input)]).to_string();
            let parts = [sent.id.as_bytes(), known.name.as_bytes(), input.as_bytes()];
            known.is_action.then(|| format!("a2a-{}", records::fingerprint(&parts)))
        }))
    }

    /// The session that a context continues; `None`: it begins one.
    async fn session(&self, context: &str) -> Result<Option<String>, Problem> {
        let named = tasks::session_of(self.desk, self.incoming.caller, context).await.map_err(away)?;
        let session = named.unwrap_or_else(|| context.to_owned());
        Ok(if self.is_known(&session).await? { Some(session) } else { None })
    }

    async fn is_known(&self, session: &str) -> Result<bool, Problem> {
        ahp::is_session(self.desk, session, self.incoming.caller).await.map_err(away)
    }

    async fn find(&self, id: &str) -> Result<Stored, Problem> {
        let found = tasks::find(self.desk, self.incoming.caller, id).await.map_err(away)?;
        found.ok_or_else(|| Problem::new(NO_TASK, "There is no such task, or it is over and forgotten."))
    }

    /// A later answer as it is now.
    async fn later(&self, id: &str) -> Result<(Turn, Ticket), Problem> {
        let found = Tickets::of(self.desk).look(id, self.incoming.caller).await.map_err(away)?;
        let ticket = found.ok_or_else(|| Problem::new(NO_TASK, "The answer of this task is no longer kept."))?;
        Ok((ahp::polled(&self.offered.converse, &ticket), ticket))
    }

    async fn converse(
        &self,
        known: &Known,
        asked: &Asked,
        session: Option<String>,
        again: Again<'_>,
    ) -> Result<Conversed, Box<Stopped>> {
        let mut body = Map::new();
        for (name, value) in [
            ("query", asked.query.as_deref()),
            ("session_id", session.as_deref()),
            ("confirmation", again.confirmation.as_deref()),
            ("clarification", again.clarification),
        ] {
            body.extend(value.map(|value| (name.to_owned(), Value::from(value))));
        }
        body.extend(asked.input.clone().map(|input| ("input".to_owned(), Value::from(input))));
        let context = json!({ "accept_types": asked.accept_types, "idempotency_key": asked.idempotency_key });
        body.insert("context".to_owned(), context);
        match Question::read(body, Some(&known.name)) {
            Ok(question) => {
                Ok(self.offered.converse.converse(self.desk, self.incoming, question, super::DIALECT.name).await)
            }
            Err(wrong) => {
                let Conversed { turn, status, headers, .. } = Conversed::wrong(wrong);
                let Incoming { caller, request_id, .. } = *self.incoming;
                let (capability, dialect) = (known.index.into(), super::DIALECT.name);
                let turned = Turned { capability, caller, idempotency_key: None, request_id, dialect };
                let reason = turn.reason().unwrap_or(super::problem::WRONG);
                let account = Some(self.desk.compiled.turned_away(&turned, reason, self.desk.audit));
                let problem = match &turn {
                    Turn::Failed(failure) => Problem::failed(failure, status, headers),
                    _ => Problem::new(INVALID_PARAMS, "The message is not what it has to be."),
                };
                Err(Box::new(Stopped { problem, account }))
            }
        }
    }
}

/// The answer to a clarifying question: words, or inputs.
fn clarifies<'s>(sent: &'s Sent, asked: &mut Asked) -> Again<'s> {
    if let Some(more) = sent.data.as_ref().and_then(|call| call.input.clone()) {
        asked.input.get_or_insert_default().extend(more);
    }
    Again { clarification: sent.words.as_deref(), ..Again::default() }
}

fn worked_on() -> Problem {
    Problem::new(UNSUPPORTED, "This task is being worked on and takes no message. Ask for it until it is over.")
}

fn unguessable() -> Result<String, Problem> {
    records::unguessable().map_err(away)
}

fn away(why: NotKept) -> Problem {
    let refusal: Refusal = not_kept(why).saying("The store for tasks is unavailable. Try again later.");
    Problem::refused(&refusal)
}
