//! Builds HTML. Every text that is not a constant of this program goes through [`Html::text`], which escapes it: agents
//! choose some of the names and words that an operator's browser shows.

use std::fmt::Write;

/// HTML under construction.
#[derive(Default)]
pub(super) struct Html(String);

impl Html {
    /// Adds constant markup of this program.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Adds untrusted text, between tags or inside a double-quoted attribute. Invisible characters, and those that
    /// change the text's direction, appear as their code points.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' | '\t' => self.0.push(c),
                c if c.is_control() || is_unseen(c) => {
                    let _ = write!(self.0, "\\u{{{:x}}}", u32::from(c));
                }
                c => self.0.push(c),
            }
        }
        self
    }

    /// Adds a whole number.
    pub(super) fn number(&mut self, number: impl Into<u64>) -> &mut Self {
        let _ = write!(self.0, "{}", number.into());
        self
    }

    /// Adds a number with so many decimals, for a person or for a drawing.
    pub(super) fn decimal(&mut self, number: f64, digits: usize) -> &mut Self {
        let _ = write!(self.0, "{number:.digits$}");
        self
    }

    /// Adds other HTML.
    pub(super) fn add(&mut self, other: Html) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}

/// Characters that are invisible or change the direction of the text.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let mut html = Html::default();
        html.raw("<b title=\"").text("\"><script>alert('1')</script>&").raw("\">").text("a\u{202e}b\u{0}\u{200b}ä\n");
        assert_eq!(
            String::from_utf8(html.into_bytes()).unwrap(),
            "<b title=\"&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;\">a\\u{202e}b\\u{0}\\u{200b}ä\n"
        );
    }
}
