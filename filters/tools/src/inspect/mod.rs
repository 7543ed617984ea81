//! Inspects from outside what a site offers to agents: which questions to ask it, and what its answers mean.
//!
//! Nothing here opens a socket. An [`Inspection`] returns one [`Question`] after the other and takes each [`Answer`].
//! The fetching code follows no redirects, because this module decides which may be followed. An inspection only reads
//! documents and never calls a capability.

mod evidence;
mod fetched;
mod judge;
mod ladder;
mod level;
mod links;
mod offer;
mod outcome;
mod page;
mod probes;
mod readiness;
mod report;
mod signed;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use frontdesk_base::{
    contract,
    printable::{self as plain, plain},
};
use frontdesk_filters::{
    dialect::aicp::{CONTRACT, NEGOTIATED},
    preview::Preview,
};
use frontdesk_page::markdown_path;
use http::StatusCode;
use url::Url;

pub use fetched::Answer;
pub use report::Report;

use evidence::{Evidence, Look, WithFrontdesk};
use fetched::{Fetched, Leads};
use ladder::Ladder;
use outcome::{Found, Offer, Outcome};
use readiness::Seen;
use signed::Signed;

/// Maximum bytes of an answer.
pub const BOUND: usize = 4 << 20;
/// Maximum redirects of one question.
const REDIRECTS: usize = 3;
/// Unanswered questions after which the inspection stops.
const PATIENCE: usize = 3;
/// The path of a contract for authenticated callers (AICP §6.7).
const DYNAMIC: &str = "/agent/interface";

const TOML_OR_JSON: &str = "application/aicp+toml, application/aicp+json;q=0.9";

/// A URL to GET.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub url: String,
    pub accept: &'static str,
}

/// The subject of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    WellKnown,
    Negotiated,
    Page,
    Linked,
    Signature,
    Dynamic,
    Place(usize),
    /// The page as Markdown, by `Accept` or at a path of its own.
    Markdown,
    MarkdownPath,
    /// Something that only the readiness ladder looks at, asked for Markdown or not.
    Probe {
        markdown: bool,
    },
}

impl About {
    /// Whether Markdown is preferred.
    fn markdown(self) -> bool {
        matches!(self, Self::Markdown | Self::MarkdownPath | Self::Probe { markdown: true })
    }
}

/// One inspection, from its first question to its report.
#[derive(Debug)]
pub struct Inspection {
    /// The inspected origin; http becomes https where the site redirects so.
    base: Url,
    todo: VecDeque<(About, String)>,
    asking: Option<(About, Url, usize)>,
    /// The path that is being asked for, before any redirect.
    target: String,
    /// Every answer, for the readiness ladder.
    evidence: Evidence,
    /// The links of the documents that were read have been added.
    followed: bool,
    found: Option<Fetched>,
    malformed: Option<(Url, String)>,
    tried: Vec<(String, String)>,
    notes: Vec<String>,
    offers: Vec<Offer>,
    mcp: Option<String>,
    structured_data: bool,
    /// Path and query of the page.
    page: String,
    seen: Seen,
    signed: Signed,
    dynamic: bool,
    answered: bool,
    unanswered: Vec<String>,
}

impl Inspection {
    /// An inspection of this URL; https is the default scheme.
    pub fn new(url: &str) -> Result<Self, String> {
        let whole = if url.contains("://") { url.to_owned() } else { format!("https://{url}") };
        let base = Url::parse(&whole).map_err(|e| format!("{} is no URL: {e}", plain(url)))?;
        if !matches!(base.scheme(), "http" | "https") || base.host().is_none() {
            return Err(format!("{} is not the URL of a site; write https://example.com", plain(url)));
        }
        if !base.username().is_empty() || base.password().is_some() {
            return Err("an inspection shows no credentials; write the URL without user and password".into());
        }
        let page = base[url::Position::BeforePath..url::Position::AfterQuery].to_owned();
        let mut todo = VecDeque::from([(About::WellKnown, CONTRACT.to_owned()), (About::Page, page.clone())]);
        todo.extend(offer::PLACES.iter().enumerate().map(|(n, place)| (About::Place(n), place.path.to_owned())));
        todo.push_back((About::Markdown, page.clone()));
        todo.push_back((About::MarkdownPath, markdown_path::path_of(&page)));
        todo.extend(probes::PROBES.map(|(path, markdown)| (About::Probe { markdown }, path.to_owned())));
        todo.extend(Preview::probes().into_iter().map(|path| (About::Probe { markdown: false }, path)));
        Ok(Self {
            base,
            todo,
            asking: None,
            target: String::new(),
            evidence: Evidence::default(),
            followed: false,
            found: None,
            malformed: None,
            tried: Vec::new(),
            notes: Vec::new(),
            offers: Vec::new(),
            mcp: None,
            structured_data: false,
            page,
            seen: Seen::default(),
            signed: Signed::No,
            dynamic: false,
            answered: false,
            unanswered: Vec::new(),
        })
    }

