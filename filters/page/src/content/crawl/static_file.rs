//! Whether a server sent an answer from a file: a page that lies in a file is the same for everybody, and asking for it
//! does nothing.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use httpdate::parse_http_date;

/// A program that dates its answers by the clock is no file: a file was written at least so long ago.
const YOUNGEST: Duration = Duration::from_secs(2);
/// After so long a file that was written only now is older than that.
pub(super) const SETTLES: Duration = Duration::from_secs(3);
const X_POWERED_BY: HeaderName = HeaderName::from_static("x-powered-by");
/// Headers of a request on which only a program's answer depends.
const OF_VISITORS: [&str; 3] = ["cookie", "authorization", "*"];

/// Where an answer came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Served {
    /// From a file. `in_parts`: the server can send a part of it, or names its version, as servers of files do.
    File { in_parts: bool },
    /// A program made it.
    Made,
    /// A program made it for one visitor.
    Personal,
}

impl Served {
    /// Judges the headers of an answer to this target at `now`, in seconds since 1970.
    pub(super) fn of(target: &str, headers: &HeaderMap, now: u64) -> Self {
        let is_file = !is_program(target, headers) && is_dated(headers, now);
        match (headers.contains_key(header::SET_COOKIE) && is_private(headers), is_file) {
            (true, _) => Self::Personal,
            (_, true) => Self::File {
                in_parts: headers.contains_key(header::ETAG)
                    || values(headers, header::ACCEPT_RANGES).any(|unit| unit == "bytes"),
            },
            (false, false) => Self::Made,
        }
    }
}

/// Whether this may be a file that was written only now. When it is asked for again after [`SETTLES`], it can be told from what
/// a program dates by the clock.
pub(super) fn may_settle(target: &str, headers: &HeaderMap, now: u64) -> bool {
    !is_program(target, headers) && !is_settled(headers, now)
}

/// The values of a header in small letters, those of a list one by one.
fn values(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = String> {
    let lines = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(|value| value.trim().to_ascii_lowercase())
}

fn is_private(headers: &HeaderMap) -> bool {
    values(headers, header::CACHE_CONTROL).any(|control| {
        let name = control.split('=').next().unwrap_or_default();
        matches!(name, "no-store" | "private")
    })
}

/// Whether the headers, or a query, say that a program made the answer.
fn is_program(target: &str, headers: &HeaderMap) -> bool {
    headers.contains_key(header::SET_COOKIE)
        || is_private(headers)
        || target.contains('?')
        || values(headers, header::VARY).any(|name| OF_VISITORS.contains(&name.as_str()))
        || values(headers, X_POWERED_BY).any(|name| name.contains("php"))
}

/// Whether the answer says when its file was written, and that this was before it was asked for.
fn is_dated(headers: &HeaderMap, now: u64) -> bool {
    headers.contains_key(header::LAST_MODIFIED) && is_settled(headers, now)
}

/// Whether what an answer says of when it was written, if it does, is not a moment ago.
pub(super) fn is_settled(headers: &HeaderMap, now: u64) -> bool {
    let Some(written) = headers.get(header::LAST_MODIFIED) else { return true };
    let date = |value: &HeaderValue| parse_http_date(value.to_str().ok()?).ok();
    let now = headers.get(header::DATE).and_then(date).or(UNIX_EPOCH.checked_add(Duration::from_secs(now)));
    let youngest = now.and_then(|now: SystemTime| now.checked_sub(YOUNGEST));
    date(written).zip(youngest).is_some_and(|(written, youngest)| written <= youngest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_700_000_000;
    const WRITTEN: (&str, &str) = ("last-modified", "Sat, 01 Jan 2022 00:00:00 GMT");

    fn served(lines: &[(&str, &str)]) -> Served {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        Served::of("/x", &headers, NOW)
    }

    #[test]
    fn servers_of_files_are_known() {
        // nginx, Apache, Express and Python's http.server.
        let nginx: &[_] = &[WRITTEN, ("etag", "\"61cf9980-264\""), ("accept-ranges", "bytes"), ("server", "nginx")];
        let apache: &[_] = &[WRITTEN, ("etag", "\"264-5d4\""), ("accept-ranges", "bytes"), ("vary", "Accept-Encoding")];
        let express: &[_] =
            &[WRITTEN, ("etag", "W/\"264-17\""), ("cache-control", "public, max-age=0"), ("x-powered-by", "Express")];
        let packed: &[_] = &[WRITTEN, ("etag", "W/\"61cf9980-264\""), ("cache-control", "no-cache")];
        for lines in [nginx, apache, express, packed, &[WRITTEN, ("accept-ranges", "bytes")]] {
            assert_eq!(served(lines), Served::File { in_parts: true }, "{lines:?}");
        }
        assert_eq!(served(&[WRITTEN, ("content-length", "612")]), Served::File { in_parts: false });
    }

    #[test]
    fn programs_are_known() {
        let clock = "Tue, 14 Nov 2023 22:13:20 GMT";
        for more in [
            ("set-cookie", "s=1"),
            ("cache-control", "no-cache, private"),
            ("cache-control", "No-Store"),
            ("vary", "Accept-Encoding, Cookie"),
            ("vary", "*"),
            ("x-powered-by", "PHP/8.2"),
            // Dated by the clock, and in the future.
            ("date", "Sat, 01 Jan 2022 00:00:01 GMT"),
            ("date", "Fri, 31 Dec 2021 00:00:00 GMT"),
        ] {
            assert_eq!(served(&[WRITTEN, more]), Served::Made, "{more:?}");
        }
        for lines in [
            &[][..],
            &[("etag", "W/\"c-x\"")],
            &[("etag", "\"c\""), ("accept-ranges", "bytes")],
            &[("last-modified", clock)],
            &[("last-modified", "yesterday")],
        ] {
            assert_eq!(served(lines), Served::Made, "{lines:?}");
        }
        let mut headers = HeaderMap::new();
        headers.insert("last-modified", HeaderValue::from_static(WRITTEN.1));
        assert_eq!(Served::of("/x?y=1", &headers, NOW), Served::Made);
        assert_eq!(served(&[WRITTEN, ("set-cookie", "s=1"), ("cache-control", "no-store")]), Served::Personal);
    }
}
