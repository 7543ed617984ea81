//! The names of inputs: the agent's, the site's, and that no spelling of one reaches the site as another.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use frontdesk_base::method_override;
use frontdesk_config::{Call, Capability, Parameter, ParameterPlace};
use serde_json::{Map, Value};

use crate::schema::Violation;

/// The names of a capability's inputs, and where each goes.
#[derive(Debug)]
pub(super) struct Names {
    /// The declared input names, and the site's name for each.
    renamed: HashMap<String, String>,
    /// The site's names that only a renamed input may use, or that no input may use because the operator set the
    /// value.
    taken: HashSet<String>,
    /// The names in the query that the operator wrote out.
    fixed: HashSet<String>,
    /// Names that the input schema declares, so that no spelling of another name can be meant.
    declared: HashSet<String>,
    /// How single inputs are written, by their declared names.
    parameters: HashMap<String, Parameter>,
    /// The site's names that stand in an address.
    in_path: HashSet<String>,
    /// Where an input goes that has no other place.
    usual: ParameterPlace,
    /// Whether the members of a whole body become fields of a form.
    is_form: bool,
}

impl Names {
    /// `query`: as the operator wrote it out; `in_path`: the site's names that stand in an address.
    pub(super) fn new(
        capability: &Capability,
        call: &Call,
        query: &str,
        in_path: HashSet<String>,
        (usual, is_form): (ParameterPlace, bool),
    ) -> Self {
        let renamed: HashMap<String, String> = call.rename_input.iter().cloned().collect();
        let fixed: HashSet<String> =
            url::form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name.into_owned()).collect();
        let properties = capability.input_schema.as_ref().and_then(|schema| schema["properties"].as_object());
        let declared: HashSet<String> = properties.into_iter().flatten().map(|(name, _)| name.clone()).collect();
        // Names that some frameworks (Rack, Symfony, Express) read as the method, wherever they stand.
        let method_override = (!declared.contains("_method")).then(|| "_method".to_owned());
        let taken =
            renamed.values().chain(&fixed).chain(&method_override).map(|name| folded(name).into_owned()).collect();
        let parameters = call.parameters.iter().cloned().collect();
        Self { renamed, taken, fixed, declared, parameters, in_path, usual, is_form }
    }

    /// The site's name for an input.
    pub(super) fn theirs<'n>(&'n self, name: &'n str) -> &'n str {
        self.renamed.get(name).map_or(name, String::as_str)
    }

    /// The input for a placeholder: the input of the same name, or the one that is renamed to it.
    pub(super) fn ours<'n>(&'n self, input: &Map<String, Value>, name: &'n str) -> &'n str {
        if input.contains_key(name) && !self.is_taken(name) {
            return name;
        }
        self.renamed.iter().find(|(_, theirs)| *theirs == name).map_or(name, |(ours, _)| ours)
    }

    /// How an input is written.
    pub(super) fn written(&self, name: &str) -> Option<&Parameter> {
        self.parameters.get(name)
    }

    /// Whether an input becomes a header.
    pub(super) fn have_headers(&self) -> bool {
        self.parameters.values().any(|parameter| parameter.place == Some(ParameterPlace::Header))
    }

    /// The site's name for an input that does not stand in the path.
    ///
    /// # Errors
    ///
    /// The name would duplicate a value that was checked under another name, or that the operator set.
    pub(super) fn checked<'n>(&'n self, input: &'n Map<String, Value>, name: &'n str) -> Result<&'n str, Violation> {
        if !self.renamed.contains_key(name) && self.is_taken(name) {
            return Err(foreign(name));
        }
        let value = input.get(name).unwrap_or(&Value::Null);
        let written = self.written(name);
        let spread =
            written.and_then(|parameter| parameter.style.as_ref()).into_iter().flat_map(|style| style.spreads(value));
        let is_whole = self.is_form && written.and_then(|parameter| parameter.place) == Some(ParameterPlace::Body);
        let members = value.as_object().filter(|_| is_whole).into_iter().flat_map(Map::keys).map(String::as_str);
        match spread.chain(members).all(|key| self.is_free(input, name, key)) {
            true => Ok(self.theirs(name)),
            false => Err(foreign(name)),
        }
    }

    /// Whether an input that is not renamed would be taken for another one at the site.
    fn is_taken(&self, name: &str) -> bool {
        if !self.declared.contains(name) {
            return self.taken.contains(&*folded(name));
        }
        // A declared name may stand in the query and in the body.
        let same = |(ours, theirs): (&String, &String)| theirs == name && self.place(ours) == self.place(name);
        self.fixed.contains(name) || self.renamed.iter().any(same)
    }

    /// Where an input goes.
    fn place(&self, name: &str) -> ParameterPlace {
        let declared = self.written(name).and_then(|parameter| parameter.place);
        let in_path = || self.in_path.contains(name).then_some(ParameterPlace::Path);
        declared.or_else(in_path).unwrap_or(self.usual)
    }

    /// Whether a member of an input can be a name of its own at the site: no other input, sent or not, has it in any
    /// spelling, and it is no name that changes the method.
    fn is_free(&self, input: &Map<String, Value>, own: &str, key: &str) -> bool {
        let folded_key = folded(key);
        let mut others = self.declared.iter().chain(input.keys()).filter(|name| *name != own);
        !method_override::is_field(key)
            && !self.taken.contains(&*folded_key)
            && !others.any(|name| folded(self.theirs(name)) == folded_key)
    }
}

/// The refusal of an input whose name the site uses for something else.
fn foreign(name: &str) -> Violation {
    Violation::of(name, "There is no such input; the site uses this name for something else.")
}

/// A name, folded as the most lenient sites do: case, blanks and dots, `a[]` for `a`, and nothing after a NUL.
fn folded(name: &str) -> Cow<'_, str> {
    if name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-')) {
        return name.into();
    }
    let name = name.split(['[', '\0']).next().unwrap_or_default().trim();
    name.to_lowercase().replace(['.', ' '], "_").into()
}
