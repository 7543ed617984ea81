//! The cookies of the site for one call, or for a conversation (RFC 6265).

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// The most cookies, and the most bytes of all of them as they are stored.
const MOST: usize = 50;
pub const MOST_BYTES: usize = 8 * 1024;

/// Cookies of the site.
#[derive(Default, Clone, PartialEq, Eq)]
pub struct Cookies {
    /// In the order in which they were set.
    all: Vec<Cookie>,
    changed: bool,
}

#[derive(Clone, PartialEq, Eq)]
struct Cookie {
    name: String,
    value: String,
    path: String,
    /// Seconds since 1970; `None`: as long as the conversation.
    expires: Option<u64>,
}

// Values are secrets: nothing shows them.
impl std::fmt::Debug for Cookies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cookies({})", self.all.len())
    }
}

impl Cookies {
    /// Takes the `Set-Cookie` values of an answer from `path` at `host`.
    pub fn take<'v>(&mut self, values: impl Iterator<Item = &'v str>, path: &str, host: &str) {
        for value in values {
            if let Some((cookie, is_over)) = parse(value, path, host) {
                let same = |other: &Cookie| other.name == cookie.name && other.path == cookie.path;
                let at = self.all.iter().position(same);
                self.changed = true;
                match (at, is_over) {
                    (Some(at), true) => drop(self.all.remove(at)),
                    (Some(at), false) => self.all[at] = cookie,
                    (None, true) => {}
                    (None, false) => {
                        if self.all.len() >= MOST {
                            self.all.remove(0);
                        }
                        self.all.push(cookie);
                    }
                }
            }
        }
    }

    /// The same for a conversation that does not have them yet.
    pub fn of_another(self) -> Self {
        Self { changed: !self.all.is_empty(), ..self }
    }

    /// The value of `Cookie` for a request to this path: longer paths first, then the earlier ones.
    pub fn sent_to(&self, path: &str) -> Option<String> {
        let now = now();
        let mut sent: Vec<&Cookie> =
            self.all.iter().filter(|c| covers(&c.path, path) && c.expires.is_none_or(|at| at > now)).collect();
        sent.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
        let pairs: Vec<String> = sent
            .iter()
            .map(|Cookie { name, value, .. }| if name.is_empty() { value.clone() } else { format!("{name}={value}") })
            .collect();
        (!pairs.is_empty()).then(|| pairs.join("; "))
    }

    /// Whether there are any, and each of them is sent to this path.
    pub fn all_reach(&self, path: &str) -> bool {
        let now = now();
        let reaches = |cookie: &Cookie| covers(&cookie.path, path) && cookie.expires.is_none_or(|at| at > now);
        !self.all.is_empty() && self.all.iter().all(reaches)
    }

    /// Cookies as a browser sends them, which are for the whole site: only those with one of these names. Of two with one
    /// name the first counts, which has the longer path.
    pub fn sent_by_browser<'v>(lines: impl Iterator<Item = &'v str>, names: &[String]) -> Self {
        let mut all: Vec<Cookie> = Vec::new();
        for pair in lines.flat_map(|line| line.split(';')) {
            let Some((name, value)) = pair.trim().split_once('=') else { continue };
            let is_wanted = names.iter().any(|wanted| wanted == name) && !all.iter().any(|other| other.name == name);
            if is_wanted && all.len() < MOST {
                all.push(Cookie { name: name.to_owned(), value: value.to_owned(), path: "/".into(), expires: None });
            }
        }
        Self { all, changed: false }
    }

    /// Only those with one of these names, or only the others.
    pub fn only(&self, names: &[String], these: bool) -> Self {
        let is_kept = |cookie: &&Cookie| names.contains(&cookie.name) == these;
        Self { all: self.all.iter().filter(is_kept).cloned().collect(), changed: self.changed }
    }

    /// Adds the others. Cookies of the same names go first.
    pub fn with(mut self, others: Self) -> Self {
        self.all.retain(|cookie| others.all.iter().all(|other| other.name != cookie.name));
        self.all.extend(others.all);
        self
    }

    /// Only the latest of each name: a browser knows the paths of the others, and a list that a browser sent does not.
    pub fn latest(mut self) -> Self {
        let names: Vec<String> = self.all.iter().map(|cookie| cookie.name.clone()).collect();
        let mut at = 0;
        self.all.retain(|cookie| {
            at += 1;
            !names[at..].contains(&cookie.name)
        });
        self
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether anything was set or removed since they were read.
    pub fn has_changed(&self) -> bool {
        self.changed
    }

    /// The form in which they are stored; the oldest go where they are too many.
    pub fn stored(&self) -> Vec<u8> {
        let mut from = 0;
        loop {
            let all: Vec<Value> =
                self.all[from..].iter().map(|c| json!([c.name, c.value, c.path, c.expires])).collect();
            let bytes = Value::from(all).to_string().into_bytes();
            if bytes.len() <= MOST_BYTES {
                return bytes;
            }
            from += 1;
        }
    }

    /// Reads the stored form.
    pub fn read(bytes: &[u8]) -> Self {
        let all: Vec<(String, String, String, Option<u64>)> = serde_json::from_slice(bytes).unwrap_or_default();
        let all = all.into_iter().map(|(name, value, path, expires)| Cookie { name, value, path, expires }).collect();
        Self { all, changed: false }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// A cookie, and whether it removes the one of its name.
fn parse(value: &str, request_path: &str, host: &str) -> Option<(Cookie, bool)> {
    if value.len() > 4096 + 1024 || value.chars().any(|c| c.is_control() && c != '\t') {
        return None;
    }
    let mut parts = value.split(';');
    let pair = parts.next()?;
    let (name, value) = pair.split_once('=').map_or(("", pair), |(name, value)| (name, value));
    let (name, value) = (name.trim(), value.trim());
    if name.is_empty() && value.is_empty() {
        return None;
    }
    let (mut path, mut expires, mut max_age) = (None, None, None);
    for part in parts {
        let (key, text) = part.split_once('=').map_or((part.trim(), ""), |(key, text)| (key.trim(), text.trim()));
        match key.to_ascii_lowercase().as_str() {
            "path" if text.starts_with('/') => path = Some(text.to_owned()),
            "max-age" => max_age = text.parse::<i64>().ok(),
            "expires" => expires = crate::day::cookie_date(text),
            "domain" => {
                let domain = text.trim_start_matches('.').to_ascii_lowercase();
                let host = host.rsplit_once(':').map_or(host, |(host, _)| host).to_ascii_lowercase();
                if !domain.is_empty() && host != domain && !host.ends_with(&format!(".{domain}")) {
                    return None;
                }
            }
            _ => {}
        }
    }
    let expires = match max_age {
        Some(seconds) => Some(now().saturating_add_signed(seconds.min(400 * 86_400))),
        None => expires,
    };
    let is_over =
        max_age.is_some_and(|seconds| seconds <= 0) || max_age.is_none() && expires.is_some_and(|at| at <= now());
    let path = path.unwrap_or_else(|| default_path(request_path));
    Some((Cookie { name: name.to_owned(), value: value.to_owned(), path, expires }, is_over))
}

/// The folder of a path (RFC 6265, 5.1.4).
fn default_path(request_path: &str) -> String {
    let path = request_path.split('?').next().unwrap_or_default();
    match path.rfind('/') {
        Some(at) if at > 0 && path.starts_with('/') => path[..at].to_owned(),
        _ => "/".to_owned(),
    }
}

fn covers(cookie: &str, request: &str) -> bool {
    let path = request.split('?').next().unwrap_or_default();
    path == cookie || path.strip_prefix(cookie).is_some_and(|rest| cookie.ends_with('/') || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(values: &[&str]) -> Cookies {
        let mut cookies = Cookies::default();
        cookies.take(values.iter().copied(), "/shop/form?x=1", "site.test:80");
        cookies
    }

    #[test]
    fn cookies_are_sent_where_they_belong() {
        let cookies =
            set(&["a=1; Path=/; HttpOnly", "a=2; Path=/shop", "b=3", "c=4; Path=/other", "d=5; Domain=elsewhere.test"]);
        assert_eq!(cookies.sent_to("/shop/form").as_deref(), Some("a=2; b=3; a=1"));
        assert_eq!(cookies.sent_to("/shopping").as_deref(), Some("a=1"));
        assert_eq!(Cookies::read(&cookies.stored()).sent_to("/other?x").as_deref(), Some("c=4; a=1"));
        assert_eq!(set(&["a=1; Domain=.site.test; Path=/"]).sent_to("/").as_deref(), Some("a=1"));
    }

    #[test]
    fn cookies_of_a_browser_are_chosen_by_name() {
        let names = ["sid".to_owned(), "csrf".to_owned()];
        let lines = ["theme=dark; sid=a=b; sid=other", " csrf=1;sidx=2"];
        let chosen = Cookies::sent_by_browser(lines.into_iter(), &names);
        assert_eq!(chosen.sent_to("/any/path").as_deref(), Some("sid=a=b; csrf=1"));
        assert!(Cookies::sent_by_browser(["theme=dark"].into_iter(), &names).is_empty());
        let mut both = set(&["basket=7; Path=/", "sid=old; Path=/shop"]).with(chosen);
        assert_eq!(both.sent_to("/shop/x").as_deref(), Some("basket=7; sid=a=b; csrf=1"));
        both.take(["sid=new; Path=/"].into_iter(), "/x", "site.test");
        assert_eq!(both.only(&names, true).sent_to("/").as_deref(), Some("sid=new; csrf=1"));
        assert_eq!(both.only(&names, false).sent_to("/").as_deref(), Some("basket=7"));
    }

    #[test]
    fn cookies_end() {
        let mut cookies =
            set(&["a=1; Path=/", "b=2; Path=/; Max-Age=100", "c=3; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT"]);
        assert_eq!(cookies.sent_to("/").as_deref(), Some("a=1; b=2"));
        cookies.take(["a=; Path=/; Max-Age=0", "b=x; Path=/"].into_iter(), "/", "site.test");
        assert_eq!(cookies.sent_to("/").as_deref(), Some("b=x"));
        assert!(cookies.has_changed() && !Cookies::read(&cookies.stored()).has_changed());
        let long = format!("a={}; Path=/", "x".repeat(3_000));
        let many: Vec<String> = (0..9).map(|n| long.replacen('a', &format!("a{n}"), 1)).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(set(&many).stored().len() <= MOST_BYTES);
        assert_eq!(format!("{:?}", set(&["secret=1"])), "Cookies(1)");
    }
}
