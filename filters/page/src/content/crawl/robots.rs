//! robots.txt: what the site lets crawlers read (RFC 9309).

use http::StatusCode;

use super::glob::Glob;

/// What we are called in robots.txt.
pub const TOKEN: &str = "frontdesk";
/// The most of a robots.txt that is read (RFC 9309 §2.5), in bytes.
pub const MOST: usize = 500 * 1024;
/// The most sitemaps that it may name.
const MOST_SITEMAPS: usize = 100;

/// What a site's robots.txt says to us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Robots {
    rules: Vec<Rule>,
    /// As written.
    pub sitemaps: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    allow: bool,
    path: Glob,
}

/// Whom the lines that are being read are for.
#[derive(Default)]
struct Group {
    ours: bool,
    everybody: bool,
    /// A rule was read: another user-agent line begins another group.
    has_rules: bool,
}

impl Robots {
    /// What is read without a robots.txt: everything (RFC 9309 §2.3.1.3).
    pub fn allowing() -> Self {
        Self { rules: Vec::new(), sitemaps: Vec::new() }
    }

    /// What is read while robots.txt cannot be reached: nothing (RFC 9309 §2.3.1.4).
    pub fn forbidding() -> Self {
        Self { rules: vec![Rule { allow: false, path: Glob::prefix("/") }], sitemaps: Vec::new() }
    }

    /// By how it was answered, redirects followed; `None`: not at all.
    pub fn answered(status: Option<StatusCode>, body: &[u8]) -> Self {
        match status {
            Some(status) if status.is_success() => Self::parse(body),
            // Also a redirect that leads nowhere on this site (RFC 9309 §2.3.1.2).
            Some(status) if status.is_client_error() || status.is_redirection() => Self::allowing(),
            _ => Self::forbidding(),
        }
    }

    /// Reads the rules for us: those of our name, else those for everybody.
    pub fn parse(body: &[u8]) -> Self {
        Self::parse_for(TOKEN, body)
    }

    /// The same for somebody of this name.
    pub fn parse_for(name: &str, body: &[u8]) -> Self {
        let body = &body[..body.len().min(MOST)];
        let text = String::from_utf8_lossy(body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body));
        let (mut ours, mut everybodys) = (None::<Vec<Rule>>, Vec::new());
        let (mut sitemaps, mut group) = (Vec::new(), Group::default());
        for line in text.split(['\n', '\r']) {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
            match key.as_str() {
                "user-agent" => {
                    if group.has_rules {
                        group = Group::default();
                    }
                    group.everybody |= value == "*" || value.starts_with("* ");
                    if token(value).eq_ignore_ascii_case(name) {
                        group.ours = true;
                        // A group of our own without rules is a group of our own.
                        ours.get_or_insert_default();
                    }
                }
                "allow" | "disallow" => {
                    group.has_rules = true;
                    // A rule without a path says nothing.
                    if value.is_empty() {
                        continue;
                    }
                    let rule = Rule { allow: key == "allow", path: Glob::prefix(&normal(value)) };
                    if group.everybody {
                        everybodys.push(rule.clone());
                    }
                    if group.ours {
                        ours.get_or_insert_default().push(rule);
                    }
                }
                "sitemap" if sitemaps.len() < MOST_SITEMAPS && !value.is_empty() => sitemaps.push(value.to_owned()),
                _ => {}
            }
        }
        Self { rules: ours.unwrap_or(everybodys), sitemaps }
    }

    /// Whether a path, query included, may be read: the longest rule that fits decides, of two the one that allows.
    pub fn allows(&self, target: &str) -> bool {
        let target = normal(target);
        let longest = |allow: bool| {
            let fitting = self.rules.iter().filter(|rule| rule.allow == allow && rule.path.matches(&target));
            fitting.map(|rule| rule.path.weight).max().unwrap_or(0)
        };
        longest(false) <= longest(true)
    }
}

/// The product token at the beginning of a user-agent line (RFC 9309 §2.2.1).
fn token(value: &str) -> &str {
    let end = value.find(|c: char| !c.is_ascii_alphabetic() && c != '-' && c != '_').unwrap_or(value.len());
    &value[..end]
}

