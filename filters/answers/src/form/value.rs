//! Values of inputs as browsers hold them, which is not always as the page wrote them: the HTML standard's "value
//! sanitization algorithm" of each `type`, and what a person's typing becomes.

/// What an input of a type has for what the page wrote. `attribute` reads `min`, `max`, `step` and `multiple`.
pub(super) fn sanitized(kind: &str, written: &str, attribute: &dyn Fn(&str) -> Option<String>) -> String {
    let only = |is_valid: bool| if is_valid { written.to_owned() } else { String::new() };
    match kind {
        "color" => color(written),
        "range" => range(written, attribute),
        "number" => only(number(written).is_some()),
        "datetime-local" => local(written).unwrap_or_default(),
        "date" | "month" | "week" | "time" => only(is_moment(kind, written)),
        "email" if attribute("multiple").is_some() => {
            one_line(written).split(',').map(trimmed).collect::<Vec<_>>().join(",")
        }
        "email" | "url" => trimmed(&one_line(written)).to_owned(),
        _ => one_line(written),
    }
}

/// What an input of a type has when a person puts in a text: a line end becomes a space, as when it is pasted.
pub(super) fn typed(kind: &str, text: &str) -> String {
    let line = text.replace("\r\n", " ").replace(['\r', '\n'], " ");
    if matches!(kind, "email" | "url") { trimmed(&line).to_owned() } else { line }
}

/// An example of a moment, where the text is none of this type: browsers let nobody put in anything else.
pub(super) fn wanted_moment(kind: &str, text: &str) -> Option<&'static str> {
    let example = match kind {
        "date" => "2026-11-26",
        "month" => "2026-11",
        "week" => "2026-W48",
        "time" => "14:30",
        "datetime-local" => "2026-11-26T14:30",
        _ => return None,
    };
    let is_valid =
        text.is_empty() || if kind == "datetime-local" { local(text).is_some() } else { is_moment(kind, text) };
    (!is_valid).then_some(example)
}

fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], "")
}

fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r', '\x0c'])
}

/// `#rrggbb`, in small letters; black for what is no color. Names of colors are not known here.
fn color(written: &str) -> String {
    let written = trimmed(written).to_ascii_lowercase();
    match written.strip_prefix('#').filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit())) {
        Some(digits) if digits.len() == 6 => written,
        Some(digits) if digits.len() == 3 => digits.chars().fold("#".to_owned(), |mut out, digit| {
            out.extend([digit, digit]);
            out
        }),
        _ => "#000000".to_owned(),
    }
}

/// A number as HTML writes it: no `+`, no white space, digits after a point.
fn number(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let mantissa = mantissa.strip_prefix('-').unwrap_or(mantissa);
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let are_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let fits = (!whole.is_empty() || mantissa.contains('.')) && !part.is_empty() && !exponent.is_empty();
    let fits = fits && are_digits(whole) && are_digits(part) && are_digits(exponent);
    fits.then(|| text.parse().ok()).flatten().filter(|number: &f64| number.is_finite())
}

/// A number between the bounds, on a step; the middle for what is none.
fn range(written: &str, attribute: &dyn Fn(&str) -> Option<String>) -> String {
    let bound = |name: &str| attribute(name).and_then(|text| number(&text));
    let least = bound("min").unwrap_or(0.0);
    let most = bound("max").unwrap_or(100.0).max(least);
    let given = number(written).unwrap_or(least + (most - least) / 2.0).clamp(least, most);
    let is_any = attribute("step").is_some_and(|step| step.eq_ignore_ascii_case("any"));
    let step = bound("step").filter(|step| *step > 0.0).unwrap_or(1.0);
    if is_any {
        return given.to_string();
    }
    let base = bound("min").or_else(|| number(written)).unwrap_or(0.0);
    // Halves go up, and no step leads over the bound.
    let mut at = base + ((given - base) / step + 0.5).floor() * step;
    if at > most {
        at -= step;
    }
    if at < least {
        at = given;
    }
    at.to_string()
}

