//! The conventions of this code base: layers of crates, forbidden words, head comments of modules.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The crates from the bottom to the top: the folder of each, and the crates of ours that it may use. All of those stand
/// above it in this list.
const LAYERS: [(&str, &[&str]); 24] = [
    ("filters/base", &[]),
    ("filters/state", &["frontdesk-base"]),
    ("filters/firewall", &["frontdesk-base"]),
    ("filters/page", &["frontdesk-base"]),
    ("filters/config", &["frontdesk-base", "frontdesk-firewall", "frontdesk-page"]),
    ("filters/caller", &["frontdesk-base", "frontdesk-config", "frontdesk-state"]),
    ("filters/ask", &["frontdesk-base", "frontdesk-page"]),
    ("filters/answers", &["frontdesk-base", "frontdesk-config", "frontdesk-page"]),
    (
        "filters/desk",
        &[
            "frontdesk-answers",
            "frontdesk-ask",
            "frontdesk-base",
            "frontdesk-caller",
            "frontdesk-config",
            "frontdesk-firewall",
            "frontdesk-page",
            "frontdesk-state",
        ],
    ),
    ("filters/confirm", &["frontdesk-base", "frontdesk-config", "frontdesk-desk"]),
    (
        "filters/login",
        &[
            "frontdesk-answers",
            "frontdesk-base",
            "frontdesk-caller",
            "frontdesk-config",
            "frontdesk-desk",
            "frontdesk-state",
        ],
    ),
    (
        "filters/handoff",
        &["frontdesk-base", "frontdesk-config", "frontdesk-desk", "frontdesk-firewall", "frontdesk-state"],
    ),
    (
        "filters/harness-gateway",
        &["frontdesk-base", "frontdesk-caller", "frontdesk-config", "frontdesk-desk", "frontdesk-page"],
    ),
    (
        "filters/discovery",
        &["frontdesk-base", "frontdesk-config", "frontdesk-desk", "frontdesk-firewall", "frontdesk-page"],
    ),
    (
        "filters/dialects",
        &[
            "frontdesk-ask",
            "frontdesk-base",
            "frontdesk-caller",
            "frontdesk-config",
            "frontdesk-desk",
            "frontdesk-discovery",
            "frontdesk-firewall",
            "frontdesk-page",
            "frontdesk-state",
        ],
    ),
    (
        "filters/agtp",
        &[
            "frontdesk-ask",
            "frontdesk-base",
            "frontdesk-caller",
            "frontdesk-config",
            "frontdesk-desk",
            "frontdesk-dialects",
            "frontdesk-page",
            "frontdesk-state",
        ],
    ),
    (
        "filters",
        &[
            "frontdesk-agtp",
            "frontdesk-ask",
            "frontdesk-base",
            "frontdesk-caller",
            "frontdesk-config",
            "frontdesk-confirm",
            "frontdesk-desk",
            "frontdesk-dialects",
            "frontdesk-discovery",
            "frontdesk-firewall",
            "frontdesk-handoff",
            "frontdesk-harness-gateway",
            "frontdesk-login",
            "frontdesk-page",
            "frontdesk-state",
        ],
    ),
    ("filters/tools", &["frontdesk-base", "frontdesk-page", "frontdesk-filters"]),
    ("proxy/http1", &[]),
    ("proxy/files", &[]),
    ("proxy/store", &["frontdesk-caller", "frontdesk-config", "frontdesk-files", "frontdesk-state"]),
    ("proxy/audit", &["frontdesk-config", "frontdesk-desk"]),
    (
        "proxy",
        &[
            "frontdesk-audit",
            "frontdesk-base",
            "frontdesk-files",
            "frontdesk-filters",
            "frontdesk-http1",
            "frontdesk-store",
            "frontdesk-tools",
        ],
    ),
    // The integration tests run the binary, and import nothing of it.
    ("tests", &[]),
];

fn manifest(folder: &str) -> toml::Table {
    let path = Path::new(ROOT).join(folder).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.parse().unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The crates of ours that a manifest names as dependencies of any kind, for any target.
fn own_dependencies(manifest: &toml::Table) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut tables = vec![manifest];
    tables.extend(
        manifest.get("target").and_then(toml::Value::as_table).into_iter().flatten().filter_map(|(_, t)| t.as_table()),
    );
    for table in tables {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            for (name, wanted) in table.get(kind).and_then(toml::Value::as_table).into_iter().flatten() {
                // A dependency may be renamed.
                let package = wanted.get("package").and_then(toml::Value::as_str).unwrap_or(name);
                if package.starts_with("frontdesk") {
                    found.insert(package.to_owned());
                }
            }
        }
    }
    found
}

/// Every Rust file below a folder, with its text.
pub(crate) fn sources(folder: &str) -> Vec<(PathBuf, String)> {
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
    for folder in ["filters", "proxy", "tests", "benches"] {
        for (path, text) in sources(folder) {
            assert!(text.starts_with("//! "), "{} has no head comment", path.display());
        }
    }
}

