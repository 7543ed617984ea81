//! Parses a proposal (AGTP-API §10.4) in either of its two forms, and checks all that needs no other data, in the
//! order of §10.6.

use serde_json::{Map, Value};

use super::{
    Spoken,
    calling::{Calling, Parameters},
    catalog::CATEGORIES,
    head::{VISIBLE, is_scope, passed},
    path,
    policy::Admission,
    response::AgtpError,
    template::Template,
};
use frontdesk_desk::{Referred, Schema};

/// Maximum bytes of a proposed schema.
const LONGEST_SCHEMA: usize = 32 * 1024;
/// Maximum bytes of a path.
const LONGEST_PATH: usize = 1024;
/// Maximum bytes of a text in the semantic block.
const LONGEST_TEXT: usize = 4096;
/// Maximum scopes.
const MOST_SCOPES: usize = 64;

const IMPACTS: [&str; 3] = ["informational", "reversible", "irreversible"];

/// A proposed endpoint.
#[derive(Debug)]
pub(super) struct Proposal {
    /// The verb as proposed.
    pub(super) method: String,
    pub(super) path: String,
    pub(super) template: Template,
    /// The names of the inputs, where any are proposed.
    pub(super) inputs: Option<Vec<String>>,
    pub(super) scopes: Vec<String>,
    /// It should be available to others, and after the session.
    pub(super) persistent: bool,
    /// Its proposed duration in seconds.
    pub(super) duration: Option<u64>,
    pub(super) session: Option<String>,
    /// The client will fetch the answer later.
    pub(super) asynchronous: bool,
}

/// The members of a request, at the top level and under `parameters`.
struct ProposedFields<'a> {
    top: &'a Map<String, Value>,
    under: Option<&'a Map<String, Value>>,
}

impl<'a> ProposedFields<'a> {
    fn get(&self, name: &str) -> Option<&'a Value> {
        self.top.get(name).or_else(|| self.under?.get(name)).filter(|value| !value.is_null())
    }

    fn flag(&self, name: &str) -> Result<bool, AgtpError> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(bad(format!("\"{name}\" has to be true or false."))),
        }
    }
}

impl Spoken {
    /// Parses a proposal.
    ///
    /// # Errors
    ///
    /// The first error, in this order: 400, 459, 460, 400.
    pub(super) fn proposal(&self, calling: &Calling<'_>) -> Result<Proposal, AgtpError> {
        // The body's `method` may be the proposed one, so it need not match the request line.
        let Parameters { members, envelope } = calling.parameters(true)?;
        let said = ProposedFields { top: &members, under: members.get("parameters").and_then(Value::as_object) };
        let endpoint = match (said.get("endpoint"), said.get("name")) {
            (Some(_), Some(_)) => {
                let message = "A proposal has its definition under \"endpoint\", or a \"name\" and the definition beside it. Send one of them.";
                return Err(AgtpError::new(400, "ambiguous-body", message).with("reason", "ambiguous-body"));
            }
            (Some(Value::Object(endpoint)), None) => ProposedFields { top: endpoint, under: None },
            (Some(_), None) => return Err(bad("\"endpoint\" has to be an object: the definition of an endpoint.")),
            // The definition stands in place of the name.
            (None, Some(Value::String(_))) => match said.under.filter(|_| !said.top.contains_key("name")) {
                Some(under) => ProposedFields { top: under, under: None },
                None => ProposedFields { top: said.top, under: said.under },
            },
            (None, Some(_)) => return Err(bad("\"name\" has to be text.")),
            (None, None) => {
                return Err(bad("A proposal says what it is about: send the definition under \"endpoint\"."));
            }
        };
        let method = text(&endpoint, "method")?;
        if matches!(
            self.policy.admits(self.policy.resolve(&method).method, &self.catalog),
            Admission::Unknown | Admission::Legacy(_)
        ) {
            return Err(self.unknown(&method));
        }
        let path = text(&endpoint, "path")?;
        let template = self.proposed_path(&path)?;
        semantic(&endpoint)?;
        let inputs = schemas(&endpoint)?;
        let around = || envelope.as_ref()?.get("session_id").filter(|session| !session.is_null());
        let session = match said.get("session_id").or_else(around) {
            None => None,
            Some(session) => {
                let session = passed(session.as_str());
                Some(session.ok_or_else(|| bad(format!("\"session_id\" has to be {VISIBLE}, as Session-ID is.")))?)
            }
        };
        Ok(Proposal {
            scopes: scopes(&endpoint)?,
            persistent: said.flag("persistent")?,
            asynchronous: said.flag("async")?,
            duration: duration(said.get("requested_duration"))?,
            session: calling.head.session.or(session).map(str::to_owned),
            inputs,
            method,
            path,
            template,
        })
    }

