//! `frontdesk check`: every mistake in one run.

use std::{path::PathBuf, process::ExitCode};

use frontdesk_filters::site::Declaration;

use crate::source::{self, Source};

pub(super) fn check(file: PathBuf) -> ExitCode {
    let source = Source::file(file);
    let declaration = match usable(&source) {
        Ok(declaration) => declaration,
        Err(code) => return code,
    };
    for warning in &declaration.warnings {
        eprintln!("{warning}");
    }
    let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    println!(
        "{} is fine: {}, {}",
        source.path.display(),
        count(declaration.settings.capabilities.len(), "capability", "capabilities"),
        count(declaration.warnings.len(), "warning", "warnings"),
    );
    ExitCode::SUCCESS
}

/// The declaration, if it could be run with; else everything that is wrong has been printed.
pub(super) fn usable(source: &Source) -> Result<Declaration, ExitCode> {
    let declaration = source.declare().map_err(|refused| {
        eprintln!("{refused}");
        ExitCode::from(refused.exit_code())
    })?;
    source::prove(&declaration).map_err(|mistakes| {
        for mistake in mistakes {
            eprintln!("{}: {mistake}", source.path.display());
        }
        ExitCode::from(1)
    })?;
    Ok(declaration)
}