/// The most lines of a source file. One that needs more has more than one idea.
const LONGEST: usize = 400;
/// The same for a file of tests.
const LONGEST_OF_TESTS: usize = 600;

/// Whether a file holds nothing but tests, or what tests share.
fn is_of_tests(path: &Path) -> bool {
    let relative = path.strip_prefix(ROOT).unwrap_or(path).with_extension("");
    relative.iter().filter_map(|part| part.to_str()).any(|part| {
        matches!(part, "tests" | "suite" | "testing" | "benches" | "config_tests") || part.ends_with("_tests")
    })
}

#[test]
fn house_no_file_is_too_long() {
    let mut longer = Vec::new();
    for (path, text) in ["filters", "proxy", "tests", "benches"].into_iter().flat_map(sources) {
        let most = if is_of_tests(&path) { LONGEST_OF_TESTS } else { LONGEST };
        let lines = text.lines().count();
        if lines > most {
            longer.push(format!("{}: {lines} lines, and {most} are the most", path.display()));
        }
    }
    assert!(longer.is_empty(), "split by ideas: {longer:#?}");
}

/// The numbers of the lines that a merge leaves where it could not decide. They are read as bytes: not all files are text.
fn conflict_markers(bytes: &[u8]) -> Vec<usize> {
    let is_marker = |line: &[u8]| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> ");
    bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| is_marker(line)).map(|(at, _)| at + 1).collect()
}

#[test]
fn house_no_file_has_a_conflict_marker() {
    fn walk(folder: &Path, count: &mut usize, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let (path, kind) = (entry.path(), entry.file_type().expect("its type"));
            if kind.is_dir() && path.file_name().is_some_and(|name| name != "target" && name != ".git") {
                walk(&path, count, found);
            } else if kind.is_file() {
                *count += 1;
                let lines = conflict_markers(&std::fs::read(&path).expect("a file"));
                found.extend(lines.iter().map(|line| format!("{}:{line}", path.display())));
            }
        }
    }
    let (mut count, mut found) = (0, Vec::new());
    walk(Path::new(ROOT), &mut count, &mut found);
    assert!(count > 1000, "only {count} files were read");
    assert!(found.is_empty(), "a merge was not finished: {found:#?}");
}

#[test]
fn house_a_conflict_marker_is_found_at_the_beginning_of_a_line_only() {
    let left = [b"a\n".as_slice(), b"<<<<<<< HEAD\nb\n", b"=======\nc\n", b">>>>>>> other\n\xff"].concat();
    assert_eq!(conflict_markers(&left), [2, 6]);
    assert!(conflict_markers(b"let a = b\"<<<<<<< HEAD\";\n <<<<<<< b\n<<<<<<<<<\n").is_empty());
}

#[test]
fn house_files_of_tests_are_told_apart() {
    let is = |path: &str| is_of_tests(&Path::new(ROOT).join(path));
    assert!(is("tests/house.rs") && is("filters/ask/src/tests.rs") && is("proxy/store/src/suite/mod.rs"));
    assert!(!is("proxy/src/front.rs") && !is("filters/page/src/latest.rs"));
}

#[test]
fn house_no_crate_depends_on_one_above_it() {
    let members = manifest(".")["workspace"]["members"].as_array().expect("members").clone();
    let members: BTreeSet<_> = members.iter().filter_map(toml::Value::as_str).collect();
    assert_eq!(members, LAYERS.iter().map(|(folder, _)| *folder).collect(), "each member has its layer");
    let mut below = BTreeSet::new();
    for (folder, allowed) in LAYERS {
        let manifest = manifest(folder);
        for used in own_dependencies(&manifest) {
            assert!(allowed.contains(&used.as_str()), "{folder} depends on {used}, which it may not use");
        }
        for used in allowed {
            assert!(below.contains(*used), "{folder} may use {used}, which is not below it");
        }
        below.insert(manifest["package"]["name"].as_str().expect("a name").to_owned());
    }
}

#[test]
fn house_dependencies_of_all_kinds_are_seen() {
    let text = "[dependencies]\nfrontdesk-a.workspace = true\nhttp = \"1\"\n\
                [dev-dependencies]\nfrontdesk-b = { path = \"b\" }\n\
                [target.'cfg(unix)'.dependencies]\nother = { package = \"frontdesk-c\", path = \"c\" }\n";
    let found = own_dependencies(&text.parse().expect("TOML"));
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), ["frontdesk-a", "frontdesk-b", "frontdesk-c"]);
}

#[test]
fn house_filters_and_http1_know_no_proxy_library_and_no_socket() {
    for (path, text) in sources("filters").into_iter().chain(sources("proxy/http1")) {
        for word in ["pingora", "tokio", "std::net::Tcp", "UdpSocket", "hyper::"] {
            let code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
            assert!(code.clone().all(|l| !l.contains(word)), "{} names {word}", path.display());
        }
    }
}

