//! A declaration, compiled as far as the desk needs it to carry out calls.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use http::Method;

use super::{clean_responses::Seen, plan::Plan};
use crate::{document::Variant, endpoint::Endpoints};
use frontdesk_base::path::Path;
use frontdesk_caller::{
    limits::{Policies, budget::Budgets},
    {Callers, Judge},
};
use frontdesk_config::{Capability, Declaration, Settings};
use frontdesk_firewall::Firewall;
use frontdesk_page::Insertion;

/// A checked declaration in compiled form. Immutable while it is in use, apart from the cache `seen`, which changes no
/// answer.
#[derive(Debug)]
pub struct Compiled {
    pub settings: Settings,
    /// SHA-256, in hex, of everything the declaration was made from.
    pub hash: String,
    /// The notice for HTML pages and its hash; `None` when `discovery.notice` is off.
    pub insertion: Option<(Arc<Insertion>, String)>,
    /// Scans everything that leaves for an agent.
    pub firewall: Arc<Firewall>,
    /// A cache of the site's answers in which the firewall found nothing.
    pub(super) seen: Seen,
    /// All paths that Frontdesk answers itself.
    pub endpoints: Endpoints,
    /// The known callers, and how each proves its identity.
    pub callers: Callers,
    pub policies: Policies,
    pub budgets: Budgets,
    /// The plan of each capability, in the order of the settings.
    plans: Vec<Plan>,
}

impl Compiled {
    /// Compiles a declaration. `keys` holds the key set fetched from each of [`Settings::key_urls`].
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

    /// A capability and its plan.
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
