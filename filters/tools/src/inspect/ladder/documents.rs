//! Checks of documents beside the page: robots.txt, sitemap, cards, catalogs, and how to get in.

use frontdesk_page::content::crawl::robots::Robots;
use ring::digest;
use serde_json::Value;

use super::{Look, Verdict, pass_or};
use crate::inspect::{
    offer::LLMS_PATH,
    plain::some,
    probes::{
        self, AGENT_CARD, AI_CATALOG, AUTH_MD, LLMS_FULL, MCP_JSON, OAUTH, OPENID, RESOURCE, SERVER_CARD, SIGNATURES,
        SITEMAPS, SKILLS,
    },
    readiness::AGENTS,
};

/// Agents of which a group in robots.txt counts as a rule for AI, besides those of [`AGENTS`].
const MORE_AGENTS: [&str; 3] = ["anthropic-ai", "cohere-ai", "Diffbot"];
/// Maximum characters of llms.txt.
const MOST_LLMS: usize = 30_000;
const NONE: &str = "there is none";

fn robots_text(look: &Look<'_>) -> Option<String> {
    let answer = look.document("/robots.txt").filter(|answer| answer.media() == "text/plain")?;
    Some(answer.text())
}

/// The values of a rule in robots.txt.
fn rules<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let lines = text.lines().filter_map(|line| line.split('#').next().unwrap_or_default().split_once(':'));
    lines.filter(|(key, _)| key.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim()).collect()
}

pub(super) fn robots(look: &Look<'_>) -> Verdict {
    let Some(text) = robots_text(look) else { return Verdict::Fail("there is none, as text/plain".into()) };
    let agents = rules(&text, "user-agent").len();
    pass_or((agents > 0).then(|| format!("User-agent lines: {agents}")), "it has no User-agent line")
}

pub(super) fn sitemap(look: &Look<'_>) -> Verdict {
    let named = probes::sitemaps_of_robots(look);
    let named = named.iter().filter_map(|link| look.here(link));
    let places = SITEMAPS.map(str::to_owned).into_iter().chain(named);
    let found = places.into_iter().find(|path| {
        let answer = look.get(path).filter(|answer| answer.status == 200);
        answer.is_some_and(|answer| {
            let begins = answer.body.trim_ascii_start().strip_prefix(b"\xef\xbb\xbf").unwrap_or(&answer.body);
            let has = |tag: &[u8]| memchr::memmem::find(&answer.body, tag).is_some();
            begins.trim_ascii_start().starts_with(b"<") && (has(b"<urlset") || has(b"<sitemapindex"))
        })
    });
    pass_or(found, NONE)
}

pub(super) fn ai_rules(look: &Look<'_>) -> Verdict {
    let text = robots_text(look).unwrap_or_default();
    let groups = rules(&text, "user-agent");
    let known = AGENTS.into_iter().chain(MORE_AGENTS);
    let named: Vec<&str> = known.filter(|agent| groups.iter().any(|group| group.eq_ignore_ascii_case(agent))).collect();
    match (named.is_empty(), groups.contains(&"*")) {
        (false, _) => Verdict::Pass(format!("named: {}", some(&named))),
        (true, true) => Verdict::Pass("a group for all, none by name".into()),
        (true, false) => Verdict::Fail("robots.txt has no group for AI agents".into()),
    }
}

pub(super) fn content_signals(look: &Look<'_>) -> Verdict {
    let text = robots_text(look).unwrap_or_default();
    pass_or(rules(&text, "content-signal").first().map(|it| (*it).to_owned()), "no Content-Signal in robots.txt")
}