/// Protocol words may stand anywhere. A dialect's own code is used by the table of dialects and by nothing else.
#[test]
fn house_the_proxy_and_the_desk_import_no_single_dialect() {
    for (path, text) in sources("proxy").into_iter().chain(sources("filters/desk")) {
        for dialect in ["a2a", "ahp", "aicp", "agtp", "mcp", "openapi", "harness_gateway"] {
            for import in [format!("dialect::{dialect}"), format!("dialect::{{{dialect}")] {
                assert!(!text.contains(&import), "{} uses {import}", path.display());
            }
        }
    }
}

/// Dialects get the outcome of a question in types (`ahp::Turn`). A dialect that read AHP's JSON by names would break
/// without a compile error when a member is renamed.
#[test]
fn house_no_dialect_reads_a_member_of_ahps_json() {
    let mut seen = 0;
    for (path, text) in sources("filters/dialects/src").into_iter().chain(sources("filters/src")) {
        if path.components().any(|part| part.as_os_str() == "ahp") {
            continue;
        }
        seen += 1;
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for name in ["status", "session_id", "response", "clarification", "confirmation", "meta", "poll", "progress"] {
            let (index, pointer) = (format!("[\"{name}\"]"), format!("pointer(\"/{name}"));
            // A blank before the bracket begins a list.
            let mut found = code.match_indices(&index);
            let is_read = found.any(|(at, _)| !code[..at].ends_with(char::is_whitespace)) || code.contains(&pointer);
            assert!(!is_read, "{} reads {name} of AHP's JSON; use ahp::Turn", path.display());
        }
    }
    assert!(seen > 30, "{seen} files");
}

#[test]
fn house_two_files_do_what_has_no_safe_form() {
    let forbidden = "#![forbid(unsafe_code)]";
    for (folder, _) in LAYERS.iter().filter(|(folder, _)| !["proxy", "tests"].contains(folder)) {
        let library = std::fs::read_to_string(Path::new(ROOT).join(folder).join("src/lib.rs")).expect("a source file");
        assert!(library.lines().any(|l| l == forbidden), "{folder} has to forbid unsafe code");
    }
    for (path, text) in ["filters", "proxy"].into_iter().flat_map(sources) {
        // "allow" and "expect" of the lint would be written with the word too.
        let mut code = text.lines().filter(|l| !l.trim_start().starts_with("//") && *l != forbidden);
        let does = code.any(|l| l.contains("unsafe"));
        let may = ["proxy/src/sys.rs", "proxy/zlib/src/lib.rs"].iter().any(|file| path.ends_with(file));
        assert_eq!(does, may, "{}", path.display());
    }
}

#[test]
fn house_nothing_in_conf_is_a_key() {
    let ignored = std::fs::read_to_string(Path::new(ROOT).join(".gitignore")).expect(".gitignore");
    assert!(ignored.lines().any(|l| l == "/conf/keys/"), "keys are made, not committed");
}

/// Words that hide who acts, or make a riddle of a fact. docs/GLOSSARY.md says what to write instead.
const RIDDLES: [&str; 5] = ["whoever", "whence", "nobody knows", "what is told", "told of"];

/// The folders and files without such words. Add a folder as soon as it has none.
const PLAIN: [&str; 11] = [
    ".github",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Makefile",
    "README.md",
    "benches",
    "deploy",
    "docs",
    "filters",
    "proxy",
    "tests",
];

/// The first of these words in a line, as a word of its own: `whoever_asks` is a name.
fn riddle(line: &str) -> Option<&'static str> {
    let line = line.to_lowercase();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    RIDDLES.into_iter().find(|words| {
        line.match_indices(words)
            .any(|(at, _)| !line[..at].ends_with(is_word) && !line[at + words.len()..].starts_with(is_word))
    })
}

/// Every text file of a folder, or the file itself.
fn texts(path: &Path, found: &mut Vec<(PathBuf, String)>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).expect("a folder") {
            texts(&entry.expect("an entry").path(), found);
        }
    } else if let Ok(text) = String::from_utf8(std::fs::read(path).expect("a file")) {
        found.push((path.to_owned(), text));
    }
}

#[test]
fn house_prose_has_no_word_of_the_list() {
    let mut found = Vec::new();
    for place in PLAIN {
        texts(&Path::new(ROOT).join(place), &mut found);
    }
    assert!(found.len() > 200, "{} files", found.len());
    let mut riddles = Vec::new();
    for (path, text) in found {
        if path.ends_with("docs/GLOSSARY.md") || path.ends_with("tests/house.rs") {
            continue;
        }
        riddles.extend(text.lines().filter_map(|line| Some(format!("{}: {}: {line}", path.display(), riddle(line)?))));
    }
    assert!(riddles.is_empty(), "say who does what: {riddles:#?}");
}

#[test]
fn house_a_word_of_the_list_is_found_as_a_word_only() {
    assert_eq!(riddle("// Whoever asks is answered."), Some("whoever"));
    assert_eq!(riddle("of which nobody knows."), Some("nobody knows"));
    assert_eq!(riddle("fn whoever_asks() { whenceforth() }"), None);
}
