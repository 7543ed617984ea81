//! Classifies the name beside a value, and decides whether the value is a secret of that class.

use crate::random::{Mix, contains_any_case, entropy, is_uuid, stands_in};

/// The class of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Promise {
    Password,
    /// `api_key`, `client_secret`, and any upper-case name.
    Secret,
    /// `token` and similar: some are secret, many are page tokens.
    Token,
    /// A key of any kind.
    Key,
}

/// Words before `key` or `token` that make it a secret.
const SECRETIVE: [&str; 27] = [
    "api",
    "auth",
    "access",
    "secret",
    "private",
    "client",
    "signing",
    "encryption",
    "master",
    "service",
    "refresh",
    "bearer",
    "webhook",
    "account",
    "shared",
    "storage",
    "license",
    "subscription",
    "session",
    "bot",
    "deploy",
    "personal",
    "admin",
    "root",
    "app",
    "id",
    "jwt",
];

/// Names that end in one of the words and hold nothing secret, without separators.
const PUBLIC: [&str; 33] = [
    "publickey",
    "cachekey",
    "primarykey",
    "foreignkey",
    "sortkey",
    "partitionkey",
    "idempotencykey",
    "sitekey",
    "publishablekey",
    "objectkey",
    "rowkey",
    "hashkey",
    "groupkey",
    "itemkey",
    "indexkey",
    "translationkey",
    "messagekey",
    "hotkey",
    "shortcutkey",
    "lookupkey",
    "pagetoken",
    "nexttoken",
    "continuationtoken",
    "synctoken",
    "cursortoken",
    "paginationtoken",
    "previoustoken",
    "designtoken",
    "stoptoken",
    "eostoken",
    "colortoken",
    "pubkey",
    "s3key",
];

/// The class of a name that ends in `word`; `before_it` is the word before a one-word name.
pub(super) fn promised(name: &[u8], word: &[u8], before_it: &[u8]) -> Option<Promise> {
    let before = &name[..name.len() - word.len()];
    let plain: Vec<u8> = name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    if PUBLIC.iter().any(|public| plain.ends_with(public.as_bytes())) {
        return None;
    }
    let prefix = &plain[..plain.len() - word.len()];
    let alone = prefix.is_empty() && SECRETIVE.iter().any(|word| before_it.eq_ignore_ascii_case(word.as_bytes()));
    let secretive = alone || SECRETIVE.iter().any(|word| prefix.ends_with(word.as_bytes()));
    // `monkey` is no key: the word must start anew, or follow a known word.
    let anew = match before.last() {
        None | Some(b'_' | b'-' | b'.') => true,
        Some(last) => word[0].is_ascii_uppercase() && last.is_ascii_lowercase(),
    };
    let is = |words: &[&str]| words.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    match () {
        () if is(&["password", "passwd", "passwort", "pwd", "passphrase"]) => Some(Promise::Password),
        () if !anew && !secretive => None,
        () if is(&["secret", "credential", "credentials"]) || secretive => Some(Promise::Secret),
        () if is(&["token"]) => Some(Promise::Token),
        () => Some(Promise::Key),
    }
}

/// How name and value are related in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Beside {
    /// An environment variable.
    pub(super) shouted: bool,
    /// In a sentence.
    pub(super) loose: bool,
    /// A JSON member whose name [`is_password`].
    pub(super) member: bool,
}

/// Whether a name certainly names a password.
pub(super) fn is_password(name: &[u8]) -> bool {
    ["password", "passwd", "pwd"].iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

/// Words of password rules: `at-least-8-characters`, `required|min:8`.
const RULES: [&str; 15] = [
    "least",
    "minimum",
    "min",
    "max",
    "characters",
    "chars",
    "required",
    "mandatory",
    "optional",
    "nullable",
    "confirmed",
    "forgot",
    "forgotten",
    "missing",
    "short",
];

/// Values that describe a state in place of a password.
const STATES: [&str; 10] = [
    "disabled",
    "enabled",
    "undefined",
    "unchanged",
    "encrypted",
    "protected",
    "incorrect",
    "generated",
    "interactive",
    "authenticated",
];

fn is_rule(value: &[u8]) -> bool {
    value
        .split(|byte| !byte.is_ascii_alphanumeric())
        .any(|word| RULES.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes())))
}

/// Whether a member's value is a password, weak ones included, since people choose those. Form labels, state words,
/// error codes and references are none.
fn is_chosen(value: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(value) else { return false };
    if text.chars().count() < 8 || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return false;
    }
    let (mut rest, letters) = (text.chars().skip(1), text.chars().all(char::is_alphabetic));
    let label = letters && (!text.is_ascii() || text.starts_with(char::is_uppercase) && rest.all(char::is_lowercase));
    let state = STATES.iter().any(|known| text.eq_ignore_ascii_case(known));
    let code = text.contains('_') && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase());
    let shouted = |byte: u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'%');
    let variable = matches!(value[0], b'$' | b'%' | b'@' | b'#') && text.bytes().skip(1).all(shouted);
    let elsewhere =
        ["#/", "/", "./", "{", "http:", "https:", "file:", "arn:"].iter().any(|start| text.starts_with(start));
    !(label || state || code || variable || elsewhere)
}

/// Whether a value is a secret of this class.
pub(super) fn keeps(promise: Promise, value: &[u8], how: Beside) -> bool {
    let mix = Mix::of(value);
    match promise {
        Promise::Password => {
            let kept = looks_like(promise, value, &mix, how) || how.member && is_chosen(value) && !stands_in(value);
            kept && !(contains_any_case(value, b"password") && mix.digits + mix.signs == 0) && !is_rule(value)
        }
        _ => looks_like(promise, value, &mix, how),
    }
}

fn looks_like(promise: Promise, value: &[u8], mix: &Mix, Beside { shouted, loose, .. }: Beside) -> bool {
    let elsewhere = [&b"$"[..], b"{", b"%", b"@", b"#", b"/", b"./", b"http:", b"https:", b"file:", b"arn:"];
    if value.len() < 6 || elsewhere.iter().any(|start| value.starts_with(start)) {
        return false;
    }
    let bits = entropy(value);
    if mix.blanks > 0 || bits < 2.5 || !value.is_ascii() || stands_in(value) {
        return false;
    }
    let long = value.len();
    let promise = if shouted && promise != Promise::Password { Promise::Secret } else { promise };
    match promise {
        Promise::Password => {
            let mixed = mix.letters() > 0 && (mix.digits > 0 || mix.signs > 0);
            match (shouted, loose) {
                (true, _) => long >= 8,
                (_, true) => long >= 8 && mixed && (mix.upper > 0 || mix.signs > 0),
                _ => mixed && (long >= 8 || mix.digits > 0 && mix.letters() > 3),
            }
        }
        _ if loose => long >= 16 && bits >= 3.5 && mix.is_thrown(),
        Promise::Secret if shouted => long >= 8 && bits >= 2.8 && (mix.digits > 0 || mix.signs > 0 || long >= 16),
        Promise::Secret => {
            long >= 12 && bits >= 3.0 && (mix.is_thrown() || is_uuid(value) || mix.digits > 0 && is_solid(mix))
        }
        Promise::Token => long >= 16 && bits >= 3.0 && mix.is_thrown() && !is_uuid(value),
        Promise::Key => {
            long >= 20 && bits >= 3.7 && mix.is_thrown() && mix.lower > 0 && mix.upper > 0 && mix.digits > 1
        }
    }
}

/// A single word with digits, and not several joined ones.
fn is_solid(mix: &Mix) -> bool {
    mix.joints == 0 && mix.letters() > 0
}
