//! `frontdesk check`: every mistake in one run.

use std::{path::PathBuf, process::ExitCode};

use frontdesk_filters::{
    dialect,
    site::{Declaration, Refused, Review},
};

use crate::source::{self, Source};

pub(super) fn check(file: PathBuf) -> ExitCode {
    let source = Source::file(file);
    let review = match reviewed(&source) {
        Ok(review) => review,
        Err(code) => return code,
    };
    let declaration = &review.declaration;
    for warning in &declaration.warnings {
        eprintln!("{warning}");
    }
    let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    println!(
        "{} is fine{}: {}, {}{}",
        source.path.display(),
        if review.contract_alone { " as a contract" } else { "" },
        count(declaration.settings.capabilities.len(), "capability", "capabilities"),
        count(declaration.warnings.len() + review.remarks.len(), "warning", "warnings"),
        if review.contract_alone { "; to run with it, add [upstream] with the site's url" } else { "" },
    );
    print!("\n{}", dialect::summary(&review));
    ExitCode::SUCCESS
}

/// What there is to say of a file that need not be run with; else everything that is wrong has been printed.
pub(super) fn reviewed(source: &Source) -> Result<Review, ExitCode> {
    let review = source.review().map_err(|refused| told(&refused))?;
    proven(source, &review.declaration)?;
    Ok(review)
}

/// The declaration, if it could be run with; else everything that is wrong has been printed.
pub(super) fn usable(source: &Source) -> Result<Declaration, ExitCode> {
    let declaration = source.declare().map_err(|refused| told(&refused))?;
    proven(source, &declaration)?;
    Ok(declaration)
}

fn told(refused: &Refused) -> ExitCode {
    eprintln!("{refused}");
    ExitCode::from(refused.exit_code())
}

fn proven(source: &Source, declaration: &Declaration) -> Result<(), ExitCode> {
    source::prove(declaration).map_err(|mistakes| {
        for mistake in mistakes {
            eprintln!("{}: {mistake}", source.path.display());
        }
        ExitCode::from(1)
    })
}
