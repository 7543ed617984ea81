//! The pages of `docs/` inside the binary, for a shell without a browser: `frontdesk help TOPIC` prints one, and
//! `frontdesk explain WORD` prints what all of them say about one reason, alert, metric or log message.

mod explain;

use std::process::ExitCode;

use clap::Command;

use super::said;

pub(super) use explain::explain;

/// One page of the manual.
struct Page {
    /// The name of its file, without folder and ending.
    name: &'static str,
    text: &'static str,
}

macro_rules! pages {
    ($($name:literal in $file:literal),* $(,)?) => {
        &[$(Page { name: $name, text: include_str!(concat!("../../../../docs/", $file)) }),*]
    };
}

/// The pages for operators and for those who declare capabilities, as docs/README.md lists them.
const PAGES: &[Page] = pages![
    "operate" in "operate.md",
    "kubernetes" in "kubernetes.md",
    "monitor" in "monitor.md",
    "log-messages" in "log-messages.md",
    "errors" in "errors.md",
    "sizing" in "sizing.md",
    "traffic" in "traffic.md",
    "discovery" in "discovery.md",
    "reading-the-site" in "reading-the-site.md",
    "answers" in "answers.md",
    "store" in "store.md",
    "callers" in "callers.md",
    "supervision" in "supervision.md",
    "firewall" in "firewall.md",
    "audit" in "audit.md",
    "traces" in "traces.md",
    "capabilities" in "capabilities.md",
    "sites-without-an-api" in "sites-without-an-api.md",
    "safe-calls" in "safe-calls.md",
    "command-line" in "command-line.md",
    "glossary" in "GLOSSARY.md",
    "ahp" in "protocols/ahp.md",
    "aicp" in "protocols/aicp.md",
    "mcp" in "protocols/mcp.md",
    "a2a" in "protocols/a2a.md",
    "openapi" in "protocols/openapi.md",
    "agtp" in "protocols/agtp.md",
    "handoff" in "protocols/handoff.md",
];

impl Page {
    /// Its title, from its first line.
    fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }
}

/// Prints the help of a command, a page of the manual, or both where they share the name. Without words: the help of `frontdesk`, and the list of pages.
pub(super) fn help(words: &[String], mut root: Command) -> ExitCode {
    root.build();
    if words.is_empty() {
        let pages: String = PAGES.iter().map(|page| format!("  {:22}{}\n", page.name, page.title())).collect();
        let text = format!("{}\nPages of the manual (frontdesk help PAGE):\n{pages}", root.render_help());
        return said(text.as_bytes());
    }
    let page = match words {
        [name] => PAGES.iter().find(|page| page.name.eq_ignore_ascii_case(name)),
        _ => None,
    };
    match (help_of_command(&mut root, words), page) {
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

/// The long help of the command with this name.
fn help_of_command(root: &mut Command, words: &[String]) -> Option<String> {
    let mut found = root;
    for word in words {
        found = found.find_subcommand_mut(word)?;
    }
    Some(found.render_long_help().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_a_title() {
        for page in PAGES {
            assert!(page.text.starts_with("# ") && !page.title().is_empty(), "{}", page.name);
        }
    }

    #[test]
    fn a_command_has_its_long_help() {
        let mut root = super::super::command();
        root.build();
        let help = help_of_command(&mut root, &["run".to_owned()]).unwrap_or_default();
        assert!(help.contains("--upstream") && help.contains("Exit codes"), "{help}");
        assert_eq!(help_of_command(&mut root, &["nothing".to_owned()]), None);
    }
}
