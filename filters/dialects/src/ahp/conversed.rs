//! The reply to a question: its outcome, with the headers and the account that every dialect needs.

use http::{HeaderName, HeaderValue, StatusCode};

use super::{
    error,
    question::Wrong,
    turn::{Accepted, Clarification, Confirmation, Failure, Turn},
};
use frontdesk_base::{
    fault::{Fault, Refusal},
    reply::Reply,
};
use frontdesk_desk::{Account, Asked};

/// The reply to a question.
#[derive(Debug)]
pub struct Conversed {
    pub turn: Turn,
    /// The status in AHP (§10).
    pub status: StatusCode,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub account: Option<Box<Account>>,
}

impl From<Turn> for Conversed {
    fn from(turn: Turn) -> Self {
        Self { turn, status: StatusCode::OK, headers: Vec::new(), account: None }
    }
}

impl From<Wrong> for Box<Conversed> {
    fn from(wrong: Wrong) -> Self {
        Box::new(Conversed::wrong(wrong))
    }
}

impl Conversed {
    pub fn refused(refusal: &Refusal) -> Self {
        let refusal = error::completed(refusal).into_owned();
        let reply = error::dressed(&refusal, Reply::empty(error::status(refusal.fault)));
        let failure = Failure { refusal: Box::new(refusal), wrong: None, id: None };
        Self { turn: Turn::Failed(failure), status: reply.status, headers: reply.headers, account: None }
    }

    /// A question that cannot be asked.
    pub fn wrong(wrong: Wrong) -> Self {
        let mut conversed = Self::refused(&Refusal::from(Fault::BadRequest).saying(wrong.message()));
        if let Turn::Failed(failure) = &mut conversed.turn {
            failure.wrong = Some(wrong);
        }
        conversed
    }

    /// The capability does not exist.
    pub(crate) fn unknown_capability<'a>(named: &str, there_are: impl Iterator<Item = &'a str>) -> Self {
        let named = named.chars().filter(|c| !c.is_control()).take(64).collect();
        let available = there_are.take(MOST_NAMED).map(str::to_owned).collect();
        Self::wrong(Wrong::UnknownCapability { named, available })
    }

    /// A clarifying question (AHP §6.3).
    pub(super) fn unclear(session: Option<&str>, question: &str, options: Option<&[String]>, free_form: bool) -> Self {
        let (session, options) = (session.map(str::to_owned), options.map(<[String]>::to_vec));
        Turn::Clarify(Clarification { session, question: question.to_owned(), options, free_form }).into()
    }

    /// A person has to confirm first.
    pub(super) fn asked(session: Option<&str>, asked: &Asked) -> Self {
        let Asked { refusal, summary, consequence, expires, token, page, .. } = asked;
        let session = session.map(str::to_owned);
        let (summary, consequence, token) = (summary.clone(), consequence.clone(), token.clone());
        let (expires, page, reason) = (*expires, page.clone(), refusal.reason);
        Turn::Confirm(Confirmation { session, summary, consequence, expires, token, page, reason }).into()
    }

    /// The answer follows later (AHP §6.4).
    pub(super) fn accepted(id: &str, poll: String, eta: Option<u64>, callback: Option<&str>) -> Self {
        Turn::Later(Accepted { id: id.to_owned(), poll, eta, callback: callback.map(str::to_owned) }).into()
    }

    /// The HTTP reply in AHP's form.
    pub fn reply(self) -> Reply {
        let mut reply = Reply::new(self.status, "application/json", self.turn.json());
        reply.headers.extend(self.headers);
        if !reply.headers.iter().any(|(name, _)| name == http::header::CACHE_CONTROL) {
            reply = reply.with(http::header::CACHE_CONTROL, "no-store");
        }
        reply
    }
}

/// The answer that declines a confirmation.
pub const CANCEL: &str = "cancel";
/// Maximum capabilities that are named in the error for an unknown one.
const MOST_NAMED: usize = 100;
