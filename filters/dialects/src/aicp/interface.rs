//! `GET /agent/interface`: the contract as it applies to the caller (§6.6, §6.7).

use frontdesk_desk::Compiled;
use std::{collections::HashSet, sync::Arc};

use async_trait::async_trait;
use http::{StatusCode, header};
use serde_json::{Map, json};

use super::{
    super::json,
    JSON, TOML, contract,
    error::{self, ASK_THE_USER, AUTHORIZE},
    toml,
};
use frontdesk_base::{
    fault::{CHALLENGE, Fault, Refusal},
    reply::Reply,
};
use frontdesk_caller::{Caller, Proof};
use frontdesk_config::Node;
use frontdesk_desk::{
    problem, {Authority, Desk}, {Incoming, Serve, Served},
};

/// The contract before it is tailored to a caller.
#[derive(Debug)]
pub(super) struct Interface {
    pub(super) contract: Arc<Node>,
    pub(super) versions: Vec<String>,
    /// Where a person can grant further permissions.
    pub(super) authorization_url: Option<String>,
}

#[async_trait]
impl Serve for Interface {
    async fn serve(&self, desk: &Desk<'_>, request: &Incoming<'_>, _: &[(String, String)]) -> Served {
        let caller = request.caller;
        if !caller.has_credential() {
            let challenge = Some(CHALLENGE);
            let refusal = Refusal { challenge, ..Fault::Unauthenticated.into() };
            let reply = self.refusal_reply(&refusal, request.accept().as_deref());
            return Served { reason: Some(refusal.reason), ..reply.into() };
        }
        let as_toml = match super::negotiate(request.accept().as_deref(), &self.versions) {
            Ok(variant) => variant == 0,
            Err(reply) => return reply.into(),
        };
        let (authority, settings) = (Authority::of(caller), &desk.compiled.settings);
        let open: HashSet<&str> = settings
            .capabilities
            .iter()
            .filter(|capability| capability.exposed && authority.opens(capability, settings))
            .map(|capability| capability.id.as_str())
            .collect();
        let contract = self.as_used_by(caller, &open);
        let reply = if as_toml {
            Reply::new(StatusCode::OK, TOML, toml::write(&contract))
        } else {
            let mut out = Vec::new();
            json::node(&mut out, &contract);
            Reply::new(StatusCode::OK, JSON, out)
        };
        reply
            .with(header::CACHE_CONTROL, "private, no-store")
            .with(header::VARY, "Accept, Authorization, X-AHP-Key")
            .into()
    }

    fn refused(&self, _: &Compiled, refusal: &Refusal, accept: Option<&str>) -> Option<Reply> {
        let is_ours = refusal.fault == Fault::Unauthenticated && !accept.is_some_and(problem::prefers_html);
        is_ours.then(|| self.refusal_reply(refusal, accept))
    }
}

impl Interface {
    fn refusal_reply(&self, refusal: &Refusal, accept: Option<&str>) -> Reply {
        let url = self.authorization_url.as_deref();
        let action = url.map(|url| error::permission(url, AUTHORIZE, ASK_THE_USER, &json!({})));
        error::refusal_reply(refusal, accept, None, Map::new(), action.into_iter().collect())
    }

    fn as_used_by<'c>(&'c self, caller: &'c Caller, open: &HashSet<&str>) -> Node<&'c str> {
        // Not signed, because every caller gets a different document.
        let Node::Table(mut entries) = contract::published(&self.contract, None) else {
            return Node::Table(Vec::new());
        };
        entries.retain(|(key, _)| *key != "integrity");
        for (key, value) in &mut entries {
            if let ("capabilities", Node::Array(capabilities)) = (*key, value) {
                capabilities.retain(|capability| contract::text(capability, "id").is_some_and(|id| open.contains(id)));
            }
        }
        let scopes = caller.scopes().iter().map(|scope| Node::String(scope.as_str())).collect();
        let kind = if caller.proof == Proof::Key { "client" } else { "user" };
        let mut context = vec![("authenticated", Node::Boolean(true)), ("subject_type", Node::String(kind))];
        if let Some(name) = caller.name.as_deref() {
            context.push(("subject", Node::String(name)));
        }
        context.push(("granted_scopes", Node::Array(scopes)));
        // Tables come before arrays of tables.
        let at = entries.iter().position(|(key, _)| *key == "capabilities").unwrap_or(entries.len());
        entries.insert(at, ("auth_context", Node::Table(context)));
        Node::Table(entries)
    }
}
