//! Finds card numbers by check digit, bank accounts by checksum, and social security numbers by their rules, in one
//! pass over the digits of a text. Numbers without a checksum or a rule are no findings.

#[cfg(test)]
mod tests;

use super::{finding::Findings, random::contains_any_case};

/// Scans every run of digits.
pub(super) fn numbers(text: &[u8], found: &mut Findings) {
    let mut at = 0;
    while at < text.len() {
        at = match next_digit(&text[at..]) {
            Some(next) => at + next,
            None => return,
        };
        let len = text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let taken = account(text, at, len).or_else(|| social(text, at, len)).or_else(|| card(text, at, len));
        match taken {
            Some((rule, start, end)) => {
                found.pii(rule, start, end);
                at = end.max(at + len);
            }
            None => at += len,
        }
    }
}

/// The next digit. Most text has none, so eight bytes are examined at once: a digit minus `0` is below ten.
fn next_digit(text: &[u8]) -> Option<usize> {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let (eights, rest) = text.as_chunks::<8>();
    for (count, eight) in eights.iter().enumerate() {
        let left = u64::from_le_bytes(*eight) ^ 0x3030_3030_3030_3030;
        let is_more = ((left & !HIGH) + 0x7676_7676_7676_7676) | left;
        let digits = !is_more & HIGH;
        if digits != 0 {
            return Some(count * 8 + digits.trailing_zeros() as usize / 8);
        }
    }
    rest.iter().position(u8::is_ascii_digit).map(|at| eights.len() * 8 + at)
}

type Taken = (&'static str, usize, usize);

fn before(text: &[u8], at: usize) -> u8 {
    at.checked_sub(1).map_or(b' ', |at| text[at])
}

/// Whether a number continues after `end`: with letters, or with a separator and more digits. A number with a valid
/// checksum may end before a comma, a slash or a colon, which separate list fields and precede dates.
fn goes_on(text: &[u8], end: usize) -> bool {
    match text.get(end) {
        None => false,
        Some(b'-' | b'.') => text.get(end + 1).is_some_and(u8::is_ascii_alphanumeric),
        Some(byte) => byte.is_ascii_alphanumeric() || *byte == b'_',
    }
}

/// `AAA-GG-SSSS`, without the areas and groups that were never issued. With blanks or without separators only beside a
/// word that names it.
fn social(text: &[u8], at: usize, len: usize) -> Option<Taken> {
    let joint = match len {
        3 => text.get(at + 3).copied().filter(|byte| matches!(byte, b'-' | b' ')),
        9 => None,
        _ => return None,
    };
    let end = at + if len == 3 { 11 } else { 9 };
    let number = text.get(at..end)?;
    if before(text, at).is_ascii_alphanumeric() || matches!(before(text, at), b'-' | b'.' | b'_' | b'+' | b'#' | b'/') {
        return None;
    }
    if len == 3 {
        let joint = joint?;
        let shaped = number.iter().enumerate().all(|(n, byte)| match n {
            3 | 6 => *byte == joint,
            _ => byte.is_ascii_digit(),
        });
        if !shaped {
            return None;
        }
    }
    let digits: Vec<u8> = number.iter().filter(|byte| byte.is_ascii_digit()).copied().collect();
    let (area, rest) = digits.split_at(3);
    let (group, serial) = rest.split_at(2);
    let given = area != b"000" && area != b"666" && area[0] != b'9' && group != b"00" && serial != b"0000";
    // Numbers that appeared in advertisements.
    let shown = digits == b"078051120" || digits == b"219099999";
    let named = joint == Some(b'-') || {
        let context = &text[at.saturating_sub(32)..at];
        contains_any_case(context, b"ssn") || contains_any_case(context, b"social security")
    };
    (given && !shown && named && !goes_on(text, end)).then_some(("ssn", at, end))
}

/// Countries and the lengths of their IBANs (ISO 13616).
const COUNTRIES: &[(&[u8; 2], usize)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NL", 18),
    (b"NO", 15),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"SA", 24),
    (b"SC", 31),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"ST", 25),
    (b"SV", 28),
    (b"TL", 23),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
];

