//! Checks the graph of tasks for contradictions (§8.2, §8.4).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::manifest::{Manifest, number};

/// A finding about a task.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Remark {
    /// The path to it in the manifest.
    pub(super) path: Vec<String>,
    pub(super) what: String,
    pub(super) hint: &'static str,
}

/// The parts of a task that the graph needs.
struct Task<'m> {
    status: &'m str,
    needs: Vec<&'m str>,
}

/// All contradictions.
pub(super) fn remarks(manifest: &Manifest) -> Vec<Remark> {
    let none = Map::new();
    let tasks = manifest.value["tasks"].as_object().unwrap_or(&none);
    let graph: BTreeMap<&str, Task> = tasks.iter().map(|(id, task)| (id.as_str(), Task::of(task))).collect();
    let mut found = Vec::new();
    let mut say = |path: &[&str], what: String, hint| {
        let path = path.iter().map(|step| (*step).to_owned()).collect();
        found.push(Remark { path, what, hint });
    };
    for (id, task) in &graph {
        let depends = ["tasks", id, "depends_on"];
        let unknown: BTreeSet<&&str> = task.needs.iter().filter(|need| !graph.contains_key(**need)).collect();
        for need in unknown {
            say(&depends, format!("{need} is not among the tasks"), "names of tasks stay, also when they are done");
        }
        let undone = |need: &&&str| graph.get(**need).is_some_and(|task| task.status != "done");
        if let (true, Some(need)) = (task.status == "ready", task.needs.iter().find(undone)) {
            say(&["tasks", id, "status"], format!("is ready, but {need} is not done"), "write \"blocked\"");
        }
    }
    for cycle in cycles(&graph) {
        let what = format!("goes round: {}", cycle.join(" needs "));
        say(&["tasks", cycle[0], "depends_on"], what, "nothing of it can ever begin; remove one of them");
    }
    let highest = graph.keys().filter_map(|id| number(id)).max().unwrap_or(0);
    match manifest.value["next_task_id"].as_u64() {
        Some(next) if next <= highest => {
            let hint = "names of tasks are never used again; write a number above all of them";
            say(&["next_task_id"], format!("is {next}, but there is a task {highest} already"), hint);
        }
        None if !graph.is_empty() => {
            say(
                &["tasks"],
                "there are tasks, but no next_task_id".into(),
                "write the first number that was never used",
            );
        }
        _ => {}
    }
    found
}

impl<'m> Task<'m> {
    fn of(task: &'m Value) -> Self {
        let needs = task["depends_on"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        Self { status: task["status"].as_str().unwrap_or_default(), needs }
    }
}

/// Maximum cycles that are reported.
const MOST_CYCLES: usize = 50;

/// The cycles, each once, with its first task repeated at the end. Iterative, because a chain may be long.
fn cycles<'m>(graph: &BTreeMap<&'m str, Task<'m>>) -> Vec<Vec<&'m str>> {
    let mut found = Vec::new();
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for start in graph.keys() {
        // The current path with the next dependency of each task, and the position of each task on it.
        let mut way: Vec<(&str, usize)> = Vec::new();
        let mut on_way: BTreeMap<&str, usize> = BTreeMap::new();
        let mut next = (!done.contains(start)).then_some(*start);
        loop {
            if let Some(id) = next.take() {
                on_way.insert(id, way.len());
                way.push((id, 0));
            }
            let Some((id, looked)) = way.last_mut() else { break };
            let needs = graph.get(*id).map(|task| task.needs.as_slice()).unwrap_or_default();
            match needs.get(*looked) {
                Some(need) => {
                    *looked += 1;
                    if let Some(from) = on_way.get(need) {
                        let ids = way[*from..].iter().map(|(id, _)| *id);
                        found.push(ids.chain([*need]).collect());
                        if found.len() == MOST_CYCLES {
                            return found;
                        }
                    } else if graph.contains_key(need) && !done.contains(need) {
                        next = Some(need);
                    }
                }
                None => {
                    done.insert(id);
                    on_way.remove(id);
                    way.pop();
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(next: Value, tasks: &[(&str, &str, &[&str])]) -> Vec<String> {
        let task = |(id, status, needs): &(&str, &str, &[&str])| {
            ((*id).to_owned(), json!({ "title": "", "status": status, "depends_on": needs }))
        };
        let tasks: Map<String, Value> = tasks.iter().map(task).collect();
        let value = json!({ "next_task_id": next, "tasks": tasks });
        let remarks = remarks(&Manifest { value, files: BTreeMap::new(), refused: Vec::new() });
        remarks.into_iter().map(|remark| format!("{}: {}", remark.path.join("."), remark.what)).collect()
    }

    #[test]
    fn a_graph_that_adds_up_is_left_alone() {
        let tasks: &[(&str, &str, &[&str])] = &[
            ("T-001", "done", &[]),
            ("T-002", "ready", &["T-001"]),
            ("T-003", "blocked", &["T-001", "T-002"]),
            ("T-004", "in_progress", &["T-003"]),
        ];
        assert_eq!(said(json!(5), tasks), [""; 0]);
        assert_eq!(said(Value::Null, &[]), [""; 0]);
    }

    #[test]
    fn what_does_not_add_up_is_told() {
        assert_eq!(
            said(json!(2), &[("T-001", "ready", &["T-009", "T-009"])]),
            ["tasks.T-001.depends_on: T-009 is not among the tasks"]
        );
        let early: &[(&str, &str, &[&str])] = &[("T-001", "cancelled", &[]), ("T-002", "ready", &["T-001"])];
        assert_eq!(said(json!(3), early), ["tasks.T-002.status: is ready, but T-001 is not done"]);
        assert_eq!(said(json!(2), &[("T-002", "done", &[])]), ["next_task_id: is 2, but there is a task 2 already"]);
        assert_eq!(said(Value::Null, &[("T-002", "done", &[])]), ["tasks: there are tasks, but no next_task_id"]);
    }

    #[test]
    fn each_cycle_is_told_once() {
        assert_eq!(
            said(json!(9), &[("T-001", "blocked", &["T-001"])]),
            ["tasks.T-001.depends_on: goes round: T-001 needs T-001"]
        );
        let two: &[(&str, &str, &[&str])] = &[
            ("T-001", "blocked", &["T-002"]),
            ("T-002", "blocked", &["T-003"]),
            ("T-003", "blocked", &["T-002", "T-004"]),
            ("T-004", "blocked", &[]),
            ("T-005", "blocked", &["T-003"]),
        ];
        assert_eq!(said(json!(9), two), ["tasks.T-002.depends_on: goes round: T-002 needs T-003 needs T-002"]);
    }

    #[test]
    fn a_long_chain_is_no_trouble() {
        let ids: Vec<String> = (100..50_000).map(|n| format!("T-{n}")).collect();
        let tasks =
            ids.windows(2).map(|pair| (pair[0].clone(), json!({ "status": "blocked", "depends_on": [pair[1]] })));
        let value = json!({ "next_task_id": 50_000, "tasks": tasks.collect::<Map<_, _>>() });
        let found = remarks(&Manifest { value, files: BTreeMap::new(), refused: Vec::new() });
        assert_eq!(found.len(), 1, "the last is not among the tasks");
    }
}
