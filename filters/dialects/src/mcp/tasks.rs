//! Answers that come later, as tasks (extension `io.modelcontextprotocol/tasks`, SEP-2663). A client that knows them gets
//! a task in the place of an address to poll, and the finished task has the result that a callback would bring.
//!
//! A task is the ticket of its answer. What was canceled is remembered beside it, for as long as the ticket would be.

use std::time::{Duration, UNIX_EPOCH};

use frontdesk_base::text::hex;
use frontdesk_caller::{Caller, proven};
use frontdesk_desk::{
    Desk, Incoming, records, rfc3339,
    ticket::{State, Ticket, Tickets},
};
use frontdesk_state::{Change, Expect, NotKept, Put};
use http::StatusCode;
use serde_json::{Value, json};

use super::{
    super::ahp::{self, Converse, Turn},
    call,
    envelope::{INTERNAL, INVALID_PARAMS, Problem},
    era::META_CAPABILITIES,
    message::Request,
    protocol::Era,
    tools::Tools,
};

/// Its name among the extensions.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/tasks";
/// The code where the client lacks what a method needs.
const LACKS: i32 = -32021;
/// How often a client may ask: by the estimate, within these.
const POLL: (u64, u64, u64) = (1, 2, 30);

/// Whether a request's client knows tasks.
fn is_known(request: &Request) -> bool {
    let capabilities = request.meta().and_then(|meta| meta.get(META_CAPABILITIES));
    capabilities.and_then(|all| all.get("extensions")?.get(EXTENSION)).is_some_and(Value::is_object)
}

/// The task that a call has begun, as the members of its result; `None`: it has begun none, or its client knows none.
pub(super) async fn begun(
    desk: &Desk<'_>,
    caller: &Caller,
    request: &Request,
    era: Era,
    turn: &Turn,
) -> Option<String> {
    let Turn::Later(accepted) = turn else { return None };
    if era != Era::Stateless || !is_known(request) {
        return None;
    }
    let ticket = Tickets::of(desk).look(&accepted.id, caller).await.ok().flatten()?;
    let mut task = Task::of(&ticket).told(desk, "working");
    task["resultType"] = "task".into();
    Some(members(&task))
}

/// Answers `tasks/get`, `tasks/update` and `tasks/cancel`, with the members of the result.
pub(super) async fn asked(
    desk: &Desk<'_>,
    incoming: &Incoming<'_>,
    request: &Request,
    (converse, tools, base): (&Converse, &Tools, &str),
) -> Result<String, Problem> {
    if !is_known(request) {
        let data = json!({ "requiredCapabilities": { "extensions": { EXTENSION: {} } } });
        let why = format!("This needs a client that declares the extension {EXTENSION}.");
        return Err(Problem::new(LACKS, why).with_data(data));
    }
    let presented = request.meta().and_then(|meta| meta.get("auth")).and_then(Value::as_str);
    let named =
        proven(desk.compiled.judge(), desk.counters, incoming.caller, presented).await.map_err(|disproved| {
            let status = disproved.refusal.fault.status();
            Problem::new(INVALID_PARAMS, disproved.refusal.detail.into_owned()).with_status(status)
        })?;
    let caller = named.as_ref().unwrap_or(incoming.caller);
    let id = request.params.get("taskId").and_then(Value::as_str).unwrap_or_default();
    let found = find(desk, caller, id).await.map_err(|_| away())?;
    let found = found
        .ok_or_else(|| Problem::new(INVALID_PARAMS, "There is no such task, or it is over and forgotten.".into()))?;
    match request.method.as_str() {
        "tasks/get" => Ok(members(&got(desk, &found, converse, tools, base))),
        "tasks/cancel" => {
            if let Found::Ticket(ticket) = &found {
                cancel(desk, caller, ticket).await.map_err(|_| away())?;
            }
            Ok(String::new())
        }
        // No task of ours waits for input: what it needs is asked for before it begins.
        _ => Ok(String::new()),
    }
}

fn away() -> Problem {
    let why = "The store for tasks is unavailable. Try again later.";
    Problem::new(INTERNAL, why.into()).with_status(StatusCode::SERVICE_UNAVAILABLE)
}

/// A task as it is stored.
enum Found {
    Ticket(Box<Ticket>),
    Canceled(Task),
}

/// When a task was begun and last changed, in seconds since 1970.
struct Task {
    id: String,
    created: u64,
    updated: u64,
    eta: Option<u64>,
}

