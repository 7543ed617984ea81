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
    /// "What is": what a word means.
    Definition,
}

/// What a question wants, by its question words.
pub(super) fn of(text: &str) -> Wish {
    const FIGURES: [&str; 21] = [
        "how much",
        "how long",
        "how far",
        "how big",
        "how large",
        "how heavy",
        "how often",
        "cost",
        "costs",
        "price",
        "prices",
        "wie viel",
        "wieviel",
        "wie lange",
        "kostet",
        "kosten",
        "combien",
        "cuánto",
        "cuánta",
        "quanto",
        "quanta",
    ];
    const FIGURES_FIRST: [&str; 6] = ["when", "wann", "quand", "cuándo", "quando", "wanneer"];
    const STEPS: [&str; 4] = ["how do", "how can", "how to", "how should"];
    const STEPS_FIRST: [&str; 6] = ["wie", "comment", "cómo", "como", "come", "hoe"];
    const DEFINITIONS: [&str; 26] = [
        "what is ",
        "what are ",
        "what's ",
        "what does ",
        "what do you mean by ",
        "what is meant by ",
        "meaning of ",
        "define ",
        "was ist ",
        "was sind ",
        "was bedeutet ",
        "was heißt ",
        "qu'est-ce ",
        "qu’est-ce ",
        "c'est quoi ",
        "que signifie ",
        "que veut dire ",
        "qué es ",
        "qué son ",
        "qué significa ",
        "cos'è ",
        "cosa significa ",
        "o que é ",
        "o que significa ",
        "wat is ",
        "wat betekent ",
    ];
    let text = text.chars().take(200).collect::<String>().to_lowercase();
    let text = text.trim_start_matches(['¿', ' ']);
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let ends = |at: usize, mark: &str| !is_letter(text[at + mark.len()..].chars().next());
    let begins = |marks: &[&str]| marks.iter().any(|mark| text.starts_with(mark) && ends(0, mark));
    let is_word = |at: usize, mark: &str| !is_letter(text[..at].chars().next_back()) && ends(at, mark);
    let has = |marks: &[&str]| marks.iter().any(|mark| text.match_indices(mark).any(|(at, _)| is_word(at, mark)));
    match text {
        _ if has(&FIGURES) || begins(&FIGURES_FIRST) || counted(text).is_some() => Wish::Figure,
        _ if DEFINITIONS.iter().any(|mark| text.starts_with(mark)) => Wish::Definition,
        _ if has(&STEPS) || begins(&STEPS_FIRST) => Wish::Steps,
        _ => Wish::Any,
    }
}

/// The word for what is to be counted: "packages" in "how many packages are there".
pub(super) fn counted(text: &str) -> Option<&str> {
    const COUNTS: [&str; 11] = [
        "how many ",
        "wie viele ",
        "wieviele ",
        "combien de ",
        "cuántos ",
        "cuántas ",
        "quanti ",
        "quante ",
        "quantos ",
        "quantas ",
        "hoeveel ",
    ];
    let small = text.to_lowercase();
    // Where small letters take as many bytes, what stands there is where it is in the text.
    let after = COUNTS.iter().find_map(|mark| small.find(mark).map(|at| at + mark.len()))?;
    let word = text.get(after..)?.split(|c: char| !c.is_alphanumeric()).next()?;
    (small.len() == text.len() && !word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_counted_follows_how_many() {
        assert_eq!(counted("How many packages come with it?"), Some("packages"));
        assert_eq!(counted("Und wie viele Pakete?"), Some("Pakete"));
        assert_eq!(counted("How many"), None);
        assert_eq!(counted("What is it?"), None);
    }

    #[test]
    fn question_words_point_to_kinds() {
        for (text, wish) in [
            ("How do I install it?", Wish::Steps),
            ("How much does it cost?", Wish::Figure),
            ("Wie lange dauert das?", Wish::Figure),
            ("What is sid?", Wish::Definition),
            ("¿Qué es un paquete?", Wish::Definition),
            ("What is the price of a ticket?", Wish::Figure),
            ("May I bring a dog?", Wish::Any),
            ("Does the welcome pack include tea?", Wish::Any),
            ("What shoe size?", Wish::Any),
            ("What happens when I cancel?", Wish::Any),
            ("Is Costa Rica included?", Wish::Any),
            ("And how do I cancel?", Wish::Steps),
            ("Wanneer gaat het open?", Wish::Figure),
            ("¿Cuántas películas hay?", Wish::Figure),
        ] {
            assert_eq!(of(text), wish, "{text}");
        }
    }
}
