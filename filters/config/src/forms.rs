//! The forms of string values: one function for each.
//!
//! A form returns `Err` with the rest of a sentence that begins with the value ("\"5 sec\" is not a duration; …").

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    time::Duration,
};

use frontdesk_page::content::css::Css;
use ipnet::IpNet;
use url::Url;

use super::{
    settings::UpstreamUrl,
    units::{self, Span},
};

/// Checks a string.
pub type Form = fn(&str) -> Result<(), String>;

pub fn any(_: &str) -> Result<(), String> {
    Ok(())
}

pub fn filled(text: &str) -> Result<(), String> {
    if text.trim().is_empty() { Err("is empty".into()) } else { Ok(()) }
}

/// A duration, which may be zero.
pub(super) fn delay(text: &str) -> Result<(), String> {
    units::duration(text).map(drop)
}

/// A duration above zero.
pub fn duration(text: &str) -> Result<(), String> {
    if units::duration(text)?.is_zero() { Err("must be longer than nothing".into()) } else { Ok(()) }
}

pub(super) fn size(text: &str) -> Result<(), String> {
    if units::size(text)? == 0 { Err("must be more than nothing".into()) } else { Ok(()) }
}

/// Maximum of the required minimum rate, in bytes per second. A higher one would cut off ordinary clients.
const HIGHEST_LOWEST_RATE: u64 = 1 << 20;

pub(super) fn lowest_rate(text: &str) -> Result<(), String> {
    if units::size(text)? > HIGHEST_LOWEST_RATE { Err("is more than 1MB a second".into()) } else { Ok(()) }
}

pub(super) fn rate(text: &str) -> Result<(), String> {
    units::rate(text).map(drop)
}

pub(super) fn budget(text: &str) -> Result<(), String> {
    units::budget(text).map(drop)
}

/// `token_budget.daily`.
pub(super) fn daily(text: &str) -> Result<(), String> {
    let per_day = units::budget(text)?.span == Span::Day;
    if per_day { Ok(()) } else { Err("is not for a day; write \"100000/day\"".into()) }
}

/// A host name or address as it stands in a URL.
pub(super) fn host(text: &str) -> Result<(), String> {
    let odd = |byte: u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'.' | b'_');
    match text.is_empty() || text.bytes().any(odd) {
        true => Err("is no host name; write it alone, without a scheme, a port or a \"*\"".into()),
        false => Ok(()),
    }
}

pub fn address(text: &str) -> Result<(), String> {
    read_address(text).map(drop)
}

/// Parses `127.0.0.1:8080` or `[::1]:8080`. `localhost:8080` is the IPv4 loopback, `:8080` every IPv4 address.
///
/// # Errors
///
/// It is no address; the error says what to write instead.
pub fn read_address(text: &str) -> Result<SocketAddr, String> {
    let wrong = || "is not an address to listen on; write \"127.0.0.1:8080\", \"[::1]:8080\" or \":8080\"".to_owned();
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (host, port) = text.rsplit_once(':').ok_or_else(wrong)?;
    let port: u16 = port.parse().map_err(|_| wrong())?;
    match host {
        "" => Ok((Ipv4Addr::UNSPECIFIED, port).into()),
        "localhost" => Ok((Ipv4Addr::LOCALHOST, port).into()),
        _ => Err(wrong()),
    }
}

pub(super) fn network(text: &str) -> Result<(), String> {
    read_network(text).map(drop)
}

/// A CIDR; a bare address is a network of one address.
pub(super) fn read_network(text: &str) -> Result<IpNet, String> {
    text.parse::<IpNet>()
        .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
        .map_err(|_| "is not a network; write \"10.0.0.0/8\", \"fd00::/8\" or one address".into())
}

/// A path in canonical form, since requests are compared with that form.
pub fn path(text: &str) -> Result<(), String> {
    path_and_query(text)?;
    let plain = !text.contains(['?', '\\', ';']) && !text.contains("//");
    if plain && !text.split('/').any(|segment| matches!(segment, "." | "..")) {
        Ok(())
    } else {
        Err("must be a plain path: no \"?\", \";\", \"\\\", \"//\", \"/./\" or \"/../\"".into())
    }
}

