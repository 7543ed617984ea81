//! `frontdesk export`: prints a published document without starting a server.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::builder::PossibleValue;
use frontdesk_filters::dialect;

use super::{check, left_out};
use crate::source::Source;

/// The documents that can be printed, and hidden ones that need a feature which this build has not.
pub(super) fn names() -> impl Iterator<Item = PossibleValue> {
    let left_out = left_out::EXPORTS.iter().map(|(name, _)| PossibleValue::new(*name).hide(true));
    dialect::exports().map(PossibleValue::new).chain(left_out)
}

/// Prints mistakes on standard error, so that standard output holds the document alone.
pub(super) fn export(what: &str, file: PathBuf, json: bool, form: Option<&str>, out: Option<PathBuf>) -> ExitCode {
    if let Some((name, feature)) = left_out::EXPORTS.iter().find(|(name, _)| *name == what) {
        return left_out::refuse(&format!("frontdesk export {name}"), feature);
    }
    let review = match check::reviewed(&Source::file(file)) {
        Ok(review) => review,
        Err(code) => return code,
    };
    let document = match form {
        Some(form) => dialect::export_as(what, form, &review.declaration),
        None => dialect::export(what, json, &review.declaration),
    };
    let Some(document) = document else {
        let form = form.or(json.then_some("JSON")).map(|form| format!(" as {form}"));
        eprintln!("frontdesk: {what} is not published{}", form.unwrap_or_default());
        return ExitCode::from(1);
    };
    match write(&document, out.as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("frontdesk: {why}");
            ExitCode::from(2)
        }
    }
}

fn write(document: &[u8], out: Option<&Path>) -> Result<(), String> {
    match out {
        Some(file) => std::fs::write(file, document).map_err(|e| format!("{} cannot be written: {e}", file.display())),
        None => {
            let mut stdout = std::io::stdout().lock();
            let written = stdout.write_all(document).and_then(|()| stdout.flush());
            written.map_err(|e| format!("standard output cannot be written: {e}"))
        }
    }
}
