//! The environment of the operator's templates: no files, no includes, bounded execution.

use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, context, value::Serde};
use serde_json::{Map, Value, json};

/// A template environment with this many steps. A template may test a missing value (`{% if input.note %}`); printing
/// one is an error.
pub fn environment(fuel: u64) -> Environment<'static> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    templates.set_auto_escape_callback(|_| AutoEscape::None);
    templates.set_fuel(Some(fuel));
    templates.set_recursion_limit(20);
    templates
}

/// Maximum steps of the trial rendering.
const FUEL: u64 = 20_000;

/// Checks that a template parses, and that a trial rendering without values finds all functions and filters that it
/// reaches.
///
/// # Errors
///
/// What is wrong with it.
/// What is wrong with it.
pub fn check(template: &str) -> Result<(), String> {
    let mut templates = environment(FUEL);
    templates.set_undefined_behavior(UndefinedBehavior::Chainable);
    let template = templates.template_from_named_str("it", template).map_err(|e| e.to_string())?;
    let unknown = [ErrorKind::UnknownFilter, ErrorKind::UnknownTest, ErrorKind::UnknownFunction];
    match template.render(context! {}) {
        Err(e) if unknown.contains(&e.kind()) => Err(e.to_string()),
        // Other errors depend on the values.
        _ => Ok(()),
    }
}

/// The inputs that a template shows although an object schema lets callers leave them out, and although the template does
/// not ask whether they are there. Empty too where the template cannot be used with all of them.
pub fn shown_though_optional(template: &str, schema: &Value) -> Vec<String> {
    let Some(properties) = schema["properties"].as_object().filter(|properties| properties.len() <= MOST_TRIED) else {
        return Vec::new();
    };
    let works = |input: &Map<String, Value>| {
        let templates = environment(FUEL);
        let trial = templates.template_from_named_str("it", template);
        trial.is_ok_and(|trial| trial.render(context! { input => Serde(input) }).is_ok())
    };
    let all: Map<String, Value> = properties.iter().map(|(name, of)| (name.clone(), sample(of, 0))).collect();
    if !works(&all) {
        return Vec::new();
    }
    let is_required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let works_without = |name: &str| {
        let mut input = all.clone();
        input.remove(name);
        works(&input)
    };
    properties.keys().filter(|name| !is_required(name) && !works_without(name)).cloned().collect()
}

/// The most inputs of which each is left out once.
const MOST_TRIED: usize = 100;
/// The deepest object of a sample.
const DEEPEST: usize = 8;

/// A value that a schema may mean.
fn sample(schema: &Value, depth: usize) -> Value {
    match schema["type"].as_str() {
        _ if depth > DEEPEST => "x".into(),
        Some("object") => {
            let members = schema["properties"].as_object().into_iter().flatten();
            members.map(|(name, of)| (name.clone(), sample(of, depth + 1))).collect::<Map<_, _>>().into()
        }
        Some("array") => json!([sample(&schema["items"], depth + 1)]),
        Some("integer" | "number") => 1.into(),
        Some("boolean") => true.into(),
        _ => "x".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_may_be_missing_is_not_shown_without_asking() {
        let of = |type_: &str| json!({ "type": type_ });
        let address = json!({ "type": "object", "properties": { "town": of("string") } });
        let schema = json!({
            "required": ["plant", "count", "to"],
            "properties": { "plant": of("string"), "count": of("integer"), "gift": of("string"), "to": address },
        });
        let shown = |template: &str| shown_though_optional(template, &schema);
        assert_eq!(shown("{{ input.count }} {{ input.plant }} for {{ input.gift }}"), ["gift"]);
        for fine in [
            "{{ input.count }} {{ input.plant }} to {{ input.to.town }}",
            "{{ input.plant }}{% if input.gift %} with {{ input.gift }}{% endif %}",
            "{{ input.plant }} {{ input.gift|default('without a card') }}",
            "{{ input.unknown }} {{ input.gift }}",
            "",
        ] {
            assert_eq!(shown(fine), Vec::<String>::new(), "{fine}");
        }
        assert_eq!(shown_though_optional("{{ input.gift }}", &json!("#/schemas/Order")), Vec::<String>::new());
    }

    #[test]
    fn what_a_template_calls_has_to_be_there() {
        for fine in [
            "",
            "Hold {{ input.x }}",
            "{% if input.note is defined %}{{ input.note|upper }}{% endif %}",
            "{% for item in data.items %}{{ item.name|title }}, {% endfor %}{{ data.total|round(2) }}",
            "{{ data[0].a.b.c|default('nobody') }}",
        ] {
            assert_eq!(check(fine), Ok(()), "{fine}");
        }
        for (wrong, says) in [
            ("Hold {{ input.x ", "syntax error"),
            ("{{ data.total|money }}", "unknown filter: filter money"),
            ("{% if data is purple %}x{% endif %}", "unknown test: test purple"),
            ("{% include \"/etc/passwd\" %}", "syntax error"),
            ("{{ now() }}", "unknown function"),
        ] {
            let said = check(wrong).unwrap_err();
            assert!(said.contains(says), "{wrong}: {said}");
        }
    }
}
