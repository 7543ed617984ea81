//! Makes untrusted text safe to print on a terminal.
//!
//! All text from a foreign site passes through here once, when it is read: it must not move the cursor, ring the bell,
//! change the text direction or fill the screen.

use crate::text::shortened;

/// Maximum characters of one value.
const SHOWN: usize = 200;

/// The text without terminal controls, clipped.
pub fn plain(text: &str) -> String {
    unsteered(&shortened(text, SHOWN))
}

/// The same without clipping.
pub fn unsteered(text: &str) -> String {
    text.chars().map(|c| if steers(c) { '\u{fffd}' } else { c }).collect()
}

/// Control characters, and invisible ones that change the direction or hide text.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Up to five names for a sentence, and how many more there are.
pub fn some(names: &[&str]) -> String {
    const NAMED: usize = 5;
    let (first, rest) = names.split_at(names.len().min(NAMED));
    match rest.len() {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        assert_eq!(plain("a\x1b[2J\x07b\u{9b}31mc\r\n\u{202e}d\u{7f}"), "a�[2J�b�31mc���d�");
        assert_eq!(plain("Café — 東京 ✈"), "Café — 東京 ✈");
        assert_eq!(plain(&"x".repeat(100_000)).chars().count(), SHOWN + 1);
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(some(&["a", "b"]), "a, b");
        assert_eq!(some(&["a", "b", "c", "d", "e", "f", "g"]), "a, b, c, d, e and 2 more");
    }
}
