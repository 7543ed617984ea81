//! Texts of the site as one line of Markdown.

/// One line, without characters that end a link or start other markup.
pub(crate) fn line(text: &str, characters: usize) -> String {
    let mut out = String::new();
    let mut count = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        let word: String = word
            .chars()
            .map(|c| {
                if c == '[' {
                    '('
                } else if c == ']' {
                    ')'
                } else {
                    c
                }
            })
            .collect();
        let length = word.chars().count() + usize::from(!out.is_empty());
        if count + length > characters {
            let room = characters.saturating_sub(count + 2);
            if out.is_empty() {
                out.extend(word.chars().take(room));
            }
            out.push('…');
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&word);
        count += length;
    }
    out
}
