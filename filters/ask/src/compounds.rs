//! Compounds of languages that write them as one word, by their parts: "Papierformat" is about paper and about formats.

/// The shortest compound and the shortest part of one, in bytes.
const COMPOUND: usize = 9;
pub(super) const PART: usize = 4;
/// What joins the parts of compounds.
const JOINTS: [&str; 6] = ["s", "n", "en", "es", "er", "e"];

/// The parts of a compound by a list of words: as few as there can be, and none too short.
pub(super) fn parts<'a>(word: &'a str, is_word: &dyn Fn(&str) -> bool) -> Vec<&'a str> {
    if word.len() < COMPOUND {
        return Vec::new();
    }
    if let Some((head, tail)) = halves(word, is_word, is_word) {
        return vec![head, tail];
    }
    // Of three, the last two are one.
    let is_compound = |word: &str| word.len() >= COMPOUND && halves(word, is_word, is_word).is_some();
    let Some((head, tail)) = halves(word, is_word, &is_compound) else { return Vec::new() };
    let mut all = vec![head];
    all.extend(halves(tail, is_word, is_word).map(|(middle, last)| [middle, last]).into_iter().flatten());
    all
}

/// A compound's two parts; the most even split is the least likely to be an accident.
fn halves<'a>(
    word: &'a str,
    is_head: &dyn Fn(&str) -> bool,
    is_tail: &dyn Fn(&str) -> bool,
) -> Option<(&'a str, &'a str)> {
    let mut best: Option<(usize, &str, &str)> = None;
    for (at, _) in word.char_indices().filter(|(at, _)| *at >= PART && word.len() - at >= PART) {
        let (head, tail) = word.split_at(at);
        let joints = JOINTS.iter().filter_map(|joint| head.strip_suffix(joint)).filter(|head| head.len() >= PART);
        let Some(head) = [head].into_iter().chain(joints).find(|head| is_head(head)) else { continue };
        let shorter = head.len().min(tail.len());
        if best.is_none_or(|(known, ..)| shorter > known) && is_tail(tail) {
            best = Some((shorter, head, tail));
        }
    }
    best.map(|(_, head, tail)| (head, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_are_cut_into_words_of_the_site() {
        let is_word = |word: &str| ["papier", "format", "standard", "paket", "verwaltung"].contains(&word);
        assert_eq!(parts("papierformat", &is_word), ["papier", "format"]);
        assert_eq!(parts("paketverwaltung", &is_word), ["paket", "verwaltung"]);
        assert_eq!(parts("standardpapierformat", &is_word), ["standard", "papier", "format"]);
        assert!(parts("unwort", &is_word).is_empty());
    }
}
