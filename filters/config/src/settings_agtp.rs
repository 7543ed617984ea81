//! The typed settings of AGTP: `[agtp]`, and `agtp` of a capability.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

/// `[agtp]`.
#[derive(Debug, Clone)]
pub struct Agtp {
    /// AGTP is on: the table is present, or it has a listener, or a capability declares how AGTP calls it.
    pub spoken: bool,
    pub server_id: Option<String>,
    /// The bytes of the hosted agent's Genesis.
    pub agent: Option<Arc<[u8]>>,
    /// The bytes of a catalog; `None`: the built-in one.
    pub catalog: Option<Arc<[u8]>>,
    pub inspect: Inspectable,
    /// The status for insufficient scopes: 455 or 262.
    pub scope_violation: u16,
    pub policies: AgtpPolicies,
    pub recipes: Vec<Recipe>,
}

/// `agtp.inspect`: who may read the record chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inspectable {
    Public,
    /// Any request with an Agent-ID.
    AgentOnly,
    /// The operator.
    OperatorOnly,
}

/// `[agtp.policies]`.
#[derive(Debug, Clone)]
pub struct AgtpPolicies {
    pub anonymous_discovery: bool,
    pub scope_required_for_invocation: bool,
    pub synthesis_enabled: bool,
    /// Maximum steps of a synthesised endpoint.
    pub max_synthesis_depth: usize,
    pub wildcards_accepted: bool,
    pub methods: MethodPolicy,
    pub rcns: Rcns,
}

/// `[agtp.policies.methods]` (AGTP-API §9.2), as written.
#[derive(Debug, Clone, Default)]
pub struct MethodPolicy {
    /// `None`: `"*"`.
    pub allow: Option<Vec<String>>,
    pub disallow: Vec<String>,
    pub legacy: Vec<String>,
    /// `None`: the five default aliases.
    pub aliases: Option<Vec<(String, String)>>,
    pub redirects: Vec<Redirect>,
}

/// An entry of `[[agtp.policies.methods.redirects]]`; a missing path means the requested one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    pub from_method: String,
    pub from_path: Option<String>,
    pub to_method: String,
    pub to_path: Option<String>,
}

/// `[agtp.policies.rcns]` (AGTP-API §10.1.7).
#[derive(Debug, Clone)]
pub struct Rcns {
    pub enabled: bool,
    /// A call is carried out at once; otherwise the contract is shown first.
    pub optimistic: bool,
    pub min_trust_tier: u8,
    pub rate_limit_per_minute: u64,
    pub contract_ttl: Duration,
    /// A sweep ends drifted contracts; otherwise it only reports them.
    pub invalidate: bool,
}

/// `[[agtp.recipes]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    pub name: String,
    pub version: String,
    pub method: Option<String>,
    pub path: Option<String>,
    pub description: Option<String>,
    pub steps: Vec<RecipeStep>,
}

/// One step of a recipe.
#[derive(Debug, Clone, PartialEq)]
pub struct RecipeStep {
    /// The id of a capability.
    pub capability: String,
    /// With references to the input and to the results of earlier steps: `{input.x}`, `{steps.0.data.y}`.
    pub input: Value,
}

/// `[capabilities.agtp]`; `None` where not written.
#[derive(Debug, Clone, Default)]
pub struct AgtpCapability {
    pub method: Option<String>,
    pub path: Option<String>,
    pub namespace: Option<String>,
    pub intent: Option<String>,
    pub actor: Option<String>,
    pub outcome: Option<String>,
    /// One of the catalog's categories.
    pub category: Option<String>,
    pub confidence: Option<f64>,
    pub impact: Option<String>,
    pub is_idempotent: Option<bool>,
    pub deprecated: Option<DeprecatedEndpoint>,
}

/// `[capabilities.agtp.deprecated]` (AGTP-API §6.5).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeprecatedEndpoint {
    pub deprecated_in: Option<String>,
    pub removed_in: Option<String>,
    pub method: Option<String>,
    pub path: Option<String>,
}
