//! The A2A endpoint: dispatches requests by method.

use async_trait::async_trait;
use http::{HeaderMap, HeaderName, StatusCode, header};
use serde_json::{Map, Value, json};

use super::{
    super::jsonrpc::{self, INVALID_PARAMS, Message, NO_METHOD, Request},
    form::{Form, flagged},
    offered::Offered,
    problem::{NO_EXTENDED_CARD, NO_PUSH, NO_VERSION, Problem, UNSUPPORTED},
    sent::Sent,
    tasks::Task,
    turns::{Done, Outcome, Stopped, Turns},
};
use frontdesk_base::{reply::Reply, text};
use frontdesk_caller::limits::Counted;
use frontdesk_desk::{Desk, Incoming, Serve, Served, Standing, count};

/// Says which version the client speaks; clients of 0.3 send none.
const VERSION: HeaderName = HeaderName::from_static("a2a-version");
/// The endpoint, prepared.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) offered: Offered,
}

/// What a method asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Send,
    Get,
    Cancel,
    /// It exists in the protocol, and is not offered here.
    Not(i32, &'static str),
}

impl Method {
    fn of(name: &str) -> Option<(Form, Self)> {
        let not_streamed = Self::Not(UNSUPPORTED, "Nothing is streamed here. Send the message, and ask for its task.");
        let not_listed = Self::Not(UNSUPPORTED, "Tasks are not listed here. Ask for each by its id.");
        let not_pushed = Self::Not(NO_PUSH, "Nothing is pushed from here. Ask for the task until it is over.");
        let one_card = Self::Not(NO_EXTENDED_CARD, "There is one card for everybody.");
        Some(match name {
            "SendMessage" => (Form::V1, Self::Send),
            "GetTask" => (Form::V1, Self::Get),
            "CancelTask" => (Form::V1, Self::Cancel),
            "SendStreamingMessage" | "SubscribeToTask" => (Form::V1, not_streamed),
            "ListTasks" => (Form::V1, not_listed),
            "GetExtendedAgentCard" => (Form::V1, one_card),
            "CreateTaskPushNotificationConfig"
            | "GetTaskPushNotificationConfig"
            | "ListTaskPushNotificationConfigs"
            | "DeleteTaskPushNotificationConfig" => (Form::V1, not_pushed),
            "message/send" => (Form::V03, Self::Send),
            "tasks/get" => (Form::V03, Self::Get),
            "tasks/cancel" => (Form::V03, Self::Cancel),
            "message/stream" | "tasks/resubscribe" => (Form::V03, not_streamed),
            "tasks/list" => (Form::V03, not_listed),
            "agent/getAuthenticatedExtendedCard" => (Form::V03, one_card),
            name if name.starts_with("tasks/pushNotificationConfig/") => (Form::V03, not_pushed),
            _ => return None,
        })
    }
}

impl Server {
    /// Answers a request that was counted.
    async fn asked(&self, desk: &Desk<'_>, incoming: &Incoming<'_>, request: &Request) -> Served {
        let refused = |problem: Problem, form| {
            let reason = problem.reason;
            Served { reason: Some(reason), ..problem.to(&request.id).reply(form).into() }
        };
        let form = spoken(incoming.headers);
        if !speaks(incoming.headers) {
            return refused(Problem::new(NO_VERSION, "Versions 1.0 and 0.3 are spoken here."), form);
        }
        let Some((form, method)) = Method::of(&request.method) else {
            return refused(Problem::new(NO_METHOD, "This method is not known here."), form);
        };
        let turns = Turns { offered: &self.offered, desk, incoming };
        let task = match method {
            Method::Not(code, why) => Err(Problem::new(code, why)),
            Method::Send => return self.sent(&turns, request, form).await,
            Method::Get => match id(request) {
                Ok(id) => turns.get(id).await,
                Err(problem) => Err(problem),
            },
            Method::Cancel => match id(request) {
                Ok(id) => turns.cancel(id).await,
                Err(problem) => Err(problem),
            },
        };
        match task {
            Ok(task) => {
                let mut served = Served::from(result(&request.id, shown(&task, form)));
                served.reply.headers.extend(frontdesk_firewall::header(&task.status.flags));
                served
            }
            Err(problem) => refused(problem, form),
        }
    }

    async fn sent(&self, turns: &Turns<'_>, request: &Request, form: Form) -> Served {
        let done = match Sent::read(&request.params) {
            Ok(sent) => turns.send(sent).await,
            Err(problem) => Err(problem.into()),
        };
        match done {
            Ok(Done { outcome, account, reason }) => {
                let (kind, object) = match outcome {
                    Outcome::Task(task) => ("task", shown(&task, form)),
                    Outcome::Message { context, parts, flags } => {
                        let mut message = form.message(turns.incoming.request_id, &context, None, &parts);
                        if !flags.is_empty() {
                            message.insert("metadata".into(), flagged(&flags));
                        }
                        ("message", message)
                    }
                };
                let object = match form {
                    Form::V03 => object,
                    Form::V1 => Map::from_iter([(kind.to_owned(), object.into())]),
                };
                Served { reason, account, ..result(&request.id, object).into() }
            }
            Err(stopped) => {
                let Stopped { problem, account } = *stopped;
                let reason = Some(problem.reason);
                Served { reason, account, ..problem.to(&request.id).reply(form).into() }
            }
        }
    }
}

