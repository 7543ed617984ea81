//! The forms of string values in `[auth.login]`.

use url::Url;

/// The name of a cookie (RFC 6265): a token.
pub(super) fn cookie_name(text: &str) -> Result<(), String> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let fits = !text.is_empty() && text.len() <= 128 && text.bytes().all(is_token);
    if fits { Ok(()) } else { Err("is no name of a cookie; write it as it stands before \"=\"".into()) }
}

/// Schemes that a browser runs or opens by itself, and never hands to an application.
const NO_APPLICATION: [&str; 11] =
    ["about", "blob", "chrome", "data", "file", "filesystem", "ftp", "javascript", "vbscript", "view-source", "ws"];

/// Where an OAuth client is answered (RFC 8252): https, http to the person's own machine, or an application's own scheme.
pub fn redirect_uri(text: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|_| "is not a URL; write \"https://host/callback\"".to_owned())?;
    if text.contains('#') || !text.bytes().all(|b| b.is_ascii_graphic()) {
        return Err("must be plain ASCII without \"#\"".into());
    }
    // Other readers take "https:/path" or "\\" for something else than a browser does.
    if matches!(url.scheme(), "http" | "https") && url.as_str() != text && url.as_str() != format!("{text}/") {
        return Err(format!("is not in its normal form; write \"{url}\""));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("carries a user or a password".into());
    }
    let is_here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match url.scheme() {
        "https" if url.has_host() => Ok(()),
        "http" if is_here => Ok(()),
        "http" => {
            Err("has to be https: codes are sent there; http only to \"127.0.0.1\", \"[::1]\" or \"localhost\"".into())
        }
        scheme if NO_APPLICATION.contains(&scheme) || scheme == "wss" => Err("leads to no application".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_and_redirect_uris() {
        assert!(cookie_name("__Host-sid").is_ok() && cookie_name("").is_err() && cookie_name("a=b").is_err());
        for right in
            ["https://a.test/cb?x=1", "http://127.0.0.1/cb", "http://localhost:1/cb", "com.a.app:/cb", "app://cb"]
        {
            assert!(redirect_uri(right).is_ok(), "{right}");
        }
        for wrong in [
            "http://a.test/cb",
            "javascript:x",
            "wss://a.test",
            "https://u@a.test/",
            "https://a.test/#f",
            "/cb",
            "https:/a?x=1",
            "https://a.test\\@b.test/",
            "http://LOCALHOST/cb",
        ] {
            assert!(redirect_uri(wrong).is_err(), "{wrong}");
        }
    }
}
