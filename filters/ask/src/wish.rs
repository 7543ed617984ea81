//! What the words of a question point to: steps, amounts, times.

/// What the words of a question point to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wish {
    #[default]
    Any,
    /// "How do I": steps and commands.
    Steps,
    /// "How much", "when": amounts and times.
    Figure,
}

/// What a question wants, by the words that it begins with.
pub(super) fn of(text: &str) -> Wish {
    const FIGURES: [&str; 20] = [
        "how much",
        "how many",
        "how long",
        "how far",
        "how big",
        "how large",
        "how heavy",
        "how often",
        "when ",
        "cost",
        "price",
        "wie viel",
        "wie lange",
        "wann ",
        "combien",
        "quand ",
        "cuánto",
        "cuándo",
        "quanto",
        "quando",
    ];
    const STEPS: [&str; 12] = [
        "how do",
        "how can",
        "how to",
        "how should",
        "wie kann",
        "wie mache",
        "wie ",
        "comment ",
        "cómo ",
        "como ",
        "come ",
        "hoe ",
    ];
    let text = text.chars().take(200).collect::<String>().to_lowercase();
    let has = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    match text {
        _ if has(&FIGURES) => Wish::Figure,
        _ if has(&STEPS) => Wish::Steps,
        _ => Wish::Any,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn question_words_point_to_kinds() {
        for (text, wish) in [
            ("How do I install it?", Wish::Steps),
            ("How much does it cost?", Wish::Figure),
            ("Wie lange dauert das?", Wish::Figure),
            ("What is sid?", Wish::Any),
        ] {
            assert_eq!(of(text), wish, "{text}");
        }
    }
}
