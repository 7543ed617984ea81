//! The dates of a handoff: days for trust, timestamps for sessions (RFC 3339).

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: i64 = 86_400;

/// Days since 1970 of `YYYY-MM-DD`; `None` for an invalid date.
pub(super) fn day(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let shaped = bytes.len() == 10 && bytes[4] == b'-' && bytes[7] == b'-';
    let number = |from: usize, to: usize| -> Option<i64> {
        bytes[from..to].iter().try_fold(0, |sum, b| b.is_ascii_digit().then(|| sum * 10 + i64::from(b - b'0')))
    };
    if !shaped {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Counts in eras of 400 years that begin in March.
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468)
}

/// Seconds since 1970 of a timestamp with its zone.
pub(super) fn moment(text: &str) -> Option<i64> {
    let (date, rest) = text.split_at_checked(10)?;
    let days = day(date)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = rest.split_at_checked(8)?;
    let mut parts = clock.split(':').map(two);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    // A minute with a leap second has a second 60.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            (zone.len() < fraction.len()).then_some(zone)?
        }
        None => rest,
    };
    let offset = match zone.as_bytes().first()? {
        b'Z' | b'z' if zone.len() == 1 => 0,
        sign @ (b'+' | b'-') => {
            let (hours, minutes) = zone[1..].split_once(':')?;
            let (hours, minutes) = (two(hours)?, two(minutes)?);
            let offset = (hours <= 23 && minutes <= 59).then_some(hours * 3600 + minutes * 60)?;
            if *sign == b'+' { offset } else { -offset }
        }
        _ => return None,
    };
    Some(days * DAY + hour * 3600 + minute * 60 + second - offset)
}

fn two(digits: &str) -> Option<i64> {
    (digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// Seconds since 1970.
pub(super) fn seconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default();
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// Today's date in UTC, in days since 1970.
pub(super) fn today(now: SystemTime) -> i64 {
    seconds(now).div_euclid(DAY)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use frontdesk_desk::rfc3339;

    #[test]
    fn days_are_those_of_the_calendar() {
        assert_eq!((day("1970-01-01"), day("1970-01-02"), day("1969-12-31")), (Some(0), Some(1), Some(-1)));
        assert_eq!((day("2000-02-29"), day("2024-02-29")), (Some(11_016), Some(19_782)));
        for wrong in [
            "2023-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-04-31",
            "2026-1-01",
            "26-01-01",
            "2026-01-0x",
        ] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn moments_are_read_as_they_are_written() {
        for seconds in [0, 951_782_400, 1_735_689_599, 4_107_542_400_u64] {
            let written = rfc3339(UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(moment(&written), i64::try_from(seconds).ok(), "{written}");
        }
        let noon = moment("2026-02-26T12:00:00Z");
        for same in ["2026-02-26T14:00:00+02:00", "2026-02-26T12:00:00.123Z", "2026-02-26 09:30:00-02:30"] {
            assert_eq!(moment(same), noon, "{same}");
        }
        for wrong in [
            "[ISO-8601]",
            "2026-02-26",
            "2026-02-26T12:00:00",
            "2026-02-26T24:00:00Z",
            "2026-02-26T12:00Z",
            "",
            "2026-02-26T12:00:00.Z",
            "2026-02-26T12:00:00+0200",
            "2026-02-26T12:00:00ZZ",
            "2026-02-2éT12:00:00Z",
        ] {
            assert_eq!(moment(wrong), None, "{wrong}");
        }
    }
}