pub(super) fn agents_let_in(look: &Look<'_>) -> Verdict {
    let answer = look.get("/robots.txt");
    if answer.as_ref().is_some_and(|answer| answer.status.is_server_error()) {
        return Verdict::Fail("robots.txt fails, and that keeps crawlers out".into());
    }
    let text = look.text("/robots.txt").unwrap_or_default();
    let allowed = |agent: &&str| Robots::parse_for(agent, text.as_bytes()).allows(look.page);
    let kept_out: Vec<&str> = AGENTS.into_iter().filter(|agent| !allowed(agent)).collect();
    match kept_out.is_empty() {
        true => Verdict::Pass("robots.txt forbids none of them this page".into()),
        false => Verdict::Fail(format!("robots.txt keeps out {}", some(&kept_out))),
    }
}

/// A card's name, or why it does not count: something that is announced has to be there.
fn card(look: &Look<'_>, path: &str, missing: &[&str], named: fn(&Value) -> Option<&str>) -> Verdict {
    let Some(card) = look.json(path) else { return Verdict::Fail(NONE.into()) };
    let Some(name) = named(&card) else { return Verdict::Fail("it has no name".into()) };
    let missing: Vec<&str> = missing.iter().filter(|key| card.get(**key).is_none()).copied().collect();
    if !missing.is_empty() {
        return Verdict::Fail(format!("it lacks {}", missing.join(", ")));
    }
    let nowhere = probes::card_addresses(&card).iter().find_map(|link| look.leads_nowhere(link));
    match nowhere {
        Some(nowhere) => Verdict::Fail(format!("it leads nowhere: {nowhere}")),
        None => Verdict::Pass(name.to_owned()),
    }
}

pub(super) fn server_card(look: &Look<'_>) -> Verdict {
    card(look, SERVER_CARD, &[], |card| card["name"].as_str().or_else(|| card["serverInfo"]["name"].as_str()))
}

pub(super) fn mcp_json(look: &Look<'_>) -> Verdict {
    card(look, MCP_JSON, &[], |card| card["name"].as_str().or_else(|| card["serverInfo"]["name"].as_str()))
}

pub(super) fn agent_card(look: &Look<'_>) -> Verdict {
    card(look, AGENT_CARD, &["description", "version", "skills", "capabilities"], |card| card["name"].as_str())
}

pub(super) fn skills(look: &Look<'_>) -> Verdict {
    let Some(index) = look.json(SKILLS) else { return Verdict::Fail(NONE.into()) };
    let skills = index["skills"].as_array().cloned().unwrap_or_default();
    if skills.is_empty() {
        return Verdict::Fail("it lists no skill".into());
    }
    for skill in &skills {
        let text = |key: &str| skill[key].as_str().filter(|text| !text.is_empty());
        let (Some(name), Some(url), Some(digest)) = (text("name"), text("url"), text("digest")) else {
            return Verdict::Fail("a skill lacks name, url or digest".into());
        };
        let fetched = look.here(url).and_then(|target| look.get(&target));
        if let Some(nowhere) = look.leads_nowhere(url) {
            return Verdict::Fail(format!("{name} leads nowhere: {nowhere}"));
        }
        if fetched.is_some_and(|answer| format!("sha256:{}", sha256(&answer.body)) != digest) {
            return Verdict::Fail(format!("{name} is not what its digest says"));
        }
    }
    Verdict::Pass(format!("skills: {}", skills.len()))
}

fn sha256(body: &[u8]) -> String {
    frontdesk_base::text::hex(digest::digest(&digest::SHA256, body).as_ref())
}

pub(super) fn api_catalog(look: &Look<'_>) -> Verdict {
    let Some(catalog) = look.json("/.well-known/api-catalog") else { return Verdict::Fail(NONE.into()) };
    let sets = catalog["linkset"].as_array().cloned().unwrap_or_default();
    let described = |set: &Value| ["service-desc", "service-doc", "status"].iter().any(|rel| set.get(rel).is_some());
    let count = sets.iter().filter(|set| described(set)).count();
    pass_or((count > 0).then(|| format!("described: {count}")), "it describes no API")
}

