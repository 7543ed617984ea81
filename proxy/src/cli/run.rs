//! `frontdesk run`: starts the proxy from a configuration file or from `--upstream` alone.

use std::{collections::HashMap, process::ExitCode};

use super::{Run, What, check};
use crate::{boot, source::Source};

pub(super) fn run(args: Run) -> ExitCode {
    let mut source = match args.what {
        What { upstream: Some(url), .. } => without_file(&url),
        What { config, .. } => Source::file(config.unwrap_or_else(|| "frontdesk.toml".into())),
    };
    source.listen = args.listen;
    source.admin = args.admin;
    // A configuration with mistakes gives the same messages and exit code as `check`.
    if let Err(code) = check::usable(&source) {
        return code;
    }
    match boot::run(source, args.upgrade, None) {
        Ok(()) => ExitCode::SUCCESS,
        Err(not_started) => not_started.tell(),
    }
}

/// The smallest valid configuration: an upstream and nothing else.
fn without_file(url: &str) -> Source {
    // TOML reads JSON's escapes, so no URL can end the string early.
    let text = format!("[upstream]\nurl = {}\n", serde_json::Value::from(url));
    Source { path: "--upstream".into(), text: Some(text), variables: HashMap::new(), listen: None, admin: None }
}