/// One spelling for what means the same (RFC 9309 §2.2.2): what is unreserved is not escaped, what is not ASCII is.
pub(super) fn normal(path: &str) -> String {
    let bytes = path.as_bytes();
    let mut out = String::with_capacity(path.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |i: usize| bytes.get(i).and_then(|b| char::from(*b).to_digit(16));
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                // Two hex digits are a byte.
                let byte = (high * 16 + low) as u8;
                if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                    out.push(char::from(byte));
                } else {
                    out.push_str(&format!("%{byte:02X}"));
                }
                at += 2;
            }
            (byte, ..) if byte.is_ascii_graphic() => out.push(char::from(byte)),
            (byte, ..) => out.push_str(&format!("%{byte:02X}")),
        }
        at += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use robotstxt::DefaultMatcher;

    use super::*;

    fn allows(text: &str, target: &str) -> bool {
        Robots::parse(text.as_bytes()).allows(target)
    }

    #[test]
    fn the_longest_rule_decides_and_a_tie_allows() {
        let text = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c$\nAllow: /t\nDisallow: /t\n";
        for (target, expected) in
            [("/", true), ("/a", false), ("/a/b", true), ("/a/b/c", false), ("/a/b/cd", true), ("/t", true)]
        {
            assert_eq!(allows(text, target), expected, "{target}");
        }
    }

    #[test]
    fn our_own_group_is_the_one_that_counts() {
        let text = "User-agent: *\nDisallow: /\n\nUser-agent: other\nUser-Agent: FrontDesk/2.0\nDisallow: /x\n\n\
                    User-agent: frontdesk\nDisallow: /y\nUser-agent: frontdeskier\nDisallow: /z\n";
        assert!(allows(text, "/") && allows(text, "/z"));
        assert!(!allows(text, "/x") && !allows(text, "/y"), "groups of one name are one");
        assert!(allows("User-agent: *\nDisallow: /\nUser-agent: frontdesk\nDisallow:\n", "/"));
        assert!(allows("Disallow: /\n", "/"), "nobody is meant");
    }

    #[test]
    fn a_sitemap_is_no_part_of_a_group() {
        let robots = Robots::parse(b"User-agent: other\nCrawl-delay: 3\nUser-agent: *\nDisallow: /\n");
        assert!(!robots.allows("/"));
        let robots = Robots::parse(b"User-agent: frontdesk\nSitemap: /s.xml\nUser-agent: *\nDisallow: /\n");
        assert!(!robots.allows("/") && robots.sitemaps == ["/s.xml"]);
    }

    #[test]
    fn spellings_of_one_path_are_one() {
        assert!(!allows("user-agent: *\ndisallow: /%61b%2fc\n", "/ab%2Fc"));
        assert!(!allows("user-agent: *\ndisallow: /ü\n", "/%C3%BC/x"));
        assert!(allows("user-agent: *\ndisallow: /a%2Fb\n", "/a/b"));
    }

    #[test]
    fn the_answers_status_decides_first() {
        let body = b"User-agent: *\nDisallow: /x\n";
        for (status, root, x) in [(200, true, false), (404, true, true), (403, true, true), (503, false, false)] {
            let robots = Robots::answered(StatusCode::from_u16(status).ok(), body);
            assert_eq!((robots.allows("/"), robots.allows("/x")), (root, x), "{status}");
        }
        assert!(!Robots::answered(None, b"").allows("/"));
    }

    #[test]
    fn no_more_than_the_cap_is_read() {
        let mut text = b"User-agent: *\n".to_vec();
        text.resize(MOST, b'#');
        text.extend_from_slice(b"\nDisallow: /\n");
        assert!(Robots::parse(&text).allows("/"));
        let many = "Sitemap: https://site.test/s.xml\n".repeat(MOST_SITEMAPS + 1);
        assert_eq!(Robots::parse(many.as_bytes()).sitemaps.len(), MOST_SITEMAPS);
        let bom = b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /\r\n";
        assert!(!Robots::parse(bom).allows("/"));
    }

    fn path() -> impl Strategy<Value = String> {
        "/[ab/]{0,6}(\\?[ab=]{0,3})?"
    }

    /// Only what is of the protocol: the oracle lets other lines end a group, which RFC 9309 §2.2.4 does not.
    fn line() -> impl Strategy<Value = String> {
        prop_oneof![
            1 => Just(String::new()),
            1 => Just("# words".to_owned()),
            2 => prop_oneof![Just("*"), Just("frontdesk"), Just("other"), Just("Frontdesk/1"), Just("frontdesks")]
                .prop_map(|agent| format!("User-agent: {agent}")),
            // Without stars: the oracle loses track of them (it inserts where its original assigns).
            4 => ("(Allow|Disallow|allow|DISALLOW)", "(/[ab/]{0,5}[$]?)?").prop_map(|(k, v)| format!("{k}: {v}")),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn it_agrees_with_the_oracle(lines in proptest::collection::vec(line(), 0..12), target in path()) {
            let text = lines.join("\n");
            let mut oracle = DefaultMatcher::default();
            let theirs = oracle.one_agent_allowed_by_robots(&text, TOKEN, &format!("http://site.test{target}"));
            prop_assert_eq!(allows(&text, &target), theirs, "{}\n{}", text, target);
        }

        #[test]
        fn no_robots_and_no_path_panics(body in proptest::collection::vec(any::<u8>(), 0..200), target in ".{0,40}") {
            let _ = Robots::parse(&body).allows(&target);
        }
    }
}
