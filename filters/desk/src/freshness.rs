//! Reads the site's caching headers: how long an answer is fresh, and whether a cache may store it.

use std::time::{Duration, SystemTime};

use http::{HeaderMap, header};

/// The `Cache-Control` directives of all lines, in lower case.
fn control(headers: &HeaderMap) -> String {
    let lines = headers.get_all(header::CACHE_CONTROL).into_iter().filter_map(|line| line.to_str().ok());
    lines.map(str::to_ascii_lowercase).collect::<Vec<_>>().join(",")
}

/// Whether a shared cache may store the answer (RFC 9111 §5.2.2).
pub(super) fn is_storable(headers: &HeaderMap) -> bool {
    !headers.contains_key(header::CACHE_CONTROL)
        || !control(headers)
            .split(',')
            .any(|directive| matches!(directive.split('=').next().unwrap_or_default().trim(), "no-store" | "private"))
}

/// Freshness lifetime in seconds (RFC 9111 §4.2.1), less the answer's age.
pub(super) fn freshness(headers: &HeaderMap) -> Option<u64> {
    let text = |name| headers.get(name).and_then(|v: &http::HeaderValue| v.to_str().ok());
    let expires = || {
        // An invalid date counts as past (RFC 9111 §5.3): many sites send 0.
        let expires = httpdate::parse_http_date(text(header::EXPIRES)?).unwrap_or(SystemTime::UNIX_EPOCH);
        Some(expires.duration_since(SystemTime::now()).unwrap_or(Duration::ZERO).as_secs())
    };
    if !headers.contains_key(header::CACHE_CONTROL) {
        return expires();
    }
    let control = control(headers);
    let directive = |name: &str| {
        control.split(',').find_map(|d| d.trim().strip_prefix(name)?.strip_prefix('=')?.trim_matches('"').parse().ok())
    };
    if control.split(',').any(|d| matches!(d.trim(), "no-store" | "no-cache")) {
        return Some(0);
    }
    let age: u64 = text(header::AGE).and_then(|age| age.trim().parse().ok()).unwrap_or(0);
    if let Some(seconds) = directive("s-maxage").or_else(|| directive("max-age")) {
        return Some(u64::saturating_sub(seconds, age));
    }
    expires()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_site_says_how_long_it_holds() {
        let fresh = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            freshness(&headers)
        };
        assert_eq!(fresh(&[]), None);
        assert_eq!(fresh(&[("cache-control", "public, max-age=60")]), Some(60));
        assert_eq!(fresh(&[("cache-control", "max-age=60, S-MaxAge=\"90\""), ("age", "100")]), Some(0));
        assert_eq!(fresh(&[("cache-control", "no-store, max-age=60")]), Some(0));
        assert_eq!(fresh(&[("cache-control", "max-age=60"), ("cache-control", "no-cache")]), Some(0));
        assert_eq!(fresh(&[("expires", "0")]), Some(0));
        assert_eq!(fresh(&[("expires", "Thu, 01 Jan 1970 00:00:00 GMT")]), Some(0));
    }

    #[test]
    fn what_the_site_forbids_to_store_is_not_remembered() {
        let storable = |lines: &[&'static str]| {
            let lines = lines.iter().map(|line| (header::CACHE_CONTROL, HeaderValue::from_static(line)));
            is_storable(&lines.collect())
        };
        assert!(storable(&[]) && storable(&["public, max-age=60"]) && storable(&["no-cache"]));
        for forbidden in [&["no-store"][..], &["max-age=60", "No-Store"], &["max-age=60, private"], &["private=\"x\""]]
        {
            assert!(!storable(forbidden), "{forbidden:?}");
        }
    }
}
