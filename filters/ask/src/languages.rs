//! The languages whose words have stems, and which of them a text without a tag is written in.

use tantivy::tokenizer::Language;

const TAGS: [(&str, Language); 20] = [
    ("en", Language::English),
    ("ar", Language::Arabic),
    ("da", Language::Danish),
    ("nl", Language::Dutch),
    ("fi", Language::Finnish),
    ("fr", Language::French),
    ("de", Language::German),
    ("el", Language::Greek),
    ("hu", Language::Hungarian),
    ("it", Language::Italian),
    ("nb", Language::Norwegian),
    ("nn", Language::Norwegian),
    ("no", Language::Norwegian),
    ("pt", Language::Portuguese),
    ("ro", Language::Romanian),
    ("ru", Language::Russian),
    ("es", Language::Spanish),
    ("sv", Language::Swedish),
    ("ta", Language::Tamil),
    ("tr", Language::Turkish),
];

/// The most frequent words of each, that no other has so often.
const FREQUENT: [(Language, &str); 14] = [
    (
        Language::English,
        "the a of and to in is that for it with you this are i my how what do does can from be where when who which",
    ),
    (
        Language::German,
        "der die und das ist nicht ein eine einen zu den mit werden auf sie wie was wo wann wer ich für im kann kostet",
    ),
    (
        Language::French,
        "le la les des est un une dans pour vous que qui pas sur avec comment et du au où combien quel quelle je puis",
    ),
    (
        Language::Spanish,
        "el la los las que un una para por con como del está se cómo y en qué cuánto dónde cuándo puedo",
    ),
    (Language::Italian, "il la che di non un una per con sono gli della del come è e quanto dove quando posso i"),
    (Language::Portuguese, "o os que um uma para com não do da em como é dos e quanto onde quando posso as"),
    (Language::Dutch, "de het een van en niet dat voor met zijn op te worden wat hoe waar kan ik mijn is"),
    (Language::Swedish, "och att det som en är för på med inte av till vad hur var jag kan"),
    (Language::Danish, "og at det som en er for på med ikke af til hvad hvordan hvor jeg kan"),
    (Language::Norwegian, "og å det som en er for på med ikke av til hva hvordan hvor jeg kan"),
    (Language::Finnish, "ja on ei se että oli kun mutta ovat voi mitä miten missä paljonko"),
    (Language::Hungarian, "a az és hogy nem egy van meg is ez mennyi hol mi"),
    (Language::Romanian, "și de în cu la pe care nu este sunt o cât unde cum"),
    (Language::Turkish, "ve bir bu için ile de da olarak olan ne nasıl nerede kaç"),
];
/// Of a text, how much is looked at, in bytes.
const LOOKED_AT: usize = 8_000;

/// The language of a tag such as `de-AT`; `None` if there are no stems for it.
pub(super) fn of_tag(tag: &str) -> Option<Language> {
    let primary = tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    TAGS.iter().find(|(name, _)| *name == primary).map(|(_, language)| *language)
}

pub(super) fn tag(language: Language) -> &'static str {
    TAGS.iter().find(|(_, known)| *known == language).map_or("en", |(tag, _)| tag)
}

/// The language that a text is most likely written in; `None` where nothing tells.
pub(super) fn guess(text: &str) -> Option<Language> {
    let text = &text[..text.floor_char_boundary(LOOKED_AT)];
    let mut scripts = [0usize; 5];
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        let script = match c {
            '\u{370}'..='\u{3ff}' => 1,
            '\u{400}'..='\u{4ff}' => 2,
            '\u{600}'..='\u{6ff}' => 3,
            '\u{b80}'..='\u{bff}' => 4,
            _ => 0,
        };
        scripts[script] += 1;
    }
    // Of equals the first, so that a text without letters is in none of these.
    let most = (0..scripts.len()).max_by_key(|at| (scripts[*at], std::cmp::Reverse(*at))).unwrap_or_default();
    if let Some(language) =
        [Language::Greek, Language::Russian, Language::Arabic, Language::Tamil].get(most.wrapping_sub(1))
    {
        return Some(*language);
    }
    let mut counts = [0usize; FREQUENT.len()];
    for word in text.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty()) {
        let word = word.to_lowercase();
        for (count, (_, frequent)) in counts.iter_mut().zip(&FREQUENT) {
            // A word of one letter stands in several languages.
            let weight = if word.chars().count() > 1 { 2 } else { 1 };
            *count += weight * usize::from(frequent.split(' ').any(|known| known == word));
        }
    }
    // Of equals the first, so that English is what nothing speaks against.
    let best = (0..counts.len()).max_by_key(|at| (counts[*at], std::cmp::Reverse(*at)))?;
    (counts[best] > 0).then(|| FREQUENT[best].0)
}

/// Does it write compounds as one word?
pub(super) fn compounds(language: Language) -> bool {
    use Language::{Danish, Dutch, Finnish, German, Hungarian, Norwegian, Swedish};
    matches!(language, German | Dutch | Swedish | Danish | Norwegian | Finnish | Hungarian)
}

/// Does it write every noun with a capital letter?
pub(super) fn capitals(language: Language) -> bool {
    language == Language::German
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_by_their_tags_and_their_words() {
        assert_eq!(of_tag("de-AT"), Some(Language::German));
        assert_eq!(of_tag("tlh"), None);
        for (text, language) in [
            ("How do I remove a package that is not in use?", Some(Language::English)),
            // "do" is Portuguese, too.
            ("How do I remove untracked files?", Some(Language::English)),
            ("Wie entferne ich ein Paket, das nicht mehr gebraucht wird und zu alt ist?", Some(Language::German)),
            ("Comment puis-je supprimer un paquet qui n'est pas utilisé dans le système ?", Some(Language::French)),
            ("¿Cómo puedo eliminar los paquetes que no se usan por el sistema?", Some(Language::Spanish)),
            ("Как удалить пакет?", Some(Language::Russian)),
            ("Πώς;", Some(Language::Greek)),
            ("A felt hat costs 20 euros.", Some(Language::English)),
            ("Como instalar a impressora", Some(Language::Spanish)),
            ("Egy kalap 20 euró, és a sapka 10", Some(Language::Hungarian)),
            ("xyzzy", None),
            ("404", None),
            ("9:00 - 17:00", None),
        ] {
            assert_eq!(guess(text), language, "{text}");
        }
    }
}
