//! The site's agent skills (extension `io.modelcontextprotocol/skills`, SEP-2640): those that are published under
//! /.well-known/agent-skills/, each a single SKILL.md.

use frontdesk_desk::Desk;
use frontdesk_discovery::skills;
use serde_json::{Value, json};

use super::{
    envelope::{INVALID_PARAMS, Problem},
    message::Request,
};

/// Its name among the extensions.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/skills";
pub(super) const SCHEME: &str = "skill://";
const FILE: &str = "/SKILL.md";
pub(super) const MEDIA_TYPE: &str = "text/markdown";

/// One skill.
pub(super) struct Skill {
    pub(super) uri: String,
    pub(super) name: String,
    pub(super) description: String,
    digest: String,
    pub(super) text: String,
}

impl Skill {
    fn entry(&self) -> Value {
        json!({
            "uri": self.uri,
            "frontmatter": { "name": self.name, "description": self.description },
            "resources": [{ "uri": self.uri, "digest": self.digest, "size": self.text.len() }],
        })
    }
}

/// Whether skills are published.
pub(super) fn are_there(desk: &Desk<'_>) -> bool {
    desk.compiled.document(skills::PATH).is_some()
}

/// The published skills, in the order of their index; none where the operator publishes none.
pub(super) fn all(desk: &Desk<'_>) -> Vec<Skill> {
    let index = desk.compiled.document(skills::PATH);
    let index: Value = index.and_then(|index| serde_json::from_slice(&index).ok()).unwrap_or_default();
    let listed = index["skills"].as_array().cloned().unwrap_or_default();
    listed.iter().filter_map(|skill| read(desk, skill)).collect()
}

fn read(desk: &Desk<'_>, listed: &Value) -> Option<Skill> {
    let text = |name: &str| listed[name].as_str().map(str::to_owned);
    let (name, description, digest) = (text("name")?, text("description")?, text("digest")?);
    let file = desk.compiled.document(&skills::path_of(&name))?;
    let text = String::from_utf8(file.to_vec()).ok()?;
    Some(Skill { uri: format!("{SCHEME}{name}{FILE}"), name, description, digest, text })
}

/// Answers `skills/list` and `skills/get`, with the members of the result.
pub(super) fn asked(desk: &Desk<'_>, request: &Request) -> Result<String, Problem> {
    let wrong = |why: &str| Problem::new(INVALID_PARAMS, why.into());
    let skills = all(desk);
    if request.method == "skills/list" {
        // They fit one page, so no cursor is ours.
        if request.params.get("cursor").is_some_and(|cursor| !cursor.is_null()) {
            return Err(super::tools::no_page());
        }
        let entries: Vec<Value> = skills.iter().map(Skill::entry).collect();
        return Ok(format!("\"skills\":{}", Value::Array(entries)));
    }
    let uri = request.params.get("uri").and_then(Value::as_str).ok_or_else(|| wrong("`uri` has to be a string."))?;
    let skill = skills.iter().find(|skill| skill.uri == uri);
    let skill = skill.ok_or_else(|| wrong("There is no such skill. See skills/list."))?;
    Ok(format!("\"skill\":{}", skill.entry()))
}