    /// The next question; `None` at the end.
    pub fn next_question(&mut self) -> Option<Question> {
        if self.asking.is_none() {
            let patience = if self.answered { PATIENCE } else { 1 };
            if self.unanswered.len() >= patience && !self.todo.is_empty() {
                self.note(format!("no more was asked after {patience} questions without an answer"));
                self.todo.clear();
            }
            let (about, path) = self.pop()?;
            self.asking = Some((about, self.base.join(&path).ok()?, 0));
            self.target = path;
        }
        let (about, url, _) = self.asking.as_ref()?;
        let accept = match about {
            About::WellKnown | About::Negotiated | About::Linked | About::Dynamic => TOML_OR_JSON,
            About::Page => "text/html, */*;q=0.1",
            About::Signature => "*/*",
            About::Markdown => "text/markdown",
            About::MarkdownPath => "text/markdown, */*;q=0.1",
            About::Place(n) => offer::PLACES[*n].accept,
            About::Probe { markdown: true } => "text/markdown",
            About::Probe { markdown: false } => "*/*",
        };
        Some(Question { url: url.to_string(), accept })
    }

    /// The next thing to ask; each path is asked once in each form.
    fn pop(&mut self) -> Option<(About, String)> {
        loop {
            let Some((about, path)) = self.todo.pop_front() else {
                if self.followed || !self.answered {
                    return None;
                }
                self.followed = true;
                let look = Look::new(&self.base, &self.page, &self.evidence);
                let leads = probes::leads(&look).into_iter();
                self.todo.extend(leads.map(|path| (About::Probe { markdown: false }, path)));
                continue;
            };
            match about {
                About::Probe { markdown } if self.evidence.has(&path, markdown) => {}
                _ => return Some((about, path)),
            }
        }
    }

    /// Takes the answer to the last question, or the reason why there is none.
    pub fn answer(&mut self, answer: Result<Answer, String>) {
        let Some((about, url, redirects)) = self.asking.take() else { return };
        let answer = match answer {
            Ok(answer) => answer,
            Err(why) => {
                self.said(about, &url, &why);
                self.unanswered.push(why);
                return self.nothing(about);
            }
        };
        self.answered = true;
        match answer.leads(&url) {
            Some(Leads::Here(to)) if redirects < REDIRECTS => {
                if to.origin() != url.origin() {
                    self.base = to.clone();
                }
                self.asking = Some((about, to, redirects + 1));
                return;
            }
            Some(Leads::Here(_)) => self.note(format!("{} is redirected more than {REDIRECTS} times", url.path())),
            Some(Leads::Elsewhere(to)) => self.note(format!("{} is redirected to {to}; not followed", url.path())),
            None => {}
        }
        self.evidence.keep(std::mem::take(&mut self.target), about.markdown(), &answer);
        self.read(about, &url, &answer);
    }

    fn read(&mut self, about: About, url: &Url, answer: &Answer) {
        match about {
            About::WellKnown | About::Negotiated | About::Linked => match answer.contract(url) {
                Some(Ok(fetched)) => self.take(fetched),
                other => {
                    let said = match (&other, answer.status) {
                        (Some(Err(why)), _) => why.clone(),
                        (_, StatusCode::OK) => "200, but something else".into(),
                        (_, status) => status.as_u16().to_string(),
                    };
                    self.said(about, url, &said);
                    if let Some(Err(why)) = other {
                        self.malformed.get_or_insert((url.clone(), why));
                    }
                    self.nothing(about);
                }
            },
            About::Page => self.page(url, answer),
            About::Signature => {
                if let Some(found) = &self.found {
                    self.signed = match answer.status {
                        StatusCode::OK => signed::verify(&found.contract, found.toml.as_deref(), &answer.body),
                        status => {
                            Signed::Broken(format!("there is no signature at {}: {}", url.path(), status.as_u16()))
                        }
                    };
                }
            }
            About::Dynamic => {
                let contract = || answer.contract(url).is_some_and(|contract| contract.is_ok());
                self.dynamic = answer.status == StatusCode::UNAUTHORIZED || contract();
            }
            About::Place(n) => {
                let place = &offer::PLACES[n];
                let detail = (place.look)(answer);
                if place.name == offer::HANDSHAKE && detail.is_some() && self.mcp.is_none() {
                    self.mcp = offer::mcp_in_manifest(answer);
                }
                if place.name == offer::ROBOTS {
                    self.seen.robots(answer, &self.page);
                }
                let trouble = if detail.is_none() { offer::trouble(answer) } else { None };
                self.offers.push(Offer { name: place.name, place: place.path.into(), detail, trouble });
            }
            About::Markdown => self.seen.markdown("markdown", answer),
            About::MarkdownPath => self.seen.markdown("markdown_path", answer),
            About::Probe { .. } => {}
        }
    }

