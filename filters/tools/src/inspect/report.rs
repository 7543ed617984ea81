//! The report of an inspection, as text and as JSON. All its text is printable already.

use std::fmt;

use serde_json::{Value, json};

use super::{
    ladder::Ladder,
    offer::{LLMS, NOBODY, OPENAPI, ROBOTS, SITEMAP},
    outcome::{Offer, Outcome},
    plain::plain,
    readiness::Readiness,
};

/// What a site offers to agents.
#[derive(Debug)]
pub struct Report {
    pub(super) url: String,
    pub(super) outcome: Outcome,
    /// Redirects and links that were not followed, and similar notes.
    pub(super) notes: Vec<String>,
    /// The site's other offers.
    pub(super) offers: Vec<Offer>,
    pub(super) structured_data: bool,
    /// `None`: the site does not answer.
    pub(super) readiness: Option<Readiness>,
    /// The checks of public graders; `None` where `readiness` is.
    pub(super) ladder: Option<Ladder>,
}

/// Maximum lines of a list on a terminal.
const LISTED: usize = 30;

impl Report {
    /// 0: a valid contract; 1: a contract with mistakes; 2: no contract, or no answer.
    pub fn exit_code(&self) -> u8 {
        match &self.outcome {
            Outcome::Found(found) if found.findings.mistakes.is_empty() => 0,
            Outcome::Found(_) | Outcome::Malformed { .. } => 1,
            Outcome::Nothing(_) | Outcome::Unreachable(_) => 2,
        }
    }

    /// For a pipeline that demands a readiness level, whatever the contract: 0: it is reached; 1: it is not; 2: the site
    /// does not answer.
    pub fn exit_code_below(&self, level: usize) -> u8 {
        match &self.ladder {
            Some(ladder) => u8::from(ladder.level() < level),
            None => 2,
        }
    }

    /// The JSON form.
    pub fn to_json(&self) -> Value {
        let mut out = json!({
            "url": self.url,
            "found": matches!(self.outcome, Outcome::Found(_)),
            "notes": self.notes,
            "also": self.offers.iter().map(|offer| json!({
                "name": offer.name, "place": offer.place, "found": offer.detail.is_some(), "detail": offer.detail,
            })).collect::<Value>(),
            "structured_data": self.structured_data,
            "readiness": self.readiness.as_ref().map(Readiness::to_json),
            "ladder": self.ladder.as_ref().map(Ladder::to_json),
        });
        match &self.outcome {
            Outcome::Found(found) => {
                out["contract"] = found.facts().into_iter().map(|(_, key, value)| (key.to_owned(), value)).collect();
                out["contract"]["url"] = found.fetched.url.as_str().into();
                out["mistakes"] = json!(found.findings.mistakes);
                out["warnings"] = json!(found.findings.warnings);
                out["level"] = json!({
                    "reached": found.level.reached, "name": found.level.name(), "missing": found.level.missing,
                });
                let (word, detail) = found.signature();
                out["signed"] = json!({ "state": word, "detail": detail });
            }
            Outcome::Malformed { url, why } => out["mistakes"] = json!([format!("{url} {why}")]),
            Outcome::Nothing(tried) => {
                out["tried"] = tried.iter().map(|(path, said)| json!({ "path": path, "answer": said })).collect();
            }
            Outcome::Unreachable(why) => out["unreachable"] = json!(why),
        }
        out
    }

    fn also(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.offers.is_empty() {
            return Ok(());
        }
        out.write_str("\nAlso on this site:\n")?;
        let width = |of: fn(&Offer) -> &str| self.offers.iter().map(|o| of(o).chars().count()).max().unwrap_or(0);
        let (name, place) = (width(|o| o.name), width(|o| &o.place));
        for offer in &self.offers {
            write!(out, "  {:name$}  {:place$}  ", offer.name, offer.place)?;
            match offer.detail.as_deref() {
                None => out.write_str("not found\n")?,
                Some("") => out.write_str("found\n")?,
                Some(detail) => writeln!(out, "found: {detail}")?,
            }
        }
        Ok(())
    }

    /// What an agent does without a contract, in order (AICP §6.8).
    fn fallback(&self) -> String {
        let found = |name: &str| self.offers.iter().any(|offer| offer.name == name && offer.detail.is_some());
        if self.offers.iter().any(|offer| offer.name == ROBOTS && offer.detail.as_deref() == Some(NOBODY)) {
            return "Without a contract, robots.txt holds: it turns everybody away.".into();
        }
        let mut ways: Vec<&str> = [OPENAPI, LLMS].into_iter().filter(|name| found(name)).collect();
        ways.extend(self.structured_data.then_some("the structured data in its pages"));
        ways.extend(found(SITEMAP).then_some("the sitemap"));
        ways.push("the pages themselves, as a person would");
        format!("Without a contract an agent falls back, in this order, to: {}.", ways.join("; "))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Found(found) => {
                writeln!(out, "Found Agent Interaction Contract:\n{}\n", found.fetched.url)?;
                for (words, _, value) in found.facts() {
                    match value {
                        Value::String(text) => writeln!(out, "{words}: {text}")?,
                        value => writeln!(out, "{words}: {value}")?,
                    }
                }
                let level = &found.level;
                writeln!(out, "\nConformance level: {} of 5 ({})", level.reached, level.name())?;
                let (word, detail) = found.signature();
                writeln!(out, "Signed: {word}{}{detail}", if detail.is_empty() { "" } else { ", " })?;
                list(out, "Mistakes", &found.findings.mistakes)?;
                list(out, "Warnings", &found.findings.warnings)?;
                if let Some((next, name)) = level.next() {
                    list(out, &format!("Missing for level {next} ({name})"), &level.missing)?;
                }
            }
            Outcome::Malformed { url, why } => {
                writeln!(out, "Found something that is no Agent Interaction Contract:\n{url}\n")?;
                writeln!(out, "It {why}.\nAgents treat it as absent.")?;
            }
            Outcome::Nothing(tried) => {
                writeln!(out, "No Agent Interaction Contract at {}\n\nTried:", self.url)?;
                let width = tried.iter().map(|(path, _)| path.chars().count()).max().unwrap_or(0);
                for (path, said) in tried {
                    writeln!(out, "  {path:width$}  {said}")?;
                }
            }
            Outcome::Unreachable(why) => return writeln!(out, "{} cannot be reached: {}", self.url, plain(why)),
        }
        list(out, "Notes", &self.notes)?;
        self.also(out)?;
        if let Some(readiness) = &self.readiness {
            write!(out, "{readiness}")?;
        }
        if let Some(ladder) = &self.ladder {
            write!(out, "{ladder}")?;
        }
        if !matches!(self.outcome, Outcome::Found(_)) {
            writeln!(out, "\n{}", self.fallback())?;
        }
        Ok(())
    }
}

fn list(out: &mut fmt::Formatter<'_>, title: &str, lines: &[String]) -> fmt::Result {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}:")?;
    for line in lines.iter().take(LISTED) {
        writeln!(out, "- {line}")?;
    }
    match lines.len().saturating_sub(LISTED) {
        0 => Ok(()),
        more => writeln!(out, "- and {more} more"),
    }
}
