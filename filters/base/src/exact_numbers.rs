//! Finds numbers in JSON text that parsing would change. A number with more digits than the type holds would silently
//! become another: another amount, or another object's id.

use std::{borrow::Cow, ops::Range};

use serde::de::IgnoredAny;

/// The message for such a number in a request.
pub const ROUNDED: &str =
    "A number is too large, or has too many digits, to be passed on as it is. Send it as a string.";

/// Numbers of up to this many characters are always exact, unless they have an exponent.
const ALWAYS_KEPT: usize = 15;

/// Whether every number of a JSON text keeps its value: an integer its digits, any other its value.
pub fn is_exact(json: &[u8]) -> bool {
    numbers(json).all(|at| is_kept(&json[at]))
}

/// A JSON text with its inexact integers in quotes, because an id must not change. Other text stays as it is.
pub fn quoted(json: &[u8]) -> Cow<'_, [u8]> {
    let (mut quoted, mut from) = (Vec::new(), 0);
    for at in numbers(json) {
        let number = &json[at.clone()];
        if number.len() > ALWAYS_KEPT && !is_kept(number) && is_whole(number) && is_finite(number) {
            quoted.extend_from_slice(&json[from..at.start]);
            quoted.push(b'"');
            quoted.extend_from_slice(number);
            quoted.push(b'"');
            from = at.end;
        }
    }
    if from == 0 || serde_json::from_slice::<IgnoredAny>(json).is_err() {
        return json.into();
    }
    quoted.extend_from_slice(&json[from..]);
    quoted.into()
}

/// The ranges outside strings that look like numbers.
fn numbers(json: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let (mut in_string, mut escaped, mut at) = (false, false, 0);
    std::iter::from_fn(move || {
        while let Some(byte) = json.get(at) {
            let start = at;
            at += 1;
            match byte {
                _ if escaped => escaped = false,
                b'\\' if in_string => escaped = true,
                b'"' => in_string = !in_string,
                b'-' | b'0'..=b'9' if !in_string => {
                    let is_part = |b: &&u8| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
                    at = start + json[start..].iter().take_while(is_part).count();
                    return Some(start..at);
                }
                _ => {}
            }
        }
        None
    })
}

fn is_whole(number: &[u8]) -> bool {
    number.strip_prefix(b"-").unwrap_or(number).iter().all(u8::is_ascii_digit)
}

fn read(number: &[u8]) -> Option<f64> {
    std::str::from_utf8(number).ok()?.parse().ok()
}

fn is_finite(number: &[u8]) -> bool {
    read(number).is_some_and(f64::is_finite)
}

fn is_kept(number: &[u8]) -> bool {
    if number.len() <= ALWAYS_KEPT && !number.iter().any(|b| matches!(b, b'e' | b'E')) {
        return true;
    }
    let text = std::str::from_utf8(number).unwrap_or_default();
    if is_whole(number) {
        return text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
    }
    // Malformed numbers are for the parser to report.
    let Some(float) = read(number) else { return true };
    let digits = Digits::of(text);
    // Some writers print all significant digits, and not only the necessary ones (`0.10000000000000001`).
    float.is_finite() && (digits == Digits::of(&format!("{float:e}")) || digits == Digits::of(&format!("{float:.16e}")))
}

/// A number in any spelling.
#[derive(PartialEq, Eq)]
struct Digits {
    /// From the first to the last digit that is not zero.
    digits: String,
    /// The power of ten of the last digit.
    exponent: i64,
}

impl Digits {
    fn of(number: &str) -> Self {
        let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = [whole.trim_start_matches('-'), fraction].concat();
        let kept = all.trim_end_matches('0');
        let digits = kept.trim_start_matches('0').to_owned();
        if digits.is_empty() {
            return Self { digits, exponent: 0 };
        }
        let [zeros, fraction] =
            [all.len() - kept.len(), fraction.len()].map(|length| i64::try_from(length).unwrap_or(0));
        Self { digits, exponent: exponent.parse::<i64>().unwrap_or(0).saturating_add(zeros - fraction) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_become_another_number_is_told_from_what_stays() {
        for exact in [
            "0",
            "-0",
            "-0.0",
            "0e99999999999999999999",
            "18446744073709551615",
            "-9223372036854775808",
            "1e20",
            "1.50",
            "1E+2",
            "0.30000000000000004",
            "0.10000000000000001",
            "1.7976931348623157e308",
            "5e-324",
            r#"{"a":"18446744073709551616","b\"":"1e400"}"#,
            "1-2",
        ] {
            assert!(is_exact(exact.as_bytes()), "{exact}");
        }
        for rounded in [
            "18446744073709551616",
            "-9223372036854775809",
            "{\"a\":[12345678901234567890123]}",
            "\"x\", 99999999999999999999",
            "[1,{\"a\":12345678901234567.89}]",
            "0.1234567890123456789",
            "1e400",
            "1e-400",
            "1e-99999999999999999999",
            "123456789012345678901e3",
        ] {
            assert!(!is_exact(rounded.as_bytes()), "{rounded}");
        }
    }

    #[test]
    fn an_id_is_quoted_before_it_becomes_another() {
        let said = |json: &str| String::from_utf8(quoted(json.as_bytes()).into_owned()).unwrap();
        assert_eq!(
            said(r#"{"id":18446744073709551617,"b":[-9223372036854775809 , 1.5,7]}"#),
            r#"{"id":"18446744073709551617","b":["-9223372036854775809" , 1.5,7]}"#
        );
        let nines = "9".repeat(400);
        for same in ["[18446744073709551615]", "0.12345678901234567890", "{18446744073709551617:1}", &nines, "[1e400]"]
        {
            assert_eq!(said(same), same);
        }
    }
}
