//! What the site is, who runs it and what it offers: the built-in capability `site_info`.
//!
//! The operator's own words come first; what they leave out is looked for on the pages. A question about something
//! particular ("where were you founded?") gets that from the pages, not a portrait.

use super::{
    Answer, Library, Question, Relevance, Source,
    cost::count,
    plain,
    question::{Asked, Part, Spelling},
};

/// How much what the operator says of the site is to be trusted.
const PORTRAIT: f32 = 0.9;
/// Capabilities and pages that are named.
const NAMED: usize = 6;

/// What a question about the site is after.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Contact,
    Operator,
    Offer,
    Portrait,
}

impl Library {
    /// Answers a question about the site as a whole.
    pub fn about(&self, question: &Question<'_>) -> Answer {
        let wanted = wanted(question.query);
        let known = match wanted {
            Wanted::Contact => self.facts.contact.is_some(),
            Wanted::Operator => self.facts.operator.is_some(),
            Wanted::Offer => !self.facts.capabilities.is_empty(),
            Wanted::Portrait => false,
        };
        if !known && self.is_particular(question) {
            let answer = self.answer(question);
            if !matches!(answer, Answer::Nothing { .. }) {
                return answer;
            }
        }
        self.portrait(question)
    }

    /// Is it about something that the portrait would not say?
    fn is_particular(&self, question: &Question<'_>) -> bool {
        let name = self.facts.name.as_deref().unwrap_or_default();
        let part = Part { text: question.query, weight: 1.0, wanted: true };
        let asked = Asked::read(&self.index, &[part], name, question.locale, Spelling::Exact);
        !asked.promoted && asked.terms.iter().any(|term| term.counts && !term.is_unknown())
    }

    /// What the site is, in the operator's words.
    pub(super) fn portrait(&self, question: &Question<'_>) -> Answer {
        let wanted = wanted(question.query);
        let facts = &self.facts;
        let home = self.index.live_leaves().find(|leaf| leaf.page.path == "/").or(self.index.live_leaves().next());
        let name = facts.name.clone().or_else(|| home.map(|leaf| leaf.title.clone()));
        let description = facts.description.clone().or_else(|| home.and_then(|leaf| leaf.description.clone()));
        let what = match (name, description) {
            (Some(name), Some(description)) => Some(format!("{name}: {description}")),
            (Some(name), None) => Some(format!("{name}.")),
            (None, description) => description,
        };
        let operator = facts.operator.as_ref().map(|operator| format!("Operated by {operator}."));
        let contact = facts.contact.as_ref().map(|contact| format!("Contact: {contact}."));
        let offers = (!facts.capabilities.is_empty()).then(|| {
            let named = facts
                .capabilities
                .iter()
                .take(NAMED)
                .map(|(name, text)| format!("{name} ({})", plain::shortened(text, 80)));
            format!("Agents can use: {}.", named.collect::<Vec<_>>().join("; "))
        });
        let titles: Vec<&str> = self
            .index
            .live_leaves()
            .filter(|leaf| leaf.page.path.matches('/').count() == 1 && leaf.page.path != "/")
            .take(NAMED)
            .map(|leaf| leaf.title.as_str())
            .collect();
        let pages = (!titles.is_empty()).then(|| format!("Its pages are about: {}.", titles.join("; ")));
        let parts = match wanted {
            Wanted::Contact => [contact, operator, None, None, None],
            Wanted::Operator => [operator, contact, what, None, None],
            Wanted::Offer => [offers, what, pages, None, None],
            Wanted::Portrait => [what, operator, contact, pages, offers],
        };
        let said: Vec<String> = parts.into_iter().flatten().map(|text| plain::clean(&text)).collect();
        if said.is_empty() {
            let text = self.unknown_site().to_owned();
            return Answer::Nothing { text, follow_ups: Vec::new() };
        }
        let follow_ups = (0..self.index.sections.len().min(12)).filter_map(|at| self.as_question(at)).take(2).collect();
        self.portrayed(said, follow_ups, question.max_tokens)
    }

    /// As much of a portrait as so many tokens hold.
    fn portrayed(&self, mut said: Vec<String>, mut follow_ups: Vec<String>, most: usize) -> Answer {
        let mut sources: Vec<Source> = self.portrait_source().into_iter().collect();
        let cost = |said: &[String], sources: &[Source], follow_ups: &[String]| {
            let sources: usize = sources.iter().map(|source| count(&source.title) + count(&source.url) + 12).sum();
            count(&said.join(" ")) + 2 + sources + follow_ups.iter().map(|text| count(text) + 3).sum::<usize>()
        };
        while cost(&said, &sources, &follow_ups) > most {
            if follow_ups.pop().is_none() && (said.len() < 2 || said.pop().is_none()) && sources.pop().is_none() {
                break;
            }
        }
        let mut text = plain::quoted(&said.join(" "));
        while count(&text) > most && text.len() > 12 {
            let less = plain::shortened(&text, text.len() / 2).to_owned();
            text = format!("{}…", less.trim_end_matches('…'));
        }
        Answer::Found { text, sources, follow_ups, confidence: PORTRAIT }
    }

    /// The page that says who this is, else the first.
    fn portrait_source(&self) -> Option<Source> {
        const NAMES: [&str; 6] = ["about", "contact", "imprint", "impressum", "kontakt", "company"];
        let named = |path: &str| {
            let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_lowercase();
            NAMES.iter().any(|name| last.starts_with(name))
        };
        let index = &self.index;
        let leaf = index
            .live_leaves()
            .find(|leaf| named(&leaf.page.path))
            .or_else(|| index.live_leaves().find(|leaf| leaf.page.path == "/"))
            .or_else(|| index.live_leaves().next())?;
        Some(Source {
            title: leaf.title.clone(),
            url: self.url(&leaf.page.path),
            section: None,
            relevance: Relevance::Background,
        })
    }
}

fn wanted(query: &str) -> Wanted {
    let query = query[..query.floor_char_boundary(400)].to_lowercase();
    let has = |marks: &[&str]| marks.iter().any(|mark| query.contains(mark));
    if has(&["contact", "reach you", "e-mail", "email", "write to you", "phone", "kontakt", "erreich"]) {
        Wanted::Contact
    } else if has(&[
        "who runs",
        "who operates",
        "operator",
        "who owns",
        "owner",
        "who is behind",
        "who made",
        "betreib",
        "who are you",
    ]) {
        Wanted::Operator
    } else if has(&[
        "what can you do",
        "what can i do",
        "what do you offer",
        "capabilit",
        "what can agents",
        "was kannst du",
        "which tools",
    ]) {
        Wanted::Offer
    } else {
        Wanted::Portrait
    }
}
