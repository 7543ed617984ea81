//! Builds the typed settings of AGTP.

use serde_json::Value;

use super::{
    raw::{Files, Item, Value as Raw},
    settings::*,
    view::View,
};

/// Whether the declaration uses AGTP.
pub fn is_spoken(root: &Item) -> bool {
    let capabilities = root.get("capabilities").map(Item::items).unwrap_or_default();
    root.get("agtp").is_some()
        || root.at(&["listen", "agtp"]).is_some()
        || capabilities.iter().any(|capability| capability.get("agtp").is_some())
}

/// `[agtp]`; `spoken`: whether AGTP is on.
pub(super) fn agtp(view: View, spoken: bool, files: &Files) -> Agtp {
    let file = |key| files.get(&view.file(key)?).map(|bytes| bytes.as_slice().into());
    Agtp {
        spoken,
        server_id: view.text("server_id"),
        agent: file("agent"),
        catalog: file("catalog"),
        inspect: match view.text("inspect").as_deref() {
            Some("public") => Inspectable::Public,
            Some("operator_only") => Inspectable::OperatorOnly,
            _ => Inspectable::AgentOnly,
        },
        scope_violation: if view.number("scope_violation", 455) == 262 { 262 } else { 455 },
        policies: policies(View { item: view.get("policies"), ..view }),
        recipes: view.tables("recipes").filter_map(recipe).collect(),
    }
}

fn policies(view: View) -> AgtpPolicies {
    let rcns = View { item: view.get("rcns"), ..view };
    AgtpPolicies {
        anonymous_discovery: view.flag("anonymous_discovery", true),
        scope_required_for_invocation: view.flag("scope_required_for_invocation", false),
        synthesis_enabled: view.flag("synthesis_enabled", false),
        max_synthesis_depth: view.count("max_synthesis_depth", 10),
        wildcards_accepted: view.flag("wildcards_accepted", false),
        methods: methods(View { item: view.get("methods"), ..view }),
        rcns: Rcns {
            enabled: rcns.flag("enabled", false),
            optimistic: rcns.text("mode").as_deref() == Some("optimistic"),
            min_trust_tier: u8::try_from(rcns.number("min_trust_tier", 1)).unwrap_or(1),
            rate_limit_per_minute: rcns.number("rate_limit_per_minute", 10),
            contract_ttl: rcns.duration("contract_ttl", "1h"),
            invalidate: rcns.text("on_policy_change").as_deref() == Some("invalidate"),
        },
    }
}

fn methods(view: View) -> MethodPolicy {
    let star = |key: &str| view.text(key).is_some_and(|word| word == "*");
    let none = view.text("legacy").is_some_and(|word| word == "NONE");
    let legacy = match (star("legacy"), none) {
        (true, _) => ["GET", "POST", "PUT", "DELETE", "PATCH"].map(str::to_owned).to_vec(),
        (_, true) => Vec::new(),
        _ => view.texts("legacy"),
    };
    let aliases = view.get("aliases").map(|item| {
        let entries = item.entries().iter();
        entries.filter_map(|entry| Some((entry.key.to_string(), entry.item.str()?.to_owned()))).collect()
    });
    MethodPolicy {
        allow: view.get("allow").filter(|_| !star("allow")).map(|_| view.texts("allow")),
        disallow: view.texts("disallow"),
        legacy,
        aliases,
        redirects: view.tables("redirects").filter_map(redirect).collect(),
    }
}

fn redirect(view: View) -> Option<Redirect> {
    Some(Redirect {
        from_method: view.text("from_method")?,
        from_path: view.text("from_path"),
        to_method: view.text("to_method")?,
        to_path: view.text("to_path"),
    })
}

fn recipe(view: View) -> Option<Recipe> {
    let step = |view: View| {
        let input = view.get("input").map_or_else(|| Value::Object(Default::default()), Item::json);
        Some(RecipeStep { capability: view.text("capability")?, input })
    };
    Some(Recipe {
        name: view.text("name")?,
        version: view.text_or("version", "1"),
        method: view.text("method"),
        path: view.text("path"),
        description: view.text("description"),
        steps: view.tables("steps").filter_map(step).collect(),
    })
}

/// `agtp` of a capability.
pub(super) fn capability(view: View) -> AgtpCapability {
    let confidence = view.get("confidence").and_then(|item| match item.value {
        Raw::Float(number) => Some(number),
        Raw::Integer(number) => Some(if number == 0 { 0.0 } else { 1.0 }),
        _ => None,
    });
    let deprecated = view.get("deprecated").map(|item| {
        let view = View { item: Some(item), ..view };
        let successor = View { item: view.get("successor"), ..view };
        DeprecatedEndpoint {
            deprecated_in: view.text("deprecated_in"),
            removed_in: view.text("removed_in"),
            method: successor.text("method"),
            path: successor.text("path"),
        }
    });
    AgtpCapability {
        method: view.text("method"),
        path: view.text("path"),
        namespace: view.text("namespace"),
        intent: view.text("intent"),
        actor: view.text("actor"),
        outcome: view.text("outcome"),
        category: view.text("capability"),
        confidence,
        impact: view.text("impact"),
        is_idempotent: view.get("is_idempotent").and_then(Item::bool),
        deprecated,
    }
}
