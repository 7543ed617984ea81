//! Finds e-mail addresses, which are personal data, and URLs with a password in them.

use super::{
    finding::{Findings, Sure},
    random::stands_in,
};

/// Maximum bytes of a local part and of a host (RFC 5321 §4.5.3.1).
const LOCAL: usize = 64;
const HOST: usize = 253;

/// Checks for an e-mail address around the `@` at `at`.
pub(super) fn email(text: &[u8], at: usize, found: &mut Findings) {
    let local = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-' | b'\'');
    let mut start = at - text[..at].iter().rev().take(LOCAL + 1).take_while(local).count();
    // A quotation mark or a sentence's end before it does not belong to it.
    start += text[start..at].iter().take_while(|byte| matches!(byte, b'.' | b'\'' | b'-' | b'%')).count();
    if start == at || at - start > LOCAL || text[at - 1] == b'.' {
        return;
    }
    // `//user@host` is a URL, `@user@host` a social network name, `git@host:` a repository.
    let before = start.checked_sub(1).map(|at| text[at]);
    if matches!(before, Some(b'/' | b'@')) || text[start..at].eq_ignore_ascii_case(b"git") {
        return;
    }
    let host = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-');
    let mut end = at + 1 + text[at + 1..].iter().take(HOST + 1).take_while(host).count();
    while end > at + 1 && matches!(text[end - 1], b'.' | b'-') {
        end -= 1;
    }
    let host = &text[at + 1..end];
    if host.len() <= HOST && is_host(host) && !is_nobodys(&text[start..at], host) {
        found.pii("email", start, end);
    }
}

/// Names that resemble a host: files (`logo@2x.png`), systemd units (`getty@tty1.service`).
const FILES: [&[u8]; 23] = [
    b"png", b"jpg", b"jpeg", b"gif", b"svg", b"webp", b"avif", b"css", b"js", b"json", b"html", b"map", b"service",
    b"socket", b"timer", b"target", b"mount", b"swap", b"slice", b"scope", b"device", b"conf", b"txt",
];

fn is_host(host: &[u8]) -> bool {
    // A version: `widget@1.0.0-alpha.beta`.
    let digits = host.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0 && host.get(digits) == Some(&b'.') && host.get(digits + 1).is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let mut labels = host.split(|byte| *byte == b'.').rev();
    let Some(top) = labels.next() else { return false };
    let is_top = top.len() >= 2 && top.iter().all(u8::is_ascii_alphabetic) || top.starts_with(b"xn--");
    let labelled = |label: &[u8]| !label.is_empty() && !label.starts_with(b"-") && !label.ends_with(b"-");
    let mut count = 0;
    is_top
        && !FILES.iter().any(|file| top.eq_ignore_ascii_case(file))
        && labels.inspect(|_| count += 1).all(labelled)
        && count > 0
}

/// Whether an address belongs to no person: a no-reply sender, or a domain reserved for examples (RFC 2606).
fn is_nobodys(local: &[u8], host: &[u8]) -> bool {
    let sends = [&b"noreply"[..], b"no-reply", b"no_reply", b"donotreply", b"do-not-reply"];
    let ends = |name: &[u8]| {
        let cut = host.len().checked_sub(name.len());
        cut.is_some_and(|cut| host[cut..].eq_ignore_ascii_case(name) && (cut == 0 || host[cut - 1] == b'.'))
    };
    let reserved = [&b"example.com"[..], b"example.net", b"example.org", b"example", b"test", b"invalid", b"localhost"];
    sends.iter().any(|name| local.len() >= name.len() && local[..name.len()].eq_ignore_ascii_case(name))
        || reserved.iter().any(|name| ends(name))
}

/// Checks for a password before the host of a URL whose `://` ends at `end`.
pub(super) fn password(text: &[u8], end: usize, found: &mut Findings) {
    let stop = |byte: &u8| {
        byte.is_ascii_whitespace() || matches!(byte, b'/' | b'?' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\')
    };
    let rest = &text[end..(end + 512).min(text.len())];
    let authority = &rest[..rest.iter().position(stop).unwrap_or(rest.len())];
    let Some(at) = memchr::memrchr(b'@', authority) else { return };
    let Some(colon) = memchr::memchr(b':', &authority[..at]) else { return };
    let password = &authority[colon + 1..at];
    let shown = [&b"password"[..], b"pass", b"passwd", b"pwd", b"pw", b"secret", b"token"];
    let stands = password.len() < 3
        || shown.iter().any(|word| password.eq_ignore_ascii_case(word))
        || password.starts_with(b"$")
        || password.len() > 4 && stands_in(password);
    if !stands && authority.len() > at + 1 {
        found.secret("url-password", Sure::Shape, end + colon + 1, end + at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut found = Findings::default();
        for (at, _) in text.match_indices('@') {
            email(text.as_bytes(), at, &mut found);
        }
        for (at, _) in text.match_indices("://") {
            password(text.as_bytes(), at + 3, &mut found);
        }
        found.settled().iter().map(|f| text[f.start..f.end].to_owned()).collect()
    }

    #[test]
    fn addresses_are_found() {
        for (text, value) in [
            ("write to <maria.silva@lusitania.pt>.", "maria.silva@lusitania.pt"),
            ("mailto:J.O'Neil+x@mail.acme.co.uk?subject=x", "J.O'Neil+x@mail.acme.co.uk"),
            ("a@example.com.evil.io", "a@example.com.evil.io"),
            ("postgres://admin:S3cr3tP4ss@db.internal:5432/app", "S3cr3tP4ss"),
            ("https://bob:p%40ss:w0rd@host/", "p%40ss:w0rd"),
        ] {
            assert_eq!(found(text), [value], "{text}");
        }
    }

    #[test]
    fn what_is_nobodys_stays() {
        for text in [
            "user@example.com",
            "no-reply@lusitania.pt",
            "logo@2x.png and react@18.2.0",
            "git@github.com:org/repo.git",
            "@media (min-width: 1px)",
            "@user@mastodon.social",
            "postgres://user:password@localhost/db",
            "postgres://user:${DB_PASSWORD}@localhost/db",
            "https://example.com:8080/@user",
            "ssh://git@host/x",
            "a@b",
            "getty@tty1.service",
            "widget@1.0.0-alpha.beta",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
}
