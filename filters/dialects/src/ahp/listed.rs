//! The capabilities as AHP presents them: a name, a mode, and response types.

use std::sync::LazyLock;

use serde_json::{Value, json};

use frontdesk_config::names::{DESCRIPTION, name};

use super::question;
use frontdesk_base::text::fitted;
use frontdesk_config::{Capability, Declaration, Settings};
use frontdesk_desk::Authority;

/// An answer in words.
pub const TEXT: &str = "text/answer";
/// Records.
pub(super) const DATA: &str = "application/data";
/// The result of an action.
pub(super) const RESULT: &str = "application/action-result";
/// A list.
pub(super) const FEED: &str = "application/feed";

/// What an operator's concierge gets about the conversation (§6.3, §6.5). These are parameters beside its input and
/// not inputs, because anyone can set an input.
pub const BESIDE: [&str; 2] = ["session_id", "clarification"];

/// The authority of a caller without a credential.
const NOBODY: Authority<'static> = Authority {
    has_credential: false,
    shows_credential: false,
    scopes: &[],
    authentication: &[],
    claims: None,
    demands_credential: false,
    link: None,
    has_own_credential: false,
};

/// A capability as AHP presents it (AHP §4.3, §5.3).
#[derive(Debug, Clone)]
pub struct Listed {
    /// Its place among what is offered.
    pub index: usize,
    pub name: String,
    pub description: String,
    pub mode: Mode,
    pub action_type: ActionType,
    /// As declared; `None`: a question in words is all there is to say.
    pub input_schema: Option<Value>,
    /// Inputs that are read out of a question.
    pub(crate) extracted: Vec<String>,
    pub output_schema: Option<Value>,
    pub response_types: Vec<String>,
    pub accept_fallback: bool,
    /// Nobody may call it without a credential, whatever was declared (§5.3).
    pub(crate) needs_auth: bool,
    /// It changes something.
    pub is_action: bool,
    /// It is an operator's own concierge, which receives the conversation.
    pub is_concierge: bool,
}

/// The mode (AHP §5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    One,
    Two,
    Three,
}

impl Mode {
    pub fn word(self) -> &'static str {
        match self {
            Self::One => "MODE1",
            Self::Two => "MODE2",
            Self::Three => "MODE3",
        }
    }
}

/// The type of action (AHP §5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionType {
    Query,
    Action,
    Async,
}

impl ActionType {
    pub fn word(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Action => "action",
            Self::Async => "async",
        }
    }
}

/// Every capability that agents may see, in the order of their indices.
pub fn all(declaration: &Declaration) -> Vec<Listed> {
    let settings = &declaration.settings;
    settings.offered().map(|(index, capability)| Listed::of(index, capability, settings)).collect()
}

impl Listed {
    fn of(index: usize, c: &Capability, settings: &Settings) -> Self {
        let mode = match c.ahp.mode.as_deref() {
            Some("MODE1") => Mode::One,
            Some("MODE2") => Mode::Two,
            _ => Mode::Three,
        };
        let by_person = c.upstream.as_ref().is_some_and(|call| call.desk);
        // What is announced as an action is guarded and counted as one.
        let is_action = c.kind.is_action() || c.ahp.action_type.as_deref() == Some("action");
        let action_type = match c.ahp.action_type.as_deref() {
            Some("async") => ActionType::Async,
            // A person answers later, whatever was declared.
            _ if by_person => ActionType::Async,
            // A call with effects is no query, whatever was declared.
            _ if is_action => ActionType::Action,
            _ => ActionType::Query,
        };
        // A question to a person may be open to all only where that was declared: its id alone fetches the answer.
        let open = by_person && !is_action && c.auth.as_deref() == Some("none");
        let needs_auth = match action_type {
            ActionType::Query => false,
            ActionType::Async => !open,
            ActionType::Action => true,
        };
        let types = |types: [&str; 2]| types.map(str::to_owned).to_vec();
        let response_types = match c.ahp.response_types.as_slice() {
            [] if mode == Mode::Two => vec![TEXT.to_owned()],
            [] if is_action => types([RESULT, TEXT]),
            [] => types([DATA, TEXT]),
            // The schema of manifests requires lower case.
            declared => declared.iter().map(|kind| kind.to_ascii_lowercase()).collect(),
        };
        Self {
            index,
            name: name(&c.id, c.ahp.name.as_deref()),
            description: fitted(c.description.as_deref().unwrap_or(&c.id), DESCRIPTION),
            mode,
            action_type,
            input_schema: c.input_schema.clone(),
            extracted: c.ahp.extract.iter().map(|(name, _)| name.clone()).collect(),
            output_schema: c.output_schema.clone(),
            response_types,
            accept_fallback: c.ahp.accept_fallback.unwrap_or(false),
            needs_auth: needs_auth || !NOBODY.opens(c, settings),
            is_action,
            is_concierge: mode == Mode::Two && c.built_in.is_none(),
        }
    }

