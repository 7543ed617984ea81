//! The documents for engineers name files that exist.

use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// The folders of the tree that a path in a document may begin with.
const FOLDERS: [&str; 7] = ["proxy/", "filters/", "tests/", "conf/", "deploy/", "benches/", "docs/"];

fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            documents(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The paths of this repository that stand between backticks: `proxy/src/main.rs`, `filters/src/desk/`.
fn cited(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter_map(|code| {
        let word = code.split_whitespace().next()?.trim_end_matches(['.', ',', ':']);
        let plain = !word.contains(['*', '{', '<', '(', '|']) && !word.contains("NAME") && !word.contains("NNNN");
        (plain && FOLDERS.iter().any(|folder| word.starts_with(folder))).then_some(word)
    })
}

#[test]
fn docs_name_files_that_exist() {
    let mut found = vec![Path::new(ROOT).join("CONTRIBUTING.md"), Path::new(ROOT).join("tests/README.md")];
    found.retain(|path| path.exists());
    documents(&Path::new(ROOT).join("docs"), &mut found);
    let mut missing = Vec::new();
    let mut count = 0;
    for document in found {
        let text = std::fs::read_to_string(&document).expect("a document");
        // A fenced block would shift what stands between backticks.
        let text: String = text.split("```").step_by(2).collect();
        for path in cited(&text) {
            count += 1;
            if !Path::new(ROOT).join(path).exists() {
                missing.push(format!("{}: {path}", document.display()));
            }
        }
    }
    assert!(count > 100, "only {count} paths were found");
    assert!(missing.is_empty(), "{missing:#?}");
}
