//! Durations, sizes, rates and budgets as the operator writes them.
//!
//! Each reader answers with what it does accept, so that the message beside the line is enough to put it right.

use std::time::Duration;

/// Longer is surely a slip; it also keeps sums of durations far from overflow.
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

/// "8KB", "1MiB" or "512": in bytes. K is 1024 with or without the i, as in the 8 KB of AHP.
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

/// "30/minute": so many in a second, minute, hour or day. The answer is the canonical spelling.
pub(super) fn rate(text: &str) -> Result<String, String> {
    per(text, &["second", "minute", "hour", "day"])
        .ok_or_else(|| "is not a rate; write N/second, N/minute, N/hour or N/day, as in \"30/minute\"".into())
}

/// "5000/session": so many tokens in a session or a day. The answer is the canonical spelling.
pub(super) fn budget(text: &str) -> Result<String, String> {
    per(text, &["session", "day"])
        .ok_or_else(|| "is not a budget; write N/session or N/day, as in \"5000/session\"".into())
}

fn per(text: &str, units: &[&str]) -> Option<String> {
    let (number, unit) = text.split_once('/')?;
    let (number, unit) = (number.trim_end(), unit.trim_start());
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: u32 = number.parse().ok()?;
    (number > 0 && units.contains(&unit)).then(|| format!("{number}/{unit}"))
}

/// A whole number, then its unit.
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
        assert_eq!(rate("30/minute").as_deref(), Ok("30/minute"));
        assert_eq!(rate("030 / minute").as_deref(), Ok("30/minute"));
        for wrong in ["30", "0/minute", "-3/minute", "+3/minute", "30/min", "30/session", "/day", "99999999999/day"] {
            assert!(rate(wrong).unwrap_err().contains("N/minute"), "{wrong}");
        }
        assert_eq!(budget("5000/session").as_deref(), Ok("5000/session"));
        assert!(budget("5000/hour").unwrap_err().contains("N/session"));
    }
}