    /// Handles a missing answer, or one that is no contract.
    fn nothing(&mut self, about: About) {
        match about {
            About::WellKnown => self.todo.push_front((About::Negotiated, NEGOTIATED.into())),
            About::Signature => self.signed = Signed::Unverified("the signature could not be fetched".into()),
            About::Place(n) => {
                let place = &offer::PLACES[n];
                let trouble = self.unanswered.last().cloned();
                self.offers.push(Offer { name: place.name, place: place.path.into(), detail: None, trouble });
            }
            _ => {}
        }
    }

    fn take(&mut self, fetched: Fetched) {
        match signed::signature_at(&fetched.contract, &self.base) {
            Ok(None) => {}
            Ok(Some(url)) => self.todo.push_back((About::Signature, url.to_string())),
            Err(why) => self.signed = Signed::Unverified(why),
        }
        self.todo.retain(|(about, _)| *about != About::Linked);
        self.todo.push_back((About::Dynamic, DYNAMIC.into()));
        self.found = Some(fetched);
    }

    fn said(&mut self, about: About, url: &Url, what: &str) {
        if matches!(about, About::WellKnown | About::Negotiated | About::Linked) {
            self.tried.push((plain(url.path()), plain(what)));
        }
    }

    /// Reported once, however often it happens.
    fn note(&mut self, what: String) {
        let what = plain(&what);
        if !self.notes.contains(&what) {
            self.notes.push(what);
        }
    }

    /// The report.
    pub fn report(mut self) -> Report {
        if self.answered {
            let (place, detail) = self.mcp.take().map_or(("/mcp".into(), None), |at| (at, Some(String::new())));
            self.offers.push(Offer { name: "MCP", place, detail, trouble: None });
        }
        let outcome = match (self.found, self.malformed) {
            (Some(fetched), malformed) => {
                let mut findings = judge::judge(&fetched.contract, &self.base);
                // An agent that looks only there finds no contract.
                findings.warnings.extend(malformed.map(|(url, why)| format!("{} {why}", plain(url.path()))));
                if let Signed::Broken(why) = &self.signed {
                    findings.mistakes.push(format!("signature: {why}"));
                }
                let level = level::level(&fetched.contract, findings.mistakes.is_empty(), self.dynamic);
                Outcome::Found(Box::new(Found { fetched, findings, level, signed: self.signed }))
            }
            (None, Some((url, why))) => Outcome::Malformed { url: url.to_string(), why },
            (None, None) if self.answered => Outcome::Nothing(self.tried),
            (None, None) => Outcome::Unreachable(self.unanswered.into_iter().next().unwrap_or_default()),
        };
        let ladder = self.answered.then(|| ladder_of(&self.base, &self.page, &self.evidence));
        let readiness = self.answered.then(|| self.seen.readiness(&outcome, &self.offers));
        Report {
            url: self.base.origin().ascii_serialization(),
            outcome,
            notes: self.notes,
            offers: self.offers,
            structured_data: self.structured_data,
            readiness,
            ladder,
        }
    }
}

/// The ladder of the site, now and as it would be with Frontdesk in front.
fn ladder_of(base: &Url, page: &str, evidence: &Evidence) -> Ladder {
    let now = Look::new(base, page, evidence);
    let with = Preview::new(base, page, probes::NOWHERE, evidence).map(|preview| WithFrontdesk { preview, evidence });
    Ladder::new(&now, with.as_ref().map(|view| Look::new(base, page, view)).as_ref())
}