fn digits(text: &str, length: usize) -> Option<u32> {
    (text.len() == length && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn is_leap(year: u32) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn year(text: &str) -> Option<u32> {
    (4..=6).contains(&text.len()).then(|| digits(text, text.len())).flatten().filter(|year| *year > 0)
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn month(text: &str) -> Option<(u32, u32)> {
    let (of_year, month) = text.rsplit_once('-')?;
    Some((year(of_year)?, digits(month, 2).filter(|month| (1..=12).contains(month))?))
}

/// Weeks of a year: 53 where it begins on a Thursday, or is a leap year that begins on a Wednesday.
fn weeks(year: u32) -> u32 {
    let before = year - 1;
    // Monday is 0; the first of January of the year 1 was one.
    let first = (before + before / 4 - before / 100 + before / 400) % 7;
    // 365 days are 52 weeks and a day.
    if first == 3 || (first == 2 && is_leap(year)) { 53 } else { 52 }
}

fn is_time(text: &str) -> bool {
    let mut parts = text.splitn(3, ':');
    let mut part = |most: u32| parts.next().and_then(|part| digits(part, 2)).is_some_and(|part| part <= most);
    if !(part(23) && part(59)) {
        return false;
    }
    parts.next().is_none_or(|seconds| {
        let (whole, part) = seconds.split_once('.').unwrap_or((seconds, "0"));
        digits(whole, 2).is_some_and(|whole| whole <= 59)
            && digits(part, part.len()).is_some()
            && (1..=3).contains(&part.len())
    })
}

fn is_moment(kind: &str, text: &str) -> bool {
    match kind {
        "month" => month(text).is_some(),
        "time" => is_time(text),
        "week" => text.split_once("-W").is_some_and(|(of_year, week)| {
            year(of_year).zip(digits(week, 2)).is_some_and(|(year, week)| (1..=weeks(year)).contains(&week))
        }),
        _ => text.rsplit_once('-').is_some_and(|(of_month, day)| {
            month(of_month)
                .zip(digits(day, 2))
                .is_some_and(|((year, month), day)| (1..=days(year, month)).contains(&day))
        }),
    }
}

/// A local date and time in its shortest form.
fn local(text: &str) -> Option<String> {
    let (date, time) = text.split_once(['T', ' '])?;
    (is_moment("date", date) && is_time(time)).then(|| {
        let time = if time.contains('.') { time.trim_end_matches('0').trim_end_matches('.') } else { time };
        let time = if time.len() == 8 { time.strip_suffix(":00").unwrap_or(time) } else { time };
        format!("{date}T{time}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_as_browsers_hold_them() {
        let none = |_: &str| None;
        for (kind, written, held) in [
            ("text", "a\r\nb", "ab"),
            ("email", " a@b.example\n", "a@b.example"),
            ("url", " http://x/ ", "http://x/"),
            ("password", " x ", " x "),
            ("number", "abc", ""),
            ("number", "-1.5e3", "-1.5e3"),
            ("number", ".5", ".5"),
            ("number", "1.", ""),
            ("number", "+1", ""),
            ("number", "", ""),
            ("color", "", "#000000"),
            ("color", "#AABBCC", "#aabbcc"),
            ("color", "#abc", "#aabbcc"),
            ("range", "", "50"),
            ("range", "200", "100"),
            ("date", "2024-02-29", "2024-02-29"),
            ("date", "2023-02-29", ""),
            ("date", "1900-02-29", ""),
            ("month", "2024-13", ""),
            ("week", "2020-W53", "2020-W53"),
            ("week", "2026-W53", "2026-W53"),
            ("week", "2024-W53", ""),
            ("time", "25:00", ""),
            ("time", "23:59:59.5", "23:59:59.5"),
            ("datetime-local", "2024-01-02 03:04:00", "2024-01-02T03:04"),
            ("datetime-local", "2024-01-02T03:04:00.500", "2024-01-02T03:04:00.5"),
            ("datetime-local", "2024-01-02", ""),
        ] {
            assert_eq!(sanitized(kind, written, &none), held, "{kind} {written}");
        }
        let bounds = |name: &str| match name {
            "min" => Some("10".to_owned()),
            "max" => Some("20".to_owned()),
            "step" => Some("4".to_owned()),
            _ => None,
        };
        assert_eq!(sanitized("range", "", &bounds), "14");
        assert_eq!(sanitized("range", "20", &bounds), "18");
        assert_eq!(sanitized("email", " a@b , c@d", &|name| (name == "multiple").then(String::new)), "a@b,c@d");
    }

    #[test]
    fn what_is_typed_stays_on_one_line() {
        assert_eq!(typed("text", "To: a\r\nBcc: b\nc"), "To: a Bcc: b c");
        assert_eq!(typed("email", " a@b.example\n"), "a@b.example");
        assert_eq!(wanted_moment("date", "26.11.2026"), Some("2026-11-26"));
        assert_eq!(wanted_moment("date", "2026-11-26"), None);
        assert_eq!(wanted_moment("time", ""), None);
        assert_eq!(wanted_moment("datetime-local", "2026-11-26"), Some("2026-11-26T14:30"));
        assert_eq!(wanted_moment("text", "x"), None);
    }
}
