//! The site's own words without what its form had hidden: a token against forgery is between the site and its form.

use std::collections::HashSet;

use url::form_urlencoded;

/// Stands where a hidden value stood.
pub(super) const MASK: &str = "[redacted:hidden-field]";
/// A hidden value of at least so many bytes is a secret wherever it turns up. A shorter one may be any number.
pub(super) const SECRET: usize = 8;
/// A hidden value of so many bytes, with a digit, is taken out where it is a word of its own. A shorter one may be any
/// number or word.
const SHORT: usize = 4;
/// The most values that are looked for. Where there are more, no text is shown: it could hold any of them.
const MOST: usize = 4_000;

/// The hidden values of a form and of the page that answers it.
#[derive(Debug, Default)]
pub(super) struct Mask {
    /// In ASCII small letters, the longest first: taken out wherever they stand.
    anywhere: Vec<String>,
    /// Taken out as words.
    words: Vec<String>,
    /// There were too many values to look for.
    hides_all: bool,
}

impl Mask {
    /// The mask for these values, but for those that the caller put in.
    pub(super) fn of<'v>(hidden: impl Iterator<Item = &'v str>, put_in: &[(String, String)]) -> Self {
        let mut mask = Self::default();
        let given: HashSet<&str> = put_in.iter().map(|(_, value)| value.as_str()).collect();
        for (count, value) in hidden.filter(|value| !given.contains(value)).enumerate() {
            if count == MOST {
                return Self { hides_all: true, ..Self::default() };
            }
            let value = value.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_lowercase();
            if value.len() >= SECRET {
                let form: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
                let form = form.to_ascii_lowercase();
                mask.anywhere.extend([form.replace('+', "%20"), form, value]);
            } else if value.len() >= SHORT && value.bytes().any(|b| b.is_ascii_digit()) {
                mask.words.push(value);
            }
        }
        for list in [&mut mask.anywhere, &mut mask.words] {
            list.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
            list.dedup();
        }
        mask
    }

    /// A text without the hidden values.
    pub(super) fn hides(&self, text: &str) -> String {
        if self.hides_all {
            return MASK.to_owned();
        }
        let mut text = text.to_owned();
        for secret in &self.anywhere {
            text = without(&text, secret, &|_, _| true);
        }
        for secret in &self.words {
            text = without(&text, secret, &|before, after| !continues(before) && !continues(after));
        }
        self.without_parts(&text)
    }

    /// A text without words that are parts of a hidden value, such as the beginning of a token.
    fn without_parts(&self, text: &str) -> String {
        let is_part = |word: &str| {
            let small = word.to_ascii_lowercase();
            let has = |test: fn(&u8) -> bool| small.as_bytes().iter().any(test);
            small.len() >= SECRET
                && has(u8::is_ascii_digit)
                && has(u8::is_ascii_alphabetic)
                && self.anywhere.iter().any(|secret| secret.contains(&small))
        };
        let mut shown = String::with_capacity(text.len());
        for piece in text.split_inclusive(|c: char| !c.is_alphanumeric()) {
            let word = piece.trim_end_matches(|c: char| !c.is_alphanumeric());
            if is_part(word) {
                shown.push_str(MASK);
                shown.push_str(&piece[word.len()..]);
            } else {
                shown.push_str(piece);
            }
        }
        shown
    }
}

/// A text without a secret in small letters, where `fits` takes what stands before and after it.
fn without(text: &str, secret: &str, fits: &dyn Fn(Option<char>, Option<char>) -> bool) -> String {
    let small = text.to_ascii_lowercase();
    let (mut shown, mut from) = (String::with_capacity(text.len()), 0);
    while let Some(at) = small.get(from..).and_then(|rest| rest.find(secret)).map(|at| from + at) {
        let end = at + secret.len();
        shown.push_str(&text[from..at]);
        if fits(text[..at].chars().next_back(), text[end..].chars().next()) {
            shown.push_str(MASK);
        } else {
            shown.push_str(&text[at..end]);
        }
        from = end;
    }
    shown.push_str(&text[from..]);
    shown
}

fn continues(c: Option<char>) -> bool {
    c.is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(hidden: &[&str], text: &str) -> String {
        let put_in = [("order".to_owned(), "order-2026-4711".to_owned())];
        Mask::of(hidden.iter().copied(), &put_in).hides(text)
    }

    #[test]
    fn hidden_values_are_not_in_the_sites_words() {
        let hidden = ["tok/EN+a b123", "a1b2c3", "en", "7", "order-2026-4711"];
        for (text, shown) in [
            ("Bad token tok/EN+a b123.", "Bad token [redacted:hidden-field]."),
            ("<TOK/en+A B123>", "<[redacted:hidden-field]>"),
            ("see /x?t=tok%2FEN%2Ba+b123&n=1", "see /x?t=[redacted:hidden-field]&n=1"),
            ("see /x?t=tok%2fen%2ba%20b123", "see /x?t=[redacted:hidden-field]"),
            ("a1b2c3, xa1b2c3, (A1B2C3)", "[redacted:hidden-field], xa1b2c3, ([redacted:hidden-field])"),
            ("Enter 7 digits, not seven", "Enter 7 digits, not seven"),
            ("No order order-2026-4711 here", "No order order-2026-4711 here"),
            ("Größer als 7 €", "Größer als 7 €"),
        ] {
            assert_eq!(masked(&hidden, text), shown, "{text}");
        }
    }

    #[test]
    fn more_values_than_are_looked_for_hide_every_word() {
        let values: Vec<String> = (0..=MOST).map(|n| format!("token-{n}")).collect();
        let masked = |values: &[String]| Mask::of(values.iter().map(String::as_str), &[]).hides("Too short");
        assert_eq!(masked(&values[..MOST]), "Too short");
        assert_eq!(masked(&values), MASK);
    }

    #[test]
    fn parts_of_a_token_are_not_in_the_sites_words() {
        let hidden = ["9f8e7d6c5b4a39281706", "newsletter-subscribe"];
        assert_eq!(masked(&hidden, "Token 9f8e7d6c5b… is old"), "Token [redacted:hidden-field]… is old");
        assert_eq!(masked(&hidden, "You cannot subscribe twice"), "You cannot subscribe twice");
        assert_eq!(masked(&hidden, "Take 17062026 or 5b4a"), "Take 17062026 or 5b4a");
    }
}
