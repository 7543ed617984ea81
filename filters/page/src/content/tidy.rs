//! The heading of a page that has none of the first level.

use super::write::plain;

/// Puts the page's title above its Markdown if that has no heading of the first level.
pub(super) fn headed(markdown: String, title: Option<&str>) -> String {
    let mut fence: Option<usize> = None;
    let mut is_headed = false;
    for line in markdown.lines() {
        let inner = line.trim_start_matches([' ', '>']);
        let ticks = inner.len() - inner.trim_start_matches('`').len();
        match fence {
            // Only a line of ticks as long as the first ends it.
            Some(opened) if ticks >= opened && inner.trim_end().len() == ticks => fence = None,
            None if ticks >= 3 => fence = Some(ticks),
            None => is_headed |= line.starts_with("# "),
            Some(_) => {}
        }
    }
    match title {
        Some(title) if !is_headed && !markdown.is_empty() => format!("# {}\n\n{markdown}", plain(title)),
        _ => markdown,
    }
}

#[cfg(test)]
mod tests {
    use super::headed;

    #[test]
    fn a_page_without_a_heading_gets_its_title() {
        assert_eq!(headed("a\n".into(), Some("T | x")), "# T | x\n\na\n");
        assert_eq!(headed("# A\n".into(), Some("T")), "# A\n");
        assert_eq!(headed(String::new(), Some("T")), "");
        assert_eq!(headed("```\n# A\n```\n".into(), Some("*T*")), "# \\*T\\*\n\n```\n# A\n```\n");
    }
}
