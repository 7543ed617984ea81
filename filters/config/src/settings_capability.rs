//! The typed settings of a capability. Those of its call to the site are beside it.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use super::Settings;
use super::{
    AgtpCapability, Call, Identity, Recipe,
    capability_kind::{AuthNeed, BuiltIn, CapabilityKind},
};
use frontdesk_base::schema::Schema;

/// A `[[capabilities]]` entry. The complete table is in `Declaration::contract`.
#[derive(Debug, Clone)]
pub struct Capability {
    pub id: String,
    pub kind: CapabilityKind,
    pub description: Option<String>,
    pub method: Option<String>,
    pub endpoint: Option<String>,
    /// `None`: not written (treated and published as high).
    pub risk_level: Option<String>,
    pub data_sensitivity: Option<String>,
    /// `None`: not written.
    pub auth: Option<String>,
    pub required_scopes: Vec<String>,
    pub requires_user_confirmation: Option<bool>,
    pub requires_strong_authentication: bool,
    pub idempotency_required: bool,
    pub cache_ttl: Duration,
    pub exposed: bool,
    /// The group in which agents find it, for example a tag of an OpenAPI document.
    pub group: Option<String>,
    /// The resolved schema, self-contained, where it is inline or has a known name; else `None`.
    pub input_schema: Option<Value>,
    /// The input schema as it is written, where it has definitions of its own that its references lead to.
    pub written_input_schema: Option<Value>,
    pub output_schema: Option<Value>,
    /// The same schema, compiled, to validate inputs.
    pub input: Option<Arc<Schema>>,
    /// `[capabilities.upstream]`; `None`: the site is called at the capability's own endpoint.
    pub upstream: Option<Call>,
    pub aom: Aom,
    pub confirmation: Confirmation,
    pub privacy: Privacy,
    pub ahp: AhpCapability,
    pub agtp: AgtpCapability,
    /// Set for a built-in capability, which the site's own pages answer.
    pub built_in: Option<BuiltIn>,
}

impl Capability {
    /// A capability for a recipe outside the declaration, before the restrictions of its steps apply. Its id must be
    /// unique.
    pub fn of_recipe(id: String, recipe: &Recipe) -> Self {
        Self {
            id,
            kind: CapabilityKind::Query,
            description: Some(recipe.description.clone().unwrap_or_else(|| recipe.name.clone())),
            method: None,
            endpoint: None,
            risk_level: Some("low".to_owned()),
            data_sensitivity: Some("public".to_owned()),
            auth: Some("none".to_owned()),
            required_scopes: Vec::new(),
            requires_user_confirmation: Some(false),
            requires_strong_authentication: false,
            idempotency_required: false,
            cache_ttl: Duration::MAX,
            exposed: true,
            group: None,
            input_schema: None,
            written_input_schema: None,
            output_schema: None,
            input: None,
            upstream: Some(Call { recipe: Some(recipe.name.clone()), ..Call::default() }),
            aom: Aom::default(),
            confirmation: Confirmation { expires: Duration::from_secs(300), ..Confirmation::default() },
            privacy: Privacy::default(),
            ahp: AhpCapability::default(),
            agtp: AgtpCapability {
                method: recipe.method.clone(),
                path: recipe.path.clone(),
                ..AgtpCapability::default()
            },
            built_in: None,
        }
    }

