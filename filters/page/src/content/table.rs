//! Tables: what is one in Markdown, and what only places things.
//!
//! Markdown's tables have as many cells in each row. Cells that span rows or columns leave empty ones behind, so that
//! each value stays under its heading.

use dom_query::NodeRef;

use super::walk::{attribute, has_word, name};

/// How many columns are kept apart.
const MAX_COLUMNS: usize = 64;
/// How many cells a page's tables may be filled up with.
const MAX_ADDED: usize = 20_000;
/// What no cell of a Markdown table can hold.
const BLOCKS: [&str; 8] = ["table", "blockquote", "h1", "h2", "h3", "h4", "hr", "section"];

/// What a cell can show without text.
const SHOWN: [&str; 4] = ["img", "svg", "input", "picture"];

/// What the tables of one page were filled up with so far.
#[derive(Debug, Default)]
pub(super) struct Grid {
    added: usize,
}

/// Makes a table ready: with all its cells, or as plain blocks.
pub(super) fn prepare(table: &NodeRef<'_>, grid: &mut Grid) {
    let mut parts = Vec::new();
    let mut rows = Vec::new();
    let mut captions = Vec::new();
    let mut numbers = Vec::new();
    let mut plain = has_word(table, "role", &["presentation", "none"]);
    let (mut codes, mut heads) = (0, 0);
    let mut stack: Vec<NodeRef<'_>> = table.children_it(true).collect();
    while let Some(node) = stack.pop() {
        match name(&node).as_str() {
            "tr" => {
                rows.push(node);
                parts.push(node);
            }
            "caption" => captions.push(node),
            "pre" => {
                codes += 1;
                continue;
            }
            "td" if has_word(&node, "class", &["linenos", "gutter"]) => numbers.push(node),
            called @ ("thead" | "tbody" | "tfoot" | "td" | "th") => {
                heads += usize::from(called == "th");
                parts.push(node);
            }
            block if BLOCKS.contains(&block) => {
                plain = true;
                // A table in it is looked at when its own turn comes.
                continue;
            }
            _ => {}
        }
        stack.extend(node.children_it(true));
    }
    numbers.iter().for_each(NodeRef::remove_from_parent);
    for caption in captions {
        caption.rename("p");
        table.insert_before(&caption);
    }
    // Line numbers beside code, or code beside code.
    plain |= codes > 0 && heads == 0;
    if plain || rows.len() * widest(&rows) < 2 || only_frames(&rows) {
        parts.iter().for_each(|part| part.rename("div"));
        table.rename("div");
    } else {
        fill(&rows, grid);
    }
}

fn cells<'a>(row: &NodeRef<'a>) -> impl Iterator<Item = NodeRef<'a>> {
    row.children_it(false).filter(|cell| matches!(name(cell).as_str(), "td" | "th"))
}

fn widest(rows: &[NodeRef<'_>]) -> usize {
    rows.iter().map(|row| cells(row).count()).max().unwrap_or(0)
}

/// Does a table of several columns have one cell with text at most in each row, and a picture beside it in one row at most? Then
/// it frames something, as DocBook's notes and warnings do. A picture in each row may be a value: a tick or a cross.
fn only_frames(rows: &[NodeRef<'_>]) -> bool {
    let has_text =
        |cell: &NodeRef<'_>| cell.descendants_it().any(|node| node.is_text() && !node.text().trim().is_empty());
    let shows = |cell: &NodeRef<'_>| cell.descendants_it().any(|node| SHOWN.contains(&name(&node).as_str()));
    let texts = |row: &NodeRef<'_>| cells(row).filter(has_text).count();
    let pictured = rows.iter().filter(|row| texts(row) > 0 && cells(row).any(|cell| !has_text(&cell) && shows(&cell)));
    widest(rows) > 1 && rows.iter().all(|row| texts(row) <= 1) && pictured.count() <= 1
}

/// How many rows or columns a cell takes.
fn span(cell: &NodeRef<'_>, name: &str) -> usize {
    attribute(cell, name).and_then(|value| value.parse().ok()).unwrap_or(1).clamp(1, MAX_COLUMNS)
}

/// Adds the cells that are missing.
fn fill(rows: &[NodeRef<'_>], grid: &mut Grid) {
    // For each column, in how many rows to come it is taken by a cell above.
    let mut taken: Vec<usize> = Vec::new();
    let mut widths = Vec::with_capacity(rows.len());
    for row in rows {
        let mut column = 0;
        let cells: Vec<NodeRef<'_>> = cells(row).collect();
        let empty = if cells.iter().all(|cell| name(cell) == "th") { "th" } else { "td" };
        for cell in &cells {
            while let Some(left) = taken.get_mut(column).filter(|left| **left > 0) {
                *left -= 1;
                column += 1;
                grid.add(|| cell.insert_before(&cell.tree.new_element(empty)));
            }
            // Further to the right nothing is kept apart: what is there may be ever so wide.
            let across = span(cell, "colspan").min(MAX_COLUMNS.saturating_sub(column));
            let down = span(cell, "rowspan");
            for nth in 0..across {
                taken.resize(taken.len().max(column + 1), 0);
                taken[column] = down - 1;
                column += 1;
                if nth > 0 {
                    grid.add(|| cell.insert_after(&cell.tree.new_element(empty)));
                }
            }
        }
        for left in taken.iter_mut().skip(column) {
            *left = left.saturating_sub(1);
            column += 1;
            grid.add(|| row.append_child(&row.tree.new_element(empty)));
        }
        widths.push((column, empty));
    }
    let widest = widths.iter().map(|(width, _)| *width).max().unwrap_or(0);
    for (row, (width, empty)) in rows.iter().zip(widths) {
        for _ in width..widest {
            grid.add(|| row.append_child(&row.tree.new_element(empty)));
        }
    }
}

impl Grid {
    /// Adds one more, if there may be more.
    fn add(&mut self, add: impl FnOnce()) {
        if self.added < MAX_ADDED {
            self.added += 1;
            add();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use dom_query::Document;

    use super::{Grid, MAX_ADDED, prepare};

    #[test]
    fn one_wide_row_does_not_widen_all_others() {
        let html = format!("<table><tr>{}{}", "<td colspan=64>".repeat(4_000), "<tr><td>x".repeat(4_000));
        let document = Document::from(html);
        let table = document.select("table");
        let mut grid = Grid::default();
        let began = Instant::now();
        prepare(table.nodes().first().unwrap(), &mut grid);
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        assert!(grid.added <= MAX_ADDED);
    }
}
