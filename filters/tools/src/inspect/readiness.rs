//! The readiness table: what an agent finds at a site, sign by sign, and what Frontdesk would change.
//!
//! The second column is what Frontdesk does by itself, or with a declaration where stated; it also names what is left
//! to the site.

use std::{fmt, panic};

use frontdesk_base::{text::shortened, tokens};
use frontdesk_page::{
    content::{self, crawl::robots::Robots},
    signals,
};
use http::{HeaderMap, header};
use serde_json::{Value, json};
use url::Url;

use super::{
    Answer,
    links::{self, Link},
    offer,
    outcome::{Offer, Outcome},
    plain::{plain, some},
};

/// Agents that read for people, answer questions or train models, by their robots.txt names.
pub(super) const AGENTS: [&str; 14] = [
    "ChatGPT-User",
    "OAI-SearchBot",
    "GPTBot",
    "Claude-User",
    "Claude-SearchBot",
    "ClaudeBot",
    "PerplexityBot",
    "Perplexity-User",
    "Google-Extended",
    "Applebot-Extended",
    "Meta-ExternalAgent",
    "Amazonbot",
    "Bytespider",
    "CCBot",
];
/// `Link` relations that help an agent.
const LEADING: [&str; 9] = [
    "ahp-manifest",
    "agent-interface",
    "api-catalog",
    "service-desc",
    "service-doc",
    "service-meta",
    "alternate",
    "llms-txt",
    "describedby",
];
/// Maximum bytes of a page whose tokens are counted, since counting takes time.
const COUNTED: usize = 1 << 20;
/// Maximum characters of a table column.
const WIDE: usize = 56;

/// The state of a sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Yes,
    No,
    /// Present or requested, but not working.
    Wrong,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Wrong => "wrong",
        }
    }
}

/// One sign.
#[derive(Debug)]
struct Sign {
    key: &'static str,
    name: &'static str,
    state: State,
    detail: String,
    with: &'static str,
}

/// The signs: key, label, and Frontdesk's effect where the sign is missing and where it is present.
const SIGNS: [(&str, &str, &str, &str); 17] = [
    ("link", "Link header", "on every response", "the site's own stays, ours is added"),
    ("notice", "Notice for agents", "in every page, not seen by people", "stays"),
    ("contract", "Contract", "published: what you declare", "stays"),
    ("manifest", offer::HANDSHAKE, "published: what you declare", "stays"),
    ("mcp", "MCP", "at /mcp: what you declare, as tools", "stays"),
    ("mcp_card", offer::CARD, "published: where MCP is", "stays"),
    ("openapi", offer::OPENAPI, "at /openapi.json: what you declare", "stays"),
    ("api_catalog", offer::CATALOG, "published: what can be called", "stays"),
    ("agtp", offer::AGTP, "published, once [agtp] is there", "stays"),
    ("llms_txt", offer::LLMS, "made of the pages", "stays"),
    ("markdown", "Markdown by Accept", "made of each page that is asked for so", "stays"),
    ("markdown_path", "Markdown at its own path", "made of each page that is asked for so", "stays"),
    ("robots", offer::ROBOTS, "one that forbids nothing", "stays; signals and the sitemap are added to it"),
    ("agents_let_in", "AI agents let in", "stays: robots.txt is the site's to write", "stays"),
    ("content_signals", "Content signals", "in robots.txt; on pages once [content_signals] is written", "stays"),
    ("sitemap", offer::SITEMAP, "made of the pages that were read", "stays"),
    ("structured_data", "Structured data", "left to the site", "stays"),
];

/// What the page and its Markdown showed.
#[derive(Debug, Default)]
pub(super) struct Seen {
    found: Vec<(&'static str, State, String)>,
    page_tokens: Option<u32>,
    /// Tokens of the site's own Markdown, else of the page converted.
    markdown_tokens: Option<u32>,
}

impl Seen {
    fn see(&mut self, key: &'static str, state: State, detail: impl Into<String>) {
        self.found.push((key, state, plain(&detail.into())));
    }