#[async_trait]
impl Serve for Server {
    fn counts_messages(&self) -> bool {
        true
    }

    async fn serve(&self, desk: &Desk<'_>, incoming: &Incoming<'_>, _: &[(String, String)]) -> Served {
        let form = spoken(incoming.headers);
        let (request, served) = match jsonrpc::read(incoming) {
            Ok(Message::Request(request)) => (Some(request), None),
            // A notification gets no answer.
            Ok(Message::Nothing) => (None, Some(Reply::empty(StatusCode::ACCEPTED).into())),
            Err(malformed) => {
                let problem = Problem::malformed(malformed);
                (None, Some(Served { reason: Some(problem.reason), ..problem.reply(form).into() }))
            }
        };
        let sends = request.as_ref().and_then(|request| Method::of(&request.method));
        let counted = match sends {
            Some((_, Method::Send)) => Counted::Call { action: false },
            // Asking for a task costs as little as reading a document.
            _ => Counted::Content,
        };
        let standing = match count(desk, counted, incoming.caller).await {
            Ok(standing) => standing,
            Err((refusal, standing)) => {
                let form = sends.map_or(form, |(form, _)| form);
                let problem = Problem::refused(&refusal);
                let problem = match &request {
                    Some(request) => problem.to(&request.id),
                    None => problem,
                };
                return stand(Served { reason: Some(refusal.reason), ..problem.reply(form).into() }, standing);
            }
        };
        let served = match (request, served) {
            (Some(request), _) => self.asked(desk, incoming, &request).await,
            (None, Some(served)) => served,
            (None, None) => Reply::empty(StatusCode::ACCEPTED).into(),
        };
        stand(served, standing)
    }
}

/// Adds the headers of the limits that a message counted against.
fn stand(mut served: Served, standing: Standing) -> Served {
    served.reply.headers.extend(standing.fields);
    Served { near: standing.near, ..served }
}

/// The form of an error whose method is not known.
fn spoken(headers: &HeaderMap) -> Form {
    let version = text::once(headers, &VERSION).ok().flatten();
    if version.is_some_and(|version| version.starts_with('1')) { Form::V1 } else { Form::V03 }
}

/// Whether the client's version is one of ours.
fn speaks(headers: &HeaderMap) -> bool {
    let Ok(version) = text::once(headers, &VERSION) else { return false };
    version.is_none_or(|version| {
        let mut numbers = version.trim().split('.');
        // Versions of one major number understand each other.
        matches!((numbers.next(), numbers.next()), (Some("" | "1"), _) | (Some("0"), Some("3")))
    })
}

fn id(request: &Request) -> Result<&str, Problem> {
    let id = request.params.get("id").and_then(Value::as_str);
    id.ok_or_else(|| Problem::new(INVALID_PARAMS, "`id` has to be a string: the task's."))
}

fn shown(task: &Task, form: Form) -> Map<String, Value> {
    form.task(&task.id, &task.context, &task.status)
}

fn result(id: &Value, result: Map<String, Value>) -> Reply {
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result });
    Reply::new(StatusCode::OK, "application/json", body.to_string()).with(header::CACHE_CONTROL, "no-store")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_is_not_spoken_is_told_from_one_that_is() {
        let with = |version: &str| HeaderMap::from_iter([(VERSION, version.parse().unwrap())]);
        for spoken in ["1.0", "1.0.0", "1.1", "1", "0.3", "0.3.0", ""] {
            assert!(speaks(&with(spoken)), "{spoken}");
        }
        for other in ["2.0", "0.2.5", "0", "x", "10"] {
            assert!(!speaks(&with(other)), "{other}");
        }
        assert!(speaks(&HeaderMap::new()));
        assert_eq!((spoken(&with("1.0")), spoken(&HeaderMap::new())), (Form::V1, Form::V03));
    }

    #[test]
    fn every_method_of_both_versions_is_known() {
        for (name, form, method) in [
            ("SendMessage", Form::V1, Method::Send),
            ("GetTask", Form::V1, Method::Get),
            ("CancelTask", Form::V1, Method::Cancel),
            ("message/send", Form::V03, Method::Send),
            ("tasks/get", Form::V03, Method::Get),
            ("tasks/cancel", Form::V03, Method::Cancel),
        ] {
            assert_eq!(Method::of(name), Some((form, method)), "{name}");
        }
        let code = |name: &str| match Method::of(name) {
            Some((_, Method::Not(code, _))) => Some(code),
            _ => None,
        };
        assert_eq!((code("SendStreamingMessage"), code("message/stream")), (Some(UNSUPPORTED), Some(UNSUPPORTED)));
        assert_eq!(code("tasks/pushNotificationConfig/set"), Some(NO_PUSH));
        assert_eq!((Method::of("sendMessage"), Method::of("")), (None, None));
    }
}
