//! Formulas, each once: as TeX where the page has it, else in a line.

use dom_query::NodeRef;

use super::{
    element_fate::ElementFate,
    walk::{attribute, collapsed, has_word, name},
};

/// How deep formulas are looked into.
const MAX_DEPTH: usize = 40;

/// A formula.
pub(super) enum Formula {
    /// TeX between dollar signs, which is Markdown as it is.
    Tex(String),
    /// Plain text in a line, which is still to be escaped.
    Line(String),
}

/// The formula of a `<math>` element; `None` where it is empty.
pub(super) fn formula(math: &NodeRef<'_>) -> Option<Formula> {
    let below = math.descendants();
    let annotation = below.iter().find(|node| {
        name(node) == "annotation"
            && attribute(node, "encoding").is_some_and(|kind| kind.to_ascii_lowercase().contains("tex"))
    });
    let tex = annotation.map(|node| node.text().to_string()).or_else(|| attribute(math, "alttext"));
    let is_block = has_word(math, "display", &["block"]);
    match tex.map(|tex| collapsed(&tex)).filter(|tex| !tex.is_empty()) {
        Some(tex) => Some(Formula::Tex(between_dollars(&tex, is_block))),
        None => Some(collapsed(&in_a_line(math, 0))).filter(|text| !text.is_empty()).map(Formula::Line),
    }
}

/// MediaWiki hides its MathML behind an image, which is hidden from those who cannot see.
pub(super) fn is_shown_as_image(node: &NodeRef<'_>) -> bool {
    node.attr("class")
        .is_some_and(|class| class.split_ascii_whitespace().any(|word| word.starts_with("mwe-math-mathml")))
}

/// MathJax writes formulas from scripts that hold TeX, and may have written them already; Sphinx leaves TeX between
/// `\(` and `\)` for it.
pub(super) fn of_script(node: &NodeRef<'_>, called: &str) -> Option<ElementFate> {
    if called == "script" {
        let kind = attribute(node, "type")?.to_ascii_lowercase();
        let is_block = kind.contains("mode=display");
        return kind.starts_with("math/tex").then(|| {
            let tex = collapsed(&node.text());
            node.set_text("");
            node.set_attr("alttext", &tex);
            if is_block {
                node.set_attr("display", "block");
            }
            ElementFate::Rename("math")
        });
    }
    if has_word(node, "class", &["MathJax", "MathJax_Display", "MathJax_Preview"])
        && !super::walk::contains(node, &["math"])
    {
        return Some(ElementFate::Drop);
    }
    if matches!(called, "span" | "div") && has_word(node, "class", &["math"]) {
        let text = node.text();
        let text = text.trim();
        let inline = text.strip_prefix("\\(").and_then(|rest| rest.strip_suffix("\\)"));
        let block = text.strip_prefix("\\[").and_then(|rest| rest.strip_suffix("\\]"));
        let tex = collapsed(inline.or(block)?);
        node.set_text("");
        node.set_attr("alttext", &tex);
        if block.is_some() {
            node.set_attr("display", "block");
        }
        return Some(ElementFate::Rename("math"));
    }
    None
}

/// TeX, marked as such.
fn between_dollars(tex: &str, is_block: bool) -> String {
    let tex = tex.strip_prefix("{\\displaystyle").and_then(|rest| rest.strip_suffix('}')).map_or(tex, str::trim);
    if is_block { format!("$${tex}$$") } else { format!("${tex}$") }
}

/// MathML without TeX.
fn in_a_line(node: &NodeRef<'_>, depth: usize) -> String {
    if node.is_text() {
        return collapsed(&node.text());
    }
    let called = name(node);
    if depth > MAX_DEPTH || called.starts_with("annotation") {
        return String::new();
    }
    let parts: Vec<String> = node
        .children_it(false)
        .filter(|child| child.is_element() || child.is_text() && !child.text().trim().is_empty())
        .map(|child| in_a_line(&child, depth + 1))
        .collect();
    let grouped = |nth: usize| {
        let part = parts.get(nth).map(String::as_str).unwrap_or_default();
        if part.chars().count() > 1 { format!("({part})") } else { part.to_owned() }
    };
    match called.as_str() {
        "msup" if parts.len() == 2 => format!("{}^{}", grouped(0), grouped(1)),
        "msub" if parts.len() == 2 => format!("{}_{}", parts[0], grouped(1)),
        "mfrac" if parts.len() == 2 => format!("{}/{}", grouped(0), grouped(1)),
        "msqrt" => format!("√({})", parts.concat()),
        _ => parts.concat(),
    }
}
