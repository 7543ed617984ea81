//! Other things that a site may offer to agents: their paths, and how to recognise them.

use serde_json::Value;

use super::{Answer, links::Link, plain::plain};

/// Something at a path of its own.
pub(super) struct Place {
    pub(super) name: &'static str,
    pub(super) path: &'static str,
    pub(super) accept: &'static str,
    /// Describes the answer; `None` where it is something else.
    pub(super) look: fn(&Answer) -> Option<String>,
}

const JSON: &str = "application/json, */*;q=0.1";
const TEXT: &str = "text/plain, */*;q=0.1";
const LINKSET: &str = "application/linkset+json, application/json;q=0.9, */*;q=0.1";

pub(super) const OPENAPI: &str = "OpenAPI";
pub(super) const LLMS: &str = "llms.txt";
pub(super) const LLMS_PATH: &str = "/llms.txt";
pub(super) const ROBOTS: &str = "robots.txt";
pub(super) const SITEMAP: &str = "Sitemap";
pub(super) const HANDSHAKE: &str = "AHP manifest";
pub(super) const AGTP: &str = "AGTP";
pub(super) const CATALOG: &str = "API catalog";
pub(super) const CARD: &str = "MCP server card";

/// The paths in display order.
pub(super) const PLACES: [Place; 8] = [
    Place { name: HANDSHAKE, path: "/.well-known/agent.json", accept: JSON, look: handshake },
    Place { name: OPENAPI, path: "/openapi.json", accept: JSON, look: openapi },
    Place { name: LLMS, path: LLMS_PATH, accept: TEXT, look: text },
    Place { name: ROBOTS, path: "/robots.txt", accept: TEXT, look: robots },
    Place { name: SITEMAP, path: "/sitemap.xml", accept: "application/xml, */*;q=0.1", look: sitemap },
    Place { name: AGTP, path: "/.well-known/agtp", accept: JSON, look: text },
    Place { name: CATALOG, path: "/.well-known/api-catalog", accept: LINKSET, look: catalog },
    Place { name: CARD, path: "/.well-known/mcp/server-card.json", accept: JSON, look: card },
];

/// The description of a robots.txt that excludes all.
pub(super) const NOBODY: &str = "turns everybody away";

fn handshake(answer: &Answer) -> Option<String> {
    let manifest = object(answer)?;
    let version = manifest.get("ahp")?.as_str()?;
    let listed = |key: &str| manifest.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let modes: Vec<&str> = listed("modes").iter().filter_map(Value::as_str).take(5).collect();
    let capabilities = listed("capabilities").len();
    Some(plain(&format!("version {version}, {}, capabilities: {capabilities}", modes.join(" "))))
}

fn openapi(answer: &Answer) -> Option<String> {
    let document = object(answer)?;
    let version = document.get("openapi").or_else(|| document.get("swagger"))?.as_str()?;
    let paths = document.get("paths").and_then(Value::as_object).map_or(0, |paths| paths.len());
    Some(plain(&format!("version {version}, paths: {paths}")))
}

/// A set of links (RFC 9727, RFC 9264).
fn catalog(answer: &Answer) -> Option<String> {
    let document = object(answer)?;
    let contexts = document.get("linkset")?.as_array()?.len();
    Some(format!("entries: {contexts}"))
}

fn card(answer: &Answer) -> Option<String> {
    let document = object(answer)?;
    let named = document.get("name").or_else(|| document.get("serverInfo")?.get("name"))?.as_str()?;
    Some(plain(named))
}

/// Why something was not found, where it is not simply absent: access is denied, or the request fails.
pub(super) fn trouble(answer: &Answer) -> Option<String> {
    match answer.status.as_u16() {
        200 if answer.is_document() => Some("something else is there".into()),
        // A page for every path, a redirect elsewhere, or not found.
        ..=399 | 404 | 405 | 406 | 410 => None,
        status => Some(format!("answers {status}")),
    }
}

fn text(answer: &Answer) -> Option<String> {
    (answer.is_document() && !answer.body.trim_ascii().is_empty()).then(|| format!("{} bytes", answer.body.len()))
}

fn robots(answer: &Answer) -> Option<String> {
    text(answer)?;
    Some(if turns_everybody_away(&String::from_utf8_lossy(&answer.body)) { NOBODY.into() } else { String::new() })
}

/// Whether the `*` group (RFC 9309) disallows the whole site without exceptions.
fn turns_everybody_away(robots: &str) -> bool {
    let (mut everybody, mut agents_before, mut away) = (false, false, false);
    for line in robots.lines() {
        let Some((key, value)) = line.split('#').next().unwrap_or_default().split_once(':') else { continue };
        let (key, value) = (key.trim().to_ascii_lowercase(), value.trim());
        if key == "user-agent" {
            everybody = value == "*" || (agents_before && everybody);
            agents_before = true;
            continue;
        }
        agents_before = false;
        match (everybody, key.as_str()) {
            (true, "allow") if !value.is_empty() => return false,
            (true, "disallow") if matches!(value, "/" | "/*") => away = true,
            _ => {}
        }
    }
    away
}

fn sitemap(answer: &Answer) -> Option<String> {
    let map = [&b"<urlset"[..], b"<sitemapindex"].iter().any(|tag| memchr::memmem::find(&answer.body, tag).is_some());
    (answer.status == 200 && map).then(String::new)
}

/// The MCP server that links or the AHP manifest name.
pub(super) fn mcp_linked(links: &[Link]) -> Option<String> {
    let link = links.iter().find(|link| {
        let target = link.target.split(['?', '#']).next().unwrap_or_default();
        link.rel.split_ascii_whitespace().any(|rel| rel.starts_with("mcp")) || target.ends_with("/mcp")
    })?;
    Some(plain(&link.target))
}

/// The same for the manifest at [`HANDSHAKE`].
pub(super) fn mcp_in_manifest(answer: &Answer) -> Option<String> {
    fn named(value: &Value, key: &str) -> Option<String> {
        match value {
            Value::String(text) if key.eq_ignore_ascii_case("mcp") || text.ends_with("/mcp") => Some(plain(text)),
            Value::Array(items) => items.iter().find_map(|item| named(item, key)),
            Value::Object(entries) => entries
                .iter()
                .find_map(|(name, value)| named(value, if key.eq_ignore_ascii_case("mcp") { key } else { name })),
            _ => None,
        }
    }
    named(&object(answer)?, "")
}

/// Whether a page contains schema.org data.
pub(super) fn structured(page: &[u8]) -> bool {
    [&b"application/ld+json"[..], b"://schema.org"].iter().any(|word| memchr::memmem::find(page, word).is_some())
}

fn object(answer: &Answer) -> Option<Value> {
    let value: Value = serde_json::from_slice(&answer.body).ok()?;
    (answer.status == 200 && value.is_object()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_that_turn_everybody_away() {
        for (text, away) in [
            ("User-agent: *\nDisallow: /\n", true),
            ("user-agent: *\nuser-agent: a\ndisallow: /* # all\n", true),
            ("User-agent: a\nDisallow: /\n\nUser-agent: *\nDisallow:\n", false),
            ("User-agent: *\nDisallow: /\nAllow: /public\n", false),
            ("User-agent: *\nDisallow: /private\n", false),
            ("", false),
        ] {
            assert_eq!(turns_everybody_away(text), away, "{text}");
        }
    }
}
