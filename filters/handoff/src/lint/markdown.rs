//! Checks the files that agents read: section markers, log entries, tasks and trust.

use std::collections::BTreeSet;

use super::{
    super::{
        date,
        lines::{Line, lines},
        log::{self, LOG},
        manifest::{Manifest, is_task},
        sections::{Marker, Markers},
        trust,
    },
    Lint, MOST, TRUST,
};

const NEXT: &str = "NEXT_ACTIONS.md";
/// Maximum entries of a log, and maximum active tasks (§1.3, §1.4).
const MOST_ENTRIES: usize = 10;
const MOST_ACTIVE: usize = 5;

impl Lint<'_> {
    /// Checks all of these files.
    pub(super) fn markdown(&mut self, manifest: Option<&Manifest>) {
        let mut said: Vec<(String, usize, String, &str)> = Vec::new();
        for (name, text) in self.written() {
            said.extend(
                markers(text).into_iter().take(MOST).map(|(line, what, hint)| (name.clone(), line, what, hint)),
            );
        }
        if let Some(text) = self.texts.get(LOG)
            && let entries = log::entries(text)
            && let Some(first) = entries.get(MOST_ENTRIES)
        {
            let what = format!("has {} entries; {MOST_ENTRIES} are the most", entries.len());
            said.push((LOG.into(), first.line, what, "move the older ones to LOG-ARCHIVE.md"));
        }
        if let Some(text) = self.texts.get(NEXT)
            && let active = active(text, manifest)
            && let Some(line) = active.get(MOST_ACTIVE)
        {
            let what = format!("has {} active tasks; {MOST_ACTIVE} are the most", active.len());
            said.push((NEXT.into(), *line, what, "move the others to DASHBOARD.md or BACKLOG.md"));
        }
        let today = date::today(self.now);
        for claim in self.texts.get(TRUST).map(|text| trust::claims(text)).unwrap_or_default() {
            let (what, hint) = match claim.is_over(today) {
                Some(false) => continue,
                Some(true) => {
                    let what = format!("{} was verified until {}, and is assumed since", claim.property, claim.expires);
                    (what, "verify it again, or write \"assumed\"")
                }
                None => {
                    let what = format!("{} is verified for ever: there is no date at which it expires", claim.property);
                    (what, "write it as YYYY-MM-DD")
                }
            };
            said.push((TRUST.into(), claim.line, what, hint));
        }
        said.into_iter().for_each(|(name, line, what, hint)| self.say(&name, line, what, hint));
    }
}

