//! The house keeps its order: arrows, words, heads of modules.

use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    fn walk(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path()) {
            if entry.is_dir() {
                walk(&entry, found);
            } else if entry.extension().is_some_and(|e| e == "rs") {
                let text = std::fs::read_to_string(&entry).expect("a source file");
                found.push((entry, text));
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(ROOT).join(folder), &mut found);
    assert!(!found.is_empty(), "{folder}");
    found
}

#[test]
fn house_every_module_says_why_it_exists() {
    for folder in ["filters/src", "proxy/src", "tests", "benches"] {
        for (path, text) in sources(folder) {
            assert!(text.starts_with("//! "), "{} has no head comment", path.display());
        }
    }
}

#[test]
fn house_filters_know_no_proxy_library_and_no_socket() {
    for (path, text) in sources("filters/src") {
        for word in ["pingora", "tokio", "std::net::Tcp", "UdpSocket", "hyper::"] {
            let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
            assert!(code.clone().all(|l| !l.contains(word)), "{} names {word}", path.display());
        }
    }
}

/// Protocol words may stand anywhere; only a dialect's own code may not be used outside the filters.
#[test]
fn house_the_proxy_imports_no_single_dialect() {
    for (path, text) in sources("proxy/src") {
        for dialect in ["ahp", "aicp", "agtp", "mcp", "openapi", "harness_gateway"] {
            let import = format!("dialect::{dialect}");
            assert!(!text.contains(&import), "{} uses {import}", path.display());
        }
    }
}

/// What a capability is and how it is carried out is the same for every dialect; only tables of the configuration are
/// called what a dialect calls itself.
#[test]
fn house_the_desk_names_no_dialect() {
    for (path, text) in sources("filters/src/desk") {
        for line in text.to_lowercase().lines().filter(|line| !line.trim_start().starts_with("//")) {
            assert!(!line.contains("dialect::"), "{}: {line}", path.display());
            for word in ["ahp", "aicp", "agtp", "aahp", "aom", "mcp", "openapi"] {
                let named = line.match_indices(word).any(|(at, _)| {
                    let before = line[..at].chars().last();
                    let after = line[at + word.len()..].chars().next();
                    let letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                    !letter(before) && !letter(after) && before != Some('.')
                });
                assert!(!named, "{} names {word}: {line}", path.display());
            }
        }
    }
}

#[test]
fn house_one_file_does_what_has_no_safe_form() {
    let forbidden = "#![forbid(unsafe_code)]";
    let filters = std::fs::read_to_string(Path::new(ROOT).join("filters/src/lib.rs")).expect("a source file");
    assert!(filters.lines().any(|l| l == forbidden), "the filters need none");
    for (path, text) in sources("filters/src").into_iter().chain(sources("proxy/src")) {
        // "allow" and "expect" of the lint would be written with the word too.
        let mut code = text.lines().filter(|l| !l.trim_start().starts_with("//") && *l != forbidden);
        let does = code.any(|l| l.contains("unsafe"));
        assert_eq!(does, path.ends_with("proxy/src/sys.rs"), "{}", path.display());
    }
}

#[test]
fn house_nothing_in_conf_is_a_key() {
    let ignored = std::fs::read_to_string(Path::new(ROOT).join(".gitignore")).expect(".gitignore");
    assert!(ignored.lines().any(|l| l == "/conf/keys/"), "keys are made, not committed");
}
