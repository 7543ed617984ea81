//! The documents are true: the paths, links, configuration keys, errors, metrics and log messages that they name exist,
//! and each document is short enough to read.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
/// The folders of the tree that a path in a document may begin with.
const FOLDERS: [&str; 7] = ["proxy/", "filters/", "tests/", "conf/", "deploy/", "benches/", "docs/"];
/// Fields of the access log that look like keys of a table.
const NO_KEYS: [&str; 3] = ["upstream.address", "upstream.duration_ms", "server.address"];

/// Reasons of other kinds: why a page stays untouched, and what other protocols or tests call a reason.
const NO_REASONS: [&str; 4] = ["agent_unauthenticated", "client_gone", "content_type", "scope_required"];

pub(crate) fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() && !path.ends_with("target") {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|its| its == extension) {
            found.push(path);
        }
    }
    found.sort();
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn root(path: &str) -> PathBuf {
    Path::new(ROOT).join(path)
}

/// Every document: what stands at the top, and all of docs/.
fn documents() -> Vec<PathBuf> {
    let beside = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "tests/README.md", ".github/SECURITY.md"];
    let mut found: Vec<PathBuf> = beside.map(root).into();
    files(&root("docs"), "md", &mut found);
    found
}

/// The pages of the manual, without those for engineers.
pub(crate) fn manual() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root("docs"), "md", &mut found);
    let others = ["ARCHITECTURE.md", "GLOSSARY.md", "SUMMARY.md"].map(|name| root("docs").join(name));
    found.retain(|path| !others.contains(path) && !path.starts_with(root("docs/decisions")));
    found
}

/// The text of the source files below a folder, with strings that go over several lines put together.
fn sources(folder: &str) -> String {
    let mut found = Vec::new();
    files(&root(folder), "rs", &mut found);
    let text: String = found.iter().map(read).collect();
    let mut joined = String::with_capacity(text.len());
    let mut parts = text.split("\\\n");
    joined.push_str(parts.next().unwrap_or_default());
    parts.for_each(|part| joined.push_str(part.trim_start()));
    joined
}

/// A text without its fenced blocks, which would shift what stands between backticks.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut kept = String::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if !fenced && !fence {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// What stands between backticks.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The paths of this repository that a text names: `proxy/src/main.rs`, `filters/src/desk/`.
fn cited(text: &str) -> impl Iterator<Item = &str> {
    code(text).filter_map(|code| {
        let word = code.split_whitespace().next()?.trim_end_matches(['.', ',', ':']);
        let plain = !word.contains(['*', '{', '<', '(', '|']) && !word.contains("NAME") && !word.contains("NNNN");
        (plain && FOLDERS.iter().any(|folder| word.starts_with(folder))).then_some(word)
    })
}

/// The anchors of a document's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let slug = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>()
    };
    headings.map(slug).collect()
}

/// The targets of a text's links: `[text](target)`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

/// Every key of conf/frontdesk.toml with its table, those in comments too, and every table.
fn keys() -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut keys, mut tables, mut table) = (BTreeSet::new(), BTreeSet::new(), String::new());
    for line in read(root("conf/frontdesk.toml")).lines() {
        let line = line.strip_prefix("# ").unwrap_or(line).trim();
        let name = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '.' | '0'..='9'));
        if line.starts_with('[') {
            let named = line.trim_start_matches('[').split(']').next().unwrap_or_default();
            if name(named) {
                table = named.to_owned();
                tables.insert(table.clone());
            }
        } else if let Some((key, value)) = line.split_once(" = ")
            && name(key)
        {
            let path = if table.is_empty() { key.to_owned() } else { format!("{table}.{key}") };
            if let Some(inline) = value.strip_prefix('{') {
                tables.insert(path.clone());
                let inside = inline.split(['{', ',']).filter_map(|part| part.split_once(" = "));
                let inside = inside.map(|(key, _)| key.trim()).filter(|key| name(key));
                keys.extend(inside.map(|key| format!("{path}.{key}")));
            }
            keys.insert(path);
        }
    }
    (keys, tables)
}

