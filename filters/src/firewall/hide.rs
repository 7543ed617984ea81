//! What a checked-out project keeps for its agents, and no site means to serve: `.ai/`, `.aiignore` and their like.
//!
//! The origin's document root is often a repository. Whatever way a path is spelled in which a site could find such a
//! file, it is not passed on.

use crate::path;

/// Names of files and folders, in small letters.
const NAMES: [&str; 4] = [".ai", ".aiignore", "handoff.lock", "pii-allowlist.json"];

/// How often a site behind another one could decode a path.
const DECODED: usize = 3;

/// Whether a request's target names something that is kept hidden, in any spelling.
pub fn is_hidden(target: &str) -> bool {
    // Nearly every path: none of the names can be in it, nor be spelled.
    let bytes = target.as_bytes();
    let plain = !bytes.iter().any(|byte| matches!(byte, b'%' | b'\\' | b';'));
    if plain && !may_name(target) {
        return false;
    }
    let mut path = path::canonical(target).into_owned();
    for _ in 0..DECODED {
        if names(&path) {
            return true;
        }
        if !path.contains('%') {
            break;
        }
        path = path::canonical(&path).into_owned();
    }
    // What follows a semicolon, or is divided by a backslash, may be a part of the name.
    path::readings(target).iter().any(|segments| segments.iter().any(|segment| is_name(segment)))
}

fn may_name(target: &str) -> bool {
    let lower = |word: &[u8]| target.as_bytes().windows(word.len()).any(|window| window.eq_ignore_ascii_case(word));
    lower(b".ai") || lower(b"handoff.lock") || lower(b"pii-allowlist.json")
}

fn names(path: &str) -> bool {
    path.split('/').any(is_name)
}

/// A name, with what some file systems leave away at its end: dots, blanks, a stream.
fn is_name(segment: &str) -> bool {
    let name = segment.split([':', '\0', ';']).next().unwrap_or_default();
    let name = name.trim_matches(|c: char| c == ' ' || c.is_control()).trim_end_matches(['.', ' ']);
    NAMES.iter().any(|hidden| name.eq_ignore_ascii_case(hidden))
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
            "/docs/.ai/../public",
        ] {
            assert!(!is_hidden(target), "{target}");
        }
    }
}