    fn see_if(&mut self, key: &'static str, there: bool) {
        self.see(key, if there { State::Yes } else { State::No }, "");
    }

    /// Evaluates the page as requested like a browser.
    pub(super) fn page(&mut self, url: &Url, answer: &Answer, linked: &[Link], structured: bool) {
        if !answer.status.is_success() {
            let said = format!("the page answers {}", answer.status.as_u16());
            for key in ["link", "notice", "structured_data"] {
                self.see(key, State::Wrong, said.as_str());
            }
        } else {
            let own = answer.headers.get_all(header::LINK).iter().filter_map(|value| value.to_str().ok());
            let own: Vec<Link> = own.flat_map(links::of_header).collect();
            let leading: Vec<&str> = LEADING.into_iter().filter(|rel| own.iter().any(|link| link.is(rel))).collect();
            match (leading.is_empty(), own.is_empty()) {
                (false, _) => self.see("link", State::Yes, some(&leading)),
                (true, false) => self.see("link", State::No, "none of its links is for agents"),
                (true, true) => self.see("link", State::No, ""),
            }
            self.see_if("notice", memchr::memmem::find(&answer.body, b"ahp-notice").is_some());
            self.see_if("structured_data", structured);
            self.count(url, answer);
        }
        if linked.iter().any(|link| link.is("alternate") && link.target.ends_with(".md")) {
            self.see("markdown_path", State::Yes, "linked by the page");
        }
        self.signals(&answer.headers);
    }

    /// Counts the tokens of the page as it is and as Markdown.
    fn count(&mut self, url: &Url, answer: &Answer) {
        let kind = answer.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        if answer.body.len() > COUNTED || !kind.to_ascii_lowercase().starts_with("text/html") {
            return;
        }
        let Some(html) = content::text(&answer.body, kind) else { return };
        self.page_tokens = Some(tokens::count(&html));
        // The parser processes untrusted input, deep within a library.
        let read = panic::catch_unwind(|| content::read(&html, url));
        self.markdown_tokens = read.ok().flatten().map(|page| tokens::count(&page.markdown));
    }

    fn signals(&mut self, headers: &HeaderMap) {
        let told: Vec<&str> = signals::NAMES.into_iter().filter(|name| headers.contains_key(*name)).collect();
        if !told.is_empty() {
            self.see("content_signals", State::Yes, format!("{} on the page", told.join(", ")));
        }
    }

    /// Evaluates the page requested as Markdown, by `Accept` or at a path of its own.
    pub(super) fn markdown(&mut self, key: &'static str, answer: &Answer) {
        let kind = answer.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_markdown = kind.to_ascii_lowercase().starts_with("text/markdown");
        let varies = answer.headers.get_all(header::VARY).iter().filter_map(|value| value.to_str().ok());
        let varies = varies.flat_map(|value| value.split(',')).any(|name| name.trim().eq_ignore_ascii_case("accept"));
        match (answer.status.is_success() && is_markdown, answer.is_document()) {
            (true, _) if key == "markdown" && !varies => {
                self.see(key, State::Wrong, "without Vary: Accept a cache mixes it up with the page");
            }
            (true, _) => self.see(key, State::Yes, ""),
            // A plain text at a `.md` path is Markdown for its readers.
            (false, true) if key != "markdown" => self.see(key, State::Wrong, "there, but not as text/markdown"),
            (false, _) => self.see(key, State::No, ""),
        }
        if answer.status.is_success() && is_markdown && answer.body.len() <= COUNTED {
            self.markdown_tokens = Some(tokens::count(&String::from_utf8_lossy(&answer.body)));
        }
    }

