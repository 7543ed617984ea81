//! The built-in capabilities, which need no declaration: the site's own pages, and facts about the site.

use std::{sync::Arc, time::Duration};

use super::{
    names,
    raw::Item,
    settings::{AgtpCapability, AhpCapability, Aom, BuiltIn, Capability, CapabilityKind, Confirmation, Privacy},
};

/// The built-in capabilities that no declared one replaces, by its id or by its name.
pub(super) fn of(concierge: bool, declared: &[Item]) -> Arc<[Capability]> {
    let taken = |id: &str| {
        let named = |item: &Item| {
            let declared = item.get("id").and_then(Item::str).unwrap_or_default();
            declared == id || names::name(declared, item.at(&["ahp", "name"]).and_then(Item::str)) == id
        };
        declared.iter().any(named)
    };
    let all = [
        capability(
            BuiltIn::SiteInfo,
            "site_info",
            "What this site is, who is behind it, and what can be done here.",
            &["text/answer"],
        ),
        capability(
            BuiltIn::ContentSearch,
            "content_search",
            "Answers a question from the pages of this site, with their addresses.",
            &["text/answer", "application/feed"],
        ),
    ];
    all.into_iter().filter(|capability| concierge && !taken(&capability.id)).collect()
}

impl Capability {
    /// Whether this is the operator's own concierge, in place of the built-in answers from the pages.
    pub fn is_own_concierge(&self) -> bool {
        let name = names::name(&self.id, self.ahp.name.as_deref());
        self.built_in.is_none() && NAMES.contains(&name.as_str())
    }
}

/// The ids of the capabilities that answer in words.
const NAMES: [&str; 2] = ["site_info", "content_search"];

fn capability(built_in: BuiltIn, id: &str, description: &str, types: &[&str]) -> Capability {
    Capability {
        id: id.to_owned(),
        kind: CapabilityKind::Query,
        description: Some(description.to_owned()),
        method: None,
        endpoint: None,
        risk_level: Some("low".to_owned()),
        data_sensitivity: Some("public".to_owned()),
        auth: Some("none".to_owned()),
        required_scopes: Vec::new(),
        requires_user_confirmation: None,
        requires_strong_authentication: false,
        idempotency_required: false,
        cache_ttl: CACHED,
        exposed: true,
        group: None,
        input_schema: None,
        written_input_schema: None,
        output_schema: None,
        input: None,
        upstream: None,
        aom: Aom::default(),
        confirmation: Confirmation::default(),
        privacy: Privacy::default(),
        ahp: AhpCapability {
            mode: Some("MODE2".to_owned()),
            response_types: types.iter().map(|kind| (*kind).to_owned()).collect(),
            accept_fallback: Some(true),
            ..AhpCapability::default()
        },
        agtp: AgtpCapability::default(),
        built_in: Some(built_in),
    }
}

/// How long answers are cached. Pages change only when they are read again, and the cache key contains the number of
/// the reading.
const CACHED: Duration = Duration::from_secs(15 * 60);
