//! Replaces `${VAR}`, `${VAR:-default}` and `${file:/run/secrets/x}` in parsed strings.
//!
//! Replacement works on values after parsing, so the environment can change a value but cannot add a key. A
//! replacement is not scanned again. `${{` is left alone, because answer templates write amounts that way.

use std::path::{Path, PathBuf};

use super::Outside;

/// A string after replacement.
pub(super) struct Replaced {
    pub(super) text: String,
    /// The files that were read for it, absolute.
    pub(super) files: Vec<PathBuf>,
}

/// The text with every reference replaced; `None` where it has none. `base` is the directory for relative files.
pub(super) fn replace(text: &str, base: &Path, outside: &dyn Outside) -> Result<Option<Replaced>, String> {
    if memchr::memchr(b'$', text.as_bytes()).is_none() {
        return Ok(None);
    }
    let mut out = String::new();
    let mut files = Vec::new();
    let mut found = false;
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if let Some(after) = from.strip_prefix("${{") {
            out.push_str("${{");
            rest = after;
            continue;
        }
        let end = from.find('}').ok_or("\"${\" is never closed; write ${VAR}, ${VAR:-default} or ${file:/path}")?;
        out.push_str(&lookup(&from[2..end], base, outside, &mut files)?);
        found = true;
        rest = &from[end + 1..];
    }
    out.push_str(rest);
    Ok(found.then_some(Replaced { text: out, files }))
}

fn lookup(inner: &str, base: &Path, outside: &dyn Outside, files: &mut Vec<PathBuf>) -> Result<String, String> {
    if let Some(path) = inner.strip_prefix("file:") {
        let path = base.join(path);
        let bytes = outside.read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8 text", path.display()))?;
        files.push(path);
        return Ok(text.trim_end_matches(['\r', '\n']).to_owned());
    }
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let valid = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if name.is_empty() || !valid || name.as_bytes()[0].is_ascii_digit() {
        return Err(format!("${{{inner}}} is no reference; write ${{VAR}}, ${{VAR:-default}} or ${{file:/path}}"));
    }
    // As in a shell, ":-" also applies to a variable that is set but empty.
    match (outside.var(name), default) {
        (Some(value), Some(default)) if value.is_empty() => Ok(default.to_owned()),
        (Some(value), _) => Ok(value),
        (None, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(format!("the environment has no {name}; set it, or write ${{{name}:-default}}")),
    }
}
