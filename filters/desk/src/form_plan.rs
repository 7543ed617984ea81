//! A form of the site as a capability declares it, and as one call fills it in.

use std::collections::{HashMap, HashSet};

use frontdesk_answers::form::Form;
use serde_json::{Map, Value};

use super::target::Target;

/// A form of the site, prepared when the configuration is loaded.
#[derive(Debug)]
pub(super) struct FormPlan {
    pub(super) form: Form,
    /// The page that has it.
    pub(super) page: Target,
    /// The site's names that the operator declared as inputs.
    pub(super) declared: HashSet<String>,
    /// The declared name of each input that the site calls otherwise, by the site's name.
    pub(super) ours: HashMap<String, String>,
}

impl FormPlan {
    /// The caller's name for a name of the site.
    pub(super) fn ours(&self, name: &str) -> String {
        self.ours.get(name).map_or(name, String::as_str).to_owned()
    }
}

/// The form of one call.
#[derive(Debug, Clone)]
pub struct FormCall {
    /// Path and query of its page.
    pub page: String,
    /// The inputs for its fields.
    pub inputs: Map<String, Value>,
}
