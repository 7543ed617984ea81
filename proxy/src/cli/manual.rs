//! `frontdesk help TOPIC` prints a page of the manual; `frontdesk explain WORD` prints what all of them say about one
//! reason, alert, metric or log message.

use std::process::ExitCode;

use clap::Command;

use super::said;
use crate::manual::{self, PAGES, contents, page};

/// Prints the help of a command, a page of the manual, or both where they share the name. Without words: the help of `frontdesk`, and the list of pages.
pub(super) fn help(words: &[String], mut root: Command) -> ExitCode {
    root.build();
    if words.is_empty() {
        let text = format!("{}\nPages of the manual (frontdesk help PAGE):\n{}", root.render_help(), contents());
        return said(text.as_bytes());
    }
    let found = match words {
        [name] => page(name),
        _ => None,
    };
    match (help_of_command(&mut root, words), found) {
        (Some(help), Some(page)) => return said(format!("{help}\n{}", page.text).as_bytes()),
        (Some(help), None) => return said(help.as_bytes()),
        (None, Some(page)) => return said(page.text.as_bytes()),
        (None, None) => {}
    }
    let names: Vec<&str> = PAGES.iter().map(|page| page.name).collect();
    let asked = words.join(" ");
    eprintln!("frontdesk: there is no command and no page {asked:?}; the pages are: {}", names.join(", "));
    eprintln!("For a reason, an alert, a metric or a log message: frontdesk explain {asked:?}");
    ExitCode::from(2)
}

/// Prints what the manual says about a word, or a part of a log line.
pub(super) fn explain(words: &[String]) -> ExitCode {
    let asked = words.join(" ");
    if let Some(text) = manual::explain(&asked) {
        return said(text.as_bytes());
    }
    eprintln!("frontdesk: the manual has no entry {asked:?}");
    if let Some(text) = manual::elsewhere(&asked) {
        eprint!("{text}");
        return ExitCode::from(1);
    }
    eprintln!(
        "Ask for a status (429), a reason (store_away), an alert, a metric, or some words of a log message; or: frontdesk help"
    );
    ExitCode::from(1)
}

/// The long help of the command with this name. What follows a command without commands of its own is its argument, as in
/// `import site`.
fn help_of_command(root: &mut Command, words: &[String]) -> Option<String> {
    let mut found = root;
    for (at, word) in words.iter().enumerate() {
        if at > 0 && !found.has_subcommands() {
            break;
        }
        found = found.find_subcommand_mut(word)?;
    }
    Some(found.render_long_help().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_its_long_help() {
        let mut root = super::super::command();
        root.build();
        let help = help_of_command(&mut root, &["run".to_owned()]).unwrap_or_default();
        assert!(help.contains("--upstream") && help.contains("Exit codes"), "{help}");
        let named = |root: &mut Command, words: &[&str]| {
            help_of_command(root, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(named(&mut root, &["nothing"]), None);
        assert_eq!(named(&mut root, &["run", "site"]), named(&mut root, &["run"]), "an argument");
    }
}
