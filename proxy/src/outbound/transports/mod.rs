//! Message transports to harnesses: HTTP, WebSocket, Unix socket, or a program's standard input and output. This module
//! does not know the content of messages, except for the `id` that an answer repeats.

mod http;
mod place;
mod shared;
mod stdio;
mod text;
mod unix;
mod waiting;
mod words;
mod ws;

#[cfg(test)]
mod tests;

use std::{iter, path::PathBuf, sync::Arc, time::Duration};

use ::http::HeaderValue;
use frontdesk_filters::harness::{HarnessTransport, Lost};
use url::Url;

use super::Outbound;
use place::Place;

/// The longest answer in bytes.
const MOST: usize = 1024 * 1024;

/// The transport for a URL: `http(s)://…`, `ws(s)://…`, `unix:/path` or `stdio:COMMAND ARGS`. The token is sent as
/// `Authorization: Bearer` by transports with headers. The error describes the mistake.
pub fn way(outbound: &Arc<Outbound>, url: &str, token: Option<&str>) -> Result<Arc<dyn HarnessTransport>, String> {
    Ok(match Leads::of(url, token)? {
        Leads::File(path) => Arc::new(unix::Socket::new(path)),
        Leads::Program(words) => Arc::new(stdio::Program::new(words)),
        Leads::Http(place, authorization) => Arc::new(http::Posts::new(outbound.clone(), place, authorization)),
        Leads::WebSocket(place, authorization) => Arc::new(ws::Socket::new(outbound.clone(), place, authorization)),
    })
}

/// Whether there is a transport for a URL, with this token.
///
/// # Errors
///
/// The mistake, in words.
pub fn check(url: &str, token: Option<&str>) -> Result<(), String> {
    Leads::of(url, token).map(drop)
}

/// The parsed destination of a URL.
enum Leads {
    File(PathBuf),
    Program(Vec<String>),
    Http(Place, Option<HeaderValue>),
    WebSocket(Place, Option<HeaderValue>),
}

impl Leads {
    fn of(url: &str, token: Option<&str>) -> Result<Self, String> {
        if let Some(path) = url.strip_prefix("unix:") {
            if !path.starts_with('/') {
                return Err("unix: takes a whole path, such as unix:/run/harness.sock".into());
            }
            return Ok(Self::File(PathBuf::from(path)));
        }
        if let Some(command) = url.strip_prefix("stdio:") {
            return words::split(command).map(Self::Program);
        }
        // Quote no part of the URL: even an invalid one may hold a secret.
        let url = Url::parse(url).map_err(|e| format!("the URL cannot be read: {e}"))?;
        let authorization = token.filter(|token| !token.is_empty()).map(bearer).transpose()?;
        let place = Place::of(&url)?;
        match url.scheme() {
            "http" | "https" => Ok(Self::Http(place, authorization)),
            "ws" | "wss" => Ok(Self::WebSocket(place, authorization)),
            scheme => {
                Err(format!("{scheme}: is no way; write http(s)://…, ws(s)://…, unix:/path or stdio:COMMAND ARGS"))
            }
        }
    }
}

/// The names of destinations in logs and metrics, in the same order. Each name is unique.
pub fn names(urls: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(urls.len());
    for name in urls.iter().map(|url| name(url)) {
        let others = (2..).map(|number| format!("{name} ({number})"));
        let free = iter::once(name.clone()).chain(others).find(|name| !names.contains(name));
        names.extend(free);
    }
    names
}

/// A URL without the parts that may be secret.
fn name(url: &str) -> String {
    if let Some(command) = url.strip_prefix("stdio:") {
        return format!("stdio:{}", command.split_whitespace().next().unwrap_or_default());
    }
    match Url::parse(url) {
        Ok(parsed) if parsed.has_host() => {
            let port = parsed.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}://{}{port}{}", parsed.scheme(), parsed.host_str().unwrap_or_default(), parsed.path())
        }
        _ => url.to_owned(),
    }
}

fn bearer(token: &str) -> Result<HeaderValue, String> {
    let value = HeaderValue::try_from(format!("Bearer {token}"));
    let mut value = value.map_err(|_| "the token has characters that cannot be sent in a header")?;
    value.set_sensitive(true);
    Ok(value)
}

fn late(within: Duration) -> Lost {
    Lost(format!("no answer within {within:?}"))
}
