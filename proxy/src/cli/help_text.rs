//! The part of each command's help after its arguments: examples to paste, exit codes, and the next step.
//!
//! `--help` and the manual pages show the same text. The names of export and import formats come from the modules that
//! implement them.

mod all;

use clap::{Command, builder::StyledStr};

pub(super) use all::all;

/// The extra help of one command.
pub(super) struct CommandHelp {
    /// The words after `frontdesk`, with a space between two; empty for `frontdesk` itself.
    pub command: &'static str,
    /// Pairs of a purpose and the command line for it.
    pub examples: Vec<(&'static str, String)>,
    /// Further sections: a title, and terms with their meanings.
    pub parts: &'static [Part],
    /// The next step, in one or two sentences.
    pub next: &'static str,
}

type Part = (&'static str, &'static [(&'static str, &'static str)]);

/// The title of the section that every command has.
pub(super) const CODES: &str = "Exit codes";

/// Adds the extra help to each command.
pub(super) fn taught(mut root: Command) -> Command {
    for lesson in all() {
        let words: Vec<&str> = lesson.command.split_ascii_whitespace().collect();
        root = match words[..] {
            // `frontdesk` alone and `-h` show it too: their user is new to the command.
            [] => {
                let help = lesson.help(&root);
                root.after_help(help)
            }
            [one] => root.mut_subcommand(one, |command| lesson.teach(command)),
            [group, one, ..] => root.mut_subcommand(group, |group| group.mut_subcommand(one, |c| lesson.teach(c))),
        };
    }
    root
}

impl CommandHelp {
    fn teach(&self, command: Command) -> Command {
        let help = self.help(&command);
        command.after_long_help(help)
    }

    /// The text at the end of the help.
    fn help(&self, command: &Command) -> StyledStr {
        let styles = command.get_styles();
        let (header, literal) = (styles.get_header(), styles.get_literal());
        let mut sections = Vec::new();
        if !self.examples.is_empty() {
            let shown = |(why, line): &(&str, String)| format!("  # {why}\n  {literal}{line}{literal:#}");
            let lines: Vec<String> = self.examples.iter().map(shown).collect();
            sections.push(format!("{header}Examples:{header:#}\n{}", lines.join("\n\n")));
        }
        for (title, terms) in self.parts {
            let width = terms.iter().map(|(term, _)| term.len()).max().unwrap_or(0);
            let shown = |(term, meaning): &(&str, &str)| format!("  {literal}{term:width$}{literal:#}  {meaning}");
            let lines: Vec<String> = terms.iter().map(shown).collect();
            sections.push(format!("{header}{title}:{header:#}\n{}", lines.join("\n")));
        }
        if !self.next.is_empty() {
            sections.push(format!("{header}Next:{header:#}\n  {}", folded(self.next)));
        }
        sections.join("\n\n").into()
    }
}

/// Folds a text into lines that fit a terminal.
fn folded(text: &str) -> String {
    const WIDTH: usize = 96;
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > WIDTH {
            out.push_str("\n  ");
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{super::command, *};

    /// The names of all commands that do something, as the lessons name them.
    fn commands(of: &Command, before: &str, found: &mut Vec<(String, bool)>) {
        for command in of.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = format!("{before} {}", command.get_name()).trim().to_owned();
            found.push((name.clone(), command.has_subcommands()));
            commands(command, &name, found);
        }
    }

    #[test]
    fn every_command_is_taught_and_every_example_can_be_pasted() {
        let mut found = Vec::new();
        commands(&command(), "", &mut found);
        assert!(found.len() > 5, "{found:?}");
        let lessons = all();
        assert_eq!(lessons.len(), found.len() + 1, "a lesson for each, and no other");
        for (name, group) in found {
            let lesson = lessons.iter().find(|lesson| lesson.command == name);
            let lesson = lesson.unwrap_or_else(|| panic!("no lesson for {name}"));
            assert!(group || !lesson.examples.is_empty() && !lesson.next.is_empty(), "{name}");
            let codes = lesson.parts.iter().find(|(title, _)| *title == CODES);
            assert!(codes.is_some_and(|(_, codes)| codes.iter().any(|(code, _)| *code == "2")), "{name}");
        }
        for (_, line) in lessons.iter().flat_map(|lesson| &lesson.examples) {
            let typed = line.split(['>', '|']).next().unwrap_or_default();
            let words = typed.split_whitespace().skip_while(|word| word.starts_with("OTEL_"));
            let parsed = command().try_get_matches_from(words);
            // Help is asked for by an error.
            assert!(parsed.as_ref().err().is_none_or(|e| !e.use_stderr()), "{line}: {parsed:?}");
        }
    }

    #[test]
    fn help_fits_a_terminal_and_holds_no_colour_of_its_own() {
        for lesson in all() {
            let help = lesson.help(&Command::new("x")).to_string();
            assert!(!help.contains('\x1b'), "{help:?}");
            let widest = help.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(widest <= 120, "{widest} in {help}");
        }
    }
}
