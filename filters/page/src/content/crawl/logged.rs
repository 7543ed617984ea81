//! Addresses of the site as they may stand in a log or on an operator's page.

/// The longest name of a parameter that is shown: a longer one may be a token.
const LONGEST_NAME: usize = 24;
/// What stands for whatever is not shown.
const NOT_SHOWN: &str = "*";

/// An address with the names of its parameters, but without their values, the user that it may name and its fragment:
/// all of them may be secrets. A parameter without a value is not shown at all.
pub fn without_values(address: &str) -> String {
    let address = address.split('#').next().unwrap_or_default();
    let (path, query) = address.split_once('?').map_or((address, None), |(path, query)| (path, Some(query)));
    let mut shown = without_user(path);
    if let Some(query) = query {
        shown.push('?');
        shown.push_str(&query.split('&').map(parameter).collect::<Vec<_>>().join("&"));
    }
    shown
}

/// Also without parameters of the path: `;jsessionid=…`.
fn without_user(address: &str) -> String {
    let bare = |path: &str| -> String {
        let segments = path.split('/').map(|segment| match segment.split_once(';') {
            Some((name, _)) => format!("{name};{NOT_SHOWN}"),
            None => segment.to_owned(),
        });
        segments.collect::<Vec<_>>().join("/")
    };
    // A path may have `//` in it, but not before anything else that has a slash.
    let start = address.find("//").filter(|at| !address[..*at].contains('/'));
    let Some(start) = start.map(|at| at + 2) else { return bare(address) };
    let (scheme, rest) = address.split_at(start);
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit('@').next().unwrap_or_default();
    format!("{scheme}{host}{}", bare(path))
}

fn parameter(written: &str) -> String {
    let is_name = |name: &str| {
        (1..=LONGEST_NAME).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.[]".contains(&byte))
    };
    match written.split_once('=') {
        Some((name, "")) if is_name(name) => format!("{name}="),
        Some((name, _)) if is_name(name) => format!("{name}={NOT_SHOWN}"),
        _ => NOT_SHOWN.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_shown() {
        for (address, shown) in [
            ("/", "/"),
            ("/a/b", "/a/b"),
            ("/a?action=stop&name=x", "/a?action=*&name=*"),
            ("/a?x=", "/a?x="),
            ("/a?planted", "/a?*"),
            ("/a?", "/a?*"),
            ("/a?x=1?planted&y", "/a?x=*&*"),
            ("/a?filter[id]=planted#planted", "/a?filter[id]=*"),
            ("/a?eyJhbGciOiJIUzI1NiJ9.planted=1", "/a?*"),
            ("/a;jsessionid=planted/b;planted?x=planted", "/a;*/b;*?x=*"),
            ("https://user:planted@a.test/x?code=planted", "https://a.test/x?code=*"),
            ("//planted@a.test", "//a.test"),
            ("/a//planted@b", "/a//planted@b"),
            ("https://a.test/b//c@d", "https://a.test/b//c@d"),
            ("", ""),
        ] {
            assert_eq!(without_values(address), shown, "{address}");
        }
    }
}
