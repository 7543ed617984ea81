//! Headings without the numbers before them: a question has the words of "1.7. Names", not its number.

/// A heading without the number before it: "1.7. Names", "Chapter 4: Names", "A.2 Names".
pub(super) fn unnumbered(heading: &str) -> &str {
    const NAMES: [&str; 14] = [
        "chapter",
        "section",
        "part",
        "appendix",
        "kapitel",
        "abschnitt",
        "teil",
        "anhang",
        "chapitre",
        "annexe",
        "capítulo",
        "apéndice",
        "capitolo",
        "hoofdstuk",
    ];
    let Some((first, rest)) = heading.split_once(char::is_whitespace) else { return heading };
    let is_number = |word: &str| {
        let word = word.trim_end_matches(['.', ')', ':', ',']);
        let mut parts = word.split('.');
        let begins = parts.next().is_some_and(|part| {
            !part.is_empty()
                && (part.bytes().all(|b| b.is_ascii_digit())
                    || part.len() == 1 && part.as_bytes()[0].is_ascii_uppercase())
        });
        begins && parts.all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
    };
    // A letter alone may be a word, and a number may count things: "7 days", "A visit".
    let ends = first.ends_with(['.', ')', ':']) || first.contains('.');
    let rest = match NAMES.contains(&first.to_lowercase().as_str()) {
        true => match rest.trim_start().split_once(char::is_whitespace) {
            Some((number, rest)) if is_number(number) => rest,
            _ => return heading,
        },
        false if ends && is_number(first) => rest,
        false => return heading,
    };
    let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '-' | '–' | '—' | ':'));
    if rest.chars().any(char::is_alphabetic) { rest } else { heading }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heading_is_known_without_its_number() {
        for (heading, bare) in [
            ("1.7. How does one say it?", "How does one say it?"),
            ("Chapter 1. Definitions and overview", "Definitions and overview"),
            ("Kapitel 3: Namen", "Namen"),
            ("A.2 Glossary", "Glossary"),
            ("7 days in Rome", "7 days in Rome"),
            ("A visit", "A visit"),
            ("Part time work", "Part time work"),
            ("3. 4.", "3. 4."),
            ("os.remove and os.unlink", "os.remove and os.unlink"),
        ] {
            assert_eq!(unnumbered(heading), bare, "{heading}");
        }
    }
}
