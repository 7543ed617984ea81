//! Numbers and dates as pages write them for people.

use serde_json::{Number, Value};

use crate::day::{Day, month_of};

/// Languages whose decimals come after a comma.
const WITH_COMMAS: [&str; 24] = [
    "bg", "ca", "cs", "da", "de", "el", "es", "et", "fi", "fr", "hr", "hu", "id", "it", "lt", "lv", "nb", "nl", "no",
    "pl", "pt", "ro", "ru", "sv",
];

/// The first number in a text.
pub(crate) fn number(text: &str, language: &str) -> Option<Value> {
    let chars: Vec<char> = text.chars().collect();
    let start = chars.iter().position(char::is_ascii_digit)?;
    let mut digits = String::new();
    let mut at = start;
    while at < chars.len() {
        let c = chars[at];
        let digit_follows = chars.get(at + 1).is_some_and(char::is_ascii_digit);
        match c {
            '0'..='9' => digits.push(c),
            '.' | ',' if digit_follows => digits.push(c),
            // Blanks and apostrophes between groups of three.
            ' ' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\'' | '’'
                if is_group(&chars[at + 1..]) && digits.len() <= 15 =>
            {
                // "5 000" is one number, "2 100" is as well; "12 3 4" is not.
            }
            _ => break,
        }
        at += 1;
    }
    let is_negative = start > 0
        && matches!(chars[start - 1], '-' | '−')
        && !start.checked_sub(2).is_some_and(|before| chars[before].is_alphanumeric());
    let plain = plain(&digits, language);
    let plain = if is_negative { format!("-{plain}") } else { plain };
    if !plain.contains('.')
        && let Ok(whole) = plain.parse::<i64>()
    {
        return Some(whole.into());
    }
    Number::from_f64(plain.parse().ok()?).map(Value::Number)
}

/// Whether exactly three digits come next.
fn is_group(rest: &[char]) -> bool {
    rest.len() >= 3 && rest[..3].iter().all(char::is_ascii_digit) && !rest.get(3).is_some_and(char::is_ascii_digit)
}

/// Digits with one point at most, out of digits with separators.
fn plain(digits: &str, language: &str) -> String {
    let with_commas = {
        let primary = language.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        WITH_COMMAS.contains(&primary.as_str())
    };
    let (points, commas) = (digits.matches('.').count(), digits.matches(',').count());
    let decimal = match (points, commas) {
        (0, 0) => None,
        // Both: the last one is the decimal sign.
        (1.., 1..) => digits.chars().rev().find(|c| matches!(c, '.' | ',')),
        (2.., 0) | (0, 2..) => None,
        (one, _) => {
            let sign = if one == 1 { '.' } else { ',' };
            let (before, after) = digits.split_once(sign).unwrap_or((digits, ""));
            let may_be_a_group = after.len() == 3 && (1..=3).contains(&before.len()) && before != "0";
            let is_group = may_be_a_group && (sign == ',') != with_commas;
            (!is_group).then_some(sign)
        }
    };
    digits
        .chars()
        .filter_map(|c| match c {
            '.' | ',' if Some(c) == decimal => Some('.'),
            '.' | ',' => None,
            digit => Some(digit),
        })
        .collect()
}