    fn proposed_path(&self, path: &str) -> Result<Template, AgtpError> {
        if path.len() > LONGEST_PATH {
            return Err(bad(format!("\"path\" may have at most {LONGEST_PATH} bytes.")));
        }
        if let Some(at) = path.find(['?', '#']) {
            let message = "The proposed path has a query or a fragment; inputs stand in the schema.";
            let segment = path[..at].rsplit('/').next().unwrap_or_default();
            return Err(AgtpError::new(460, "endpoint-violation", message).with("segment", segment));
        }
        Template::parse(path, &self.catalog).map_err(|wrong: path::PathError| {
            let message = format!("The proposed path {}.", wrong.detail);
            match wrong.segment {
                Some(segment) => AgtpError::new(460, "endpoint-violation", message).with("segment", segment),
                None => bad(message),
            }
        })
    }
}

/// The seven semantic fields (§7.1).
fn semantic(endpoint: &ProposedFields<'_>) -> Result<(), AgtpError> {
    let wrong = |what: String| bad(what).with("reason", "semantic-block");
    let Some(Value::Object(block)) = endpoint.get("semantic") else {
        return Err(wrong(
            "A proposal has a semantic block: an object with intent, actor, outcome, capability, confidence, impact and is_idempotent."
                .into(),
        ));
    };
    for name in ["intent", "actor", "outcome"] {
        let filled = block
            .get(name)
            .and_then(Value::as_str)
            .is_some_and(|text| !text.trim().is_empty() && text.len() <= LONGEST_TEXT);
        if !filled {
            return Err(wrong(format!("semantic.{name} has to be a sentence of at most {LONGEST_TEXT} bytes.")));
        }
    }
    let one_of = |name: &str, words: &[&str]| match block.get(name).and_then(Value::as_str) {
        Some(word) if words.contains(&word) => Ok(()),
        _ => Err(wrong(format!("semantic.{name} has to be one of {}.", words.join(", ")))),
    };
    one_of("capability", CATEGORIES)?;
    one_of("impact", &IMPACTS)?;
    if !block.get("confidence").and_then(Value::as_f64).is_some_and(|number| (0.0..=1.0).contains(&number)) {
        return Err(wrong("semantic.confidence has to be a number from 0 to 1.".into()));
    }
    if !block.get("is_idempotent").is_some_and(Value::is_boolean) {
        return Err(wrong("semantic.is_idempotent has to be true or false.".into()));
    }
    Ok(())
}

/// Checks both schemas; returns the names of the inputs, where any are described.
fn schemas(endpoint: &ProposedFields<'_>) -> Result<Option<Vec<String>>, AgtpError> {
    for name in ["input_schema", "output_schema"] {
        let Some(schema) = endpoint.get(name) else { continue };
        let wrong =
            |why: &str| bad(format!("{name} is no JSON Schema that can be used: {why}.")).with("reason", "schema");
        if !schema.is_object() {
            return Err(wrong("it has to be an object"));
        }
        if schema.to_string().len() > LONGEST_SCHEMA {
            return Err(wrong(&format!("it may have at most {LONGEST_SCHEMA} bytes")));
        }
        // Compiling fetches nothing, and its patterns run in linear time.
        if Schema::compile(schema, &Referred::new(Map::new(), None)).is_err() {
            return Err(wrong("it does not hold by itself; references to elsewhere are not followed"));
        }
    }
    let Some(schema) = endpoint.get("input_schema") else { return Ok(None) };
    if schema.get("type").is_some_and(|kind| kind != "object") {
        return Err(bad("input_schema has to describe an object.").with("reason", "schema"));
    }
    let names = schema.get("properties").and_then(Value::as_object).map(|members| members.keys().cloned().collect());
    Ok(names.filter(|names: &Vec<String>| !names.is_empty()))
}

/// The required scopes (§6.4).
fn scopes(endpoint: &ProposedFields<'_>) -> Result<Vec<String>, AgtpError> {
    let wrong =
        || bad(format!("required_scopes has to be a list of at most {MOST_SCOPES} scopes such as \"booking:room\"."));
    let Some(scopes) = endpoint.get("required_scopes") else { return Ok(Vec::new()) };
    let scopes = scopes.as_array().filter(|scopes| scopes.len() <= MOST_SCOPES).ok_or_else(wrong)?;
    scopes
        .iter()
        .map(|scope| scope.as_str().filter(|scope| is_scope(scope)).map(str::to_owned).ok_or_else(wrong))
        .collect()
}

fn duration(wanted: Option<&Value>) -> Result<Option<u64>, AgtpError> {
    let Some(wanted) = wanted else { return Ok(None) };
    match wanted.as_u64() {
        Some(seconds) if seconds > 0 => Ok(Some(seconds)),
        _ => Err(bad("requested_duration has to be a number of seconds, at least 1.")),
    }
}

fn text(said: &ProposedFields<'_>, name: &str) -> Result<String, AgtpError> {
    let text = said.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    text.map(str::to_owned).ok_or_else(|| bad(format!("The proposed endpoint needs a \"{name}\", as text.")))
}

fn bad(message: impl Into<std::borrow::Cow<'static, str>>) -> AgtpError {
    AgtpError::new(400, "bad-request", message)
}
