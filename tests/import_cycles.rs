//! No modules import each other in a cycle, except a module and its own submodules.
//!
//! Imports are read as text. A re-export of a parent (`use super::Item`) counts as an import of the parent.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use crate::house::{ROOT, sources};

type Module = Vec<String>;

/// The module that a file is, by its path below `src`.
fn module(path: &Path) -> Module {
    let mut module: Module = path.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|last| last == "mod" || last == "lib") {
        module.pop();
    }
    module
}

/// The paths that a text names from `crate` or `super` on, as far as they are plain: of `super::{a::b, c}` they are
/// `super::a::b` and `super::c`.
fn paths(text: &str) -> Vec<Vec<&str>> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for root in ["crate", "super"] {
        for (at, _) in text.match_indices(root) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| is_name(c) || c == ':') || !text[at..].starts_with(&format!("{root}::")) {
                continue;
            }
            // The names up to a group, and then each member of the group.
            let (mut open, mut rest) = (Vec::new(), &text[at..]);
            let mut path = Vec::new();
            loop {
                let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                if end > 0 {
                    path.push(&rest[..end]);
                }
                rest = &rest[end..];
                if let Some(more) = rest.strip_prefix("::") {
                    rest = more;
                    if let Some(group) = rest.strip_prefix('{') {
                        open.push(path.clone());
                        rest = group.trim_start();
                    }
                    continue;
                }
                found.push(path.clone());
                rest = rest.strip_prefix('*').unwrap_or(rest).trim_start();
                if let Some(renamed) = rest.strip_prefix("as ") {
                    rest = renamed.trim_start_matches(is_name).trim_start();
                }
                while let Some(more) = rest.strip_prefix('}').filter(|_| !open.is_empty()) {
                    open.pop();
                    rest = more.trim_start();
                }
                match (rest.strip_prefix(','), open.last()) {
                    (Some(more), Some(prefix)) => (path, rest) = (prefix.clone(), more.trim_start()),
                    _ => break,
                }
            }
        }
    }
    found
}

/// What a file imports for the product: no comments, no tests.
fn product(text: &str) -> String {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Which modules each module imports, ancestors and descendants apart.
fn imports(files: &BTreeMap<Module, String>) -> BTreeMap<&Module, BTreeSet<&Module>> {
    let mut found: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
    for (from, text) in files {
        for path in paths(text) {
            let ups = path.iter().take_while(|name| **name == "super").count();
            let Some(above) = from.len().checked_sub(ups) else { continue };
            let start = if ups > 0 { above } else { 0 };
            let mut whole: Module = from[..start].to_vec();
            whole.extend(path.iter().skip(ups.max(1)).map(|name| (*name).to_owned()));
            let target = (1..=whole.len()).rev().find_map(|length| files.get_key_value(&whole[..length]));
            let Some((target, _)) = target else { continue };
            if !from.starts_with(target) && !target.starts_with(from) {
                found.entry(from).or_default().insert(target);
            }
        }
    }
    found
}

/// A circle of imports, from a module to itself.
fn circle<'m>(imports: &BTreeMap<&'m Module, BTreeSet<&'m Module>>) -> Option<Vec<&'m Module>> {
    for start in imports.keys() {
        let mut ways = vec![vec![*start]];
        let mut seen = BTreeSet::new();
        while let Some(way) = ways.pop() {
            for next in way.last().and_then(|last| imports.get(last)).into_iter().flatten() {
                if next == start {
                    return Some(way);
                }
                if seen.insert(*next) {
                    ways.push([way.as_slice(), &[*next]].concat());
                }
            }
        }
    }
    None
}

fn read(folder: &str) -> BTreeMap<Module, String> {
    let source = Path::new(ROOT).join(folder).join("src");
    let files = sources(&format!("{folder}/src")).into_iter().map(|(path, text)| {
        let path = path.strip_prefix(&source).expect("a file of the crate").to_owned();
        (module(&path), product(&text))
    });
    files.filter(|(module, _)| !module.iter().any(|name| matches!(name.as_str(), "tests" | "testing"))).collect()
}

/// The folders of all crates of the workspace but the tests.
fn crates() -> Vec<String> {
    let text = std::fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).expect("the workspace's Cargo.toml");
    let manifest: toml::Table = text.parse().expect("TOML");
    let members = manifest["workspace"]["members"].as_array().expect("members");
    members.iter().filter_map(|member| member.as_str()).filter(|name| *name != "tests").map(str::to_owned).collect()
}

#[test]
fn house_no_modules_import_each_other() {
    let crates = crates();
    assert!(crates.len() > 20, "{crates:?}");
    let mut read_imports = 0;
    for folder in crates {
        let files = read(&folder);
        let imports = imports(&files);
        read_imports += imports.values().map(BTreeSet::len).sum::<usize>();
        assert_eq!(circle(&imports), None, "{folder}");
    }
    assert!(read_imports > 500, "{read_imports} imports are read");
}

#[test]
fn house_a_circle_of_imports_is_found() {
    let file = |name: &str, text: &str| (name.split('/').map(str::to_owned).collect::<Module>(), text.to_owned());
    let files = |b: &str| {
        BTreeMap::from([
            file("a", "use super::{\n    e::{self as other, *},\n    b::{X, Y},\n    c,\n};\n"),
            file("b", b),
            file("c", "fn f() {\n    crate::d::inner::f()\n}\n"),
            file("d/inner", "use super::super::e;\n"),
            file("e", "use super::Item;\n"),
        ])
    };
    let well = files("use crate::c::Item;\n");
    let of_a = &imports(&well)[&vec!["a".to_owned()]];
    assert_eq!(of_a.iter().map(|module| module.join("/")).collect::<Vec<_>>(), ["b", "c", "e"]);
    assert_eq!(circle(&imports(&well)), None);
    let ill = files("use crate::c;\nuse super::a::Z;\n");
    assert_eq!(circle(&imports(&ill)).map(|way| way.len()), Some(2));
}
