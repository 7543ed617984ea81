//! Builds Agent Object Model responses (§7). Of the eight planes only the data, the actions and the times are built
//! per request.

use std::{
    borrow::Cow,
    time::{Duration, UNIX_EPOCH},
};

use serde_json::{Map, Value, json};

use super::super::json as write;
use frontdesk_caller::Caller;
use frontdesk_config::{Capability, Declaration, Settings};
use frontdesk_desk::{Authority, Done, Pattern, rfc3339};

/// The constant parts of a capability's responses.
#[derive(Debug)]
pub(super) struct Planes {
    /// From the policies to the provenance, whose object is left open.
    middle: Vec<u8>,
    /// The warnings and the hints.
    end: Vec<u8>,
    /// The same for a replay whose data was too long to store.
    end_of_omitted: Vec<u8>,
    /// The site's origin, for absolute addresses.
    origin: Option<String>,
    max_age: Option<Duration>,
    volatility: Option<String>,
    revalidate: Option<bool>,
    next: Vec<Next>,
    /// The next actions depend on the data.
    looks_into_data: bool,
}

/// A possible next action.
#[derive(Debug)]
struct Next {
    /// The capability that carries it out; determines which callers see it.
    capability: usize,
    /// Everything but its input.
    start: Vec<u8>,
    input: Pattern,
}

impl Planes {
    /// `index` finds a capability by its id.
    pub(super) fn new(
        capability: &Capability,
        declaration: &Declaration,
        index: impl Fn(&str) -> Option<usize>,
    ) -> Self {
        let settings = &declaration.settings;
        let aom = &capability.aom;
        let mut middle = Vec::new();
        for (key, plane) in [("policies", policies(capability, settings)), ("privacy", privacy(capability, settings))] {
            middle.push(b',');
            write::member(&mut middle, key, &plane);
        }
        middle.extend_from_slice(b",\"provenance\":{");
        let known =
            [("source", &settings.site.name), ("origin", &settings.site.origin), ("license", &settings.license)];
        for (key, value) in known.into_iter().filter_map(|(key, value)| Some((key, value.as_ref()?))) {
            write::member(&mut middle, key, &json!(value));
            middle.push(b',');
        }
        let end = |warnings: Vec<Value>| {
            let mut end = Vec::new();
            let hints = aom.agent_hints.clone().unwrap_or_else(|| json!({}));
            for (key, plane) in [("warnings", Value::Array(warnings)), ("agent_hints", hints)] {
                end.push(b',');
                write::member(&mut end, key, &plane);
            }
            end
        };
        let mut omitted = warnings(capability);
        omitted.push(json!({
            "code": "answer_not_kept", "severity": "medium",
            "message": "This was carried out before, under the same key. Its answer was too long to be kept.",
        }));
        let next = aom.actions.iter().filter_map(|action| {
            let target = index(&action.id)?;
            let capability = settings.capabilities.get(target).filter(|c| c.exposed)?;
            let mut start = Vec::new();
            for (key, value) in [
                ("id", json!(action.id)),
                ("label", json!(action.label.as_ref().or(capability.description.as_ref()).unwrap_or(&action.id))),
                ("method", json!(capability.method())),
                ("endpoint", json!(capability.endpoint.as_ref()?)),
                ("risk_level", json!(capability.risk())),
                ("requires_user_confirmation", json!(capability.is_confirmed())),
            ] {
                start.push(if start.is_empty() { b'{' } else { b',' });
                write::member(&mut start, key, &value);
            }
            Some(Next { capability: target, start, input: Pattern::compile(&action.input) })
        });
        let next: Vec<Next> = next.collect();
        Self {
            middle,
            end: end(warnings(capability)),
            end_of_omitted: end(omitted),
            origin: settings.site.origin.as_ref().map(|origin| origin.trim_end_matches('/').to_owned()),
            max_age: aom.max_age,
            volatility: aom.volatility.clone(),
            revalidate: aom.revalidation_required_before_commit,
            looks_into_data: next.iter().any(|next| next.input.begins_with("data")),
            next,
        }
    }

    /// The response to one call at `address` (a path, with the query where that holds the input).
    pub(super) fn response(&self, done: &Done, caller: &Caller, settings: &Settings, address: &str) -> Vec<u8> {
        let told = &done.told;
        let starts: usize = self.next.iter().map(|next| next.start.len() + 128).sum();
        let room = 256 + told.data.length() + starts + self.middle.len() + address.len() + self.end.len();
        let mut out = Vec::with_capacity(room);
        out.extend_from_slice(b"{\"data\":");
        told.data.write(&mut out);
        out.extend_from_slice(b",\"actions\":[");
        let data = if self.looks_into_data { told.data.value() } else { Cow::Owned(Value::Null) };
        let roots = [("data", &*data), ("input", &done.input)];
        let (authority, mut first) = (Authority::of(caller), true);
        for next in &self.next {
            let target = settings.capabilities.get(next.capability);
            let open = target.is_some_and(|target| authority.opens(target, settings));
            // An action whose input does not resolve could not be called.
            let Some(input) = open.then(|| next.input.resolve(&roots)).flatten() else { continue };
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            out.extend_from_slice(&next.start);
            out.push(b',');
            write::member(&mut out, "input", &input);
            out.push(b'}');
        }
        out.push(b']');
        out.extend_from_slice(&self.middle);
        if let Some(origin) = &self.origin {
            write::member(&mut out, "canonical_url", &json!(format!("{origin}{address}")));
            out.push(b',');
        }
        let retrieved_at = rfc3339(UNIX_EPOCH + Duration::from_secs(told.at));
        write::word(&mut out, "retrieved_at", &retrieved_at);
        out.extend_from_slice(b"},\"freshness\":");
        write::object(&mut out, |plane| self.freshness(plane, done, &retrieved_at));
        let end = if told.omitted { &self.end_of_omitted } else { &self.end };
        match end.strip_prefix(WARNINGS).filter(|_| !told.flags.told().is_empty()) {
            Some(rest) => {
                out.extend_from_slice(WARNINGS);
                flagged(&mut out, told.flags.told());
                if !rest.starts_with(b"]") {
                    out.push(b',');
                }
                out.extend_from_slice(rest);
            }
            None => out.extend_from_slice(end),
        }
        out.push(b'}');
        out
    }

