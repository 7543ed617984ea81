//! Lists and their items.

use dom_query::NodeRef;

use super::{
    super::walk::{attribute, name},
    Writer,
};

/// A list that is under way.
pub(super) struct List {
    ordered: bool,
    next: i64,
    loose: bool,
    /// The other mark of two, so that the list before it ends.
    other: bool,
    begun: bool,
}

impl Writer {
    pub(super) fn list(&mut self, node: &NodeRef<'_>, ordered: bool) {
        self.flush();
        let next = attribute(node, "start").and_then(|start| start.parse().ok()).filter(|start| *start >= 0);
        let loose = node.children_it(false).any(|item| is_loose(&item));
        if self.lists.last().is_some_and(|around| !around.loose) && !self.blocks.after_list() {
            self.blocks.stay_close();
        }
        let other = self.blocks.after_list();
        self.lists.push(List { ordered, next: next.unwrap_or(1), loose, other, begun: false });
    }

    pub(super) fn item(&mut self, node: &NodeRef<'_>) {
        self.flush();
        let Some(list) = self.lists.last_mut() else { return };
        if let Some(value) = attribute(node, "value").and_then(|value| value.parse().ok()).filter(|value| *value >= 0) {
            list.next = value;
        }
        let mark = match (list.ordered, list.other) {
            (true, other) => {
                let number = list.next.clamp(0, 999_999_999);
                format!("{number}{} ", if other { ')' } else { '.' })
            }
            (false, false) => "- ".to_owned(),
            (false, true) => "* ".to_owned(),
        };
        list.next = list.next.saturating_add(1);
        if list.begun && !list.loose {
            self.blocks.stay_close();
        }
        list.begun = true;
        self.blocks.open(&mark, &" ".repeat(mark.len()));
    }
}

/// Does an item hold more than one paragraph, or the like?
fn is_loose(item: &NodeRef<'_>) -> bool {
    let blocks = ["p", "pre", "table", "blockquote", "h2", "h3", "h4", "h5", "h6", "dl", "figure"];
    name(item) == "li" && item.children_it(false).filter(|child| blocks.contains(&name(child).as_str())).count() > 1
}
