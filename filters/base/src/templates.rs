//! The operator's templates: without files, without includes, and with a bound on what they do.

use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, context};

/// Templates that take at most so many steps. What is not there can be asked for (`{% if input.note %}`); a template that
/// shows it fails.
pub fn environment(fuel: u64) -> Environment<'static> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    templates.set_auto_escape_callback(|_| AutoEscape::None);
    templates.set_fuel(Some(fuel));
    templates.set_recursion_limit(20);
    templates
}

/// Steps of the rendering that looks for what is unknown.
const FUEL: u64 = 20_000;

/// Whether a template can be used: that it can be read, and that there is what it calls, as far as a rendering comes by
/// it that knows no values.
///
/// # Errors
///
/// What is wrong with it.
pub fn check(template: &str) -> Result<(), String> {
    let mut templates = environment(FUEL);
    templates.set_undefined_behavior(UndefinedBehavior::Chainable);
    let template = templates.template_from_named_str("it", template).map_err(|e| e.to_string())?;
    let unknown = [ErrorKind::UnknownFilter, ErrorKind::UnknownTest, ErrorKind::UnknownFunction];
    match template.render(context! {}) {
        Err(e) if unknown.contains(&e.kind()) => Err(e.to_string()),
        // The rest is the values' doing.
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