/// An IBAN whose check digits are at `at`.
fn account(text: &[u8], at: usize, len: usize) -> Option<Taken> {
    let start = at.checked_sub(2)?;
    let country = &text[start..at];
    // Most numbers have no country code before them.
    let named = country.iter().all(u8::is_ascii_alphabetic);
    if len < 2 || !named || before(text, start).is_ascii_alphanumeric() {
        return None;
    }
    let (_, want) = COUNTRIES.iter().find(|(code, _)| code.eq_ignore_ascii_case(country))?;
    let mut letters = [0u8; 34];
    let (mut count, mut end) = (0, start);
    while count < *want {
        let byte = *text.get(end)?;
        match byte {
            b' ' | b'-' if count > 0 && text[end - 1].is_ascii_alphanumeric() => {}
            byte if byte.is_ascii_alphanumeric() => {
                letters[count] = byte.to_ascii_uppercase();
                count += 1;
            }
            _ => return None,
        }
        end += 1;
    }
    if text.get(end).is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let rearranged = letters[4..count].iter().chain(&letters[..4]);
    let rest = rearranged.fold(0u32, |rest, letter| match letter {
        b'0'..=b'9' => (rest * 10 + u32::from(letter - b'0')) % 97,
        _ => (rest * 100 + u32::from(letter - b'A') + 10) % 97,
    });
    (rest == 1).then_some(("iban", start, end))
}

/// A card number: an issued prefix, a matching length, groups as printed, and the Luhn digit.
fn card(text: &[u8], at: usize, len: usize) -> Option<Taken> {
    // The first group, or the whole number.
    if !matches!(len, 4 | 14..=19) {
        return None;
    }
    let before = before(text, at);
    if before.is_ascii_alphanumeric() || matches!(before, b'.' | b'-' | b'_' | b'+' | b'#' | b'/' | b'$') {
        return None;
    }
    // A group of a longer number, such as an account or a part number.
    if at > 0 && before == b' ' && is_group(&text[..at - 1]) {
        return None;
    }
    let mut digits = [0u8; 19];
    let (mut count, mut end, mut group, mut joint) = (0, at, 0, None);
    let mut groups = [0u8; 6];
    let mut grouped = 0;
    while let Some(byte) = text.get(end) {
        match byte {
            b'0'..=b'9' if count < 19 => {
                digits[count] = byte - b'0';
                count += 1;
                group += 1;
            }
            b'0'..=b'9' => return None,
            b' ' | b'-'
                if group > 0
                    && joint.is_none_or(|joint| joint == *byte)
                    && grouped < 5
                    && text.get(end + 1).is_some_and(u8::is_ascii_digit)
                    && (count < 14 || count == 16 && joint.is_some() && is_three(&text[end + 1..])) =>
            {
                joint = Some(*byte);
                groups[grouped] = group;
                (grouped, group) = (grouped + 1, 0);
            }
            _ => break,
        }
        end += 1;
    }
    groups[grouped] = group;
    let printed = matches!(&groups[..=grouped], [_] | [4, 4, 4, 4] | [4, 6, 5] | [4, 6, 4] | [4, 4, 4, 4, 3]);
    let known = printed && is_given(&digits[..count]) && luhn(&digits[..count]);
    (known && !goes_on(text, end)).then_some(("card", at, end))
}

/// Whether a text ends in four digits, or in an IBAN's country and check digits.
fn is_group(text: &[u8]) -> bool {
    let run = text.iter().rev().take(5).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let run = &text[text.len() - run..];
    run.len() == 4
        && run[2..].iter().all(u8::is_ascii_digit)
        && (run[..2].iter().all(u8::is_ascii_digit) || run[..2].iter().all(u8::is_ascii_uppercase))
}

/// Whether exactly three digits follow.
fn is_three(text: &[u8]) -> bool {
    text.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count() == 3
}

fn is_given(digits: &[u8]) -> bool {
    let first = |n: usize| digits.iter().take(n).fold(0u32, |sum, digit| sum * 10 + u32::from(*digit));
    match digits.len() {
        14 => matches!(first(2), 36 | 38 | 39) || matches!(first(3), 300..=305),
        15 => matches!(first(2), 34 | 37),
        16 => {
            first(1) == 4
                || matches!(first(2), 51..=55 | 62 | 65)
                || matches!(first(3), 644..=649)
                || matches!(first(4), 2221..=2720 | 3528..=3589 | 6011)
        }
        19 => first(1) == 4 || matches!(first(2), 62 | 65) || first(4) == 6011,
        _ => false,
    }
}

fn luhn(digits: &[u8]) -> bool {
    let doubled = |digit: u8| if digit > 4 { digit * 2 - 9 } else { digit * 2 };
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(n, digit)| u32::from(if n % 2 == 1 { doubled(*digit) } else { *digit }))
        .sum();
    sum.is_multiple_of(10) && digits.iter().any(|digit| *digit != digits[0])
}