    /// The declared freshness, else that of the site's headers (§7.8).
    fn freshness(&self, plane: &mut write::Members<'_>, done: &Done, retrieved_at: &str) {
        plane.word("retrieved_at", retrieved_at);
        if let Some(revalidate) = self.revalidate {
            plane.value("revalidation_required_before_commit", &revalidate.into());
        }
        let lasts = self.max_age.map(|age| age.as_secs()).or(done.told.fresh);
        // Later dates cannot be represented.
        if let Some(lasts) = lasts.filter(|lasts| *lasts < 100 * 365 * 24 * 3600) {
            plane.word("valid_until", &rfc3339(UNIX_EPOCH + Duration::from_secs(done.told.at + lasts)));
        }
        if let Some(volatility) = &self.volatility {
            plane.text("volatility", volatility);
        }
    }
}

/// The start of the warnings plane.
const WARNINGS: &[u8] = b",\"warnings\":[";

/// The firewall's findings, as warnings (§7.9).
fn flagged(out: &mut Vec<u8>, told: &[String]) {
    for (at, flag) in told.iter().enumerate() {
        let code = flag.split(';').next().unwrap_or_default().replace('-', "_");
        let warning = json!({ "code": code, "severity": "medium", "message": flag });
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(warning.to_string().as_bytes());
    }
}

/// The declared policies; where there are none, the restrictive default is written out (§8.12).
fn policies(capability: &Capability, settings: &Settings) -> Value {
    let mut plane = match settings.policies.declared.clone() {
        Some(Value::Object(plane)) => plane,
        _ => Map::new(),
    };
    if settings.signals.ai_train != Some(true) {
        plane.entry("training_use").or_insert_with(|| "disallowed".into());
    }
    let nothing = json!({ "allowed": false });
    if is_no_caches(capability) {
        plane.insert("cache".to_owned(), nothing);
    } else {
        plane.entry("cache").or_insert_with(|| match capability.kept_for(settings).as_secs() {
            0 => nothing,
            seconds => json!({ "allowed": true, "max_ttl_seconds": seconds }),
        });
    }
    Value::Object(plane)
}

/// Whether no cache may store its responses: they report an action, or contain personal data.
pub(super) fn is_no_caches(capability: &Capability) -> bool {
    !capability.kind.is_read() || capability.is_sensitive()
}

/// The declared privacy plane with its implied values (§7.6).
fn privacy(capability: &Capability, settings: &Settings) -> Value {
    let mut plane = match capability.privacy.declared.clone() {
        Some(Value::Object(plane)) => plane,
        _ => Map::new(),
    };
    let sensitive = capability.is_sensitive();
    if let Some(sensitivity) = &capability.data_sensitivity {
        // The stricter of this and the table's own value.
        plane.insert("data_sensitivity".to_owned(), json!(sensitivity));
    }
    let mut default = |key: &str, value: Value| {
        plane.entry(key).or_insert(value);
    };
    if let Some(sensitivity) = &capability.data_sensitivity {
        default("personal_data_included", json!(sensitive));
        default("special_category_data", json!(sensitivity == "special_category"));
    }
    if sensitive {
        default("personal_data_included", json!(true));
        default("purpose", json!("not_declared"));
        // An unknown retention is treated as none (§12.7).
        default("retention", json!("session_only"));
        let policies = settings.policies.declared.as_ref();
        let policy = |key: &str| policies.and_then(|p| p.get(key)).cloned().unwrap_or_else(|| json!("disallowed"));
        let downstream = json!({
            "summarization": policy("summarization"), "training": policy("training_use"),
            "third_party_sharing": "disallowed",
        });
        default("downstream_use", json!({}));
        // Merged member by member: permission for one use implies no other.
        if let (Some(Value::Object(said)), Value::Object(strict)) = (plane.get_mut("downstream_use"), downstream) {
            strict.into_iter().for_each(|(key, value)| _ = said.entry(key).or_insert(value));
        }
    }
    Value::Object(plane)
}

/// The declared warnings, and those for declarations that leave something open (§12.7).
fn warnings(capability: &Capability) -> Vec<Value> {
    let mut warnings = capability.aom.warnings.clone();
    let mut warn = |code: &str, message: &str| {
        warnings.push(json!({ "code": code, "severity": "medium", "message": message }));
    };
    if capability.is_sensitive() && capability.privacy.purpose.is_none() {
        warn(
            "purpose_not_declared",
            "This holds sensitive data, and the site does not say what for. Ask the user before using it.",
        );
    }
    if capability.is_sensitive() && capability.privacy.retention.is_none() {
        warn(
            "retention_not_declared",
            "This holds sensitive data, and the site does not say for how long. Do not keep it.",
        );
    }
    warnings
}