/// A path of our own, which requests match in any spelling.
pub fn own_path(text: &str) -> Result<(), String> {
    path(text)?;
    let plain = text.is_ascii() && !text.contains('%');
    if plain { Ok(()) } else { Err("must be in plain ASCII, without \"%\": else it would never be met".into()) }
}

/// A request target on the site: a path as the site spells it, and an optional query.
pub(super) fn path_and_query(text: &str) -> Result<(), String> {
    if !text.starts_with('/') {
        Err("must begin with \"/\"".into())
    } else if text.contains('#') || text.contains(char::is_whitespace) || text.contains(char::is_control) {
        Err("must not contain \"#\" or blanks".into())
    } else {
        Ok(())
    }
}

/// The form of an HTTP method or an AGTP verb.
pub fn method(text: &str) -> Result<(), String> {
    let fits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-' || byte == b'_');
    if fits { Ok(()) } else { Err("is not a method; write it in capitals, as in \"POST\"".into()) }
}

/// The media type of a body, with its parameters.
pub fn media_type(text: &str) -> Result<(), String> {
    let word = |part: &str| {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
        !part.is_empty() && part.bytes().all(fits)
    };
    let essence = text.split(';').next().unwrap_or_default().trim();
    let fits = essence.split_once('/').is_some_and(|(class, kind)| word(class) && word(kind));
    if fits && text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Ok(());
    }
    Err("is not a media type; write \"application/json\"".into())
}

/// 64 hex digits of a hash.
pub(super) fn sha256(text: &str) -> Result<(), String> {
    let fits = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match fits {
        false => Err("is not a SHA-256: 64 hex digits, as `sha256sum` prints them".into()),
        // The hash of an unset shell variable.
        true if text.eq_ignore_ascii_case(OF_NOTHING) => {
            Err("is the SHA-256 of nothing: what it was made of was empty; make it of the secret".into())
        }
        true => Ok(()),
    }
}

/// The SHA-256 of the empty input.
const OF_NOTHING: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

pub(super) fn sha256_or_nothing(text: &str) -> Result<(), String> {
    if text.is_empty() { Ok(()) } else { sha256(text) }
}

/// An http or https URL.
pub(super) fn web_url(text: &str) -> Result<(), String> {
    scheme(text, &["http", "https"])
}

/// A path of the site, or an https URL; empty: none.
pub(super) fn notify_url(text: &str) -> Result<(), String> {
    match text {
        "" => Ok(()),
        path if path.starts_with('/') => path_and_query(path),
        url => https_url(url),
    }
}

/// A JSON pointer (RFC 6901) to something within a document, or a CSS selector, perhaps with an attribute, on a page.
pub(super) fn pointer_or_selector(text: &str) -> Result<(), String> {
    let select = text.rsplit_once('@').map_or(text, |(select, _)| select).trim();
    if text.starts_with('/') {
        return Ok(());
    }
    Css::parse(select)
        .map(drop)
        .map_err(|why| format!("is no JSON pointer (\"/id\"), and as a CSS selector (\"#me @data-id\") it {why}"))
}

/// The URL of an authorization server, which is told secrets: https, or http to this machine.
pub(super) fn token_url(text: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|_| "is not a URL; write \"https://host/…\"".to_owned())?;
    let is_here = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    match url.scheme() {
        "https" if url.has_host() => Ok(()),
        "http" if is_here => Ok(()),
        _ => Err("has to be https: it is told secrets; http only to this machine".into()),
    }
}

/// The same, or nothing.
pub(super) fn web_url_or_nothing(text: &str) -> Result<(), String> {
    if text.is_empty() { Ok(()) } else { web_url(text) }
}

/// An https URL.
pub(super) fn https_url(text: &str) -> Result<(), String> {
    scheme(text, &["https"])
}

