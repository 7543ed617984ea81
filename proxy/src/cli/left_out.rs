//! Commands and exports of the parts that this build was made without. Each is recognised, and says which Cargo feature
//! is missing.

use std::{ffi::OsString, process::ExitCode};

use clap::Args;

/// The first word of each command that is left out, and the feature that it needs.
pub(super) const COMMANDS: &[(&str, &str)] = &[
    #[cfg(not(feature = "agtp"))]
    ("catalog", "agtp"),
    #[cfg(not(feature = "demo"))]
    ("demo", "demo"),
    #[cfg(not(feature = "handoff"))]
    ("handoff", "handoff"),
    #[cfg(not(feature = "tools"))]
    ("import", "tools"),
    #[cfg(not(feature = "tools"))]
    ("inspect", "tools"),
];

/// The same for documents of `frontdesk export`.
pub(super) const EXPORTS: &[(&str, &str)] = &[
    #[cfg(not(feature = "agtp"))]
    ("agtp", "agtp"),
];

/// Any arguments: what is wrong is not one of them.
#[derive(Args)]
pub(super) struct Arguments {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _all: Vec<OsString>,
}

/// Whether a command line, without `frontdesk`, begins with a command that is left out.
pub(super) fn is_left_out(line: &str) -> bool {
    let first = line.split_ascii_whitespace().next();
    COMMANDS.iter().any(|(command, _)| first == Some(command))
}

/// Prints that a command needs a feature, and returns the exit code for a command line that is not valid.
pub(super) fn refuse(what: &str, feature: &str) -> ExitCode {
    eprintln!("{}", words(what, feature));
    ExitCode::from(2)
}

fn words(what: &str, feature: &str) -> String {
    format!(
        "frontdesk: {what} is not available: this build was made without the feature \"{feature}\"; use a build with it"
    )
}

#[cfg(test)]
mod tests {
    use super::{super::command, *};

    #[test]
    fn what_is_left_out_names_its_feature() {
        let said = words("frontdesk demo", "demo");
        assert!(said.contains("frontdesk demo is not available") && said.contains("the feature \"demo\""), "{said}");
    }

    #[test]
    fn every_command_that_is_left_out_is_recognised_with_any_arguments() {
        for (name, _) in COMMANDS {
            for rest in [&[][..], &["--x", "y"], &["lint", ".ai", "--locked"]] {
                let command_line = ["frontdesk", name];
                let line = command_line.iter().chain(rest);
                assert!(command().try_get_matches_from(line).is_ok(), "{name} {rest:?}");
            }
            assert!(is_left_out(&format!("{name} x")), "{name}");
        }
        assert!(!is_left_out("run --upstream x") && !is_left_out(""));
    }
}
