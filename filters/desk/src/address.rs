//! Decides which URLs a caller may name as a callback: only those with a public address.
//!
//! Without this check a caller could have the desk call what only the desk can reach (SSRF): its own network, this
//! machine, a cloud's metadata service. The list is that of the special-purpose registries (RFC 6890 and its updates).
//! An IPv6 address that embeds an IPv4 one (mapped, 6to4, NAT64) is judged by the embedded address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};
use url::{Host, Url};

const V4: [Ipv4Net; 15] = [
    v4([0, 0, 0, 0], 8),
    v4([10, 0, 0, 0], 8),
    v4([100, 64, 0, 0], 10),
    v4([127, 0, 0, 0], 8),
    v4([169, 254, 0, 0], 16),
    v4([172, 16, 0, 0], 12),
    v4([192, 0, 0, 0], 24),
    v4([192, 0, 2, 0], 24),
    v4([192, 88, 99, 0], 24),
    v4([192, 168, 0, 0], 16),
    v4([198, 18, 0, 0], 15),
    v4([198, 51, 100, 0], 24),
    v4([203, 0, 113, 0], 24),
    v4([224, 0, 0, 0], 4),
    v4([240, 0, 0, 0], 4),
];

/// `::/96` covers `::`, `::1` and the deprecated IPv4-compatible addresses.
const V6: [Ipv6Net; 13] = [
    v6([0, 0, 0, 0, 0, 0, 0, 0], 96),
    v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64),
    v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
    v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),
];

const MAPPED: Ipv6Net = v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96);
const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96);
const SIX_TO_FOUR: Ipv6Net = v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16);

const fn v4([a, b, c, d]: [u8; 4], bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6([a, b, c, d, e, f, g, h]: [u16; 8], bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), bits)
}

/// Whether an address is public, in every notation.
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => !V4.iter().any(|range| range.contains(&address)),
        IpAddr::V6(address) => {
            let [.., a, b, c, d] = address.octets();
            let [_, _, e, f, g, h, ..] = address.octets();
            let within = if MAPPED.contains(&address) || NAT64.contains(&address) {
                Some(Ipv4Addr::new(a, b, c, d))
            } else if SIX_TO_FOUR.contains(&address) {
                Some(Ipv4Addr::new(e, f, g, h))
            } else {
                None
            };
            match within {
                Some(within) => is_public(within.into()),
                None => !V6.iter().any(|range| range.contains(&address)),
            }
        }
    }
}

/// Whether the address is this machine's loopback.
pub fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Maximum bytes of a URL that a caller names.
const LONGEST: usize = 2048;

/// Parses a callback URL and checks its spelling: https, no user, no fragment, and no literal address that is not
/// public. With `to_ourselves`, http to this machine is accepted too. The address of a host name is checked when it is
/// resolved.
///
/// # Errors
///
/// The reason, as a phrase that follows "it" in the message to the caller.
pub fn deliverable(url: &str, to_ourselves: bool) -> Result<Url, String> {
    if url.len() > LONGEST {
        return Err(format!("has more than {LONGEST} bytes"));
    }
    // The parser drops line ends and tabs, and turns a backslash into a slash. Other readers of the URL may not.
    if url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') {
        return Err("has a character that no URL has".into());
    }
    // The parser recognises `0x7f.1` and `2130706433` as addresses.
    let url = Url::parse(url).map_err(|_| "is not a URL".to_owned())?;
    let literal = match url.host() {
        Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
        Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
        Some(Host::Domain(_)) => None,
        None => return Err("has no host".into()),
    };
    let name = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    let is_ours = literal.map_or(name == "localhost" || name.ends_with(".localhost"), is_loopback);
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not name a user".into());
    }
    if url.fragment().is_some() {
        return Err("must not have a fragment".into());
    }
    match url.scheme() {
        "https" => {}
        "http" if to_ourselves && is_ours => {}
        _ => return Err("has to be https".into()),
    }
    if is_ours && to_ourselves {
        return Ok(url);
    }
    if is_ours || literal.is_some_and(|address| !is_public(address)) {
        return Err("has to lead to a public address".into());
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_special_range_is_public() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.254",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.170",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "192.168.255.255",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.7",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
            let IpAddr::V4(v4) = address.parse().unwrap() else { unreachable!() };
            assert!(!is_public(v4.to_ipv6_mapped().into()), "mapped {address}");
            assert!(!is_public(v4.to_ipv6_compatible().into()), "compatible {address}");
            let [a, b, c, d] = v4.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            assert!(!is_public(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low).into()), "NAT64 {address}");
            assert!(!is_public(Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1).into()), "6to4 {address}");
        }
        for address in [
            "::",
            "::1",
            "::8.8.8.8",
            "::ffff:0:8.8.8.8",
            "64:ff9b:1::1",
            "100::1",
            "100:0:0:1::1",
            "2001::1",
            "2001:1ff:ffff::1",
            "2001:db8::1",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fdff::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn what_lies_beside_a_range_is_public() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "198.51.99.255",
            "203.0.114.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2002:808:808::1",
            "2001:200::1",
            "2001:db7:ffff::1",
            "2606:4700::1111",
            "2a00::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn a_spelling_hides_nothing() {
        for url in [
            "https://127.0.0.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://0177.0.0.1/",
            "https://127.1/",
            "https://0/",
            "https://[::1]/",
            "https://[::ffff:127.0.0.1]/",
            "https://[::ffff:a9fe:a9fe]/",
            "https://[64:ff9b::a9fe:a9fe]/",
            "https://[2002:7f00:1::]/",
            "https://169.254.169.254/latest/meta-data/",
            "https://localhost/",
            "https://LOCALHOST./",
            "https://a.localhost/",
            "https://\u{ff11}27.0.0.1/",
            "https://127。0。0。1/",
            "https://user@example.com/",
            "https://user:pass@example.com/",
            "https://example.com#x",
            "http://example.com/",
            "ftp://example.com/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "data:text/plain,x",
            "//example.com/",
            "example.com",
            "",
            "https://",
            "https:///",
        ] {
            assert!(deliverable(url, false).is_err(), "{url}");
        }
        for url in
            ["https://example.com/x?y=z", "https://example.com:8443/", "https://8.8.8.8/", "https://[2606:4700::1111]/"]
        {
            assert!(deliverable(url, false).is_ok(), "{url}");
        }
        assert!(deliverable(&format!("https://example.com/{}", "x".repeat(LONGEST)), false).is_err());
    }

    #[test]
    fn this_machine_is_let_through_for_tests_alone() {
        for url in ["http://127.0.0.1:9/x", "http://localhost:9/", "http://[::1]:9/", "https://127.0.0.1/"] {
            assert!(deliverable(url, true).is_ok() && deliverable(url, false).is_err(), "{url}");
        }
        for url in [
            "http://example.com/",
            "http://10.0.0.1/",
            "https://10.0.0.1/",
            "https://169.254.169.254/",
            "http://8.8.8.8/",
        ] {
            assert!(deliverable(url, true).is_err(), "{url}");
        }
    }
}
