//! Determines the client's generation of MCP, and checks that its headers agree with its body.

use base64::{Engine, engine::general_purpose::STANDARD};
use http::{HeaderMap, HeaderName};
use serde_json::{Value, json};

use super::{
    envelope::{INVALID_PARAMS, MISMATCH, NO_VERSION, Problem},
    message::Request,
    protocol::{Era, HANDSHAKES, STATELESS},
};
use frontdesk_base::text;

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What the client can do.
pub(super) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The client's name and version.
pub(super) const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The server's name and version.
pub(super) const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// The generation of a request.
///
/// # Errors
///
/// The headers contradict the body, or the version is unknown.
pub(super) fn of(headers: &HeaderMap, request: &Request) -> Result<Era, Problem> {
    let stateless = |problem: Problem| problem.in_era(Era::Stateless).to(request);
    let header = |name: HeaderName| only(headers, &name).map_err(stateless);
    let version = header(VERSION)?;
    let said = request.meta().and_then(|meta| meta.get(META_VERSION));
    let differs =
        |what: &str| stateless(Problem::new(MISMATCH, format!("The header {what} does not say what the body says.")));
    match version {
        // Such a client has no word for a version in the body; if one is there, a gateway may have believed it.
        Some(version) if HANDSHAKES.contains(&version) => {
            return match said.is_none_or(|said| said.as_str() == Some(version)) {
                true => Ok(Era::Handshake),
                false => Err(differs("MCP-Protocol-Version")),
            };
        }
        None if said.is_none() => return Ok(Era::Handshake),
        _ => {}
    }
    let lacks = |key: &str| request.meta().is_none_or(|meta| !meta.contains_key(key));
    if let Some(missing) = [META_VERSION, META_CAPABILITIES].into_iter().find(|key| lacks(key)) {
        let why = format!("`params._meta` lacks `{missing}`.");
        return Err(stateless(Problem::new(INVALID_PARAMS, why)));
    }
    if version.is_none() || version != said.and_then(Value::as_str) {
        return Err(differs("MCP-Protocol-Version"));
    }
    if header(METHOD)? != Some(request.method.as_str()) {
        return Err(differs("Mcp-Method"));
    }
    if let Some(named) = named(request)
        && header(NAME)?.and_then(decoded).as_deref() != Some(named)
    {
        return Err(differs("Mcp-Name"));
    }
    if version != Some(STATELESS) {
        return Err(stateless(not_spoken(version)));
    }
    Ok(Era::Stateless)
}

/// Checks the version in the headers of a notification. An unsupported one is the only error that a notification gets
/// (2025-06-18, "Protocol Version Header").
pub(super) fn is_spoken(headers: &HeaderMap) -> Result<(), Problem> {
    let version = only(headers, &VERSION).map_err(|problem| problem.in_era(Era::Stateless))?;
    match version.is_none_or(|version| version == STATELESS || HANDSHAKES.contains(&version)) {
        true => Ok(()),
        false => Err(not_spoken(version).in_era(Era::Stateless)),
    }
}

fn not_spoken(version: Option<&str>) -> Problem {
    let data = json!({ "supported": [STATELESS], "requested": version });
    Problem::new(NO_VERSION, "This version of the protocol is not spoken here.".to_owned()).with_data(data)
}

/// The parameter that `Mcp-Name` repeats.
fn named(request: &Request) -> Option<&str> {
    let key = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return None,
    };
    request.params.get(key).and_then(Value::as_str)
}

/// The value of a header that may occur once only: of two, two readers could each believe another.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Problem> {
    text::once(headers, name).map_err(|twice| Problem::new(MISMATCH, twice.to_string()))
}

/// Decodes a header value of the form `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;

    fn era(headers: &[(&'static str, &str)], method: &str, params: Value) -> Result<Era, i32> {
        let map = headers.iter().map(|(n, v)| (HeaderName::from_static(n), v.parse().unwrap())).collect();
        let params = params.as_object().cloned().unwrap_or_else(Map::new);
        let request = Request { id: json!(1), method: method.into(), params };
        of(&map, &request).map_err(|problem| problem.code)
    }

    fn meta(version: &str) -> Value {
        json!({ META_VERSION: version, META_CAPABILITIES: {} })
    }

    #[test]
    fn those_who_shake_hands_say_little() {
        assert_eq!(era(&[], "tools/list", json!({})), Ok(Era::Handshake));
        for version in HANDSHAKES {
            let said = |params| era(&[("mcp-protocol-version", version)], "tools/list", params);
            assert_eq!(said(json!({})), Ok(Era::Handshake));
            assert_eq!(said(json!({ "_meta": { META_VERSION: version } })), Ok(Era::Handshake));
            assert_eq!(said(json!({ "_meta": meta(STATELESS) })), Err(MISMATCH));
            assert_eq!(said(json!({ "_meta": { META_VERSION: 1 } })), Err(MISMATCH));
        }
    }

    #[test]
    fn those_who_do_not_say_everything_twice() {
        let headers = [("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", "a")];
        let call = |params| era(&headers, "tools/call", params);
        assert_eq!(call(json!({ "name": "a", "_meta": meta(STATELESS) })), Ok(Era::Stateless));
        assert_eq!(call(json!({ "name": "b", "_meta": meta(STATELESS) })), Err(MISMATCH));
        assert_eq!(call(json!({ "name": "a" })), Err(INVALID_PARAMS));
        assert_eq!(call(json!({ "name": "a", "_meta": { META_VERSION: STATELESS } })), Err(INVALID_PARAMS));
        assert_eq!(call(json!({ "name": "a", "_meta": meta("2024-11-05") })), Err(MISMATCH));
        assert_eq!(era(&headers, "tools/list", json!({ "_meta": meta(STATELESS) })), Err(MISMATCH));
        assert_eq!(era(&[], "tools/list", json!({ "_meta": meta(STATELESS) })), Err(MISMATCH));
        let later = [("mcp-protocol-version", "2099-01-01"), ("mcp-method", "tools/list")];
        assert_eq!(era(&later, "tools/list", json!({ "_meta": meta("2099-01-01") })), Err(NO_VERSION));
        assert_eq!(era(&later, "tools/list", json!({})), Err(INVALID_PARAMS));
    }

    #[test]
    fn a_name_may_be_coded() {
        let headers =
            |name| [("mcp-protocol-version", STATELESS), ("mcp-method", "resources/read"), ("mcp-name", name)];
        let read =
            |name| era(&headers(name), "resources/read", json!({ "uri": "https://a/ä", "_meta": meta(STATELESS) }));
        assert_eq!(read("=?base64?aHR0cHM6Ly9hL8Ok?="), Ok(Era::Stateless));
        for wrong in ["=?base64?!?=", "=?base64?//8=?=", "https://a/a", "=?base64?aHR0cHM6Ly9hL8Ok"] {
            assert_eq!(read(wrong), Err(MISMATCH), "{wrong}");
        }
        let twice = [("mcp-protocol-version", STATELESS), ("mcp-protocol-version", "2024-11-05")];
        let mut map = HeaderMap::new();
        for (name, value) in twice {
            map.append(name, value.parse().unwrap());
        }
        let request = Request { id: json!(1), method: "ping".into(), params: Map::new() };
        assert_eq!(of(&map, &request).map_err(|problem| problem.code), Err(MISMATCH));
    }
}