/// Whether a set has a path, or one that ends with it, or the beginning of it: `ahp.name` is `capabilities.ahp.name`.
fn has(known: &BTreeSet<String>, path: &str) -> bool {
    let is = |known: &str| known == path || known.ends_with(&format!(".{path}"));
    known.iter().any(|known| is(known))
}

#[test]
fn docs_name_files_that_exist() {
    let mut missing = Vec::new();
    let mut count = 0;
    for document in documents() {
        for path in cited(&prose(&read(&document))) {
            count += 1;
            if !root(path).exists() {
                missing.push(format!("{}: {path}", document.display()));
            }
        }
    }
    assert!(count > 100, "only {count} paths were found");
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn docs_links_lead_somewhere() {
    let mut broken = Vec::new();
    let mut count = 0;
    for document in documents() {
        let text = prose(&read(&document));
        for link in links(&text).filter(|link| !link.contains("://")) {
            count += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = document.parent().expect("a folder");
            let target = if path.is_empty() { document.clone() } else { folder.join(path) };
            let leads = target.exists() && (anchor.is_empty() || anchors(&prose(&read(&target))).contains(anchor));
            if !leads {
                broken.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(count > 150, "only {count} links were found");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn docs_name_configuration_keys_that_exist() {
    let (keys, tables) = keys();
    assert!(keys.contains("store.wait_replicas") && tables.contains("agtp.policies.rcns"), "{tables:?}");
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let beginnings: BTreeSet<String> = tables.iter().map(|table| last(table)).collect();
    let mut unknown = Vec::new();
    let mut count = 0;
    let plain = |word: &str| word.chars().all(|c| c.is_ascii_lowercase() || matches!(c, '_' | '.' | '0'..='9'));
    for document in manual().into_iter().chain([root("README.md")]) {
        for code in code(&prose(&read(&document))) {
            // `[store]`, and `[store] url`, name a table; `store.url` and `store.url = …` a key.
            let word = code.split([' ', '=']).next().unwrap_or_default();
            let known = match word.strip_prefix('[').map(|rest| rest.trim_start_matches('[').trim_end_matches(']')) {
                Some(table) if plain(table) && !table.is_empty() => has(&tables, table),
                Some(_) => continue,
                None => {
                    let Some((first, rest)) = word.split_once('.') else { continue };
                    let of_a_table = plain(word) && !rest.is_empty() && beginnings.contains(first);
                    if !of_a_table || NO_KEYS.contains(&word) || ["toml", "jsonl"].contains(&rest) {
                        continue;
                    }
                    let parent = word.rsplit_once('.').map_or("", |(parent, _)| parent);
                    has(&keys, word) || has(&tables, word) || (parent.contains('.') && has(&tables, parent))
                }
            };
            count += 1;
            if !known {
                unknown.push(format!("{}: {code}", document.display()));
            }
        }
    }
    assert!(count > 100, "only {count} keys were found");
    assert!(unknown.is_empty(), "{unknown:#?}");
}

#[test]
fn docs_are_short_and_say_what_they_are_for() {
    let lines = |path: &Path| read(path).lines().count();
    let readme = lines(&root("README.md"));
    assert!(readme <= 150, "README.md has {readme} lines: move what is more into docs/");
    for page in manual() {
        let (count, text) = (lines(&page), read(&page));
        // A reference is looked up, not read; it is made from conf/frontdesk.toml.
        assert!(count <= 250 || page.ends_with("configuration.md"), "{} has {count} lines: divide it", page.display());
        let begins = text.lines().find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
        assert!(begins.starts_with("After reading this page"), "{}: {begins}", page.display());
    }
}

/// Tables to look things up in, which lead on in every row, and the reference that is made from a file.
const NO_NEXT: [&str; 3] = ["configuration.md", "sites-without-an-api.md", "README.md"];

#[test]
fn docs_pages_lead_on_at_their_end() {
    let mut ends = Vec::new();
    for page in manual().into_iter().filter(|page| !NO_NEXT.iter().any(|other| page.ends_with(other))) {
        let text = read(&page);
        // The last section, or the last lines of a page that ends in a sentence.
        let last = text.rsplit("\n## ").next().unwrap_or_default();
        if links(last).filter(|link| link.contains(".md")).count() == 0 {
            ends.push(page.display().to_string());
        }
    }
    assert!(ends.is_empty(), "a reader does not get on from {ends:#?}");
}

#[test]
fn docs_have_every_error_and_every_metric() {
    let (filters, proxy) = (sources("filters"), sources("proxy"));
    let mut reasons = tables_of_reasons(&filters);
    reasons.extend(tables_of_reasons(&proxy));
    reasons.extend(counted_reasons(&proxy));
    let errors = read(root("docs/errors.md"));
    for one in ["composition_failed", "token_expired", "client_connections", "slow_upload", "slow_reader"] {
        assert!(reasons.contains(one), "{one}: {reasons:?}");
    }
    for reason in reasons.into_iter().filter(|reason| !NO_REASONS.contains(reason)) {
        assert!(errors.contains(&format!("`{reason}`")), "docs/errors.md has no {reason}");
    }
    let monitor = read(root("docs/monitor.md"));
    let is_name =
        |word: &str| word.starts_with("frontdesk_") && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let metrics: BTreeSet<&str> = proxy.split('"').filter(|word| is_name(word)).collect();
    assert!(metrics.len() > 30, "{metrics:?}");
    for metric in metrics.into_iter().filter(|name| *name != "frontdesk_filters") {
        assert!(monitor.contains(metric), "docs/monitor.md has no {metric}");
    }
}

/// The words of each `fn reason`: of faults, of credentials that are not valid, of budgets.
fn tables_of_reasons(code: &str) -> BTreeSet<&str> {
    let tables = code.split("fn reason(self) -> &'static str {").skip(1);
    let tables = tables.map(|rest| rest.split("\n    }\n").next().unwrap_or_default());
    tables.flat_map(|table| table.split('"').skip(1).step_by(2)).collect()
}

/// The reasons that `proxy/` counts by name: of connections, and of its own refusals.
fn counted_reasons(proxy: &str) -> BTreeSet<&str> {
    let door = proxy.split_once("const REFUSED_AT_THE_DOOR").map_or("", |(_, rest)| rest);
    let door = door.split("];").next().unwrap_or_default();
    let named = proxy.split(".rejected(\"").skip(1).filter_map(|rest| rest.split('"').next());
    door.split('"').skip(1).step_by(2).chain(named).collect()
}

/// The words of `frontdesk.engine_reason`: each exit of the fast path is explained.
#[test]
fn docs_explain_why_pingora_served_a_request() {
    let page = read(root("docs/traffic.md"));
    let mut words = BTreeSet::new();
    for file in ["proxy/http1/src/request_head.rs", "proxy/src/engine.rs"] {
        let text = read(root(file));
        let tables = text.split("pub fn word(self) -> &'static str {").skip(1);
        let tables: Vec<&str> = tables.map(|rest| rest.split("\n    }\n").next().unwrap_or_default()).collect();
        words.extend(tables.iter().flat_map(|table| table.split('"').skip(1).step_by(2)).map(str::to_owned));
    }
    assert!(words.contains("event_stream") && words.contains("made_page") && words.len() > 20, "{words:?}");
    let missing: Vec<&String> = words.iter().filter(|word| !page.contains(&format!("`{word}`"))).collect();
    assert!(missing.is_empty(), "docs/traffic.md has no {missing:?}");
}

/// Each page is in the table of contents of the site, and in the binary.
#[test]
fn docs_pages_are_in_the_summary_and_in_the_binary() {
    let summary = read(root("docs/SUMMARY.md"));
    let (code, help, _) = crate::support::desk::run_to_end(&["help"], Path::new(ROOT));
    assert_eq!(code, 0, "{help}");
    let folder = root("docs");
    for document in documents().into_iter().filter(|path| path.starts_with(&folder) && !path.ends_with("SUMMARY.md")) {
        let name = document.strip_prefix(&folder).expect("below docs/").display().to_string();
        assert!(summary.contains(&format!("]({name})")), "docs/SUMMARY.md has no {name}");
    }
    for page in manual().into_iter().filter(|path| !path.ends_with("docs/README.md")) {
        let name = page.file_stem().expect("a name").to_string_lossy();
        assert!(help.contains(&format!("\n  {name} ")), "frontdesk help has no page {name}");
    }
}

/// Somebody finds the entry of the alert or the reason in front of them.
#[test]
fn docs_runbook_has_every_alert_and_every_reason() {
    let rules = read(root("deploy/prometheus/alerts.yml"));
    let runbook = read(root("docs/runbook.md"));
    let urls: BTreeSet<&str> =
        rules.split("runbook_url: \"docs/runbook.md#").skip(1).filter_map(|r| r.split('"').next()).collect();
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() > 15 && urls.len() == alerts.len(), "{alerts:?}\n{urls:?}");
    for alert in alerts {
        assert!(urls.contains(alert.to_lowercase().as_str()), "{alert} has no runbook_url");
        let entry = runbook.split_once(&format!("\n### {alert}\n")).map_or("", |(_, rest)| rest);
        let entry = entry.split("\n#").next().unwrap_or_default();
        for part in ["**Means:** ", "**Look at:** ", "**Do:** "] {
            assert!(entry.contains(part), "docs/runbook.md has no \"{part}\" of {alert}");
        }
    }
    // What the code can say, and what the table of errors names.
    let proxy = sources("proxy");
    let code = sources("filters") + &proxy;
    let mut reasons: BTreeSet<&str> =
        code.split("reason: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    reasons.extend(tables_of_reasons(&code));
    reasons.extend(counted_reasons(&proxy));
    let errors = read(root("docs/errors.md"));
    let of_dialects = errors.split("\n## AGTP\n").next().unwrap_or_default();
    let rows = of_dialects.lines().filter_map(|line| line.strip_prefix("| `"));
    reasons.extend(rows.flat_map(code_of_first_cell).filter(|word| word.contains('_')));
    let word = |word: &&str| word.len() > 4 && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    reasons.retain(word);
    assert!(reasons.len() > 90, "{reasons:?}");
    let table = read(root("docs/runbook-reasons.md"));
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let entries: BTreeSet<&str> = rows.flat_map(code_of_first_cell).collect();
    let missing: Vec<&&str> =
        reasons.iter().filter(|reason| !entries.contains(**reason) && !NO_REASONS.contains(reason)).collect();
    assert!(missing.is_empty(), "docs/runbook-reasons.md has no {missing:?}");
}

/// An operator searches docs/log-messages.md for a line of the log.
#[test]
fn docs_explain_messages_that_the_log_has() {
    let sources = sources("proxy") + &sources("filters");
    let page = read(root("docs/log-messages.md"));
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let messages: Vec<&str> = rows.flat_map(code_of_first_cell).collect();
    assert!(messages.len() > 50, "{messages:?}");
    let gone: Vec<&&str> = messages.iter().filter(|message| !sources.contains(**message)).collect();
    assert!(gone.is_empty(), "the log no longer says: {gone:#?}");
}

/// The code in the first cell of a row whose first backtick was taken off.
fn code_of_first_cell(row: &str) -> impl Iterator<Item = &str> {
    row.split(" | ").next().unwrap_or_default().split('`').step_by(2).filter(|code| code.len() > 4)
}
