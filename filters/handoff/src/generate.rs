//! Generates a manifest from the files, as the last step of a writing session (§7.1, §8.6). Tasks are copied
//! unchanged, because only agents edit them.

#[cfg(test)]
mod tests;

use std::time::SystemTime;

use serde_json::{Map, Value};

use super::{
    answer::CORE,
    checksum, date,
    directory::{Directory, FILE, Kind, Stamp, Unread},
    lines::lines,
    lock::LOCK,
    manifest::{self, LONGEST_CONTEXT, LONGEST_TEXT, MANIFEST},
    ordered::{Members, Node},
    sections::Markers,
    withheld::Withheld,
};
use frontdesk_base::{id::fresh_id, strict};
use frontdesk_desk::rfc3339;

/// The files listed first, in the order of the public tools.
const FIRST: [&str; 11] = [
    "STATUS.md",
    "NEXT_ACTIONS.md",
    "LOG.md",
    "LOG-ARCHIVE.md",
    "LOG-ARCHIVE.index.json",
    "DASHBOARD.md",
    "TRUST.md",
    "CONVENTIONS.md",
    "WORKFLOW.md",
    "GROUNDING.md",
    "pii-allowlist.json",
];
/// The format version of a new manifest.
const VERSION: &str = "3.0";
/// The members that are copied unchanged.
const KEPT: [&str; 3] = ["next_task_id", "tasks", "cross_repo_ref"];

/// The session that hands over.
#[derive(Debug, Clone, Default)]
pub struct Session {
    pub agent: String,
    /// Its id; generated where there is none.
    pub id: Option<String>,
    pub phase: String,
    /// A description; made from the files' summaries where there is none.
    pub context: Option<String>,
    pub minutes: u64,
    pub commit: Option<String>,
    /// The project's name where the old manifest has none.
    pub project: String,
    /// The session holds the lock itself.
    pub despite_lock: bool,
}

/// A generated manifest.
#[derive(Debug)]
pub struct Generated {
    pub manifest: Vec<u8>,
    /// How many files it lists.
    pub files: usize,
    /// What was left out, one sentence each, without quoting any secret.
    pub notes: Vec<String>,
}

/// Generates a manifest.
///
/// # Errors
///
/// Another session is writing, a part of the old manifest could not be kept, or the directory cannot be read.
pub fn generate(directory: &dyn Directory, session: &Session, now: SystemTime) -> Result<Generated, String> {
    if !session.despite_lock && !is_free(directory) {
        return Err(format!(
            "{LOCK} exists: a session is writing, or died while writing; if it is yours, use --locked"
        ));
    }
    let before = before(directory)?;
    let mut withheld = Withheld::new();
    let (files, mut notes) = files(directory, &before, &mut withheld)?;
    let context = session.context.as_deref().map(|context| withheld.told("--context", context, str::to_owned));
    notes.extend(withheld.note());
    let manifest = document(session, context, &before, &files, now)?;
    let unchanged = files.iter().all(|file| directory.stamp(&file.name).as_ref() == Ok(&file.stamp));
    if !unchanged {
        return Err("the files changed while they were read; run it again".into());
    }
    if let Err(wrong) = manifest::read(&manifest) {
        let told: Vec<String> = wrong.iter().take(3).map(|w| format!("{}: {}", w.path.join("."), w.what)).collect();
        return Err(format!("a new {MANIFEST} would not conform; {}", told.join("; ")));
    }
    Ok(Generated { manifest, files: files.len(), notes })
}

/// Whether no session is writing in a directory.
pub fn is_free(directory: &dyn Directory) -> bool {
    directory.stamp(LOCK) == Err(Unread::Missing)
}

/// The old manifest.
fn before(directory: &dyn Directory) -> Result<Map<String, Value>, String> {
    let why = match directory.read(MANIFEST, manifest::MOST) {
        Err(Unread::Missing) => return Ok(Map::new()),
        Err(why) => why.to_string(),
        Ok((bytes, _)) => match strict::read(&bytes) {
            Ok(Value::Object(members)) => return Ok(members),
            _ => "is not a JSON object".to_owned(),
        },
    };
    Err(format!("{MANIFEST} {why}, and the tasks in it would be lost; put it right, or remove it"))
}

/// A file to be listed.
struct File {
    name: String,
    stamp: Stamp,
    checksum: String,
    updated: String,
    lines: usize,
    words: usize,
    summary: String,
}

