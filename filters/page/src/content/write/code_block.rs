//! Blocks of code.

use dom_query::NodeRef;

use super::{
    super::{code, walk::attribute},
    Writer, escape,
    inline::Piece,
};

impl Writer {
    pub(super) fn code_block(&mut self, node: &NodeRef<'_>) {
        code::prepare(node);
        let text = node.text();
        let text = text.trim_end().trim_start_matches(['\n', '\r']);
        if !self.is_free() {
            self.boundary();
            for (nth, line) in text.lines().filter(|line| !line.trim().is_empty()).enumerate() {
                self.pieces.extend((nth > 0).then_some(Piece::Break));
                self.pieces.push(Piece::Code(line.to_owned()));
            }
            return self.boundary();
        }
        self.flush();
        if text.trim().is_empty() {
            return;
        }
        let fence = "`".repeat(escape::longest_run(text, '`').max(2) + 1);
        let language = attribute(node, "data-lang").unwrap_or_default();
        self.blocks.write_code(&format!("{fence}{language}\n{text}\n{fence}"));
    }
}
