//! The environment of the operator's templates: no files, no includes, bounded execution.

use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, context};

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

#[cfg(test)]
mod tests {
    use super::*;

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