pub(super) fn ai_catalog(look: &Look<'_>) -> Verdict {
    let robots = robots_text(look).unwrap_or_default();
    let linked = || {
        let links = look.page().map(|page| crate::inspect::links::of_page(&page.body)).unwrap_or_default();
        links.iter().any(|link| link.is("ai-catalog"))
    };
    let Some(catalog) = look.json(AI_CATALOG) else {
        let announced = !rules(&robots, "agentmap").is_empty() || linked();
        return pass_or(announced.then(|| "announced elsewhere".into()), NONE);
    };
    let entries = catalog["entries"].as_array().map_or(0, Vec::len);
    if catalog["specVersion"].as_str().is_none() || entries == 0 {
        return Verdict::Fail("it lacks specVersion or entries".into());
    }
    match probes::entries(&catalog).iter().find_map(|link| look.leads_nowhere(link)) {
        Some(nowhere) => Verdict::Fail(format!("an entry leads nowhere: {nowhere}")),
        None => Verdict::Pass(format!("entries: {entries}")),
    }
}

pub(super) fn auth_md(look: &Look<'_>) -> Verdict {
    let Some(text) = look.text(AUTH_MD) else { return Verdict::Fail(NONE.into()) };
    let heading = text.lines().find_map(|line| line.strip_prefix("# "));
    let fits = heading.is_some_and(|heading| heading.to_ascii_lowercase().contains("auth.md"));
    pass_or(fits.then(String::new), "its first heading does not name auth.md")
}

pub(super) fn oauth(look: &Look<'_>) -> Verdict {
    let metadata = [OAUTH, OPENID].into_iter().find_map(|path| look.json(path));
    match metadata {
        Some(metadata) => pass_or(metadata["issuer"].as_str().map(str::to_owned), "its metadata names no issuer"),
        None => Verdict::Neutral("the site has no authorization server of its own".into()),
    }
}

pub(super) fn oauth_resource(look: &Look<'_>) -> Verdict {
    let Some(metadata) = look.json(RESOURCE) else {
        return Verdict::Neutral("the site names no authorization server".into());
    };
    let servers = metadata["authorization_servers"].as_array().map_or(0, Vec::len);
    let fits = metadata["resource"].as_str().is_some() && servers > 0;
    pass_or(fits.then(|| format!("authorization servers: {servers}")), "it lacks resource or authorization_servers")
}

pub(super) fn web_bot_auth(look: &Look<'_>) -> Verdict {
    match look.json(SIGNATURES) {
        Some(set) => {
            let keys = set["keys"].as_array().map_or(0, Vec::len);
            pass_or((keys > 0).then(|| format!("keys: {keys}")), "its directory of keys is empty")
        }
        None => Verdict::Neutral("the site sends no signed agents out".into()),
    }
}

pub(super) fn when_to_use(look: &Look<'_>) -> Verdict {
    let text = look.text(LLMS_PATH).unwrap_or_default();
    let heading = text.lines().find(|line| line.starts_with('#') && line.to_ascii_lowercase().contains("when to use"));
    pass_or(heading.map(|line| line.trim_start_matches(['#', ' ']).to_owned()), "llms.txt has no such section")
}

pub(super) fn llms_txt(look: &Look<'_>) -> Verdict {
    let Some(text) = look.text(LLMS_PATH) else { return Verdict::Fail(NONE.into()) };
    let characters = text.chars().count();
    let nowhere = probes::markdown_links(&text).iter().find_map(|link| look.leads_nowhere(link));
    match nowhere {
        _ if !text.trim_start().starts_with("# ") => Verdict::Fail("it does not begin with a heading".into()),
        _ if characters >= MOST_LLMS => Verdict::Fail(format!("{characters} characters, not under {MOST_LLMS}")),
        Some(nowhere) => Verdict::Fail(format!("a link leads nowhere: {nowhere}")),
        None => Verdict::Pass(format!("{characters} characters")),
    }
}

pub(super) fn llms_full(look: &Look<'_>) -> Verdict {
    let text = look.text(LLMS_FULL);
    pass_or(text.map(|text| format!("{} bytes", text.len())), NONE)
}
