//! The section of llms.txt that says when this site is of use: made of what is declared, and of nothing else.

use std::fmt::Write;

use frontdesk_config::Settings;

use crate::{llms_addresses::LlmsAddresses, one_line::line};

/// Maximum capabilities that are listed.
const MOST: usize = 40;
/// Maximum characters of what is said of one.
const LONGEST: usize = 200;

/// A list item for each use.
pub(crate) fn lines(settings: &Settings, ways: LlmsAddresses<'_>) -> String {
    let mut out = String::new();
    let about = settings.site.name.as_deref().map(|name| line(name, LONGEST));
    let about = about.map(|name| format!(" of {name}")).unwrap_or_default();
    if settings.content.markdown {
        let _ = writeln!(
            out,
            "- To read a page{about}: each is also there as Markdown, at its own address with `Accept: text/markdown` or \
             at its path with `.md` behind it."
        );
    }
    if settings.content.concierge && ways.converse.is_some() {
        let _ = writeln!(out, "- To have a question answered from the pages{about}, with their addresses.");
    }
    let declared = settings.capabilities.iter().filter(|capability| capability.exposed);
    for capability in declared.clone().take(MOST) {
        let id = line(&capability.id, LONGEST);
        let described = capability.description.as_deref().map(|text| line(text, LONGEST));
        let described = described.filter(|text| !text.is_empty()).map(|text| format!(": {text}")).unwrap_or_default();
        let how = match capability.kind.is_action() {
            true => " (changes something)",
            false => "",
        };
        let _ = writeln!(out, "- `{id}`{how}{described}");
    }
    let left_out = declared.count().saturating_sub(MOST);
    if left_out > 0 {
        let _ = writeln!(out, "- And {left_out} more, as the manifest says.");
    }
    out
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use frontdesk_config::testing::{Nowhere, declare_text};

    fn told(more: &str) -> String {
        let text = format!("[upstream]\nurl = 'http://a'\n{more}");
        let settings = declare_text(Path::new("/x.toml"), &text, &Nowhere).unwrap().settings;
        lines(&settings, LlmsAddresses { converse: Some("/agent/converse"), ..LlmsAddresses::default() })
    }

    #[test]
    fn it_says_what_is_declared_and_nothing_else() {
        let capability = |id: &str, kind: &str, more: &str| {
            format!(
                "[[capabilities]]\nid = '{id}'\ntype = '{kind}'\nendpoint = '/agent/{id}'\nrisk_level = 'low'\n{more}\n"
            )
        };
        let declared = [
            capability("tea.search", "query", "description = \"Finds tea.\\n# Really\"\nauth = 'none'"),
            capability("tea.order", "commit_action", "auth = 'required'"),
            capability("tea.hidden", "query", "exposed = false\nauth = 'none'"),
        ];
        let text = told(&format!("[site]\nname = 'Acme'\n{}", declared.concat()));
        assert!(text.starts_with("- To read a page of Acme: "), "{text}");
        assert!(text.contains("- `tea.search`: Finds tea. # Really\n- `tea.order` (changes something)\n"), "{text}");
        assert!(!text.contains("hidden"), "{text}");
        let little = told("[content]\nmarkdown = false\nconcierge = false\n");
        assert_eq!(little, "");
    }
}
