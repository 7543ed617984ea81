//! Which redirect URIs a client may use, and where they lead.

use frontdesk_config::redirect_uri;
use url::Url;

/// Maximum bytes of one.
const LONGEST: usize = 2048;
/// The names of the person's own machine.
const LOOPBACK: [&str; 3] = ["127.0.0.1", "[::1]", "localhost"];

/// Whether a client that the operator does not know may be answered there. An application's own scheme has to be a reversed
/// domain name (RFC 8252 §7.1).
pub(crate) fn is_safe(uri: &str) -> bool {
    let scheme = uri.split(':').next().unwrap_or_default();
    let is_known = matches!(scheme, "http" | "https") || scheme.contains('.');
    uri.len() <= LONGEST && is_known && redirect_uri(uri).is_ok()
}

/// Whether a request may use this one, by the exact text of a registered one. On the person's own machine the port may be
/// another one (RFC 8252 §7.3).
pub(crate) fn matches(registered: &str, asked: &str) -> bool {
    registered == asked
        || match (without_port(registered), without_port(asked)) {
            (Some(registered), Some(asked)) => registered == asked && redirect_uri(&asked_plainly(&asked)).is_ok(),
            _ => false,
        }
}

fn asked_plainly((host, rest): &(&str, &str)) -> String {
    format!("http://{host}{rest}")
}

/// Host and the rest of a URI that leads to the person's own machine, without its port; `None`: it leads elsewhere.
fn without_port(uri: &str) -> Option<(&str, &str)> {
    let after = uri.strip_prefix("http://")?;
    let host = LOOPBACK.into_iter().find(|host| after.starts_with(host))?;
    let rest = &after[host.len()..];
    let rest = match rest.strip_prefix(':') {
        Some(port) => {
            let digits = port.bytes().take_while(u8::is_ascii_digit).count();
            let is_port = port[..digits].parse::<u16>().is_ok();
            is_port.then_some(&port[digits..])?
        }
        None => rest,
    };
    (rest.is_empty() || rest.starts_with(['/', '?'])).then_some((host, rest))
}

/// Whether it leads to the person's own machine: any program there could be behind it.
pub(crate) fn is_on_this_machine(uri: &str) -> bool {
    without_port(uri).is_some()
}

/// The host, with a port that is not the usual one: another port is another origin.
pub(crate) fn authority(url: &Url) -> Option<String> {
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}{port}", url.host_str()?))
}

/// What a person is shown of it: the host, or an application's scheme.
pub(crate) fn shown(uri: &str) -> String {
    match Url::parse(uri) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => authority(&url).unwrap_or_default(),
        Ok(url) => format!("{}:", url.scheme()),
        Err(_) => String::new(),
    }
}

/// The sources of a policy that a browser may be led to by it: clients lead on to other pages of theirs.
pub(crate) fn sources(uri: &str) -> String {
    let scheme = uri.split(':').next().unwrap_or_default();
    let is_plain = scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let is_own = is_plain && !matches!(scheme, "http" | "https");
    // A policy has no notation for an IPv6 address, so its scheme has to do.
    let is_ipv6 = uri.starts_with("http://[::1]");
    let own = if is_own || is_ipv6 { format!(" {scheme}:") } else { String::new() };
    format!("https: http://127.0.0.1:* http://localhost:*{own}")
}

/// A redirect URI with these parameters. Its own query stays.
pub(crate) fn with(uri: &str, parameters: &[(&str, &str)]) -> String {
    let mark = if uri.contains('?') { '&' } else { '?' };
    let pairs = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    format!("{uri}{mark}{pairs}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_port_of_this_machine_may_differ() {
        let https = "https://agent.test/cb?x=1";
        assert!(matches(https, https));
        for other in [
            "https://agent.test/cb",
            "https://agent.test/cb?x=1&y=2",
            "https://agent.test:443/cb?x=1",
            "https://agent.test/CB?x=1",
            "https://agent.test/cb/../cb?x=1",
            "https://agent.test.evil.test/cb?x=1",
            "https://agent.test@evil.test/cb?x=1",
        ] {
            assert!(!matches(https, other), "{other}");
        }
        for host in LOOPBACK {
            let registered = format!("http://{host}/cb");
            assert!(matches(&registered, &format!("http://{host}:49152/cb")), "{host}");
            assert!(matches(&format!("http://{host}:1/cb"), &format!("http://{host}:2/cb")), "{host}");
            for other in [
                format!("http://{host}:49152/other"),
                format!("https://{host}:49152/cb"),
                format!("http://{host}:99999/cb"),
                format!("http://{host}:1@evil.test/cb"),
                format!("http://{host}.evil.test/cb"),
                format!("http://{host}:x/cb"),
                format!("http://{host}:1/cb#f"),
            ] {
                assert!(!matches(&registered, &other), "{other}");
            }
        }
        assert!(!matches("http://127.0.0.1/cb", "http://localhost/cb"));
    }

    #[test]
    fn unknown_clients_lead_to_no_odd_place() {
        for right in ["https://a.test/cb", "http://127.0.0.1:1/cb", "com.example.app:/cb"] {
            assert!(is_safe(right), "{right}");
        }
        for wrong in [
            "javascript:alert(1)",
            "data:text/html,x",
            "http://a.test/cb",
            "https://u:p@a.test/cb",
            "https://a.test/cb#f",
            "app:/cb",
            "/cb",
            "https://a.test/ü",
            &format!("https://a.test/{}", "x".repeat(LONGEST)),
        ] {
            assert!(!is_safe(wrong), "{wrong}");
        }
    }

    #[test]
    fn parameters_are_added_to_its_own() {
        assert_eq!(
            with("https://a.test/cb", &[("code", "c"), ("state", "a b&")]),
            "https://a.test/cb?code=c&state=a+b%26"
        );
        assert_eq!(with("https://a.test/cb?x=1", &[("code", "c")]), "https://a.test/cb?x=1&code=c");
        assert_eq!(
            (shown("https://a.test:8443/cb").as_str(), shown("com.a.app:/cb").as_str()),
            ("a.test:8443", "com.a.app:")
        );
        assert!(
            sources("http://[::1]:4711/cb").ends_with(" http:") && !sources("http://127.0.0.1/cb").ends_with(" http:")
        );
        assert!(sources("com.a.app:/cb").ends_with(" com.a.app:") && !sources("https://a.test/cb").contains("a.test"));
    }
}
