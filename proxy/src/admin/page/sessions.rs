//! The sessions of operators who logged in to the page.
//!
//! Browsers send a cookie to every port of a host, and the site may be on another port of the same host. So the cookie
//! is limited to one path with a random key. A request needs both the path and the cookie, and no page elsewhere can
//! make a browser send the cookie there. The server keeps only hashes of both.

use std::time::{Duration, Instant};

use frontdesk_filters::text::hex;
use parking_lot::Mutex;
use ring::{
    digest::{SHA256, digest},
    rand::{SecureRandom, SystemRandom},
};

/// The most sessions at a time. Beyond it the least recently used one ends.
const MOST: usize = 32;
/// How long an unused session lasts. The page's own refreshes do not count as use.
const IDLE: Duration = Duration::from_secs(60 * 60);
/// The longest life of a session.
pub(super) const LONGEST: Duration = Duration::from_secs(12 * 60 * 60);

/// The two secrets of a session.
pub(super) struct Held {
    /// The key in the path, in hex.
    pub(super) key: String,
    /// The cookie's value, in hex.
    pub(super) secret: String,
}

/// All sessions.
#[derive(Default)]
pub(super) struct Sessions(Mutex<Vec<Session>>);

struct Session {
    key: Hash,
    secret: Hash,
    /// The hash of the token that opened it. A different token in the configuration ends the session.
    token: Hash,
    opened: Instant,
    used: Instant,
}

type Hash = [u8; 32];

impl Sessions {
    /// Opens a session; `None` if there is no randomness.
    pub(super) fn open(&self, token: Hash, now: Instant) -> Option<Held> {
        let held = Held { key: unguessable::<16>()?, secret: unguessable::<32>()? };
        let mut sessions = self.0.lock();
        sessions.retain(|session| session.lasts(token, now));
        if sessions.len() >= MOST
            && let Some((stalest, _)) = sessions.iter().enumerate().min_by_key(|(_, session)| session.used)
        {
            sessions.swap_remove(stalest);
        }
        sessions.push(Session { key: hash(&held.key), secret: hash(&held.secret), token, opened: now, used: now });
        Some(held)
    }

    /// Whether the session exists. `token`: the token's hash today. `uses`: the request counts as use of the session.
    pub(super) fn knows(&self, key: &str, secret: &str, token: Hash, now: Instant, uses: bool) -> bool {
        // Compare hashes, so that timing reveals nothing about the secrets.
        let (key, secret) = (hash(key), hash(secret));
        let mut sessions = self.0.lock();
        let found = sessions.iter_mut().find(|session| session.key == key && session.secret == secret);
        let Some(session) = found.filter(|session| session.lasts(token, now)) else { return false };
        if uses {
            session.used = now;
        }
        true
    }

    /// Ends a session.
    pub(super) fn end(&self, key: &str) {
        let key = hash(key);
        self.0.lock().retain(|session| session.key != key);
    }
}

impl Session {
    fn lasts(&self, token: Hash, now: Instant) -> bool {
        let since = |then: Instant| now.saturating_duration_since(then);
        self.token == token && since(self.opened) < LONGEST && since(self.used) < IDLE
    }
}

/// The value in each form of a session that proves where the form came from (CSRF). Only the browser and this page can
/// compute it.
pub(super) fn form_token(secret: &str) -> String {
    hex(&hash(&format!("form {secret}")))
}

/// Compares two texts in constant time.
pub(super) fn same(one: &str, other: &str) -> bool {
    hash(one) == hash(other)
}

fn unguessable<const BYTES: usize>() -> Option<String> {
    let mut bytes = [0; BYTES];
    SystemRandom::new().fill(&mut bytes).ok()?;
    Some(hex(&bytes))
}

fn hash(text: &str) -> Hash {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: Hash = [7; 32];

    #[test]
    fn it_takes_the_address_and_the_cookie() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let a = sessions.open(TOKEN, now).unwrap();
        let b = sessions.open(TOKEN, now).unwrap();
        assert_eq!((a.key.len(), a.secret.len()), (32, 64));
        let knows = |key: &str, secret: &str| sessions.knows(key, secret, TOKEN, now, true);
        assert!(knows(&a.key, &a.secret) && knows(&b.key, &b.secret));
        assert!(!knows(&a.key, &b.secret) && !knows(&a.key, "") && !knows("", &a.secret));
        assert!(!sessions.knows(&a.key, &a.secret, [8; 32], now, true), "another token is asked for by now");
        sessions.end(&a.key);
        assert!(!knows(&a.key, &a.secret) && knows(&b.key, &b.secret));
        assert_ne!(form_token(&a.secret), form_token(&b.secret));
        assert!(!form_token(&a.secret).contains(&a.secret));
    }

    #[test]
    fn it_ends_without_use_and_in_any_case() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let knows = |held: &Held, at: Instant, uses| sessions.knows(&held.key, &held.secret, TOKEN, at, uses);
        let held = sessions.open(TOKEN, start).unwrap();
        assert!(knows(&held, start + IDLE / 2, false));
        assert!(!knows(&held, start + IDLE, true), "only looked on");
        let (held, mut now) = (sessions.open(TOKEN, start).unwrap(), start);
        while now < start + LONGEST - IDLE / 2 {
            assert!(knows(&held, now, true));
            now += IDLE / 2;
        }
        assert!(!knows(&held, start + LONGEST, true));
    }

    #[test]
    fn there_are_so_many_and_the_stalest_goes() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let at = |n: u64| start + Duration::from_secs(n);
        let first = sessions.open(TOKEN, start).unwrap();
        let second = sessions.open(TOKEN, at(1)).unwrap();
        assert!(sessions.knows(&first.key, &first.secret, TOKEN, at(2), true));
        for n in 0..MOST as u64 - 1 {
            sessions.open(TOKEN, at(3 + n)).unwrap();
        }
        assert_eq!(sessions.0.lock().len(), MOST);
        assert!(sessions.knows(&first.key, &first.secret, TOKEN, at(60), true));
        assert!(!sessions.knows(&second.key, &second.secret, TOKEN, at(60), true));
    }
}
