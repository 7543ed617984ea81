//! Tables of data, as GitHub writes them.

use dom_query::NodeRef;

use super::{
    super::walk::name,
    Shape, Writer,
    inline::{self, Line},
};

impl Writer {
    pub(super) fn table(&mut self, table: &NodeRef<'_>) -> Option<()> {
        let mut rows = Vec::new();
        let mut stack: Vec<NodeRef<'_>> = table.children_it(true).collect();
        while let Some(node) = stack.pop() {
            match name(&node).as_str() {
                "tr" => rows.push(node),
                _ => stack.extend(node.children_it(true)),
            }
        }
        let mut text = String::new();
        for (nth, row) in rows.iter().enumerate() {
            let cells: Vec<_> =
                row.children_it(false).filter(|cell| matches!(name(cell).as_str(), "td" | "th")).collect();
            let is_head = cells.iter().all(|cell| name(cell) == "th")
                || row.parent().is_some_and(|around| name(&around) == "thead");
            if nth == 0 && !is_head {
                // A table of Markdown has a head.
                text.push_str(&format!("|{}\n|{}\n", "  |".repeat(cells.len()), " --- |".repeat(cells.len())));
            }
            text.push('|');
            for cell in &cells {
                let mut writer = Writer::new(Shape::Cell, self.most, self.limit);
                writer.walk(cell)?;
                let written = inline::written(&writer.pieces, Line::Cell);
                text.push(' ');
                text.push_str(&written);
                text.push_str(" |");
            }
            text.push('\n');
            if nth == 0 && is_head {
                text.push_str(&format!("|{}\n", " --- |".repeat(cells.len())));
            }
            if text.len() > self.most {
                return None;
            }
        }
        self.blocks.write(text.trim_end());
        Some(())
    }
}
