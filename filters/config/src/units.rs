//! Parses durations, sizes, rates and budgets as the operator writes them.
//!
//! Each error says what is accepted, so that the message suffices to correct the line.

use std::{fmt, time::Duration};

/// Longer durations are surely mistakes. The bound also keeps sums of durations from overflowing.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// "250ms", "5s", "15m", "24h" or "7d".
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong =
        || "is not a duration; write a whole number and a unit, as in \"250ms\", \"5s\", \"15m\", \"24h\" or \"7d\"";
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wrong().into()),
    };
    let duration = number.checked_mul(millis).map(Duration::from_millis);
    duration.filter(|long| *long <= LONGEST).ok_or_else(|| "is longer than a year".into())
}

/// "90_days", "90 days", "90d", "12_months" or "1_year", in any case, because contracts are written freely. A month is
/// a twelfth of 365 days. Zero and unreadable texts are `None`.
pub(super) fn retention(text: &str) -> Option<Duration> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let seconds: u64 = match unit.trim_start_matches([' ', '_', '-']) {
        "h" | "hour" | "hours" => 3600,
        "d" | "day" | "days" => 86_400,
        "w" | "week" | "weeks" => 7 * 86_400,
        "mo" | "month" | "months" => 365 * 86_400 / 12,
        "y" | "year" | "years" => 365 * 86_400,
        _ => return None,
    };
    let long = number.parse::<u64>().ok()?.checked_mul(seconds)?;
    (1..=1000 * 365 * 86_400).contains(&long).then(|| Duration::from_secs(long))
}

/// "8KB", "1MiB" or "512", in bytes. K is 1024 with or without the i, as in the 8 KB of AHP.
pub(super) fn size(text: &str) -> Result<u64, String> {
    let wrong = || "is not a size; write a whole number and a unit, as in \"512B\", \"8KB\", \"1MiB\" (K is 1024)";
    let (number, unit) = split(text).ok_or_else(wrong)?;
    let shift = match unit {
        "" | "B" => 0,
        "KB" | "KiB" => 10,
        "MB" | "MiB" => 20,
        "GB" | "GiB" => 30,
        _ => return Err(wrong().into()),
    };
    number.checked_mul(1 << shift).filter(|bytes| *bytes <= 1 << 40).ok_or_else(|| "is more than 1024 GB".into())
}

/// A number per second, minute, hour or day. Displayed in canonical form, as manifests announce it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub count: u32,
    pub span: Span,
}

/// A number of tokens per session or day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    pub count: u32,
    pub span: Span,
}

/// The period of a rate or a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    Second,
    Minute,
    Hour,
    Day,
    /// The life of a session: see `sessions.idle`.
    Session,
}

impl Span {
    /// Its length; `None` for a session.
    pub fn length(self) -> Option<Duration> {
        Some(Duration::from_secs(match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3600,
            Self::Day => 86_400,
            Self::Session => return None,
        }))
    }

    fn word(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Session => "session",
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.count, self.span.word())
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.count, self.span.word())
    }
}

/// "30/minute".
pub(super) fn rate(text: &str) -> Result<Rate, String> {
    per(text, &[Span::Second, Span::Minute, Span::Hour, Span::Day])
        .map(|(count, span)| Rate { count, span })
        .ok_or_else(|| "is not a rate; write N/second, N/minute, N/hour or N/day, as in \"30/minute\"".into())
}

/// "5000/session": a number of tokens per session or day.
pub(super) fn budget(text: &str) -> Result<Budget, String> {
    per(text, &[Span::Session, Span::Day])
        .map(|(count, span)| Budget { count, span })
        .ok_or_else(|| "is not a budget; write N/session or N/day, as in \"5000/session\"".into())
}

fn per(text: &str, spans: &[Span]) -> Option<(u32, Span)> {
    let (number, unit) = text.split_once('/')?;
    let (number, unit) = (number.trim_end(), unit.trim_start());
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u32 = number.parse().ok()?;
    let span = spans.iter().find(|span| span.word() == unit)?;
    (number > 0).then_some((number, *span))
}

/// Splits an integer from its unit.
fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.strip_prefix(' ').unwrap_or(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("15m"), Ok(Duration::from_secs(900)));
        assert_eq!(duration("24h"), duration("1d"));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        for wrong in ["", "5", "s", "5 sec", "-1s", "1.5s", "90_days", "5S", "99999999999999999999s"] {
            assert!(duration(wrong).unwrap_err().contains("\"250ms\""), "{wrong}");
        }
        assert_eq!(duration("18446744073709551615d"), Err("is longer than a year".into()));
    }

    #[test]
    fn retentions() {
        let days = |days: u64| Some(Duration::from_secs(days * 86_400));
        for text in ["90_days", "90 days", "90d", "90 d", "90_DAYS", "90-Days", " 90 days "] {
            assert_eq!(retention(text), days(90), "{text}");
        }
        assert_eq!(retention("12_months"), retention("1_year"));
        assert_eq!((retention("1_year"), retention("2w"), retention("24h")), (days(365), days(14), days(1)));
        // 12m could be minutes.
        for wrong in ["provider_policy", "", "90", "days", "12m", "0_days", "-1d", "1.5y", "99999999999999999999d"] {
            assert_eq!(retention(wrong), None, "{wrong}");
        }
        assert_eq!(retention("9999999999999999y"), None);
    }

    #[test]
    fn sizes() {
        assert_eq!(size("8KB"), Ok(8192));
        assert_eq!(size("8KiB"), Ok(8192));
        assert_eq!(size("1MiB"), Ok(1 << 20));
        assert_eq!(size("512"), Ok(512));
        for wrong in ["KB", "8kb", "8Kb", "-1B", "1.5MB"] {
            assert!(size(wrong).unwrap_err().contains("8KB"), "{wrong}");
        }
        assert!(size("99999999GB").is_err());
    }

    #[test]
    fn rates_and_budgets() {
        assert_eq!(rate("30/minute"), Ok(Rate { count: 30, span: Span::Minute }));
        assert_eq!(rate("030 / minute").map(|rate| rate.to_string()).as_deref(), Ok("30/minute"));
        for wrong in ["30", "0/minute", "-3/minute", "+3/minute", "30/min", "30/session", "/day", "99999999999/day"] {
            assert!(rate(wrong).unwrap_err().contains("N/minute"), "{wrong}");
        }
        assert_eq!(budget("5000/session").map(|budget| budget.to_string()).as_deref(), Ok("5000/session"));
        assert!(budget("5000/hour").unwrap_err().contains("N/session"));
    }
}
