//! Public contracts (AGTP-API §10.8): endpoints beside the declared ones, until they end.
//!
//! The store keeps the contracts, and this module caches what is compiled from them until the list changes. The check
//! for a change is one lookup, made only where contracts are possible.

use std::{borrow::Cow, sync::Arc};

use parking_lot::RwLock;

use super::{
    Spoken,
    contract::{Contract, without},
    contracts::Contracts,
    discover::builtins,
    endpoint::Endpoint,
    manifest::Rendered,
    routes::{Found, Routes},
    template::{Places, Template},
};
use frontdesk_desk::{Desk, records::seconds};
use frontdesk_state::NotKept;

/// The cache of published contracts.
#[derive(Debug, Default)]
pub(super) struct Published {
    now: RwLock<Option<Arc<Overlay>>>,
}

/// The published contracts, compiled.
#[derive(Debug)]
pub(super) struct Overlay {
    /// The version of the list in the store; 0 where there is none.
    version: u64,
    /// When the first of them expires, in seconds since 1970.
    until: u64,
    routes: Routes,
    contracts: Vec<(Arc<Endpoint>, Arc<Contract>)>,
    /// The manifest that includes them.
    pub(super) manifest: Rendered,
}

impl Overlay {
    /// Their endpoints.
    pub(super) fn endpoints(&self) -> impl Iterator<Item = &Arc<Endpoint>> {
        self.routes.all().iter()
    }

    /// The contract of a verb and path, with the values of its placeholders.
    pub(super) fn find(&self, method: &str, segments: &[Cow<'_, str>]) -> Option<(Arc<Contract>, Places)> {
        let Found::Endpoint(found, places) = self.routes.find(method, segments) else { return None };
        let (_, contract) = self.contracts.iter().find(|(endpoint, _)| Arc::ptr_eq(endpoint, found))?;
        Some((contract.clone(), places))
    }

    /// The contract of a verb and a path as declared, placeholders included.
    pub(super) fn named(&self, method: &str, path: &str) -> Option<Arc<Contract>> {
        let is_it = |(endpoint, _): &&(Arc<Endpoint>, _)| endpoint.method == method && endpoint.path == path;
        self.contracts.iter().find(is_it).map(|(_, contract)| contract.clone())
    }

    /// The verbs of a path.
    pub(super) fn verbs_at(&self, segments: &[Cow<'_, str>]) -> Vec<String> {
        match self.routes.find("", segments) {
            Found::Others(others) => others.into_iter().map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }
}

impl Spoken {
    /// The published contracts; `None` where none are possible.
    ///
    /// # Errors
    ///
    /// The store is unavailable.
    pub(super) async fn published(&self, desk: &Desk<'_>) -> Result<Option<Arc<Overlay>>, NotKept> {
        if !desk.compiled.settings.agtp.policies.synthesis_enabled {
            return Ok(None);
        }
        let there = self.published.now.read().clone().filter(|overlay| overlay.until > seconds());
        let known = there.as_ref().map(|overlay| overlay.version);
        let Some((version, contracts)) = Contracts::of(desk).public(known).await? else { return Ok(there) };
        let overlay = Arc::new(self.overlay(desk, version, contracts));
        *self.published.now.write() = Some(overlay.clone());
        Ok(Some(overlay))
    }

    /// The last known published contracts.
    pub(super) fn last_published(&self) -> Option<Arc<Overlay>> {
        self.published.now.read().clone().filter(|overlay| overlay.until > seconds())
    }

    fn overlay(&self, desk: &Desk<'_>, version: u64, mut contracts: Vec<Contract>) -> Overlay {
        // Of two for one verb and path the newer counts.
        contracts.sort_by_key(|contract| std::cmp::Reverse(contract.issued));
        let (mut routes, mut known) = (Routes::default(), Vec::new());
        let until = contracts.iter().map(|contract| contract.until).min().unwrap_or(u64::MAX);
        for contract in contracts {
            let Some(endpoint) = self.shown(desk, &contract).map(Arc::new) else { continue };
            let taken =
                |other: &Arc<Endpoint>| other.method == endpoint.method && other.template.overlaps(&endpoint.template);
            if !routes.all().iter().chain(self.routes.all()).any(taken) {
                routes.add(endpoint.clone());
                known.push((endpoint, Arc::new(contract)));
            }
        }
        let all = self.routes.all().iter().chain(routes.all()).map(AsRef::as_ref);
        let manifest = self.manifest.render(all, builtins(), |document| self.signing.manifest_signature(document));
        Overlay { version, until, routes, contracts: known, manifest }
    }

    /// The current endpoint of a contract; `None` where its source no longer exists.
    fn shown(&self, desk: &Desk<'_>, contract: &Contract) -> Option<Endpoint> {
        let settings = &desk.compiled.settings;
        let made_of = self.stock.endpoint(&contract.source, settings, &self.catalog)?;
        let template = Template::parse(&contract.path, &self.catalog).ok()?;
        let capability = made_of.capability(settings)?;
        let pair = (contract.method.as_str(), contract.path.as_str());
        let mut endpoint = Endpoint::new(made_of.behind.clone(), capability, pair, template, &self.catalog);
        // Values fixed by the path are no inputs, neither here nor in the contract.
        endpoint.definition = without(&endpoint.definition, &contract.places);
        Some(endpoint)
    }
}