    /// Evaluates robots.txt: which agents may read this page, and the declared uses.
    pub(super) fn robots(&mut self, answer: &Answer, target: &str) {
        let written = answer.is_document();
        let body: &[u8] = if written { &answer.body } else { b"" };
        let kept_out: Vec<&str> =
            AGENTS.into_iter().filter(|agent| !Robots::parse_for(agent, body).allows(target)).collect();
        match kept_out.len() {
            _ if answer.status.is_server_error() => {
                self.see("agents_let_in", State::Wrong, "robots.txt fails, and that keeps crawlers out");
            }
            0 => self.see("agents_let_in", State::Yes, ""),
            count if count == AGENTS.len() => self.see("agents_let_in", State::No, "robots.txt keeps all of them out"),
            _ => self.see("agents_let_in", State::Wrong, format!("not {}", some(&kept_out))),
        }
        let text = String::from_utf8_lossy(body);
        let rule =
            |line: &str, name: &str| line.split_once(':').is_some_and(|(key, _)| key.trim().eq_ignore_ascii_case(name));
        let told: Vec<&str> =
            signals::NAMES.into_iter().filter(|name| text.lines().any(|line| rule(line, name))).collect();
        if !told.is_empty() {
            self.see("content_signals", State::Yes, format!("{} in robots.txt", told.join(", ")));
        }
    }

    /// The complete table, after all questions.
    pub(super) fn readiness(self, outcome: &Outcome, offers: &[Offer]) -> Readiness {
        let contract = match outcome {
            Outcome::Found(found) if found.findings.mistakes.is_empty() => (State::Yes, String::new()),
            Outcome::Found(_) => (State::Wrong, "it has mistakes".into()),
            Outcome::Malformed { .. } => (State::Wrong, "it cannot be read".into()),
            Outcome::Nothing(_) | Outcome::Unreachable(_) => (State::No, String::new()),
        };
        let signs = SIGNS.into_iter().map(|(key, name, missing, there)| {
            let offered = offers.iter().find(|offer| offer.name == name);
            let seen = self.found.iter().find(|(found, ..)| *found == key);
            let (state, detail) = match (key, seen, offered) {
                ("contract", ..) => contract.clone(),
                (_, Some((_, state, detail)), _) => (*state, detail.clone()),
                (_, None, Some(offer)) => match (&offer.detail, &offer.trouble) {
                    (Some(detail), _) => (State::Yes, detail.clone()),
                    (None, Some(trouble)) => (State::Wrong, trouble.clone()),
                    (None, None) => (State::No, String::new()),
                },
                (_, None, None) => (State::No, String::new()),
            };
            let with = if state == State::No { missing } else { there };
            Sign { key, name, state, detail, with }
        });
        Readiness { signs: signs.collect(), page_tokens: self.page_tokens, markdown_tokens: self.markdown_tokens }
    }
}

/// The complete table.
#[derive(Debug)]
pub(super) struct Readiness {
    signs: Vec<Sign>,
    page_tokens: Option<u32>,
    markdown_tokens: Option<u32>,
}

impl Readiness {
    /// The JSON form.
    pub(super) fn to_json(&self) -> Value {
        let signs = self.signs.iter().map(|sign| {
            let Sign { key, name, state, detail, with } = sign;
            json!({ "key": key, "name": name, "state": state.word(), "detail": detail, "with_frontdesk": with })
        });
        json!({
            "signals": signs.collect::<Value>(),
            "tokens": { "html": self.page_tokens, "markdown": self.markdown_tokens },
        })
    }
}

impl fmt::Display for Readiness {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let now: Vec<String> = self
            .signs
            .iter()
            .map(|sign| {
                let Sign { state, detail, .. } = sign;
                if detail.is_empty() {
                    state.word().to_owned()
                } else {
                    shortened(&format!("{}: {detail}", state.word()), WIDE)
                }
            })
            .collect();
        let width = now.iter().map(|now| now.chars().count()).max().unwrap_or(0);
        let name = self.signs.iter().map(|sign| sign.name.chars().count()).max().unwrap_or(0);
        writeln!(out, "\n  {:name$}  {:width$}  with Frontdesk in front", "For agents", "now")?;
        for (sign, now) in self.signs.iter().zip(&now) {
            writeln!(out, "  {:name$}  {now:width$}  {}", sign.name, sign.with)?;
        }
        if let (Some(html), Some(markdown)) = (self.page_tokens, self.markdown_tokens) {
            writeln!(out, "\nThe page is {html} tokens to a language model, {markdown} as Markdown.")?;
        }
        Ok(())
    }
}