impl Task {
    fn of(ticket: &Ticket) -> Self {
        let (created, eta) = (ticket.asked_at(), ticket.wish.manner["eta"].as_u64());
        Self { id: ticket.id.clone(), created, updated: ticket.decided_at().unwrap_or(created), eta }
    }

    fn told(&self, desk: &Desk<'_>, status: &str) -> Value {
        let time = |seconds: u64| rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
        let (least, usual, most) = POLL;
        let lasts = u64::try_from(desk.compiled.settings.sessions.results.as_millis()).unwrap_or(u64::MAX);
        json!({
            "taskId": self.id, "status": status, "createdAt": time(self.created), "lastUpdatedAt": time(self.updated),
            "ttlMs": lasts, "pollIntervalMs": self.eta.unwrap_or(usual).clamp(least, most) * 1000,
        })
    }
}

/// A task of this caller; `None`: there is none, or it is another caller's.
async fn find(desk: &Desk<'_>, caller: &Caller, id: &str) -> Result<Option<Found>, NotKept> {
    if !records::is_id(id) {
        return Ok(None);
    }
    if let Some(record) = desk.records.get(&canceled_key(caller, id)).await? {
        let value: Value = serde_json::from_slice(&record.value).unwrap_or_default();
        let time = |name: &str| value[name].as_u64().unwrap_or_default();
        let (created, updated) = (time("created"), time("canceled"));
        return Ok(Some(Found::Canceled(Task { id: id.to_owned(), created, updated, eta: None })));
    }
    let ticket = Tickets::of(desk).look(id, caller).await?;
    Ok(ticket.map(|ticket| Found::Ticket(Box::new(ticket))))
}

/// A task in full.
fn got(desk: &Desk<'_>, found: &Found, converse: &Converse, tools: &Tools, base: &str) -> Value {
    let ticket = match found {
        Found::Canceled(task) => return task.told(desk, "cancelled"),
        Found::Ticket(ticket) => ticket,
    };
    let (turn, task) = (ahp::polled(converse, ticket), Task::of(ticket));
    let told = |status| task.told(desk, status);
    if let Some(why) = broken(&turn, ticket) {
        let mut failed = told("failed");
        failed["error"] = json!({ "code": INTERNAL, "message": why });
        return failed;
    }
    if let Turn::Pending(pending) = &turn {
        let mut working = told("working");
        working["statusMessage"] = pending.progress.into();
        return working;
    }
    let mut completed = told("completed");
    let function = ticket.wish.manner["name"].as_str().and_then(|name| tools.find(name));
    let result = format!("{{{}}}", call::answered(&turn, function, base));
    completed["result"] = serde_json::from_str(&result).unwrap_or_default();
    completed
}

/// Why a task has no result: it was lost on the way. What the site refused is a result.
fn broken<'t>(turn: &'t Turn, ticket: &Ticket) -> Option<&'t str> {
    match turn {
        Turn::Gone(gone) => Some(gone.message),
        Turn::Failed(failure) if ticket.is_broken() => Some(&failure.refusal.detail),
        _ => None,
    }
}

/// Cancels what nothing has come of: a question that no person has answered, or a read. An act that was begun is
/// carried out, and its task says so.
async fn cancel(desk: &Desk<'_>, caller: &Caller, ticket: &Ticket) -> Result<(), NotKept> {
    let is_canceled = match ticket.state {
        State::Waiting => Tickets::of(desk).withdraw(ticket).await?,
        State::Running => {
            let mut all = desk.compiled.settings.capabilities.iter();
            all.find(|capability| capability.id == ticket.capability)
                .is_some_and(|capability| capability.kind.is_read())
        }
        _ => false,
    };
    if !is_canceled {
        return Ok(());
    }
    let value = json!({ "created": ticket.asked_at(), "canceled": desk.records.now() }).to_string();
    let put = Put::Value(value.into(), desk.compiled.settings.sessions.results * 2);
    let change = Change { key: canceled_key(caller, &ticket.id), expect: Expect::Anything, put };
    desk.records.commit(&[change]).await.map(drop)
}

/// The record of a task that was canceled, of this caller's alone.
fn canceled_key(caller: &Caller, id: &str) -> String {
    let owner = if caller.is_known() { hex(&caller.holder().bytes()) } else { String::new() };
    format!("m:{}", records::fingerprint(&[owner.as_bytes(), id.as_bytes()]))
}

/// The members of an object, without its braces.
fn members(object: &Value) -> String {
    object.as_object().cloned().map(super::envelope::members).unwrap_or_default()
}