fn scheme(text: &str, schemes: &[&str]) -> Result<(), String> {
    let example = schemes[0];
    match Url::parse(text) {
        Ok(url) if schemes.contains(&url.scheme()) && url.has_host() => Ok(()),
        _ => Err(format!("is not a URL; write \"{example}://host/…\"")),
    }
}

/// An origin of the site: scheme, host and port only.
pub(super) fn origin(text: &str) -> Result<(), String> {
    read_origin(text).map(drop)
}

/// `upstream.url`: an origin only.
pub(super) fn read_origin(text: &str) -> Result<UpstreamUrl, String> {
    let wrong = || "is not where a site can be reached; write \"http://host:port\" or \"https://host\"".to_owned();
    let url = Url::parse(text).map_err(|_| wrong())?;
    let tls = match url.scheme() {
        "http" => false,
        "https" => true,
        _ => return Err(wrong()),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err("carries a user or a password; send one in a header of capabilities.upstream instead".into());
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err("must stop after the host and port".into());
    }
    let host = match url.host().ok_or_else(wrong)? {
        url::Host::Domain(name) => name.to_owned(),
        url::Host::Ipv4(address) => address.to_string(),
        url::Host::Ipv6(address) => address.to_string(),
    };
    let port = url.port_or_known_default().filter(|port| *port > 0).ok_or_else(wrong)?;
    Ok(UpstreamUrl { tls, host, port })
}

/// `store.url`.
pub(super) fn store(text: &str) -> Result<(), String> {
    let fits = match text.split_once(':') {
        Some(("memory", rest)) => rest.is_empty(),
        Some(("file", path)) => path.starts_with('/'),
        Some(("redis" | "rediss" | "valkey" | "valkeys", _)) => Url::parse(text).is_ok_and(|url| url.has_host()),
        Some(("unix" | "redis+unix" | "valkey+unix", _)) => Url::parse(text).is_ok_and(|url| {
            let host = url.host_str().unwrap_or_default();
            host.is_empty() && url.path().starts_with('/') && !url.path().ends_with('/')
        }),
        _ => false,
    };
    let accepted = "is not a store; write \"memory:\", \"file:/var/lib/frontdesk\", \"redis://host:6379/0\" or \
                    \"unix:/run/redis.sock\"";
    if fits { Ok(()) } else { Err(accepted.into()) }
}

/// `store.patience`: long enough for a healthy server, and short enough for a client that waits for a page.
pub(super) fn store_patience(text: &str) -> Result<(), String> {
    let bounds = Duration::from_millis(10)..=Duration::from_secs(10);
    if bounds.contains(&units::duration(text)?) { Ok(()) } else { Err("must be from 10ms to 10s".into()) }
}

/// `store.prefix`: the start of every key in Redis. No braces, because a cluster hashes by them.
pub(super) fn store_prefix(text: &str) -> Result<(), String> {
    let fits = !text.is_empty()
        && text.len() <= 64
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b':'));
    if fits { Ok(()) } else { Err("is not a prefix; write up to 64 letters, digits, '-', '_', '.' or ':'".into()) }
}

/// `harness.url`.
pub(super) fn harness(text: &str) -> Result<(), String> {
    let fits = match text.split_once(':') {
        Some(("http" | "https" | "ws" | "wss", _)) => Url::parse(text).is_ok_and(|url| url.has_host()),
        Some(("unix", path)) => path.starts_with('/'),
        Some(("stdio", command)) => !command.trim().is_empty(),
        _ => false,
    };
    let accepted = "is not a harness; write http(s)://…, ws(s)://…, unix:/run/harness.sock or stdio:COMMAND ARGS";
    if fits { Ok(()) } else { Err(accepted.into()) }
}

/// `agtp.policies.methods.allow` where it is not a list.
pub fn star(text: &str) -> Result<(), String> {
    if text == "*" { Ok(()) } else { Err("must be \"*\" or a list of methods".into()) }
}