fn files(
    directory: &dyn Directory,
    before: &Map<String, Value>,
    withheld: &mut Withheld,
) -> Result<(Vec<File>, Vec<String>), String> {
    let mut names = directory.names().map_err(|why| format!("the directory {why}"))?;
    names.retain(|name| manifest::is_listable(name));
    let place = |name: &String| FIRST.iter().position(|first| first == name).unwrap_or(FIRST.len());
    names.sort_unstable_by(|a, b| place(a).cmp(&place(b)).then_with(|| a.cmp(b)));
    let (mut files, mut notes) = (Vec::new(), Vec::new());
    for name in names {
        if directory.stamp(&name).is_ok_and(|stamp| stamp.kind != Kind::File) {
            notes.push(format!("{} is no regular file, and is left out", name.escape_debug()));
            continue;
        }
        let (bytes, stamp) = directory.read(&name, FILE).map_err(|why| format!("{name} {why}"))?;
        let text = String::from_utf8_lossy(&bytes);
        let checksum = checksum::of(&bytes);
        let listed = before.get("files").and_then(|files| files.get(&name));
        let same = listed.filter(|listed| listed["checksum"] == checksum.as_str());
        let written = same.and_then(|listed| listed["updated"].as_str()).filter(|at| date::moment(at).is_some());
        files.push(File {
            updated: written.map_or_else(|| rfc3339(stamp.modified), str::to_owned),
            checksum,
            lines: text.lines().count(),
            words: text.split_whitespace().count(),
            summary: if name.ends_with(".md") { withheld.told(&name, &text, summary) } else { String::new() },
            name,
            stamp,
        });
    }
    Ok((files, notes))
}

/// The first line with text, in the section `summary` if there is one.
fn summary(text: &str) -> String {
    let section = Markers::of(text).section("summary").map(|(section, _)| section);
    let line = section.and_then(first_words).or_else(|| first_words(text)).unwrap_or_default();
    cut(&line, LONGEST_TEXT)
}

fn first_words(text: &str) -> Option<String> {
    let says = |line: &str| {
        let rule = line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '*' | '_' | '=' | ' '));
        !(line.is_empty() || rule || line.starts_with(['#', '>', '|']) || line.starts_with("<!--"))
    };
    let line = lines(text).find(|line| !line.is_code && says(line.text.trim()))?;
    let shown: String = line.text.trim().chars().filter(|c| !c.is_control()).collect();
    Some(shown)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

fn document(
    session: &Session,
    context: Option<String>,
    before: &Map<String, Value>,
    files: &[File],
    now: SystemTime,
) -> Result<Vec<u8>, String> {
    let of = |name: &str| files.iter().find(|file| file.name == name);
    let context = context.unwrap_or_else(|| {
        let said: Vec<&str> = CORE.iter().filter_map(|name| Some(of(name)?.summary.as_str())).collect();
        cut(said.join(" ").trim(), LONGEST_CONTEXT)
    });
    let project = before.get("project").and_then(Value::as_str).filter(|name| !name.is_empty());
    let mut last = vec![
        ("agent", Node::text(&session.agent)),
        ("session_id", Node::text(&session.id.clone().unwrap_or_else(|| format!("sess_{}", fresh_id().simple())))),
        ("timestamp", Node::text(&rfc3339(now))),
    ];
    last.extend(session.commit.as_ref().map(|commit| ("commit", Node::text(commit))));
    last.extend([("phase", Node::text(&session.phase)), ("duration_minutes", Node::Value(session.minutes.into()))]);
    let listed = |file: &File| {
        let entry = vec![
            ("checksum", Node::text(&file.checksum)),
            ("updated", Node::text(&file.updated)),
            ("lines", Node::Value(file.lines.into())),
            ("summary", Node::text(&file.summary)),
        ];
        (file.name.clone(), Node::of(entry))
    };
    let mut members = vec![
        ("aahp_version", Node::text(VERSION)),
        ("project", Node::text(project.unwrap_or(&session.project))),
        ("last_session", Node::of(last)),
        ("files", Node::Object(files.iter().map(listed).collect())),
        ("quick_context", Node::text(&context)),
    ];
    let tokens = |words: usize| (words * 13).div_ceil(10);
    let core = CORE.iter().filter_map(|name| Some(of(name)?.words)).sum::<usize>();
    let all = files.iter().map(|file| file.words).sum::<usize>();
    let own = written(&members)?.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty()).count();
    let budget = [("manifest_only", own), ("manifest_plus_core", own + core), ("full_read", own + all)];
    let budget = budget.map(|(name, words)| (name, Node::Value(tokens(words).into())));
    members.push(("token_budget", Node::of(budget.into())));
    members.extend(KEPT.iter().filter_map(|name| Some((*name, Node::Value(before.get(*name)?.clone())))));
    written(&members)
}

fn written(members: &[(&'static str, Node)]) -> Result<Vec<u8>, String> {
    let mut text = serde_json::to_vec_pretty(&Members(members)).map_err(|e| e.to_string())?;
    text.push(b'\n');
    Ok(text)
}
