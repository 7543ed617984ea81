//! The host of an origin, for identifiers that are made of it.

/// The host of an origin, without its port.
pub fn host_of(origin: &str) -> &str {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    let host = host.split('/').next().unwrap_or_default();
    match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// The host in reverse order, as in `com.example.www`. An address stays in its order.
pub fn reversed_host(origin: &str) -> String {
    let host = host_of(origin).to_ascii_lowercase();
    let plain: String = host.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let plain = plain.trim_matches(['.', '-']);
    if plain.is_empty() {
        return "site".to_owned();
    }
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    if is_address { plain.to_owned() } else { plain.rsplit('.').collect::<Vec<_>>().join(".") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_read_and_turned_around() {
        for (origin, host, reversed) in [
            ("https://www.example.com", "www.example.com", "com.example.www"),
            ("http://localhost:8080", "localhost", "localhost"),
            ("http://127.0.0.1:8080", "127.0.0.1", "127.0.0.1"),
            ("http://[::1]:80", "::1", "1"),
            ("https://a_b.test", "a_b.test", "test.a-b"),
            ("", "", "site"),
        ] {
            assert_eq!((host_of(origin), reversed_host(origin).as_str()), (host, reversed), "{origin}");
        }
    }
}
