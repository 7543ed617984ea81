//! The site's robots.txt with our signals in it (RFC 9309): its own rules stay as they are, byte for byte.
//!
//! A crawler reads one group, that of its own name or else that of `*`. So the signals go into each group, after the
//! names it is for, and where there is no group for everybody one is added that forbids nothing.

use super::signals::{NAMES, Signals};

/// What every crawler reads at least of a robots.txt (RFC 9309 §2.5), and the most that is written.
pub const MAX_BYTES: usize = 500 * 1024;

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Line {
    Agent {
        everybody: bool,
    },
    /// A rule of its group, or what would be one for somebody.
    Rule,
    Signal(usize),
    Nothing,
}

impl Line {
    fn of(line: &[u8]) -> Line {
        let line = line.split(|b| *b == b'#').next().unwrap_or_default();
        let Some(colon) = line.iter().position(|b| *b == b':') else { return Line::Nothing };
        let (name, value) = (line[..colon].trim_ascii(), line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"user-agent") {
            return Line::Agent { everybody: value == b"*" };
        }
        // It stands for itself wherever it is.
        if name.eq_ignore_ascii_case(b"sitemap") {
            return Line::Nothing;
        }
        let signal = NAMES.iter().position(|signal| name.eq_ignore_ascii_case(signal.as_bytes()));
        signal.map_or(Line::Rule, Line::Signal)
    }
}

/// A run of rules, and the names before it.
#[derive(Debug)]
struct Group {
    /// Where the line after its last name begins.
    rules_at: usize,
    has: [bool; 2],
}

/// The file of a site that has none.
pub fn generated(signals: &Signals) -> Vec<u8> {
    with(signals, b"").unwrap_or_default()
}

/// The file with the signals in it. `None`: it has them all, or would become too long.
pub fn with(signals: &Signals, file: &[u8]) -> Option<Vec<u8>> {
    if file.len() > MAX_BYTES {
        return None;
    }
    let text = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let end: &[u8] = if text.windows(2).any(|pair| pair == b"\r\n") { b"\r\n" } else { b"\n" };
    let mut groups: Vec<Group> = Vec::new();
    let mut everybody = false;
    // Names in a row are one group's.
    let mut naming = false;
    let mut at = file.len() - text.len();
    while at < file.len() {
        let rest = &file[at..];
        let len = rest
            .iter()
            .position(|b| matches!(b, b'\n' | b'\r'))
            .map_or(rest.len(), |n| if rest[n..].starts_with(b"\r\n") { n + 2 } else { n + 1 });
        match Line::of(&rest[..len]) {
            Line::Agent { everybody: all } => {
                everybody |= all;
                match groups.last_mut().filter(|_| naming) {
                    Some(group) => group.rules_at = at + len,
                    None => groups.push(Group { rules_at: at + len, has: [false; 2] }),
                }
                naming = true;
            }
            Line::Signal(nth) => {
                naming = false;
                if let Some(group) = groups.last_mut() {
                    group.has[nth] = true;
                }
            }
            Line::Rule => naming = false,
            Line::Nothing => {}
        }
        at += len;
    }
    if everybody && groups.iter().all(|group| group.has == [true; 2]) {
        return None;
    }
    let mut out = Vec::with_capacity(file.len() + 256);
    let mut from = 0;
    let write = |out: &mut Vec<u8>, has: [bool; 2]| {
        for nth in (0..NAMES.len()).filter(|nth| !has[*nth]) {
            out.extend_from_slice(signals.rule(nth).as_bytes());
            out.extend_from_slice(end);
        }
    };
    for group in &groups {
        out.extend_from_slice(&file[from..group.rules_at]);
        from = group.rules_at;
        end_line(&mut out, end);
        write(&mut out, group.has);
        if out.len() > MAX_BYTES {
            return None;
        }
    }
    out.extend_from_slice(&file[from..]);
    if !everybody {
        end_line(&mut out, end);
        if !text.is_empty() {
            out.extend_from_slice(end);
        }
        out.extend_from_slice(b"User-agent: *");
        out.extend_from_slice(end);
        write(&mut out, [false; 2]);
        out.extend_from_slice(b"Allow: /");
        out.extend_from_slice(end);
    }
    (out.len() <= MAX_BYTES).then_some(out)
}

/// The last line may have no end.
fn end_line(out: &mut Vec<u8>, end: &[u8]) {
    if !out.is_empty() && !out.ends_with(b"\n") && !out.ends_with(b"\r") && out != b"\xef\xbb\xbf" {
        out.extend_from_slice(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::for_tests;

    const OURS: &str = "Content-Signal: search=yes, ai-input=yes, ai-train=no\nContent-Usage: train-ai=n, search=y\n";

    fn edited(file: &str) -> Option<String> {
        with(&for_tests(), file.as_bytes()).map(|out| String::from_utf8(out).unwrap())
    }

    #[test]
    fn every_group_gets_them_and_keeps_its_rules() {
        let file =
            "# Ours\nUser-agent: a\nuser-agent : B # two\nDisallow: /x\n\nUser-agent: *\n\nDisallow: /y\nSitemap: /s\n";
        let expected = format!(
            "# Ours\nUser-agent: a\nuser-agent : B # two\n{OURS}Disallow: /x\n\nUser-agent: *\n{OURS}\nDisallow: /y\n\
             Sitemap: /s\n"
        );
        assert_eq!(edited(file).unwrap(), expected);
        assert_eq!(edited(&expected), None, "once is enough");
    }

    #[test]
    fn who_is_not_named_is_told_too() {
        let everybody = format!("User-agent: *\n{OURS}Allow: /\n");
        assert_eq!(String::from_utf8(generated(&for_tests())).unwrap(), everybody);
        assert_eq!(
            edited("User-agent: a\nDisallow: /").unwrap(),
            format!("User-agent: a\n{OURS}Disallow: /\n\n{everybody}")
        );
        assert_eq!(edited("User-agent: a").unwrap(), format!("User-agent: a\n{OURS}\n{everybody}"));
        assert_eq!(edited("Sitemap: /s\n").unwrap(), format!("Sitemap: /s\n\n{everybody}"));
    }

    #[test]
    fn what_the_site_says_itself_holds() {
        let file = "User-agent: *\nContent-Signal: ai-train=yes\nDisallow: /\n";
        let expected =
            "User-agent: *\nContent-Usage: train-ai=n, search=y\nContent-Signal: ai-train=yes\nDisallow: /\n";
        assert_eq!(edited(file).unwrap(), expected);
        let crlf = edited("User-agent: *\r\nDisallow:\r\n").unwrap();
        assert_eq!(crlf, format!("User-agent: *\r\n{}Disallow:\r\n", OURS.replace('\n', "\r\n")));
        assert!(
            edited("\u{feff}User-agent: *\nDisallow:\n").unwrap().starts_with("\u{feff}User-agent: *\nContent-Signal")
        );
    }

    #[test]
    fn nothing_grows_beyond_what_is_read() {
        assert_eq!(edited(&"#".repeat(MAX_BYTES + 1)), None);
        assert_eq!(edited(&"User-agent: a\nDisallow: /\n".repeat(10_000)), None);
        let comments = "# x\n".repeat(MAX_BYTES / 4 - 100);
        assert!(edited(&comments).is_some_and(|out| out.len() <= MAX_BYTES));
    }
}
