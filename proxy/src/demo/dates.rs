//! The two date formats the site speaks: RFC 3339 in its API, HTTP's own in headers.

/// A moment as RFC 3339 in UTC, from seconds since 1970.
pub fn rfc3339(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / 86_400);
    let second_of_day = seconds % 86_400;
    let (hour, minute, second) = (second_of_day / 3600, second_of_day / 60 % 60, second_of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Year, month and day of a day counted from 1970-01-01 (proleptic Gregorian, years of 365.2425 days from March).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// A moment that compares in order of time: year, month, day, hour, minute, second.
pub type Moment = (u16, u8, u8, u8, u8, u8);

/// Reads an HTTP date ("Mon, 03 Feb 2025 09:00:00 GMT"). The obsolete spellings are not read: such a condition is
/// ignored, as a condition that cannot be read has to be.
pub fn http_date(text: &str) -> Option<Moment> {
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_weekday, rest) = text.split_once(", ")?;
    let mut words = rest.split(' ');
    let day = words.next()?.parse().ok()?;
    let name = words.next()?;
    let month = (1..).zip(MONTHS).find(|(_, month)| *month == name)?.0;
    let year = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':');
    let hour = clock.next()?.parse().ok()?;
    let minute = clock.next()?.parse().ok()?;
    let second = clock.next()?.parse().ok()?;
    let whole = clock.next().is_none() && words.next() == Some("GMT") && words.next().is_none();
    whole.then_some((year, month, day, hour, minute, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00Z");
        assert_eq!(rfc3339(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(rfc3339(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(rfc3339(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn http_dates_compare_in_order_of_time() {
        let earlier = http_date("Mon, 03 Feb 2025 09:00:00 GMT");
        assert_eq!(earlier, Some((2025, 2, 3, 9, 0, 0)));
        assert!(earlier < http_date("Tue, 04 Feb 2025 08:00:00 GMT"));
        for broken in ["", "yesterday", "Mon, 03 Feb 2025 09:00:00", "Mon, 3 Foo 2025 09:00:00 GMT"] {
            assert_eq!(http_date(broken), None, "{broken}");
        }
    }
}
