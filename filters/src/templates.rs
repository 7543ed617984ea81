//! The operator's templates: without files, without includes, and with a bound on what they do.

use minijinja::{AutoEscape, Environment, UndefinedBehavior};

/// Templates that take at most so many steps. What is not there can be asked for (`{% if input.note %}`); a template that
/// shows it fails.
pub(crate) fn environment(fuel: u64) -> Environment<'static> {
    let mut templates = Environment::new();
    templates.set_undefined_behavior(UndefinedBehavior::SemiStrict);
    templates.set_auto_escape_callback(|_| AutoEscape::None);
    templates.set_fuel(Some(fuel));
    templates.set_recursion_limit(20);
    templates
}