/// Mistakes in the section markers: line, description, advice.
fn markers(text: &str) -> Vec<(usize, String, &'static str)> {
    let markers = Markers::of(text);
    let mut said: Vec<(usize, String, &'static str)> =
        markers.stray.iter().map(|stray| (stray.line, stray.why.to_owned(), "")).collect();
    let mut open: Vec<&Marker> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for marker in &markers.all {
        let name = marker.name;
        if marker.opens {
            if !seen.insert(name) {
                said.push((
                    marker.line,
                    format!("section {name} is there already"),
                    "only the first is ever read; rename it",
                ));
            } else if let Some(outer) = open.last() {
                let what = format!("section {name} begins within {}", outer.name);
                said.push((marker.line, what, "close the one before the other begins"));
            }
            open.push(marker);
        } else {
            match open.iter().rposition(|open| open.name == name) {
                Some(at) => drop(open.remove(at)),
                None => said.push((marker.line, format!("section {name} ends and was not begun"), "remove the marker")),
            }
        }
        // Enough findings for one file.
        if said.len() > MOST {
            return said;
        }
    }
    let unclosed = |marker: &Marker| {
        (marker.line, format!("section {} is never closed", marker.name), "write <!-- /SECTION: name --> where it ends")
    };
    said.extend(open.into_iter().map(unclosed));
    said
}

/// The lines of active tasks: headings with a task id, or, if there are none, checkboxes and numbered items. Tasks
/// under other headings, such as completed ones, and tasks that the manifest does not list as open are left out.
fn active(text: &str, manifest: Option<&Manifest>) -> Vec<usize> {
    const OTHER: [&str; 5] = ["completed", "done", "blocked", "cancelled", "archive"];
    let status = |id: &str| manifest.and_then(|manifest| manifest.value["tasks"][id]["status"].as_str());
    let (mut tasks, mut items, mut any_task) = (Vec::new(), Vec::new(), false);
    let mut aside: Option<usize> = None;
    for line in lines(text).filter(|line| !line.is_code) {
        if let Some((level, title)) = heading(&line) {
            if aside.is_some_and(|above| level <= above) {
                aside = None;
            }
            let first = title.trim_start_matches(['[', '*']).split([':', ' ', ']', '*']).next().unwrap_or_default();
            if is_task(first) {
                any_task = true;
                let closed = status(first).is_some_and(|status| ["done", "cancelled", "blocked"].contains(&status));
                if aside.is_none() && !closed {
                    tasks.push(line.number);
                }
            } else if aside.is_none() && OTHER.iter().any(|word| title.to_lowercase().contains(word)) {
                aside = Some(level);
            }
        } else if aside.is_none() && is_item(line.text) {
            items.push(line.number);
        }
    }
    if any_task { tasks } else { items }
}

fn heading<'t>(line: &Line<'t>) -> Option<(usize, &'t str)> {
    let title = line.text.trim_start_matches('#');
    let level = line.text.len() - title.len();
    ((1..=6).contains(&level) && title.starts_with(' ')).then(|| (level, title.trim()))
}

fn is_item(line: &str) -> bool {
    let numbered = line
        .split_once(". ")
        .is_some_and(|(number, _)| (1..=3).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit()));
    numbered || line.starts_with("- [ ] ") || line.starts_with("* [ ] ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn markers_are_paired() {
        let said =
            |text: &str| markers(text).into_iter().map(|(line, what, _)| format!("{line}: {what}")).collect::<Vec<_>>();
        let open = |name: &str| format!("<!-- SECTION: {name} -->\n");
        let close = |name: &str| format!("<!-- /SECTION: {name} -->\n");
        assert_eq!(said(&(open("a") + &close("a") + &open("b") + &close("b"))), [""; 0]);
        assert_eq!(said(&open("a")), ["1: section a is never closed"]);
        assert_eq!(said(&close("a")), ["1: section a ends and was not begun"]);
        assert_eq!(said(&(open("a") + &open("b") + &close("b") + &close("a"))), ["2: section b begins within a"]);
        assert_eq!(said(&(open("a") + &close("a") + &open("a") + &close("a"))), ["3: section a is there already"]);
        assert_eq!(said("<!-- SECTION: Bad Name -->\n").len(), 1);
        assert!(said(&open("a").repeat(100_000)).len() <= MOST + 1);
    }

    #[test]
    fn tasks_are_counted_that_somebody_may_begin_with() {
        let text = "# NEXT\n## T-001: a\n## T-002 b\n## Blocked\n### T-003: c\n## [T-004] d\n```\n## T-005: e\n```\n\
            ## Recently Completed\n- [ ] x\n### T-006\n";
        assert_eq!(active(text, None), [2, 3, 6]);
        let manifest = |status: &str| Manifest {
            value: json!({ "tasks": { "T-001": { "status": status } } }),
            files: BTreeMap::new(),
            refused: Vec::new(),
        };
        assert_eq!(active(text, Some(&manifest("in_progress"))).len(), 3);
        assert_eq!(active(text, Some(&manifest("blocked"))).len(), 2);
        assert_eq!(active("# NEXT\n1. a\n2. b\n- [ ] c\n- [x] d\n- e\n## Done\n1. f\n", None), [2, 3, 4]);
    }
}
