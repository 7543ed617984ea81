//! Verbs that German and Dutch take apart: "Wie stelle ich die Drucker ein?" asks about "einstellen".

use tantivy::tokenizer::Language;

const GERMAN: [&str; 27] = [
    "ab", "an", "auf", "aus", "bei", "durch", "ein", "fest", "fort", "frei", "her", "heraus", "herunter", "hin",
    "hinzu", "hoch", "los", "mit", "nach", "um", "vor", "weg", "weiter", "wieder", "zu", "zurück", "zusammen",
];
const DUTCH: [&str; 16] =
    ["aan", "af", "bij", "door", "in", "mee", "na", "om", "op", "over", "terug", "toe", "uit", "voor", "weg", "samen"];

/// The particle that ends a clause, if one does: the part of its verb that was taken off.
pub(super) fn last(language: Language, clause: &str) -> Option<&str> {
    let particles: &[&str] = match language {
        Language::German => &GERMAN,
        Language::Dutch => &DUTCH,
        _ => return None,
    };
    let word = clause.trim_end_matches(|c: char| !c.is_alphanumeric()).rsplit(|c: char| !c.is_alphanumeric()).next()?;
    particles.contains(&word).then_some(word)
}

/// May this word as it is written be such a verb? German nouns have a capital letter.
pub(super) fn may_be_verb(word: &str) -> bool {
    word.len() > 3 && word.chars().all(char::is_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clause_may_end_in_a_particle() {
        assert_eq!(last(Language::German, "Wie stelle ich die Drucker ein?"), Some("ein"));
        assert_eq!(last(Language::German, "Wie heißt das?"), None);
        assert_eq!(last(Language::English, "How do I log in?"), None);
        assert_eq!(last(Language::Dutch, "Hoe zet ik het aan?"), Some("aan"));
        assert!(may_be_verb("stelle") && !may_be_verb("Drucker") && !may_be_verb("ich"));
    }
}
