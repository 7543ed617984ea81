//! The capabilities as the conversation needs them: listed, named, and with their patterns compiled once, not for each
//! question.

use std::collections::HashMap;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::{
    super::Occupied,
    listed::{self, Listed},
    manifest,
    words::Words,
};
use frontdesk_config::Declaration;
use frontdesk_desk::Pattern;

/// Maximum bytes of a compiled pattern.
const PATTERN: usize = 1 << 20;

/// All capabilities, prepared for questions.
#[derive(Debug)]
pub struct Converse {
    pub(super) listed: Vec<Listed>,
    prepared: Vec<Prepared>,
    by_name: HashMap<String, usize>,
    pub(super) words: Words,
    /// The permitted uses of answers (§7).
    pub(super) signals: Value,
    /// The URL for later answers, without the id.
    pub(super) status: String,
}

/// One capability, prepared for questions.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Each input that is extracted from a question, and its pattern.
    pub(super) extract: Vec<(String, Regex)>,
    pub(super) payload: Vec<(String, Pattern)>,
    /// Estimated seconds until the answer.
    pub(super) eta: Option<u64>,
}

impl Converse {
    /// Prepares the declared capabilities.
    pub fn new(declaration: &Declaration, occupied: &Occupied) -> Self {
        let settings = &declaration.settings;
        let listed = listed::all(declaration);
        let prepared = listed.iter().map(|listed| {
            let ahp = settings.capability(listed.index).map(|capability| capability.ahp.clone()).unwrap_or_default();
            let patterns = ahp.extract.iter().filter_map(|(name, text)| Some((name.clone(), pattern(text).ok()?)));
            let payload = ahp.payload.as_ref().and_then(Value::as_object);
            let members = payload.into_iter().flatten();
            Prepared {
                extract: patterns.collect(),
                payload: members.map(|(name, value)| (name.clone(), Pattern::compile(value))).collect(),
                eta: ahp.eta.map(|eta| eta.as_secs()),
            }
        });
        Self {
            prepared: prepared.collect(),
            by_name: listed.iter().enumerate().map(|(at, listed)| (listed.name.clone(), at)).collect(),
            words: Words::new(settings, &listed),
            signals: manifest::signals(declaration),
            status: format!("{}/", super::status_path(declaration, occupied)),
            listed,
        }
    }

    pub(super) fn named(&self, name: &str) -> Option<(&Listed, &Prepared)> {
        let at = *self.by_name.get(name)?;
        self.listed.get(at).zip(self.prepared.get(at))
    }
}

/// Compiles a pattern that extracts an input from a question.
///
/// # Errors
///
/// What is wrong with it.
pub fn pattern(text: &str) -> Result<Regex, String> {
    let pattern = RegexBuilder::new(text).case_insensitive(false).size_limit(PATTERN).build();
    pattern.map_err(|e| e.to_string())
}
