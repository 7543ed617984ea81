//! The sources from which endpoints can be made at run time (AGTP-API §10.7, §12.1): recipes, capabilities that are
//! not exposed, and existing endpoints under another name. There are no others.
//!
//! A synthesised endpoint has its source's schema, scopes and risk. Nothing that a caller wrote goes into it, because
//! others may come to read it.

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
    endpoint::{Endpoint, endpoint_of},
    error, recipe,
    response::AgtpError,
    routes::{Found, Routes},
    source::{Captured, Source},
    template::{Places, Template},
};
use frontdesk_config::Settings;
use frontdesk_desk::{
    Desk,
    records::{self, seconds},
};
use frontdesk_state::NotKept;

/// Maximum earlier recipes that are kept compiled.
const MOST_BEFORE: usize = 64;
/// Maximum similar endpoints in a refusal.
const MOST_SIMILAR: usize = 5;

/// All possible sources.
#[derive(Debug, Default)]
pub(super) struct Stock {
    routes: Routes,
    /// By the capability's id, the declared ones included.
    by_id: HashMap<String, Arc<Endpoint>>,
    recipes: Vec<(Captured, Arc<Endpoint>)>,
    /// The latest compiled recipes of earlier declarations.
    before: Mutex<VecDeque<(Captured, Option<Arc<Endpoint>>)>>,
}

/// A source for a verb and path.
#[derive(Debug, Clone)]
pub(super) struct Made {
    pub(super) endpoint: Arc<Endpoint>,
    /// Fixed values of placeholders, from the path.
    pub(super) places: Places,
    pub(super) source: Source,
    /// It is a declared endpoint.
    pub(super) declared: bool,
}

impl Stock {
    /// The sources; none where synthesis is off.
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

    /// The source for a verb and path.
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

    /// The current endpoint of a source; `None` where it no longer exists.
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

    /// The similar sources: the same path, or the same verb.
    pub(super) fn similar(&self, method: &str, path: &Template) -> Vec<&Arc<Endpoint>> {
        similar(&self.routes, method, path)
    }
}

/// The endpoints similar to a verb and path, nearest first.
pub(super) fn similar<'r>(routes: &'r Routes, method: &str, path: &Template) -> Vec<&'r Arc<Endpoint>> {
    let far = |endpoint: &Endpoint| (!endpoint.template.meets(path), endpoint.method != method);
    let mut near: Vec<_> = routes.all().iter().filter(|endpoint| far(endpoint) != (true, true)).collect();
    near.sort_by_key(|endpoint| far(endpoint));
    near.truncate(MOST_SIMILAR);
    near
}

/// The endpoint for a verb and path: the same template, or one that a literal path matches.
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
    /// The endpoint's definition under a verb and path. Values fixed by the path are no inputs.
    pub(super) fn definition(&self, method: &str, path: &str) -> Value {
        let mut definition = without(&self.endpoint.definition, &self.places);
        definition["method"] = method.into();
        definition["path"] = path.into();
        definition
    }

    /// A draft of a contract.
    ///
    /// # Errors
    ///
    /// No random id could be generated.
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

    /// The required inputs in its schema.
    pub(super) fn needs(&self) -> impl Iterator<Item = &str> {
        let required = &self.endpoint.definition["input_schema"]["required"];
        required.as_array().into_iter().flatten().filter_map(Value::as_str)
    }
}

impl Spoken {
    /// Checks that a caller may do all that a source does (§10.7). Checked before a contract is made, and by the desk
    /// at each call.
    ///
    /// # Errors
    ///
    /// 262: what is missing.
    /// 262: what is missing.
    pub(super) fn suffices(
        &self,
        desk: &Desk<'_>,
        calling: &Calling<'_>,
        endpoint: &Endpoint,
    ) -> Result<(), AgtpError> {
        let settings = &desk.compiled.settings;
        let gone = || AgtpError::new(404, "not-found", "It no longer exists.");
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

/// 262: scopes that must be claimed, and granted where credentials grant scopes.
pub(super) fn scope_required(scopes: &[String]) -> AgtpError {
    let message = format!("This needs the scopes {}. Claim them in Authority-Scope.", scopes.join(", "));
    let wrong = AgtpError::required("scope-required", message).with("required_scopes", scopes.to_vec());
    AgtpError { reason: "scope_required", ..wrong }
}
