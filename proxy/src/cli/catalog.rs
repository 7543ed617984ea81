//! `frontdesk catalog diff`: shows what another version of the verb catalog would break before you install it.

use std::{
    io,
    path::{Path, PathBuf},
    process::ExitCode,
};

use frontdesk_filters::{
    dialect::catalog::{self, Diff, Leaving},
    site::{self, Break},
};
use serde_json::{Value, json};

/// The largest catalog, and the largest configuration file, in bytes.
const BOUND: u64 = 16 << 20;
/// The most files that it reads, and the deepest directory level.
const FILES: usize = 10_000;
const DEPTH: usize = 16;

pub(super) fn diff(old: &Path, new: &Path, against: Option<&Path>, json: bool) -> ExitCode {
    match compare(old, new, against) {
        Ok((diff, against)) => {
            match json {
                true => println!("{:#}", document(&diff, against.as_ref())),
                false => print!("{}", text(&diff, against.as_ref())),
            }
            ExitCode::from(u8::from(against.is_some_and(|against| !against.breaks.is_empty())))
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

/// The findings in a directory.
struct Against {
    files: usize,
    breaks: Vec<Break>,
}

fn compare(old: &Path, new: &Path, against: Option<&Path>) -> Result<(Diff, Option<Against>), String> {
    let diff = catalog::diff(&read(old)?, &read(new)?).map_err(|unreadable| {
        let file = if unreadable.newer { new } else { old };
        format!("{}: {}", file.display(), unreadable.why)
    })?;
    let Some(directory) = against else { return Ok((diff, None)) };
    let mut files = Vec::new();
    walk(directory, DEPTH, &mut files)?;
    files.sort_unstable();
    let mut breaks = Vec::new();
    for file in &files {
        let text = String::from_utf8(read(file)?).map_err(|_| format!("{}: is not UTF-8 text", file.display()))?;
        breaks.extend(site::breaks(file, &text, &diff).map_err(|refused| refused.to_string())?);
    }
    Ok((diff, Some(Against { files: files.len(), breaks })))
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let cannot = |why: io::Error| format!("{}: cannot be read: {why}", file.display());
    if std::fs::metadata(file).map_err(cannot)?.len() > BOUND {
        return Err(format!("{}: has more than {} MB", file.display(), BOUND >> 20));
    }
    std::fs::read(file).map_err(cannot)
}

/// Every .toml file below the directory. Skips hidden files, and follows no links: they may form a cycle.
fn walk(directory: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let cannot = |why: io::Error| format!("{}: cannot be read: {why}", directory.display());
    if depth == 0 {
        return Err(format!("{}: lies too deep; {DEPTH} directories are the most", directory.display()));
    }
    for entry in std::fs::read_dir(directory).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(cannot)?);
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if kind.is_dir() {
            walk(&path, depth - 1, files)?;
        } else if path.extension().is_some_and(|end| end == "toml") && path.is_file() {
            if files.len() == FILES {
                return Err(format!("{}: there are more than {FILES} files below", directory.display()));
            }
            files.push(path);
        }
    }
    Ok(())
}

fn text(diff: &Diff, against: Option<&Against>) -> String {
    let mut text = format!("{} to {}\n", diff.from, diff.to);
    let mut part = |what: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            text.push_str(&format!("{what}: {}\n", lines.join(", ")));
        }
    };
    let leaving = |leaving: &Leaving| match &leaving.successor {
        Some(successor) => format!("{} (write {successor})", leaving.name),
        None => leaving.name.clone(),
    };
    let going = |verb: &Leaving| match &verb.removed_in {
        Some(version) => format!("{}, gone in {version}", leaving(verb)),
        None => leaving(verb),
    };
    part("added", diff.added.clone());
    part("removed", diff.removed.iter().map(leaving).collect());
    part("deprecated", diff.deprecated.iter().map(going).collect());
    if diff.added.is_empty() && diff.removed.is_empty() && diff.deprecated.is_empty() {
        text.push_str("the same verbs\n");
    }
    if let Some(against) = against {
        let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        text.push('\n');
        for broken in &against.breaks {
            text.push_str(&format!("{} ({})\n", broken.at, broken.kind));
        }
        let breaks = count(against.breaks.len(), "thing would break", "things would break");
        text.push_str(&format!("{breaks} in {}\n", count(against.files, "file", "files")));
    }
    text
}

fn document(diff: &Diff, against: Option<&Against>) -> Value {
    let leaving = |leaving: &Leaving| {
        let Leaving { name, successor, removed_in } = leaving;
        json!({ "name": name, "successor": successor, "removed_in": removed_in })
    };
    let each = |list: &[Leaving]| list.iter().map(leaving).collect::<Vec<_>>();
    let mut document = json!({
        "from": diff.from,
        "to": diff.to,
        "added": diff.added,
        "removed": each(&diff.removed),
        "deprecated": each(&diff.deprecated),
    });
    if let Some(against) = against {
        let broken = |broken: &Break| {
            let at = &broken.at;
            json!({
                "kind": broken.kind,
                "file": at.file.display().to_string(),
                "line": at.line,
                "key": at.key,
                "what": at.what,
                "hint": at.hint,
            })
        };
        document["files"] = json!(against.files);
        document["breaks"] = against.breaks.iter().map(broken).collect();
    }
    document
}
