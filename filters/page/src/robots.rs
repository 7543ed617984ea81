//! The site's robots.txt with our lines in it (RFC 9309): its own rules stay as they are, byte for byte.
//!
//! A crawler reads one group, that of its own name or else that of `*`. So the signals go into each group, after the
//! names it is for, and where there is no group for everybody one is added that forbids nothing. The sitemap stands for
//! itself, at the end.

use super::signals::{NAMES, Signals};

/// What every crawler reads at least of a robots.txt (RFC 9309 §2.5), and the most that is written.
pub const MAX_BYTES: usize = 500 * 1024;

/// The known AI agents, by what they read for.
const AGENTS: [(&str, &[&str]); 3] = [
    (
        "# AI search engines: they answer with links to pages.",
        &["OAI-SearchBot", "Claude-SearchBot", "PerplexityBot", "Amazonbot", "DuckAssistBot"],
    ),
    (
        "# AI agents: they read a page because a person asks for it.",
        &["ChatGPT-User", "Claude-User", "Perplexity-User", "MistralAI-User", "Meta-ExternalFetcher"],
    ),
    (
        "# Crawlers that collect pages for AI models.",
        &[
            "GPTBot",
            "ClaudeBot",
            "Claude-Web",
            "anthropic-ai",
            "Google-Extended",
            "Applebot-Extended",
            "CCBot",
            "Bytespider",
            "Meta-ExternalAgent",
            "cohere-ai",
            "Diffbot",
        ],
    ),
];

/// What is added to a file that does not have it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Added<'a> {
    pub signals: Option<&'a Signals>,
    /// A file of our own has a group for each kind of known agents.
    pub names_agents: bool,
    /// The address of the sitemap.
    pub sitemap: Option<&'a str>,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Line {
    Agent {
        everybody: bool,
    },
    /// A rule of its group, or what would be one for somebody.
    Rule,
    Signal(usize),
    Sitemap,
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
            return if value.is_empty() { Line::Nothing } else { Line::Sitemap };
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

/// The file of a site that has none: it forbids nothing.
pub fn generated(added: &Added<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    for (what, names) in AGENTS.iter().filter(|_| added.names_agents) {
        out.extend_from_slice(what.as_bytes());
        out.push(b'\n');
        for name in *names {
            out.extend_from_slice(format!("User-agent: {name}\n").as_bytes());
        }
        open_group(&mut out, added, [false; 2], b"\n");
        out.push(b'\n');
    }
    add_everybody(&mut out, added, b"\n");
    add_sitemap(&mut out, added, b"\n");
    out
}

/// The file with the lines in it. `None`: it has them all, or would become too long.
pub fn with(added: &Added<'_>, file: &[u8]) -> Option<Vec<u8>> {
    if file.len() > MAX_BYTES {
        return None;
    }
    let text = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let end: &[u8] = if text.windows(2).any(|pair| pair == b"\r\n") { b"\r\n" } else { b"\n" };
    let mut groups: Vec<Group> = Vec::new();
    let (mut everybody, mut names_sitemap) = (false, false);
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
            Line::Sitemap => names_sitemap = true,
            Line::Nothing => {}
        }
        at += len;
    }
    let added = Added { sitemap: added.sitemap.filter(|_| !names_sitemap), ..*added };
    let is_signed = everybody && groups.iter().all(|group| group.has == [true; 2]) || added.signals.is_none();
    if is_signed && added.sitemap.is_none() {
        return None;
    }
    let mut out = Vec::with_capacity(file.len() + 256);
    let mut from = 0;
    for group in groups.iter().filter(|_| !is_signed) {
        out.extend_from_slice(&file[from..group.rules_at]);
        from = group.rules_at;
        end_line(&mut out, end);
        add_signals(&mut out, &added, group.has, end);
        if out.len() > MAX_BYTES {
            return None;
        }
    }
    out.extend_from_slice(&file[from..]);
    if !everybody && !is_signed {
        end_line(&mut out, end);
        if !text.is_empty() {
            out.extend_from_slice(end);
        }
        add_everybody(&mut out, &added, end);
    }
    add_sitemap(&mut out, &added, end);
    (out.len() <= MAX_BYTES).then_some(out)
}

