//! Ends everything that people have allowed one agent (`[auth.login]`), for the operator.

use frontdesk_filters::caller::link::end_all_of;
use http::{Method, StatusCode};
use pingora::protocols::http::ServerSession;
use serde_json::json;

use super::{Admin, Answer, body::Form, guard, json_answer, not_allowed, problem};

/// Maximum bytes of an agent's id.
const LONGEST_ID: usize = 1024;

impl Admin {
    /// Ends all links of an agent that people have allowed until now.
    pub(super) async fn end_links(&self, session: &mut ServerSession) -> Answer {
        if session.req_header().method != Method::POST {
            return not_allowed("POST");
        }
        if let Err(refusal) = guard::check_token(session.req_header(), &self.live) {
            return *refusal;
        }
        let form = match Form::read(session).await {
            Ok(form) => form,
            Err(answer) => return *answer,
        };
        let client = form.field("client");
        if client.is_empty() || client.len() > LONGEST_ID {
            return problem(StatusCode::BAD_REQUEST, "Send client=ID: the client_id of an agent.");
        }
        let running = self.live.current();
        let Some(login) = &running.snapshot.settings.auth.login else {
            return problem(StatusCode::NOT_FOUND, "There is no [auth.login] here, so no agent has links.");
        };
        // A mistyped id would otherwise look like an agent that was ended.
        let is_taken = login.takes(&client);
        match end_all_of(running.store.records.as_ref(), &client).await {
            Ok(true) => {
                self.metrics.links.with_label_values(&["client_ended"]).inc();
                tracing::info!(client, "the operator ended all links of an agent");
                let mut ended = json!({ "ended": client });
                if !is_taken {
                    ended["note"] =
                        "auth.login takes no agent with this id now. Is it written as its client_id?".into();
                }
                json_answer(StatusCode::OK, &ended)
            }
            Ok(false) => problem(StatusCode::CONFLICT, "Too many agents were ended. List the others in auth.login."),
            Err(_) => problem(StatusCode::SERVICE_UNAVAILABLE, "The store is unavailable, and nothing was ended."),
        }
    }
}
