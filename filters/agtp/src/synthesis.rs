//! What an endpoint can be put together from while we run (AGTP-API §10.7, §12.1): a recipe, a capability that is not
//! exposed, or an endpoint that there is under another name. Nothing else ever is.
//!
//! Whatever comes of it is called as what it is made of: its schema, its scopes, its risk. Nothing that a caller wrote
//! goes into it, for others may come to read it.

use std::{
    borrow::Cow,
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use parking_lot::Mutex;
use serde_json::Value;

use super::{
    Spoken,
    call::{authority, covered},
    calling::Calling,
    catalog::Catalog,
    contract::{Bound, Contract, Origin, hash, holder, without},
    endpoint::Endpoint,
    error, recipe,
    routes::{Found, Routes},
    said::Wrong,
    source::{Captured, Source},
    spoken::endpoint_of,
    template::{Places, Template},
};
use frontdesk_config::Settings;
use frontdesk_desk::{
    Desk,
    records::{self, seconds},
};
use frontdesk_state::NotKept;

/// Recipes of before that are kept ready.
const MOST_BEFORE: usize = 64;
/// What is shown of what comes near a proposal.
const MOST_SIMILAR: usize = 5;

/// Everything that may be put together, and has not been.
#[derive(Debug, Default)]
pub(super) struct Stock {
    routes: Routes,
    /// By the capability's id, the declared ones too.
    by_id: HashMap<String, Arc<Endpoint>>,
    recipes: Vec<(Captured, Arc<Endpoint>)>,
    /// Of recipes that the declaration says otherwise by now, the latest.
    before: Mutex<VecDeque<(Captured, Option<Arc<Endpoint>>)>>,
}

/// Something that a pair can be made of.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) endpoint: Arc<Endpoint>,
    /// What stands in its places, where the pair says it.
    pub(super) places: Places,
    pub(super) source: Source,
    /// It is there anyway.
    pub(super) declared: bool,
}

impl Stock {
    /// What there is to begin with; nothing where nothing is put together.
    pub(super) fn new(settings: &Settings, catalog: &Catalog, declared: &Routes) -> Self {
        let mut stock = Self::default();
        if !settings.agtp.policies.synthesis_enabled {
            return stock;
        }
        for recipe in &settings.agtp.recipes {
            if let Some(endpoint) = recipe::endpoint(recipe, settings, catalog).map(Arc::new) {
                stock.routes.add(endpoint.clone());
                stock.recipes.push((recipe.into(), endpoint));
            }
        }
        for (index, capability) in settings.capabilities.iter().enumerate().filter(|(_, c)| !c.exposed) {
            if let Some(endpoint) = endpoint_of(index, capability, catalog).map(Arc::new) {
                stock.routes.add(endpoint.clone());
                stock.by_id.insert(capability.id.clone(), endpoint);
            }
        }
        for endpoint in declared.all() {
            if let Some(capability) = endpoint.capability(settings) {
                stock.by_id.insert(capability.id.clone(), endpoint.clone());
            }
        }
        stock
    }

    /// What a pair can be made of.
    pub(super) fn find(&self, settings: &Settings, declared: &Routes, method: &str, path: &Template) -> Option<Made> {
        let made = |(endpoint, places): (Arc<Endpoint>, _), declared| {
            let recipe = self.recipes.iter().find(|(_, known)| Arc::ptr_eq(known, &endpoint));
            let source = match recipe {
                Some((recipe, _)) => Source::Recipe(recipe.clone()),
                None => Source::Capability(endpoint.capability(settings)?.id.clone()),
            };
            Some(Made { endpoint, places, source, declared })
        };
        if let Some(found) = pick(declared, method, path) {
            return made(found, true);
        }
        made(pick(&self.routes, method, path)?, false)
    }

    /// What something is made of today; `None` where it is not there any more.
    pub(super) fn endpoint(&self, source: &Source, settings: &Settings, catalog: &Catalog) -> Option<Arc<Endpoint>> {
        let captured = match source {
            Source::Capability(id) => return self.by_id.get(id).cloned(),
            Source::Recipe(captured) => captured,
        };
        if let Some((_, endpoint)) = self.recipes.iter().find(|(known, _)| known == captured) {
            return Some(endpoint.clone());
        }
        if let Some((_, endpoint)) = self.before.lock().iter().find(|(known, _)| known == captured) {
            return endpoint.clone();
        }
        let endpoint = recipe::endpoint(&captured.recipe(), settings, catalog).map(Arc::new);
        let mut before = self.before.lock();
        before.truncate(MOST_BEFORE - 1);
        before.push_front((captured.clone(), endpoint.clone()));
        endpoint
    }

