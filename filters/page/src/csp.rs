//! Whether a page's Content-Security-Policy allows a script of the page's own origin, and that it calls that origin
//! (CSP Level 3).

/// Maximum policies of a page that are read; with more, nothing is allowed.
const MOST: usize = 16;

/// Whether there is a policy, and every policy allows a script by its address on the page's own origin, and requests to
/// that origin. `headers`: the values of `Content-Security-Policy`. A policy by nonce or hash alone does not allow it,
/// nor does `'strict-dynamic'`, which makes browsers ignore `'self'`.
pub fn allows_own_script<'a>(headers: impl Iterator<Item = &'a [u8]>) -> bool {
    let mut policies = 0;
    for value in headers {
        for policy in value.split(|byte| *byte == b',') {
            let policy = String::from_utf8_lossy(policy);
            let policy = policy.trim();
            if policy.is_empty() {
                continue;
            }
            policies += 1;
            if policies > MOST || !allows(policy) {
                return false;
            }
        }
    }
    policies > 0
}

fn allows(policy: &str) -> bool {
    let directive = |name: &str| {
        policy.split(';').find_map(|directive| {
            let mut words = directive.split_ascii_whitespace();
            words.next().filter(|word| word.eq_ignore_ascii_case(name)).map(|_| words.collect::<Vec<&str>>())
        })
    };
    // Without this word a sandbox runs no script; and without the other a page in it has no origin of its own.
    let sandboxed = directive("sandbox").is_some_and(|words| {
        let has = |wanted: &str| words.iter().any(|word| word.eq_ignore_ascii_case(wanted));
        !has("allow-scripts") || !has("allow-same-origin")
    });
    let first = |names: &[&str]| names.iter().find_map(|name| directive(name));
    let scripts = first(&["script-src-elem", "script-src", "default-src"]);
    let calls = first(&["connect-src", "default-src"]);
    !sandboxed && scripts.is_none_or(|sources| own(&sources)) && calls.is_none_or(|sources| own(&sources))
}

/// Whether a list of sources includes the page's own origin.
fn own(sources: &[&str]) -> bool {
    let has = |wanted: &str| sources.iter().any(|source| source.eq_ignore_ascii_case(wanted));
    !has("'strict-dynamic'") && (has("'self'") || has("*"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(policies: &[&str]) -> bool {
        allows_own_script(policies.iter().map(|policy| policy.as_bytes()))
    }

    #[test]
    fn a_policy_has_to_allow_the_script_and_its_calls() {
        for policy in [
            "script-src 'self'",
            "default-src 'self'",
            "Default-Src 'none'; Script-Src 'SELF'; connect-src *",
            "script-src 'self' 'nonce-abc'",
            "script-src-elem 'self'; script-src 'none'; connect-src 'self'",
            "object-src 'none'",
            "script-src *",
            "sandbox allow-scripts allow-same-origin; script-src 'self'",
        ] {
            assert!(allowed(&[policy]), "{policy}");
        }
        for policy in [
            "script-src 'nonce-abc'",
            "script-src 'none'",
            "script-src 'sha256-abc' https://cdn.example",
            "script-src 'self' 'strict-dynamic' 'nonce-abc'",
            "script-src 'self'; connect-src https://api.example",
            "default-src 'none'; script-src 'self'",
            "script-src",
            "script-src-elem 'none'; script-src 'self'",
            "sandbox; script-src 'self'",
            "default-src https://cdn.example",
        ] {
            assert!(!allowed(&[policy]), "{policy}");
        }
    }

    #[test]
    fn every_policy_counts_and_none_allows_nothing() {
        assert!(!allowed(&[]) && !allowed(&["", " , "]));
        assert!(allowed(&["script-src 'self'", "default-src 'self'"]));
        assert!(!allowed(&["script-src 'self'", "script-src 'nonce-a'"]));
        assert!(!allowed(&["script-src 'self', script-src 'none'"]));
        assert!(!allowed(&["script-src 'self'; ".repeat(3).as_str(), "script-src \u{fffd}"]));
        assert!(!allowed(&["script-src 'self',".repeat(MOST + 1).as_str()]));
    }

    #[test]
    fn the_first_of_two_equal_directives_counts() {
        assert!(allowed(&["script-src 'self'; script-src 'none'"]));
        assert!(!allowed(&["script-src 'none'; script-src 'self'"]));
    }
}
