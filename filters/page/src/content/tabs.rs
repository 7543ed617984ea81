//! Tabs of documentation: each panel under its own name, also those that are not shown at first.

use std::collections::HashMap;

use dom_query::NodeRef;

use super::walk::{attribute, collapsed, has_word, name};

/// The most tabs of a page that are named.
const MAX_TABS: usize = 2_000;

/// Is this the panel of a tab? It is shown when its tab is chosen, so it is not hidden.
pub(super) fn is_panel(node: &NodeRef<'_>) -> bool {
    has_word(node, "role", &["tabpanel"])
}

/// Puts the names of tabs above their panels, and takes the rows of tabs out.
pub(super) fn prepare(root: &NodeRef<'_>) {
    let is_named = |node: &NodeRef<'_>| node.is_element() && (node.has_attr("role") || node.has_attr("class"));
    let below: Vec<NodeRef<'_>> = root.descendants_it().filter(is_named).collect();
    let mut rows = Vec::new();
    let mut panels = Vec::new();
    let mut names: HashMap<String, String> = HashMap::new();
    for node in &below {
        if has_word(node, "role", &["tablist"]) || has_word(node, "class", &["tabbed-labels"]) {
            rows.push(*node);
        } else if has_word(node, "role", &["tab"]) {
            if let Some(id) = attribute(node, "id") {
                names.insert(id, collapsed(&node.text()));
            }
        } else if is_panel(node) || has_word(node, "class", &["tabbed-block"]) {
            panels.push(*node);
        }
    }
    if panels.is_empty() || panels.len() > MAX_TABS || rows.len() > MAX_TABS {
        return;
    }
    for row in &rows {
        let labels: Vec<String> = labels(row);
        let mine: Vec<NodeRef<'_>> = match row.parent() {
            Some(around) => panels.iter().copied().filter(|panel| lies_in(panel, &around)).collect(),
            None => continue,
        };
        for (panel, label) in mine.iter().zip(&labels) {
            let named = attribute(panel, "aria-labelledby").and_then(|id| names.get(&id).cloned());
            put_above(panel, named.as_ref().unwrap_or(label));
        }
        if !mine.is_empty() {
            row.remove_from_parent();
        }
    }
}

/// The names in a row of tabs.
fn labels(row: &NodeRef<'_>) -> Vec<String> {
    let tabs: Vec<NodeRef<'_>> =
        row.descendants_it().filter(|node| has_word(node, "role", &["tab"]) || name(node) == "label").collect();
    tabs.iter().map(|tab| collapsed(&tab.text())).collect()
}

/// Does a panel belong to the row of tabs in this element, and to no row nearer to it?
fn lies_in(panel: &NodeRef<'_>, around: &NodeRef<'_>) -> bool {
    panel.ancestors_it(Some(3)).any(|ancestor| ancestor.id == around.id)
}

fn put_above(panel: &NodeRef<'_>, label: &str) {
    if label.is_empty() {
        return;
    }
    let paragraph = panel.tree.new_element("p");
    let strong = panel.tree.new_element("strong");
    strong.append_child(&panel.tree.new_text(label));
    paragraph.append_child(&strong);
    panel.prepend_child(&paragraph);
}
