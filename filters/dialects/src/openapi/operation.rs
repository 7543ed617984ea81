//! The endpoint of an operation: its body is a question to one capability (AHP §E.2), and its answer AHP's.

use std::sync::Arc;

use async_trait::async_trait;
use http::StatusCode;
use serde_json::Value;

use super::super::{
    ahp::{self, Converse, Conversed, Question},
    arguments::Function,
};
use frontdesk_config::Settings;
use frontdesk_desk::{
    {About, CONFIRMATION, Incoming, Serve, Served}, {Desk, Turned},
};

/// Its name in the audit log.
const DIALECT: &str = super::DIALECT.name;

/// One capability's operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) function: Function,
    pub(super) converse: Arc<Converse>,
}

#[async_trait]
impl Serve for Operation {
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, _: &[(String, String)]) -> Served {
        let conversed = match self.question(request) {
            Ok(question) => self.converse.converse(desk, request, question, DIALECT).await,
            Err(conversed) => {
                let Incoming { caller, request_id, .. } = *request;
                let capability = self.function.index.into();
                let turned = Turned { capability, caller, idempotency_key: None, request_id, dialect: DIALECT };
                let reason = conversed.turn.reason().unwrap_or("bad_request");
                Conversed { account: Some(desk.compiled.turned_away(&turned, reason, desk.audit)), ..*conversed }
            }
        };
        ahp::served(conversed)
    }

    /// A question in words has the usual bound (AHP §6.5); structured input has the bound of all inputs.
    fn most(&self, settings: &Settings) -> usize {
        if self.function.is_structured() { settings.protection.max_input } else { settings.sessions.max_body }
    }

    fn about(&self) -> Option<About> {
        Some(About { capability: self.function.index, dialect: DIALECT })
    }
}

impl Operation {
    fn question(&self, request: &Incoming<'_>) -> Result<Question, Box<Conversed>> {
        let mut given = ahp::body(request)?;
        let around = if self.function.has_context() { None } else { given.remove("context") };
        let mut asked = self.function.asked(given);
        let mut around = around.unwrap_or_default();
        if around.is_null() {
            around = Value::Object(Default::default());
        }
        if let Some(around) = around.as_object_mut() {
            around.entry("accept_types").or_insert_with(|| self.function.types());
        }
        asked.insert("context".into(), around);
        if self.function.confirmed_as().is_none()
            && let Some(token) = request.headers.get(CONFIRMATION).and_then(|value| value.to_str().ok())
        {
            asked.insert("confirmation".into(), token.into());
        }
        Ok(Question::read(asked, Some(&self.function.name))?)
    }
}

/// Unknown operations. Nothing is carried out; a client that gets the 404 looks elsewhere.
#[derive(Debug)]
pub(super) struct Nothing {
    /// The path prefix of operations.
    pub(super) base: String,
    /// The existing operations.
    pub(super) names: Vec<String>,
}

#[async_trait]
impl Serve for Nothing {
    async fn serve(&self, _: &Desk<'_>, request: &Incoming<'_>, _: &[(String, String)]) -> Served {
        let path = request.target.split(['?', '#']).next().unwrap_or_default();
        let named = path.strip_prefix(self.base.as_str()).unwrap_or_default();
        let conversed = Conversed::unknown_capability(named, self.names.iter().map(String::as_str));
        // AHP reports an unknown capability as an error in the body; here the path is wrong.
        ahp::served(Conversed { status: StatusCode::NOT_FOUND, ..conversed })
    }

    fn most(&self, settings: &Settings) -> usize {
        settings.sessions.max_body
    }
}
