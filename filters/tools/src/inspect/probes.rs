//! What the readiness ladder asks a site besides the documents that the contract's inspection reads.

use serde_json::Value;

use super::{evidence::Look, links};

/// A path that no site has.
pub(super) const NOWHERE: &str = "/frontdesk-inspect/no-page-has-this-address";

pub(super) const SERVER_CARD: &str = "/.well-known/mcp/server-card.json";
pub(super) const MCP_JSON: &str = "/.well-known/mcp.json";
pub(super) const AI_CATALOG: &str = "/.well-known/ai-catalog.json";
pub(super) const SKILLS: &str = "/.well-known/agent-skills/index.json";
pub(super) const AGENT_CARD: &str = "/.well-known/agent-card.json";
pub(super) const SIGNATURES: &str = "/.well-known/http-message-signatures-directory";
pub(super) const RESOURCE: &str = "/.well-known/oauth-protected-resource";
pub(super) const OAUTH: &str = "/.well-known/oauth-authorization-server";
pub(super) const OPENID: &str = "/.well-known/openid-configuration";
pub(super) const AUTH_MD: &str = "/auth.md";
pub(super) const LLMS_FULL: &str = "/llms-full.txt";
pub(super) const SITEMAPS: [&str; 3] = ["/sitemap.xml", "/sitemap-index.xml", "/sitemap_index.xml"];
pub(super) const ABOUT: [&str; 3] = ["/about", "/contact", "/privacy"];

/// Paths, and whether they are asked for Markdown.
pub(super) const PROBES: [(&str, bool); 19] = [
    (NOWHERE, false),
    (NOWHERE, true),
    (MCP_JSON, false),
    (AI_CATALOG, false),
    (SKILLS, false),
    (AGENT_CARD, false),
    (SIGNATURES, false),
    (RESOURCE, false),
    (OAUTH, false),
    (OPENID, false),
    (AUTH_MD, false),
    (LLMS_FULL, false),
    (SITEMAPS[1], false),
    (SITEMAPS[2], false),
    (ABOUT[0], false),
    (ABOUT[1], false),
    (ABOUT[2], false),
    ("/index.md", true),
    ("/mcp", false),
];

/// Maximum links of one document that are followed.
const FOLLOWED: usize = 3;
/// Maximum scripts of a page that are read.
const SCRIPTS: usize = 6;

/// What the documents that were read lead to on this site: each is fetched once, so that an announced document which is
/// missing is seen.
pub(super) fn leads(look: &Look<'_>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut add = |links: Vec<String>, most: usize| {
        let here = links.iter().filter_map(|link| look.here(link));
        for target in here.take(most) {
            if !found.contains(&target) {
                found.push(target);
            }
        }
    };
    add(sitemaps_of_robots(look), FOLLOWED);
    add(look.json(SKILLS).map(|index| skills(&index)).unwrap_or_default(), FOLLOWED);
    add(look.json(SERVER_CARD).map(|card| card_addresses(&card)).unwrap_or_default(), FOLLOWED);
    add(look.json(AGENT_CARD).map(|card| card_addresses(&card)).unwrap_or_default(), FOLLOWED);
    add(look.json(AI_CATALOG).map(|catalog| entries(&catalog)).unwrap_or_default(), FOLLOWED * 2);
    add(look.text(super::offer::LLMS_PATH).map(|text| markdown_links(&text)).unwrap_or_default(), FOLLOWED);
    add(look.page().map(|page| links::scripts_of_page(&page.body)).unwrap_or_default(), SCRIPTS);
    found
}

/// The `Sitemap` lines of robots.txt.
pub(super) fn sitemaps_of_robots(look: &Look<'_>) -> Vec<String> {
    let robots = look.text("/robots.txt").unwrap_or_default();
    let rules = robots.lines().filter_map(|line| line.split_once(':'));
    rules.filter(|(key, _)| key.trim().eq_ignore_ascii_case("sitemap")).map(|(_, at)| at.trim().to_owned()).collect()
}

/// The addresses of the skills in an index.
fn skills(index: &Value) -> Vec<String> {
    let skills = index["skills"].as_array().map(Vec::as_slice).unwrap_or_default();
    skills.iter().filter_map(|skill| skill["url"].as_str()).map(str::to_owned).collect()
}

/// Where a card says that it is answered: an MCP server's or an A2A agent's.
pub(super) fn card_addresses(card: &Value) -> Vec<String> {
    let list = |key: &str| card[key].as_array().cloned().unwrap_or_default();
    let lists = ["remotes", "supportedInterfaces", "additionalInterfaces"].map(list).concat();
    let urls = lists.iter().filter_map(|one| one["url"].as_str()).chain(card["url"].as_str());
    urls.map(str::to_owned).collect()
}

/// The addresses of a catalog's entries.
pub(super) fn entries(catalog: &Value) -> Vec<String> {
    let entries = catalog["entries"].as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter_map(|entry| entry["url"].as_str()).map(str::to_owned).collect()
}

/// The targets of inline links in Markdown.
pub(super) fn markdown_links(text: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("](") {
        let Some((target, after)) = after.split_once(')') else { break };
        links.push(target.split_whitespace().next().unwrap_or_default().to_owned());
        rest = after;
    }
    links
}
