//! Hides files that a repository keeps for its own agents: `.ai/`, `.aiignore` and similar.
//!
//! The origin's document root is often a repository. A path that a site could resolve to such a file is not passed on,
//! in any spelling.

use frontdesk_base::{
    path::{Path, is_short_for},
    text::without_accents,
};

/// Names of files and folders, in lower case.
const NAMES: [&str; 4] = [".ai", ".aiignore", "handoff.lock", "pii-allowlist.json"];

/// Whether a request's target names a hidden file, in any spelling.
pub fn is_hidden(target: &str) -> bool {
    is_hidden_path(&Path::of(target))
}

/// The same for a parsed path. It is hidden if the name is any of its segments, because the effect of `..` depends on
/// the site.
pub fn is_hidden_path(path: &Path<'_>) -> bool {
    match &path.folded {
        // Nearly every path.
        None => path.canonical.split('/').any(is_name_as_written),
        Some(folded) => folded.pieces().any(is_name),
    }
}

/// One of the names, or one without the extension that content negotiation adds. It has no type for `.lock`, and
/// `/handoff` may be a page.
fn is_name_as_written(segment: &str) -> bool {
    NAMES.contains(&segment) || segment == "pii-allowlist"
}

/// Whether a folded segment is one of the names or its NTFS short name, without an NTFS stream.
fn is_name(segment: &str) -> bool {
    let name = segment.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    // Windows programs without Unicode see accented letters as plain ones.
    let name = without_accents(name);
    is_name_as_written(&name) || NAMES.iter().any(|hidden| is_short_for(&name, hidden))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_name_is_known_in_any_spelling() {
        for target in [
            "/.ai/handoff/STATUS.md",
            "/.ai",
            "/.AI/x",
            "//.ai//x",
            "/docs/../.ai/x",
            "/./.ai/",
            "/%2eai/x",
            "/.%61i/x",
            "/%2e%61%69/x",
            "/.ai%2fhandoff",
            "/x%2f.ai%2fy",
            "/.ai\\x",
            "\\.ai\\x",
            "/.ai;x/y",
            "/.ai;/y",
            "/.ai./x",
            "/.ai../x",
            "/.ai%20/x",
            "/.ai%00/x",
            "/.ai?x=1",
            "/.ai#x",
            "/.aiignore",
            "/sub/.aiignore",
            "/.AIIGNORE",
            "/.aiignore.",
            "/.aiignore::$DATA",
            "/HANDOFF.lock",
            "/a/handoff.LOCK/",
            "/pii-allowlist.json",
            "/PII-Allowlist.JSON",
            "/%252eai/x",
            "/.ai/../.ai/x",
            "/x;y/.ai/z",
            "/x/..;/.ai/z",
            "/.ai%5cx",
            "/%5c.ai%5cx",
            "/docs/.ai/../public",
            "/.aiignore%3f",
            "/.aiignore%23x",
            "/.aiignore%253fx",
            "/%c0%aeaiignore",
            "/%u002eaiignore",
            "/.ai%e2%80%8cignore",
            "/.ai%c2%adignore",
            "/.a\u{131}/x",
            "/HANDOFF.loc\u{212a}",
            "/.aiignore:x",
            "/AIIGNO~1",
            "/sub/AI~1/x",
            "/HANDOF~1.LOC",
            "/.\u{101}i/x",
            "/.\u{e3}ii\u{307}gnore",
            "/x\u{2215}.ai\u{2215}y",
            "/x%e2%81%84.aiignore",
            "/x\u{2216}.ai",
            "/pii-allowlist",
            "/PII-allowlist?x",
        ] {
            assert!(is_hidden(target), "{target}");
        }
    }

    #[test]
    fn other_paths_are_the_sites() {
        for target in [
            "/",
            "/.air/x",
            "/x.ai/y",
            "/ai/x",
            "/.ai-tools",
            "/.well-known/ai",
            "/?q=/.ai/x",
            "/handoff.lock.html",
            "/.aiignore2",
            "/x/.ai.html",
            "/~ai/x",
            "/ai~x",
            "/docs%3f.air",
            "/handoff",
            "/pii-allowlists",
            "/\u{101}i/x",
        ] {
            assert!(!is_hidden(target), "{target}");
        }
    }
}
