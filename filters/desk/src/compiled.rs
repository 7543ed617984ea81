//! A declaration, compiled as far as carrying out a call needs it.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use http::Method;

use super::{plan::Plan, seen::Seen};
use crate::{document::Variant, endpoint::Endpoints};
use frontdesk_base::path::Path;
use frontdesk_caller::{
    limits::{Policies, budget::Budgets},
    {Callers, Judge},
};
use frontdesk_config::{Capability, Declaration, Settings};
use frontdesk_firewall::Firewall;
use frontdesk_page::Insertion;

/// A declaration that has passed every check, compiled. Nothing in it changes what is answered while it is in use;
/// `seen` alone grows, and only spares work.
#[derive(Debug)]
pub struct Compiled {
    pub settings: Settings,
    /// SHA-256 of everything the declaration was made from, in hex.
    pub hash: String,
    /// What goes into pages and the hash of it; `None` when `discovery.notice` is off.
    pub insertion: Option<(Arc<Insertion>, String)>,
    /// What looks through everything that leaves for an agent.
    pub firewall: Arc<Firewall>,
    /// In which of the site's answers the firewall found nothing.
    pub(super) seen: Seen,
    /// Every path that is ours.
    pub endpoints: Endpoints,
    /// Who is known here, and how they prove it.
    pub callers: Callers,
    pub policies: Policies,
    pub budgets: Budgets,
    /// How each capability is carried out, in the order of the settings.
    plans: Vec<Plan>,
}

impl Compiled {
    /// Compiles a declaration. `keys` is what was fetched from each of [`Settings::key_urls`].
    pub fn new(declaration: &Declaration, keys: &HashMap<String, Bytes>) -> Self {
        let settings = &declaration.settings;
        let all = settings.capabilities.iter().chain(settings.built_in.iter());
        Self {
            insertion: None,
            firewall: Arc::new(settings.firewall.compiled()),
            seen: Seen::default(),
            endpoints: Endpoints::default(),
            callers: Callers::new(settings, keys),
            policies: Policies::new(settings),
            plans: all.map(|capability| Plan::new(capability, settings)).collect(),
            budgets: Budgets::new(&settings.token_budget, &settings.sessions),
            hash: declaration.hash.clone(),
            settings: settings.clone(),
        }
    }

    /// A capability, and how it is carried out.
    pub(super) fn capability(&self, index: usize) -> Option<(&Capability, &Plan)> {
        self.settings.capability(index).zip(self.plans.get(index))
    }

    /// What a credential in a body is judged by.
    pub fn judge(&self) -> Judge<'_> {
        let anonymous_access = self.settings.policies.anonymous_access;
        Judge { callers: &self.callers, policies: &self.policies, anonymous_access }
    }

    /// The document that is published at a path, in its first variant.
    pub fn document(&self, path: &str) -> Option<Bytes> {
        let endpoint = self.endpoints.find(&Path::of(path), &Method::GET)?;
        endpoint.published()?.variants.first().map(Variant::body)
    }
}
