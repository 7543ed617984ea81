//! Formats times by RFC 3339.

use std::{
    cell::Cell,
    time::{Duration, SystemTime},
};

/// A time as sites say it, in the form of sitemaps (W3C date and time): that itself, or an HTTP date. `None`: it is
/// neither.
pub fn w3c(text: &str) -> Option<String> {
    let text = text.trim();
    if let Ok(time) = httpdate::parse_http_date(text) {
        return Some(rfc3339(time));
    }
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let (date, time) = shape.split_once('T').map_or((shape.as_str(), None), |(date, time)| (date, Some(time)));
    let is_time = |time: &str| {
        let zone = time.find(['Z', '+', '-']).unwrap_or(time.len());
        let (clock, zone) = time.split_at(zone);
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        matches!(clock, "00:00" | "00:00:00")
            && (1..=9).contains(&fraction.len())
            && fraction.bytes().all(|b| b == b'0')
            && matches!(zone, "Z" | "+00:00" | "-00:00")
    };
    let fits = match time {
        None => matches!(date, "0000" | "0000-00" | "0000-00-00"),
        Some(time) => date == "0000-00-00" && is_time(time),
    };
    fits.then(|| text.to_owned())
}

/// A time in RFC 3339 form, to the second, in UTC.
pub fn rfc3339(time: SystemTime) -> String {
    let date = date(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default());
    let mut text = String::with_capacity(date.len() + 1);
    text.push_str(std::str::from_utf8(&date).unwrap_or_default());
    text.push('Z');
    text
}

/// The same as digits, without the zone. Caches the last second, since consecutive calls mostly share it.
pub fn date(since_1970: Duration) -> [u8; 19] {
    thread_local!(static LAST: Cell<(u64, [u8; 19])> = const { Cell::new((0, *b"1970-01-01T00:00:00")) });
    let (last, written) = LAST.get();
    if last == since_1970.as_secs() {
        return written;
    }
    let written = written_out(since_1970);
    LAST.set((since_1970.as_secs(), written));
    written
}

fn written_out(since_1970: Duration) -> [u8; 19] {
    let (days, seconds) = (since_1970.as_secs() / 86_400, since_1970.as_secs() % 86_400);
    // The civil date from days, by the usual arithmetic on 400-year eras that begin in March.
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let mut text = *b"0000-00-00T00:00:00";
    let parts = [(0, year / 100), (2, year), (5, month), (8, day), (11, seconds / 3600), (14, seconds / 60 % 60)];
    for (at, part) in parts.into_iter().chain([(17, seconds % 60)]) {
        // A two-digit number is less than 100.
        let part = (part % 100) as u8;
        text[at] = b'0' + part / 10;
        text[at + 1] = b'0' + part % 10;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_as_sites_say_it_has_the_form_of_sitemaps() {
        for same in ["2026", "2026-01", "2026-01-02", "2026-01-02T03:04Z", "2026-01-02T03:04:05.678+02:00"] {
            assert_eq!(w3c(same).as_deref(), Some(same));
        }
        assert_eq!(w3c(" Sun, 06 Nov 1994 08:49:37 GMT ").as_deref(), Some("1994-11-06T08:49:37Z"));
        for none in ["", "yesterday", "2026-01-02 03:04", "2026-01-02T03:04:05", "2026-01T03:04Z", "26-1-2", "<x>"] {
            assert_eq!(w3c(none), None, "{none}");
        }
    }

    #[test]
    fn times_are_written_as_rfc_3339() {
        assert_eq!(rfc3339(SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777)), "1994-11-06T08:49:37Z");
        for _ in 0..2 {
            assert_eq!(rfc3339(SystemTime::UNIX_EPOCH), "1970-01-01T00:00:00Z");
        }
        for seconds in [951_782_399, 951_782_400, 1_735_689_599, 1_795_305_599, 4_107_542_400] {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let http = httpdate::HttpDate::from(time).to_string();
            let ours = rfc3339(time);
            assert_eq!((&ours[..4], &ours[8..10], &ours[11..19]), (&http[12..16], &http[5..7], &http[17..25]));
        }
    }
}