/// `agtp.policies.methods.legacy` where it is not a list.
pub fn none(text: &str) -> Result<(), String> {
    let known = matches!(text, "NONE" | "*");
    if known { Ok(()) } else { Err("must be \"NONE\", \"*\" or a list of methods".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        assert_eq!(read_address("localhost:8080").unwrap().to_string(), "127.0.0.1:8080");
        assert_eq!(read_address(":8080").unwrap().to_string(), "0.0.0.0:8080");
        assert_eq!(read_address("[::1]:80").unwrap().to_string(), "[::1]:80");
        for wrong in ["8080", "example.com:80", "127.0.0.1", "127.0.0.1:99999", "::1:80x"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn networks_and_bare_addresses() {
        assert_eq!(read_network("10.0.0.0/8").unwrap().to_string(), "10.0.0.0/8");
        assert_eq!(read_network("::1").unwrap().to_string(), "::1/128");
        assert!(network("10.0.0.0/33").is_err() && network("lan").is_err());
    }

    #[test]
    fn origins() {
        let v6 = read_origin("https://[::1]").unwrap();
        assert_eq!((v6.tls, v6.host.as_str(), v6.port), (true, "::1", 443));
        assert_eq!(read_origin("http://a:3000/").unwrap().port, 3000);
        for wrong in ["http://a/b", "http://a?x", "http://u:p@a", "http://a#f", "ftp://a", "a:3000", ""] {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn paths_methods_digests() {
        assert!(path("/healthz").is_ok() && path("healthz").is_err() && path("/a?b").is_err() && path("/a b").is_err());
        for wrong in ["/a//b", "/a/../b", "/.", "/a;b", "/a\\b"] {
            assert!(path(wrong).is_err() && path_and_query(wrong).is_ok(), "{wrong}");
        }
        assert!(path("/a/{id}/.well-known/*").is_ok());
        assert!(path_and_query("/a?b=c").is_ok() && path_and_query("a?b").is_err());
        assert!(media_type("application/vnd.api+json; charset=utf-8").is_ok() && media_type("json").is_err());
        assert!(media_type("a/b\r\nX: y").is_err() && media_type("a/b; x=\u{7f}").is_err());
        assert!(method("POST").is_ok() && method("post").is_err() && method("").is_err());
        assert!(sha256(OF_NOTHING).is_err() && sha256(&OF_NOTHING.to_uppercase()).is_err());
        assert!(sha256(&"aB".repeat(32)).is_ok() && sha256("abc").is_err() && sha256(&"g".repeat(64)).is_err());
        assert!(sha256_or_nothing("").is_ok());
    }

    #[test]
    fn urls_of_stores_and_harnesses() {
        for right in [
            "memory:",
            "file:/var/lib/frontdesk",
            "redis://127.0.0.1:6379/0",
            "rediss://host",
            "valkey://host:6379/0",
            "valkeys://host",
            "unix:/run/redis.sock",
            "unix:///run/redis.sock?db=2",
            "redis+unix:///run/redis.sock",
            "valkey+unix:/run/valkey.sock",
        ] {
            assert!(store(right).is_ok(), "{right}");
        }
        for wrong in ["unix:run/redis.sock", "unix://run/redis.sock", "unix:/", "unix:", "valkey:", "redis+tls://h"] {
            assert!(store(wrong).is_err(), "{wrong}");
        }
        assert!(store_patience("10ms").is_ok() && store_patience("10s").is_ok());
        assert!(store_patience("9ms").is_err() && store_patience("11s").is_err() && store_patience("soon").is_err());
        assert!(store("memory").is_err() && store("file:relative").is_err() && store("redis:").is_err());
        for right in ["http://h/ahp", "wss://h", "unix:/run/harness.sock", "stdio:harness --strict"] {
            assert!(harness(right).is_ok(), "{right}");
        }
        assert!(harness("tcp://h").is_err() && harness("stdio:").is_err() && harness("unix:x").is_err());
        assert!(web_url("http://h/x").is_ok() && https_url("http://h/x").is_err() && web_url("h").is_err());
    }
}
