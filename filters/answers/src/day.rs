//! Days of the calendar, and the names of months in the languages that most pages are in.

use std::fmt;

/// A day that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Day {
    year: u16,
    month: u16,
    day: u16,
}

impl Day {
    pub(crate) fn new(year: u16, month: u16, day: u16) -> Option<Self> {
        let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let length = match month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            1..=12 => 31,
            _ => return None,
        };
        ((1000..=9999).contains(&year) && (1..=length).contains(&day)).then_some(Self { year, month, day })
    }

    /// Reads `2026-05-09`.
    pub(crate) fn iso(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut next = |length: usize| parts.next().filter(|part| part.len() == length)?.parse().ok();
        let day = Self::new(next(4)?, next(2)?, next(2)?)?;
        parts.next().is_none().then_some(day)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// The beginnings of the names of months: English, German, French, Spanish, Italian, Portuguese, Dutch.
const MONTHS: [&[&str]; 12] = [
    &["jan", "jän", "ene", "gen"],
    &["feb", "fév", "fev"],
    &["mar", "mär", "mrz", "maa", "mrt"],
    &["apr", "avr", "abr"],
    &["may", "mai", "mag", "mei", "mayo", "maio"],
    &["jun", "juin", "giu"],
    &["jul", "juil", "lug"],
    &["aug", "aoû", "aou", "ago"],
    &["sep", "set"],
    &["oct", "okt", "ott", "out"],
    &["nov"],
    &["dec", "dez", "déc", "dic"],
];

/// The month that a word names, from 1.
pub(crate) fn month_of(word: &str) -> Option<u16> {
    let word = word.to_lowercase();
    if word.chars().count() < 3 || word.chars().any(|c| !c.is_alphabetic()) {
        return None;
    }
    let begins = |names: &&[&str]| names.iter().any(|name| word.starts_with(name));
    MONTHS.iter().position(begins).and_then(|at| u16::try_from(at + 1).ok())
}

/// Seconds since 1970 of the date in a cookie (RFC 6265, 5.1.1), in the forms that sites write.
pub(crate) fn cookie_date(text: &str) -> Option<u64> {
    let words: Vec<&str> =
        text.split(|c: char| !c.is_ascii_alphanumeric() && c != ':').filter(|word| !word.is_empty()).collect();
    let month = words.iter().find_map(|word| (word.len() == 3).then(|| month_of(word)).flatten())?;
    let mut numbers = words.iter().filter(|word| !word.contains(':')).filter_map(|word| word.parse::<u64>().ok());
    let (day, year) = (numbers.next()?, numbers.next()?);
    let year = match year {
        0..=69 => year + 2000,
        70..=99 => year + 1900,
        year => year,
    };
    let time: Vec<u64> =
        words.iter().find(|word| word.contains(':'))?.split(':').filter_map(|part| part.parse().ok()).collect();
    let [hour, minute, second] = time[..] else { return None };
    if !(1970..=9999).contains(&year) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days of the civil calendar, with March as the first month.
    let month = u64::from(month);
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = y * 365 + y / 4 - y / 100 + y / 400 + (m * 153 + 2) / 5 + day - 1;
    Some(days.saturating_sub(719_468) * 86_400 + hour * 3_600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_cookies_are_read() {
        assert_eq!(cookie_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(cookie_date("Sat, 09-May-2026 12:00:00 GMT"), Some(1_778_328_000));
        assert_eq!(cookie_date("Saturday, 09-May-26 12:00:00 GMT"), Some(1_778_328_000));
        assert_eq!(cookie_date("never"), None);
    }
}
