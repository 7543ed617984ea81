//! The source of a contract as it was when the contract was made (AGTP-API §10.5): a changed recipe is another recipe,
//! and the contract stays as agreed.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use frontdesk_config::{Recipe, RecipeStep};

/// What a call carries out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Source {
    /// A declared capability, by its id.
    Capability(String),
    /// A recipe as it was.
    Recipe(Captured),
}

/// A recipe, which may have changed in the declaration since (§10.5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Captured {
    pub(super) name: String,
    pub(super) version: String,
    method: Option<String>,
    path: Option<String>,
    description: Option<String>,
    /// The id of each step's capability, and its input.
    steps: Vec<(String, Value)>,
}

impl From<&Recipe> for Captured {
    fn from(recipe: &Recipe) -> Self {
        Self {
            name: recipe.name.clone(),
            version: recipe.version.clone(),
            method: recipe.method.clone(),
            path: recipe.path.clone(),
            description: recipe.description.clone(),
            steps: recipe.steps.iter().map(|step| (step.capability.clone(), step.input.clone())).collect(),
        }
    }
}

impl Captured {
    /// The recipe, rebuilt.
    pub(super) fn recipe(&self) -> Recipe {
        let step =
            |(capability, input): &(String, Value)| RecipeStep { capability: capability.clone(), input: input.clone() };
        Recipe {
            name: self.name.clone(),
            version: self.version.clone(),
            method: self.method.clone(),
            path: self.path.clone(),
            description: self.description.clone(),
            steps: self.steps.iter().map(step).collect(),
        }
    }
}

impl Source {
    /// The recipe and its version; null without one (§10.1.4.1: a passthrough).
    pub(super) fn lineage(&self) -> Value {
        match self {
            Self::Capability(_) => Value::Null,
            Self::Recipe(recipe) => json!({ "recipe_name": recipe.name, "recipe_version": recipe.version }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recipe_comes_back_as_it_was() {
        let steps =
            vec![RecipeStep { capability: "a.b".into(), input: json!({ "x": "{input.x}", "n": [1, 2.5, null] }) }];
        let (name, version) = ("first".to_owned(), "3".to_owned());
        let recipe = Recipe { name, version, method: Some("FIND".into()), path: None, description: None, steps };
        let source = Source::Recipe((&recipe).into());
        let text = serde_json::to_string(&source).unwrap();
        let Source::Recipe(captured) = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        assert_eq!(captured.recipe(), recipe);
        assert_eq!(source.lineage(), json!({ "recipe_name": "first", "recipe_version": "3" }));
        assert_eq!(Source::Capability("a.b".into()).lineage(), Value::Null);
    }
}