    /// What could be made of nearly the same: at the same path, or with the same verb.
    pub(super) fn similar(&self, method: &str, path: &Template) -> Vec<&Arc<Endpoint>> {
        similar(&self.routes, method, path)
    }
}

/// What there is that comes near a pair, the nearest first.
pub(super) fn similar<'r>(routes: &'r Routes, method: &str, path: &Template) -> Vec<&'r Arc<Endpoint>> {
    let far = |endpoint: &Endpoint| (!endpoint.template.meets(path), endpoint.method != method);
    let mut near: Vec<_> = routes.all().iter().filter(|endpoint| far(endpoint) != (true, true)).collect();
    near.sort_by_key(|endpoint| far(endpoint));
    near.truncate(MOST_SIMILAR);
    near
}

/// The endpoint of a pair: the same template, or one that a path without places is like.
fn pick(routes: &Routes, method: &str, path: &Template) -> Option<(Arc<Endpoint>, Places)> {
    let segments: Option<Vec<Cow<'_, str>>> = path.segments().map(|segment| segment.map(Cow::Borrowed)).collect();
    match segments {
        Some(segments) => match routes.find(method, &segments) {
            Found::Endpoint(endpoint, places) => Some((endpoint.clone(), places)),
            _ => None,
        },
        None => {
            let same = |endpoint: &&Arc<Endpoint>| endpoint.method == method && endpoint.template == *path;
            routes.all().iter().find(same).map(|endpoint| (endpoint.clone(), Vec::new()))
        }
    }
}

impl Made {
    /// The endpoint as it is agreed on, under a pair: what the path says is no input any more.
    pub(super) fn definition(&self, method: &str, path: &str) -> Value {
        let mut definition = without(&self.endpoint.definition, &self.places);
        definition["method"] = method.into();
        definition["path"] = path.into();
        definition
    }

    /// A contract about it, which nobody has yet.
    ///
    /// # Errors
    ///
    /// There is no chance to be had.
    pub(super) fn drafted(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        origin: Origin,
        bound: Bound,
        (method, path): (&str, &str),
        lasts: Option<u64>,
    ) -> Result<Contract, NotKept> {
        let endpoint = self.definition(method, path);
        let most = desk.compiled.settings.agtp.policies.rcns.contract_ttl.as_secs().max(1);
        let issued = seconds();
        Ok(Contract {
            id: records::unguessable()?,
            agent: calling.head.agent.unwrap_or_default().to_owned(),
            holder: holder(calling),
            origin,
            bound,
            method: method.to_owned(),
            path: path.to_owned(),
            places: self.places.clone(),
            source: self.source.clone(),
            hash: hash(&endpoint, &self.source.lineage()),
            endpoint,
            issued,
            until: issued + lasts.unwrap_or(most).clamp(1, most),
            ended: None,
        })
    }

    /// The inputs that it needs, as its schema has them.
    pub(super) fn needs(&self) -> impl Iterator<Item = &str> {
        let required = &self.endpoint.definition["input_schema"]["required"];
        required.as_array().into_iter().flatten().filter_map(Value::as_str)
    }
}

impl Spoken {
    /// Whether a caller may do all that something is made of (§10.7): found out before there is a contract, and again by
    /// the desk at each call.
    ///
    /// # Errors
    ///
    /// 262: what is missing.
    pub(super) fn suffices(&self, desk: &Desk<'_>, calling: &Calling<'_>, endpoint: &Endpoint) -> Result<(), Wrong> {
        let settings = &desk.compiled.settings;
        let gone = || Wrong::new(404, "not-found", "It is not there any more.");
        let capability = endpoint.capability(settings).ok_or_else(gone)?;
        let covered = covered(capability, calling.head);
        let authority = authority(capability, calling, &covered);
        desk.admit(endpoint.called(), &authority).map_err(|refusal| error::wrong(&refusal, None, 262))?;
        if authority.opens(capability, settings) {
            return Ok(());
        }
        Err(scope_required(&capability.required_scopes))
    }
}

/// 262: scopes that have to be claimed, and granted where something grants them.
pub(super) fn scope_required(scopes: &[String]) -> Wrong {
    let message = format!("This needs the scopes {}. Claim them in Authority-Scope.", scopes.join(", "));
    let wrong = Wrong::required("scope-required", message).with("required_scopes", scopes.to_vec());
    Wrong { reason: "scope_required", ..wrong }
}
