//! Agent Skills (discovery 0.2.0): an index, and a SKILL.md for reading and asking this site and for each group of
//! declared capabilities.

mod call;
mod reading;
mod sample;

use std::collections::BTreeMap;

use frontdesk_base::text::{fitted, hex};
use frontdesk_config::{Capability, Settings};
use frontdesk_desk::{Document, Variant};
use ring::digest;
use serde_json::json;

use crate::{Entry, Occupied, card_cache_control, cors};

/// The path of the index.
pub const PATH: &str = "/.well-known/agent-skills/index.json";
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
/// Maximum characters of a skill's name and description.
const LONGEST_NAME: usize = 64;
const LONGEST_DESCRIPTION: usize = 1024;
/// Maximum groups of capabilities that have a skill of their own.
const MOST_GROUPS: usize = 50;
/// Maximum capabilities of a group that its skill describes.
const MOST_CALLS: usize = 20;

/// The addresses that skills name; `None` where it is not there.
#[derive(Debug, Clone, Default)]
pub struct LlmsAddresses {
    /// The conversation.
    pub converse: Option<String>,
    pub mcp: Option<String>,
    pub llms: Option<String>,
    /// The base of the operations, where a capability has no endpoint of its own.
    pub operations: Option<String>,
    pub manifest: Option<String>,
    /// How to get a credential.
    pub auth_md: Option<String>,
}

/// One skill.
#[derive(Debug, Clone)]
struct Skill {
    name: String,
    description: String,
    /// The instructions after the front matter, for any origin.
    text: Text,
}

/// The instructions of a skill.
#[derive(Debug, Clone)]
enum Text {
    Reading(reading::Reading),
    Calls(Vec<call::Call>),
}

impl Skill {
    fn path(&self) -> String {
        path_of(&self.name)
    }

    /// The file for a site at this origin.
    fn render(&self, origin: &str) -> String {
        let body = match &self.text {
            Text::Reading(reading) => reading.render(origin),
            Text::Calls(calls) => call::render(&self.description, calls, origin),
        };
        // A JSON string is a YAML string.
        format!("---\nname: {}\ndescription: {}\n---\n\n{body}", self.name, json!(self.description))
    }
}

/// The index and the skills, unless the site has an index of its own.
pub fn documents(settings: &Settings, occupied: &Occupied, ways: &LlmsAddresses) -> Vec<Document> {
    if !settings.discovery.skills || occupied.contains(PATH) {
        return Vec::new();
    }
    let skills = skills(settings, ways);
    let cache = card_cache_control();
    let document = |path: String, variant: Variant| Document {
        path,
        variants: vec![cors(variant)],
        negotiate: None,
        versions: Vec::new(),
    };
    let mut documents = Vec::with_capacity(skills.len() + 1);
    for skill in &skills {
        let shown = skill.clone();
        let variant =
            Variant::of_origin(settings, "text/markdown; charset=utf-8", &cache, move |origin| shown.render(origin));
        documents.push(document(skill.path(), variant));
    }
    let index = move |origin: &str| index(&skills, origin);
    documents.push(document(PATH.into(), Variant::of_origin(settings, "application/json", &cache, index)));
    documents
}

/// The path of a skill's file.
pub fn path_of(name: &str) -> String {
    format!("/.well-known/agent-skills/{name}/SKILL.md")
}

/// The entry of the index in other lists.
pub fn entry() -> Entry {
    Entry {
        name: "skills",
        rel: None,
        path: PATH.into(),
        media_type: "application/json",
        title: "How to read, ask and call this site, as agent skills",
    }
}

/// The index; each digest is that of the file as it is served at this origin.
fn index(skills: &[Skill], origin: &str) -> String {
    let skills: Vec<_> = skills
        .iter()
        .map(|skill| {
            let digest = digest::digest(&digest::SHA256, skill.render(origin).as_bytes());
            json!({
                "name": skill.name,
                "type": "skill-md",
                "description": skill.description,
                "url": format!("{origin}{}", skill.path()),
                "digest": format!("sha256:{}", hex(digest.as_ref())),
            })
        })
        .collect();
    json!({ "$schema": SCHEMA, "skills": skills }).to_string()
}

fn skills(settings: &Settings, ways: &LlmsAddresses) -> Vec<Skill> {
    let name = settings.site.name.as_deref().unwrap_or("this site");
    let prefix = slug(settings.site.name.as_deref().unwrap_or("site"));
    let prefix = if prefix.is_empty() { "site".to_owned() } else { prefix };
    let reading = reading::Reading::new(settings, ways);
    let mut skills = vec![Skill {
        name: named(&prefix, "read-and-ask"),
        description: fitted(&reading.description(), LONGEST_DESCRIPTION),
        text: Text::Reading(reading),
    }];
    for (group, capabilities) in groups(settings) {
        let calls: Vec<call::Call> =
            capabilities.iter().take(MOST_CALLS).filter_map(|one| call::Call::new(one, settings, ways)).collect();
        if calls.is_empty() {
            continue;
        }
        let what: Vec<&str> = calls.iter().map(|call| call.description.as_str()).collect();
        let description = format!("Calls {name}: {} Use it to do this there.", what.join(" "));
        let wanted = named(&prefix, &slug(&group));
        let taken = |name: &str| skills.iter().any(|skill| skill.name == name);
        let numbered = (2..).map(|n| named(&prefix, &format!("{n}-{}", slug(&group))));
        let name = std::iter::once(wanted).chain(numbered).find(|name| !taken(name)).unwrap_or_default();
        skills.push(Skill { name, description: fitted(&description, LONGEST_DESCRIPTION), text: Text::Calls(calls) });
    }
    skills
}

/// The declared capabilities by the first part of their id, in the order of the groups' names.
fn groups(settings: &Settings) -> BTreeMap<String, Vec<&Capability>> {
    let mut groups: BTreeMap<String, Vec<&Capability>> = BTreeMap::new();
    for (_, capability) in settings.offered().filter(|(_, capability)| capability.built_in.is_none()) {
        let group = capability.id.split(['.', '_', '-']).find(|part| !part.is_empty()).unwrap_or("calls");
        if groups.len() < MOST_GROUPS || groups.contains_key(group) {
            groups.entry(group.to_owned()).or_default().push(capability);
        }
    }
    groups
}

/// A skill's name within its bound.
fn named(prefix: &str, what: &str) -> String {
    let what = if what.is_empty() { "calls" } else { what };
    let room = LONGEST_NAME.saturating_sub(what.len() + 1);
    let prefix = prefix.get(..prefix.len().min(room)).unwrap_or_default().trim_end_matches('-');
    let name = if prefix.is_empty() { what.to_owned() } else { format!("{prefix}-{what}") };
    name.get(..name.len().min(LONGEST_NAME)).unwrap_or_default().trim_end_matches('-').to_owned()
}

/// Lower-case letters, digits, and single hyphens between them.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for c in text.chars().take(LONGEST_NAME) {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests;