    /// The subject, in a form that fits within a sentence.
    pub(super) fn subject(&self) -> &str {
        self.description.trim_end_matches('.')
    }

    /// Whether the concierge gets this one of [`BESIDE`]: those in its schema, or all without a schema.
    pub(super) fn takes_beside(&self, name: &str) -> bool {
        let schema = self.input_schema.as_ref();
        self.is_concierge && schema.is_none_or(|schema| schema["properties"].get(name).is_some())
    }
}

/// The default input schema: a question in words.
pub(super) static A_QUESTION: LazyLock<Value> = LazyLock::new(
    || json!({ "type": "object", "required": ["query"], "properties": { "query": question::member("query", "") } }),
);

/// The default output schema.
pub(super) static ANYTHING: LazyLock<Value> = LazyLock::new(|| json!({ "type": "object" }));

/// Whether the manifest's schema allows a response type (§4.1), in any case.
pub fn is_type(kind: &str) -> bool {
    let word = |text: &str, more: &[u8]| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || more.contains(&b))
    };
    kind.to_ascii_lowercase().split_once('/').is_some_and(|(class, name)| {
        let own = class.strip_prefix("x-").is_some_and(|own| word(own, b"-"));
        (own || ["text", "application", "media", "file"].contains(&class)) && word(name, b"_-")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_form_that_a_manifest_takes() {
        for fits in ["text/answer", "application/data", "X-Shop/price-list_2", "media/image"] {
            assert!(is_type(fits), "{fits}");
        }
        for wrong in
            ["", "text", "text/", "application/ld+json", "application/vnd.a", "x-/a", "x-1/a", "image/png", "text/1"]
        {
            assert!(!is_type(wrong), "{wrong}");
        }
    }

    /// One capability, with these lines and lines before it.
    fn one(before: &str, lines: &str) -> Listed {
        let text = format!("{before}\n[upstream]\nurl = 'http://127.0.0.1:1'\n[[capabilities]]\nid = 'a'\n{lines}");
        let path = std::path::Path::new("/x.toml");
        let declaration =
            frontdesk_config::testing::declare_text(path, &text, &frontdesk_config::testing::Nowhere).unwrap();
        all(&declaration).into_iter().find(|listed| listed.name == "a").unwrap()
    }

    #[test]
    fn what_is_told_as_an_action_is_one() {
        let listed = one("", "type = 'query'\nauth = 'none'\n[capabilities.ahp]\naction_type = 'action'");
        assert_eq!((listed.action_type, listed.is_action, listed.needs_auth), (ActionType::Action, true, true));
    }

    #[test]
    fn types_are_lower_case() {
        let listed =
            one("", "type = 'query'\n[capabilities.ahp]\nresponse_types = ['Application/Data', 'text/answer']");
        assert_eq!(listed.response_types, ["application/data", "text/answer"]);
    }

    #[test]
    fn a_capability_that_always_needs_a_credential_says_so_before() {
        let auth = "[policies]\nautomated_monitoring = 'requires_auth'";
        for (before, lines, needed) in [
            ("", "type = 'query'", false),
            ("", "type = 'query'\nauth = 'required'", true),
            ("", "type = 'query'\nauth = 'none'\nrequired_scopes = ['x']", true),
            ("", "type = 'query'\nrequires_strong_authentication = true", true),
            ("", "type = 'monitor'\nauth = 'none'", false),
            (auth, "type = 'monitor'\nauth = 'none'", true),
            (auth, "type = 'query'\nauth = 'none'", false),
        ] {
            assert_eq!(one(before, lines).needs_auth, needed, "{before} {lines}");
        }
    }
}
