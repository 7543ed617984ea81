//! Finds the references that have to be cut so that the schemas contain no cycle.
//!
//! Needed only for schemas that are written once under a name, where the cut must not depend on the entry point. A
//! reference back to a schema that is being visited is cut; without those no cycle remains.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{
    dialect::{self, LIST, NAMED, ONE},
    pointer,
};

/// The visited schemas.
#[derive(Default)]
pub(super) struct Graph {
    seen: HashSet<String>,
    cuts: HashSet<(String, String)>,
}

impl Graph {
    /// Whether a reference from one schema to another is cut.
    pub(super) fn is_cut(&self, from: &str, to: &str) -> bool {
        from == to || self.cuts.contains(&(from.to_owned(), to.to_owned()))
    }

    /// Visits all schemas that are reachable from this one. It uses an explicit stack, because the document decides
    /// the depth.
    pub(super) fn visit(&mut self, document: &Value, old: bool, root: &str) {
        if self.seen.contains(root) {
            return;
        }
        let mut way: Vec<(String, Vec<String>)> = Vec::new();
        let mut on_way: HashSet<String> = HashSet::new();
        let mut next = Some(root.to_owned());
        loop {
            if let Some(pointer) = next.take() {
                let mut leads = Vec::new();
                if let Some(schema) = document.pointer(&pointer) {
                    references(document, old, schema, &mut leads);
                }
                leads.sort_unstable();
                leads.dedup();
                // Popped from the end.
                leads.reverse();
                self.seen.insert(pointer.clone());
                on_way.insert(pointer.clone());
                way.push((pointer, leads));
            }
            let Some((pointer, leads)) = way.last_mut() else { return };
            match leads.pop() {
                Some(to) if on_way.contains(&to) => drop(self.cuts.insert((pointer.clone(), to))),
                Some(to) if self.seen.contains(&to) => {}
                Some(to) => next = Some(to),
                None => {
                    on_way.remove(pointer.as_str());
                    way.pop();
                }
            }
        }
    }
}

/// The resolvable references of a schema.
fn references(document: &Value, old: bool, schema: &Value, leads: &mut Vec<String>) {
    let Value::Object(map) = schema else { return };
    let there = map.get("$ref").and_then(Value::as_str).and_then(|to| pointer::follow(document, to).ok());
    if let Some((pointer, _)) = there {
        leads.push(pointer);
        if old {
            return;
        }
    }
    for (key, value) in map {
        match value {
            Value::Object(named) if is(key, NAMED) => each(document, old, named, leads),
            Value::Array(items) if is(key, LIST) || is(key, ONE) => {
                items.iter().for_each(|item| references(document, old, item, leads));
            }
            _ if is(key, ONE) => references(document, old, value, leads),
            _ => {}
        }
    }
}

fn each(document: &Value, old: bool, named: &Map<String, Value>, leads: &mut Vec<String>) {
    named.values().for_each(|schema| references(document, old, schema, leads));
}

fn is(key: &str, keywords: &[&str]) -> bool {
    // Mere definitions are reached through references.
    keywords.contains(&key) && !dialect::DEFINED.contains(&key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_cycle_is_cut_once() {
        let to = |name: &str| json!({"properties": {"x": {"$ref": format!("#/{name}")}}});
        let document = json!({"a": to("b"), "b": to("c"), "c": to("a"), "d": to("b"), "e": to("e")});
        let mut graph = Graph::default();
        for root in ["/a", "/b", "/d", "/e"] {
            graph.visit(&document, true, root);
        }
        let cuts: Vec<_> = graph.cuts.iter().map(|(from, to)| format!("{from}{to}")).collect();
        assert_eq!(cuts.len(), 2, "{cuts:?}");
        assert!(graph.is_cut("/c", "/a") && graph.is_cut("/e", "/e") && !graph.is_cut("/d", "/b"));
    }

    #[test]
    fn a_long_way_needs_no_deep_stack() {
        let chain = (0..50_000).map(|n| (n.to_string(), json!({"$ref": format!("#/{}", n + 1)})));
        let document = Value::Object(chain.collect());
        let mut graph = Graph::default();
        graph.visit(&document, true, "/0");
        assert!(graph.cuts.is_empty() && graph.seen.len() == 50_000);
    }
}
