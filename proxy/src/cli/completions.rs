//! `frontdesk completions`: prints a completion script for a shell.

use std::process::ExitCode;

use clap_complete::{Shell, generate};

use super::{command, said};

pub(super) fn completions(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    generate(shell, &mut command(), "frontdesk", &mut script);
    said(&script)
}