fn add_signals(out: &mut Vec<u8>, added: &Added<'_>, has: [bool; 2], end: &[u8]) {
    let Some(signals) = added.signals else { return };
    for nth in (0..NAMES.len()).filter(|nth| !has[*nth]) {
        out.extend_from_slice(signals.rule(nth).as_bytes());
        out.extend_from_slice(end);
    }
}

/// What a group says that forbids nothing.
fn open_group(out: &mut Vec<u8>, added: &Added<'_>, has: [bool; 2], end: &[u8]) {
    add_signals(out, added, has, end);
    out.extend_from_slice(b"Allow: /");
    out.extend_from_slice(end);
}

fn add_everybody(out: &mut Vec<u8>, added: &Added<'_>, end: &[u8]) {
    out.extend_from_slice(b"User-agent: *");
    out.extend_from_slice(end);
    open_group(out, added, [false; 2], end);
}

fn add_sitemap(out: &mut Vec<u8>, added: &Added<'_>, end: &[u8]) {
    let Some(sitemap) = added.sitemap else { return };
    end_line(out, end);
    if !out.is_empty() {
        out.extend_from_slice(end);
    }
    out.extend_from_slice(b"Sitemap: ");
    out.extend_from_slice(sitemap.as_bytes());
    out.extend_from_slice(end);
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

    fn signals_alone(signals: &Signals) -> Added<'_> {
        Added { signals: Some(signals), ..Added::default() }
    }

    fn edited(file: &str) -> Option<String> {
        with(&signals_alone(&for_tests()), file.as_bytes()).map(|out| String::from_utf8(out).unwrap())
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
        assert_eq!(String::from_utf8(generated(&signals_alone(&for_tests()))).unwrap(), everybody);
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

    #[test]
    fn a_file_of_our_own_names_the_known_agents_and_forbids_nothing() {
        let signals = for_tests();
        let added = Added { signals: Some(&signals), names_agents: true, sitemap: Some("https://a.test/sitemap.xml") };
        let file = String::from_utf8(generated(&added)).unwrap();
        for name in ["GPTBot", "OAI-SearchBot", "ChatGPT-User", "ClaudeBot", "Claude-User", "Google-Extended", "*"] {
            assert!(file.contains(&format!("User-agent: {name}\n")), "{name}: {file}");
        }
        assert!(!file.contains("Disallow"), "{file}");
        assert_eq!(
            (file.matches(OURS).count(), file.matches("Allow: /\n").count()),
            (4, 4),
            "one for each group: {file}"
        );
        assert!(
            file.ends_with(&format!("User-agent: *\n{OURS}Allow: /\n\nSitemap: https://a.test/sitemap.xml\n")),
            "{file}"
        );
        assert_eq!(with(&added, file.as_bytes()), None, "nothing is missing in it");
    }

    #[test]
    fn a_sitemap_is_named_where_the_site_names_none() {
        let signals = for_tests();
        let added = Added { signals: Some(&signals), names_agents: true, sitemap: Some("https://a.test/s.xml") };
        let told = |file: &str| with(&added, file.as_bytes()).map(|out| String::from_utf8(out).unwrap());
        let signed = format!("User-agent: *\n{OURS}Disallow: /x");
        assert_eq!(told(&signed).unwrap(), format!("{signed}\n\nSitemap: https://a.test/s.xml\n"));
        assert_eq!(told(&format!("{signed}\nsitemap : /own.xml\n")), None);
        let both = told("User-agent: *\r\nDisallow: /x\r\n").unwrap();
        assert!(both.ends_with("Disallow: /x\r\n\r\nSitemap: https://a.test/s.xml\r\n"), "{both:?}");
        let unsigned = Added { signals: None, ..added };
        let only = with(&unsigned, b"User-agent: *\nDisallow: /x\n").unwrap();
        assert_eq!(String::from_utf8(only).unwrap(), "User-agent: *\nDisallow: /x\n\nSitemap: https://a.test/s.xml\n");
    }
}
