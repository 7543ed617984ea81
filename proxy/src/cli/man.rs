//! `frontdesk man`: prints or writes the manual pages, which have the same text as the help.

use std::{io, path::Path, process::ExitCode};

use clap::Command;
use clap_mangen::{
    Man,
    roff::{Roff, bold, roman},
};

use super::{
    command,
    help_text::{self, CODES, CommandHelp},
    said,
};
use crate::version;

/// The manual section of user commands.
const SECTION: &str = "1";

/// Prints one page, or writes all pages into a directory.
pub(super) fn man(words: &[String], dir: Option<&Path>) -> ExitCode {
    let root = whole();
    let result = match dir {
        Some(dir) => write_all(&root, dir).map_err(|e| format!("{} cannot be written: {e}", dir.display())),
        None => one(&root, words),
    };
    match result {
        Ok(Said::Page(page)) => said(&page),
        Ok(Said::Written(count)) => said(format!("{count} pages written\n").as_bytes()),
        Err(why) => {
            eprintln!("frontdesk: {why}");
            ExitCode::from(2)
        }
    }
}

enum Said {
    Page(Vec<u8>),
    Written(usize),
}

/// The command line with its full names, without the commands that only print help.
fn whole() -> Command {
    let mut root = command().disable_help_subcommand(true);
    root.build();
    root
}

/// Finds a command by its words (`catalog diff`) or by its page's name (`catalog-diff`).
fn one(root: &Command, words: &[String]) -> Result<Said, String> {
    let (mut found, mut path) = (root, Vec::new());
    for word in words.iter().flat_map(|word| word.split('-')).filter(|word| *word != "frontdesk") {
        let Some(next) = found.find_subcommand(word) else {
            let names: Vec<&str> = found.get_subcommands().map(Command::get_name).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(format!("{} has no command {word:?}; there are: {names}", name(found)));
        };
        (found, path) = (next, [path, vec![word]].concat());
    }
    Ok(Said::Page(page(found, &path.join(" ")).map_err(|e| e.to_string())?))
}

fn write_all(root: &Command, dir: &Path) -> io::Result<Said> {
    std::fs::create_dir_all(dir)?;
    let mut written = 0;
    for lesson in help_text::all() {
        let words = lesson.command.split_ascii_whitespace();
        let found = words.into_iter().try_fold(root, |command, word| command.find_subcommand(word));
        if let Some(found) = found {
            std::fs::write(dir.join(format!("{}.{SECTION}", name(found))), page(found, lesson.command)?)?;
            written += 1;
        }
    }
    Ok(Said::Written(written))
}

fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

/// The page of a command; `path` is the command's name in the lessons.
fn page(command: &Command, path: &str) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    let man = Man::new(command.clone()).section(SECTION).source(format!("frontdesk {}", version::VERSION));
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(lesson) = help_text::all().iter().find(|lesson| lesson.command == path) {
        taught(lesson).to_writer(&mut page)?;
    }
    let mut end = Roff::default();
    end.control("SH", ["VERSION"]);
    end.text([roman(version::WHOLE)]);
    if !path.is_empty() {
        end.control("SH", ["SEE ALSO"]);
        end.text([bold("frontdesk"), roman(format!("({SECTION})"))]);
    }
    end.to_writer(&mut page)?;
    Ok(page)
}

fn taught(lesson: &CommandHelp) -> Roff {
    let mut roff = Roff::default();
    if !lesson.examples.is_empty() {
        roff.control("SH", ["EXAMPLES"]);
        for (why, line) in &lesson.examples {
            roff.control("TP", []);
            roff.text([roman(*why)]);
            roff.text([bold(line.as_str())]);
        }
    }
    for (title, terms) in lesson.parts {
        // Manual pages call this section EXIT STATUS.
        let title = if *title == CODES { "EXIT STATUS".to_owned() } else { title.to_uppercase() };
        roff.control("SH", [title.as_str()]);
        for (term, meaning) in *terms {
            roff.control("TP", []);
            roff.text([bold(*term)]);
            roff.text([roman(*meaning)]);
        }
    }
    if !lesson.next.is_empty() {
        roff.control("SH", ["NEXT"]);
        roff.text([roman(lesson.next)]);
    }
    roff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(words: &[&str]) -> Result<String, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match one(&whole(), &words)? {
            Said::Page(page) => String::from_utf8(page).map_err(|e| e.to_string()),
            Said::Written(count) => Err(count.to_string()),
        }
    }

    #[test]
    fn a_page_says_what_the_help_says() {
        let run = text(&["run"]).unwrap();
        for part in
            [".TH frontdesk-run 1", ".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLES", ".SH \"EXIT STATUS\"", "SIGNALS"]
        {
            assert!(run.contains(part), "{part} in {run}");
        }
        assert!(run.contains("\\-\\-upstream") && !run.contains('\x1b'), "{run}");
        assert_eq!(text(&["catalog", "diff"]).unwrap(), text(&["catalog-diff"]).unwrap());
        assert!(text(&[]).unwrap().contains("frontdesk\\-catalog"), "{}", text(&[]).unwrap());
        let unknown = text(&["catalog", "dif"]).unwrap_err();
        assert!(unknown.contains("diff") && unknown.contains("\"dif\""), "{unknown}");
    }
}