/// A date as ISO 8601 writes it, with its time where the text has one that machines write.
pub(crate) fn date(text: &str, language: &str) -> Option<String> {
    let text = text.trim();
    if let Some(day) = text.get(..10).and_then(Day::iso) {
        let rest = text[10..].trim();
        let is_time = rest.is_empty() || rest.starts_with(['T', 't']) || rest.starts_with(|c: char| c.is_ascii_digit());
        if !is_time || rest.is_empty() {
            return Some(day.to_string());
        }
        let time = rest.trim_start_matches(['T', 't']).trim().replace(' ', "");
        let fits = time.len() <= 20 && time.bytes().all(|b| b.is_ascii_digit() || b":.+-Zz".contains(&b));
        return Some(if fits { format!("{day}T{time}") } else { day.to_string() });
    }
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let number = |word: &str| {
        let digits = word.trim_end_matches(|c: char| c.is_alphabetic());
        (!digits.is_empty() && digits.len() <= 4).then(|| digits.parse::<u16>().ok()).flatten()
    };
    for (at, word) in words.iter().enumerate() {
        let around =
            |offset: isize| at.checked_add_signed(offset).and_then(|at| words.get(at)).and_then(|word| number(word));
        let Some(month) = month_of(word) else { continue };
        // 9 May 2026, May 9 2026, 9 de mayo de 2026.
        let skips = |word: Option<&&str>| word.is_some_and(|word| matches!(*word, "de" | "of" | "d"));
        let before = if at > 0 && skips(words.get(at - 1)) { around(-2) } else { around(-1) };
        let after = if skips(words.get(at + 1)) { around(2) } else { around(1) };
        let day = match (before, after, around(2)) {
            (Some(day), Some(year), _) if day <= 31 => Day::new(year, month, day),
            (_, Some(day), Some(year)) => Day::new(year, month, day),
            _ => None,
        };
        if day.is_some() {
            return day.map(|day| day.to_string());
        }
    }
    // 09.05.2026, 9/5/2026: the day first, but in the United States.
    let numbers: Vec<u16> = words.iter().map_while(|word| number(word)).collect();
    let [a, b, year] = *numbers.get(..3)? else { return None };
    let month_first = text.contains('/')
        && (language.is_empty() || language.eq_ignore_ascii_case("en") || language.eq_ignore_ascii_case("en-us"));
    let (day, month) = if month_first && (b > 12 || a <= 12) { (b, a) } else { (a, b) };
    Day::new(year, month, day).map(|day| day.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn numbers_are_read_in_their_language() {
        for (text, language, expected) in [
            ("EUR 1.299,00", "de", json!(1299.0)),
            ("$1,299.50 a night", "en", json!(1299.5)),
            ("1,299", "en", json!(1299)),
            ("1.299", "de-DE", json!(1299)),
            ("1.299", "en", json!(1.299)),
            ("1,5 km", "fr", json!(1.5)),
            ("1,5 km", "en", json!(1.5)),
            ("0,125", "en", json!(0.125)),
            ("12 345 678 Kč", "cs", json!(12_345_678)),
            ("CHF 1'299.-", "de-CH", json!(1299)),
            ("-5 °C", "", json!(-5)),
            ("A-5", "", json!(5)),
            ("1.234.567", "", json!(1_234_567)),
            ("4.5 of 5", "en", json!(4.5)),
            ("3 left. 200 sold", "en", json!(3)),
        ] {
            assert_eq!(number(text, language), Some(expected), "{text}");
        }
        assert_eq!(number("none", "en"), None);
    }

    #[test]
    fn dates_are_told_as_machines_write_them() {
        for (text, language, expected) in [
            ("2026-05-09", "", Some("2026-05-09")),
            ("2026-05-09T12:30:00Z", "", Some("2026-05-09T12:30:00Z")),
            ("2026-05-09 12:30", "", Some("2026-05-09T12:30")),
            ("Sat, 09 May 2026 12:00:00 GMT", "", Some("2026-05-09")),
            ("May 9th, 2026", "en", Some("2026-05-09")),
            ("9. Mai 2026", "de", Some("2026-05-09")),
            ("9 de mayo de 2026", "es", Some("2026-05-09")),
            ("09.05.2026", "de", Some("2026-05-09")),
            ("05/09/2026", "en", Some("2026-05-09")),
            ("9/5/2026", "en-GB", Some("2026-05-09")),
            ("31.02.2026", "de", None),
            ("yesterday", "en", None),
        ] {
            assert_eq!(date(text, language).as_deref(), expected, "{text}");
        }
    }
}
