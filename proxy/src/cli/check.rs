//! `frontdesk check`: reports all mistakes of a configuration in one run.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use frontdesk_filters::{
    dialect,
    site::{self, Declaration, Refused, Review, StoreHome},
};
use frontdesk_store::Store;

use super::check_live;
use crate::source::{self, Source};

/// How long `--connect` waits for the store.
const CONNECTS: Duration = Duration::from_secs(10);

/// Checks a file and, with `connect`, whether its store can be used; with `live`, whether the running site fits.
pub(super) fn check(file: PathBuf, connect: bool, live: bool) -> ExitCode {
    let source = Source::file(file);
    let review = match reviewed(&source) {
        Ok(review) => review,
        Err(code) => return code,
    };
    let declaration = &review.declaration;
    for warning in &declaration.warnings {
        eprintln!("{warning}");
    }
    let of_certificate = source::certificate_warning(declaration);
    if let Some(warning) = &of_certificate {
        eprintln!("{}: {warning}", source.path.display());
    }
    let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    println!(
        "{} is fine{}: {}, {}{}",
        source.path.display(),
        if review.contract_alone { " as a contract" } else { "" },
        count(declaration.settings.capabilities.len(), "capability", "capabilities"),
        count(
            declaration.warnings.len() + review.remarks.len() + usize::from(of_certificate.is_some()),
            "warning",
            "warnings"
        ),
        if review.contract_alone { "; to run with it, add [upstream] with the site's url" } else { "" },
    );
    print!("\n{}", dialect::summary(&review));
    if let (Some(said), false) = (declaration.settings.signals.by_default(), review.contract_alone) {
        println!("\nContent signals by default: {said}.");
    }
    if live {
        println!();
        match check_live::try_all(&declaration.settings) {
            Ok(true) => {}
            Ok(false) => return ExitCode::FAILURE,
            Err(why) => {
                eprintln!("{}: live: {why}", source.path.display());
                return ExitCode::FAILURE;
            }
        }
    }
    match connect.then(|| connected(&declaration.settings.store)) {
        Some(Err(why)) => {
            eprintln!("{}: store: {why}", source.path.display());
            ExitCode::FAILURE
        }
        Some(Ok(said)) => {
            println!("\nstore: {said}");
            ExitCode::SUCCESS
        }
        None => ExitCode::SUCCESS,
    }
}

/// Connects to the store and uses it once.
fn connected(settings: &site::Store) -> Result<String, String> {
    if !matches!(settings.home, StoreHome::Redis(_)) {
        // The process that runs Frontdesk creates the file under its own user; this user must not create it.
        return Ok(match &settings.home {
            StoreHome::File(directory) => format!(
                "there is nothing to connect to; the process that runs Frontdesk has to be able to write to {}",
                directory.display()
            ),
            _ => "there is nothing to connect to".into(),
        });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|e| e.to_string())?;
    let store = Store::open(settings)?;
    let tended = runtime.block_on(async { tokio::time::timeout(CONNECTS, store.tend()).await });
    tended.map_err(|_| format!("no answer within {CONNECTS:?}"))??;
    Ok("it is reachable, and every operation that Frontdesk needs works".into())
}

/// Reviews a file that need not be complete enough to run. Prints all mistakes where it has some.
pub(super) fn reviewed(source: &Source) -> Result<Review, ExitCode> {
    let review = source.review().map_err(|refused| exit_with(&refused))?;
    proven(source, &review.declaration)?;
    Ok(review)
}

/// Reads a declaration that is complete enough to run. Prints all mistakes where it has some.
pub(super) fn usable(source: &Source) -> Result<Declaration, ExitCode> {
    let declaration = source.declare().map_err(|refused| exit_with(&refused))?;
    proven(source, &declaration)?;
    Ok(declaration)
}

fn exit_with(refused: &Refused) -> ExitCode {
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