    /// The HTTP method with which an agent calls it.
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or(self.kind.usual_method())
    }

    /// Its risk, with the safe default (AICP §8.5).
    pub fn risk(&self) -> &str {
        self.risk_level.as_deref().unwrap_or("high")
    }

    /// The required authentication, with the safe default (AICP §8.12).
    pub fn auth_need(&self) -> AuthNeed {
        match self.auth.as_deref() {
            Some("none") => AuthNeed::None,
            Some("required") => AuthNeed::Required,
            Some(_) => AuthNeed::Optional,
            None if self.kind.is_read() => AuthNeed::Optional,
            None => AuthNeed::Required,
        }
    }

    /// Whether a person confirms each call, with the safe default (AICP §8.12). Consent is a confirmation too (§9.4).
    pub fn is_confirmed(&self) -> bool {
        self.requires_user_confirmation.unwrap_or(self.kind.is_action()) || self.privacy.explicit_consent
    }

    /// Whether the site gets the caller's own credential.
    pub fn is_in_their_name(&self) -> bool {
        self.upstream.as_ref().is_some_and(|call| call.identity == Identity::Caller)
    }

    /// Whether its answers are declared public.
    pub fn is_public(&self) -> bool {
        self.data_sensitivity.as_deref() == Some("public")
    }

    /// Whether its answers are declared personal or confidential. Without a declared sensitivity, any statement on
    /// personal data counts (AICP §8.12).
    pub fn is_sensitive(&self) -> bool {
        if self.data_sensitivity.is_some() { !self.is_public() } else { self.privacy.is_personal }
    }

    /// Whether its answers must not be stored: they are personal, and purpose or retention is not declared (AICP
    /// §12.7).
    pub fn is_unkept(&self) -> bool {
        self.is_sensitive() && (self.privacy.purpose.is_none() || self.privacy.retention.is_none())
    }

    /// How long an answer may be cached: the declared time, within the policies' maximum and the declared freshness. A
    /// personal answer is cached only if purpose and retention are declared (AICP §12.7).
    pub fn kept_for(&self, settings: &Settings) -> Duration {
        if !self.kind.is_read() || self.is_confirmed() || self.is_unkept() {
            return Duration::ZERO;
        }
        let holds = self.aom.max_age.unwrap_or(Duration::MAX);
        self.cache_ttl.min(settings.policies.max_ttl.unwrap_or(Duration::MAX)).min(holds)
    }
}

/// `[capabilities.aom]`.
#[derive(Debug, Clone, Default)]
pub struct Aom {
    pub max_age: Option<Duration>,
    pub volatility: Option<String>,
    pub revalidation_required_before_commit: Option<bool>,
    /// As declared, each `{code, severity, message}`.
    pub warnings: Vec<Value>,
    pub agent_hints: Option<Value>,
    pub actions: Vec<NextAction>,
}

/// A next action for agents.
#[derive(Debug, Clone)]
pub struct NextAction {
    /// The id of a capability.
    pub id: String,
    pub label: Option<String>,
    /// With references to the data.
    pub input: Value,
}

/// `[capabilities.confirmation]`.
#[derive(Debug, Clone, Default)]
pub struct Confirmation {
    pub expires: Duration,
    /// A template over `input`.
    pub summary: Option<String>,
    pub consequence: Option<String>,
    /// A person confirms on a page of ours; otherwise the agent asks its person and sends the token back.
    pub by_page: bool,
    /// A path of the site, or an https URL, that is sent the page's address in the agent's place.
    pub notify_url: Option<String>,
}

/// The parts of `[capabilities.privacy]` that are enforced or shown.
#[derive(Debug, Clone, Default)]
pub struct Privacy {
    /// The whole table.
    pub declared: Option<Value>,
    pub purpose: Option<String>,
    pub retention: Option<String>,
    pub personal_data: Vec<String>,
    pub recipients: Vec<String>,
    /// Data is shared, with named recipients or not.
    pub shares: bool,
    pub explicit_consent: bool,
    /// Any of the keys declares personal data.
    pub is_personal: bool,
    pub forbidden_fields: Vec<String>,
}

/// `[capabilities.ahp]`; `None` and empty where not written.
#[derive(Debug, Clone, Default)]
pub struct AhpCapability {
    pub name: Option<String>,
    pub mode: Option<String>,
    pub action_type: Option<String>,
    pub response_types: Vec<String>,
    pub accept_fallback: Option<bool>,
    /// An input, and the pattern that extracts it from a question.
    pub extract: Vec<(String, String)>,
    /// The members of a payload, with references to the data.
    pub payload: Option<Value>,
    /// A template over `input` and `data`.
    pub answer: Option<String>,
    /// The estimated time until an answer.
    pub eta: Option<Duration>,
}
