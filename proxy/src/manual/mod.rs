//! The pages of `docs/` inside the binary, for a shell without a browser and for the operator's page.

mod explain;

pub use explain::{elsewhere, explain};

/// One page of the manual.
pub struct Page {
    /// The name of its file, without folder and ending.
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! pages {
    ($($name:literal in $file:literal),* $(,)?) => {
        &[$(Page { name: $name, text: include_str!(concat!("../../../docs/", $file)) }),*]
    };
}

/// The pages for operators and for those who declare capabilities, as docs/README.md lists them.
pub const PAGES: &[Page] = pages![
    "getting-started" in "getting-started.md",
    "runbook" in "runbook.md",
    "runbook-reasons" in "runbook-reasons.md",
    "operate" in "operate.md",
    "tls" in "tls.md",
    "platforms" in "platforms.md",
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
    "login" in "login.md",
    "login-by-hand" in "login-by-hand.md",
    "supervision" in "supervision.md",
    "firewall" in "firewall.md",
    "audit" in "audit.md",
    "traces" in "traces.md",
    "capabilities" in "capabilities.md",
    "import-site" in "import-site.md",
    "sites-without-an-api" in "sites-without-an-api.md",
    "forms" in "forms.md",
    "import" in "import.md",
    "inspect" in "inspect.md",
    "safe-calls" in "safe-calls.md",
    "configuration" in "configuration.md",
    "command-line" in "command-line.md",
    "security" in "security.md",
    "stability" in "stability.md",
    "comparison" in "comparison.md",
    "glossary" in "GLOSSARY.md",
    "ahp" in "protocols/ahp.md",
    "aicp" in "protocols/aicp.md",
    "mcp" in "protocols/mcp.md",
    "a2a" in "protocols/a2a.md",
    "openapi" in "protocols/openapi.md",
    "agtp" in "protocols/agtp.md",
    "harness" in "protocols/harness.md",
    "handoff" in "protocols/handoff.md",
];

impl Page {
    /// Its title, from its first line.
    pub fn title(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }
}

/// The page with this name, in any case.
pub fn page(name: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.name.eq_ignore_ascii_case(name))
}

/// A line for each page: its name and its title.
pub fn contents() -> String {
    PAGES.iter().map(|page| format!("  {:22}{}\n", page.name, page.title())).collect()
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
}
