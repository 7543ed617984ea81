//! Tokens of our own authorization server (`[auth.login]`), which the store knows.

use std::sync::Arc;

use frontdesk_state::Records;
use http::header;

use super::{Callers, Head, Introspected, Said, bearer, only};
use crate::{
    Agent, Caller, Proof, Rejected,
    link::{Link, Token},
};

impl Callers {
    /// Whether a request presents such a token.
    pub fn presents_link(&self, request: &Head<'_>) -> bool {
        self.login.is_some() && presented(request).is_some()
    }

    /// What the store knows of a request's token; `None`: it presents none.
    pub async fn linked(&self, records: Option<&dyn Records>, request: &Head<'_>) -> Option<Introspected> {
        let login = self.login.as_ref()?;
        let token = presented(request)?;
        let opened = match records {
            Some(records) => Link::open(records, token, &login.issuer).await,
            None => Err(Rejected::KeysAway),
        };
        // The operator takes some agents no longer.
        let taken =
            opened.and_then(|link| if login.takes(&link.client) { Ok(link) } else { Err(Rejected::TokenNotValid) });
        Some(Introspected(Said::Link(taken)))
    }

    /// The person together with the agent that they allowed. Such a token grants no scope: it opens the capabilities that
    /// the person chose.
    pub(super) fn by_link(
        &self,
        caller: &mut Caller,
        introspected: Option<Introspected>,
        on_page: bool,
    ) -> Result<(), Rejected> {
        if on_page {
            return Ok(());
        }
        let Some(Introspected(Said::Link(opened))) = introspected else {
            // It came in a body, where the store is not asked.
            return Err(Rejected::TokenNotValid);
        };
        let link: Arc<Link> = opened?;
        if caller.proof == Proof::None {
            caller.proof = Proof::Token;
            caller.subject = Some(link.subject());
            // Not the site's name for the person: this gets into logs.
            caller.name = Some(link.known_as.clone());
        }
        if caller.agent.is_none() {
            caller.agent = Agent::claimed(&link.agent);
        }
        caller.link = Some(link);
        Ok(())
    }
}

fn presented<'h>(request: &Head<'h>) -> Option<&'h str> {
    let presented = bearer(only(request.headers, &header::AUTHORIZATION).ok()??)?;
    std::str::from_utf8(presented).ok().filter(|text| Token::is_like(text.as_bytes()))
}
