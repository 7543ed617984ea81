//! The readiness ladder: the checks of two public graders, and the level from 0 to 5 that follows from them, now and with
//! Frontdesk in front.
//!
//! The second column is no promise by hand: the same checks run over the answers that Frontdesk's own decisions give
//! for this site ([`frontdesk_filters::preview`]).

mod documents;
mod pages;
mod table;

use std::fmt;

use frontdesk_base::text::shortened;
use serde_json::{Value, json};

use super::{evidence::Look, plain::plain};
use table::CHECKS;

/// The names of the levels.
const LEVELS: [&str; 6] =
    ["not ready", "basic web presence", "bot-aware", "agent-readable", "agent-integrated", "agent-native"];
/// Maximum characters of an explanation on a terminal.
const WIDE: usize = 110;

/// Whose check it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grader {
    IsItAgentReady,
    IsAgentic,
    /// Others ask for it; it is shown and not counted.
    Others,
}

impl Grader {
    fn name(self) -> &'static str {
        match self {
            Self::IsItAgentReady => "isitagentready.com",
            Self::IsAgentic => "is-agentic.com",
            Self::Others => "others",
        }
    }
}

/// The result of one check, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Pass(String),
    Fail(String),
    /// It does not apply to this site, and is not counted.
    Neutral(String),
}

impl Verdict {
    fn word(&self) -> &'static str {
        match self {
            Self::Pass(_) => "pass",
            Self::Fail(_) => "fail",
            Self::Neutral(_) => "neutral",
        }
    }

    fn why(&self) -> &str {
        match self {
            Self::Pass(why) | Self::Fail(why) | Self::Neutral(why) => why,
        }
    }

    fn passes(&self) -> bool {
        matches!(self, Self::Pass(_))
    }
}

/// Passes if there is a reason to; else it fails with this one.
fn pass_or(found: Option<String>, missing: &str) -> Verdict {
    found.map_or_else(|| Verdict::Fail(missing.to_owned()), Verdict::Pass)
}

/// A check.
struct Check {
    key: &'static str,
    name: &'static str,
    grader: Grader,
    run: fn(&Look<'_>) -> Verdict,
    /// What mends it where it fails.
    mend: &'static str,
}

/// One side of the ladder: now, or with Frontdesk in front.
#[derive(Debug)]
struct Side {
    verdicts: Vec<Verdict>,
}

impl Side {
    fn of(look: &Look<'_>) -> Self {
        Self { verdicts: CHECKS.iter().map(|check| (check.run)(look)).collect() }
    }

    fn passes(&self, key: &str) -> bool {
        CHECKS.iter().position(|check| check.key == key).is_some_and(|nth| self.verdicts[nth].passes())
    }

    fn count(&self, keys: &[&str]) -> usize {
        keys.iter().filter(|key| self.passes(key)).count()
    }

    /// The level, by the rules of isitagentready.com; each needs the one below.
    fn level(&self) -> usize {
        let cards = ["mcpServerCard", "a2aAgentCard", "agentSkills", "apiCatalog"];
        let identity = [
            self.passes("webBotAuth"),
            self.count(&cards) == cards.len(),
            self.count(&["oauthDiscovery", "oauthProtectedResource", "authMd"]) > 0,
        ];
        let steps = [
            self.count(&["robotsTxt", "sitemap", "linkHeaders"]) >= 2,
            self.passes("robotsTxtAiRules") && self.passes("contentSignals"),
            self.passes("markdownNegotiation"),
            self.count(&cards) >= 1,
            identity.into_iter().filter(|holds| *holds).count() >= 2,
        ];
        steps.into_iter().take_while(|step| *step).count()
    }

    /// How many counted checks pass, fail, and do not apply.
    fn counts(&self) -> (usize, usize, usize) {
        let counted = CHECKS.iter().zip(&self.verdicts).filter(|(check, _)| check.grader != Grader::Others);
        counted.fold((0, 0, 0), |(pass, fail, neutral), (_, verdict)| match verdict {
            Verdict::Pass(_) => (pass + 1, fail, neutral),
            Verdict::Fail(_) => (pass, fail + 1, neutral),
            Verdict::Neutral(_) => (pass, fail, neutral + 1),
        })
    }

    fn summary(&self) -> Value {
        let (pass, fail, neutral) = self.counts();
        let level = self.level();
        json!({
            "level": level, "name": LEVELS[level], "passed": pass, "total": pass + fail, "neutral": neutral,
        })
    }
}

/// Both sides.
#[derive(Debug)]
pub(super) struct Ladder {
    now: Side,
    /// `None`: the preview could not be made.
    with_frontdesk: Option<Side>,
}

impl Ladder {
    pub(super) fn new(now: &Look<'_>, with_frontdesk: Option<&Look<'_>>) -> Self {
        Self { now: Side::of(now), with_frontdesk: with_frontdesk.map(Side::of) }
    }

    /// The level now, 0 to 5.
    pub(super) fn level(&self) -> usize {
        self.now.level()
    }

    /// The JSON form.
    pub(super) fn to_json(&self) -> Value {
        let checks = CHECKS.iter().enumerate().map(|(nth, check)| {
            let verdict = &self.now.verdicts[nth];
            let with = self.with_frontdesk.as_ref().map(|side| &side.verdicts[nth]);
            json!({
                "check": check.key,
                "name": check.name,
                "grader": check.grader.name(),
                "state": verdict.word(),
                "why": plain(verdict.why()),
                "mend": if matches!(verdict, Verdict::Fail(_)) { check.mend } else { "" },
                "with_frontdesk": with.map(|with| json!({ "state": with.word(), "why": plain(with.why()) })),
            })
        });
        let mut out = self.now.summary();
        out["with_frontdesk"] = self.with_frontdesk.as_ref().map_or(Value::Null, Side::summary);
        out["checks"] = checks.collect();
        out
    }
}

impl fmt::Display for Ladder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = |side: &Side| {
            let (pass, fail, _) = side.counts();
            let level = side.level();
            format!("level {level} of 5 ({}), {pass} of {} checks", LEVELS[level], pass + fail)
        };
        writeln!(out, "\nReadiness: {}", said(&self.now))?;
        if let Some(with) = &self.with_frontdesk {
            writeln!(out, "With Frontdesk in front: {}", said(with))?;
        }
        let width = CHECKS.iter().map(|check| check.name.chars().count()).max().unwrap_or(0);
        writeln!(out, "\n  {:width$}  {:7}  {:7}  why, and what mends it", "Check", "now", "with")?;
        for (nth, check) in CHECKS.iter().enumerate() {
            let verdict = &self.now.verdicts[nth];
            let with = self.with_frontdesk.as_ref().map_or("", |side| side.verdicts[nth].word());
            let why = shortened(&plain(verdict.why()), WIDE);
            let mend = if matches!(verdict, Verdict::Fail(_)) { format!(" -> {}", check.mend) } else { String::new() };
            writeln!(out, "  {:width$}  {:7}  {with:7}  {why}{mend}", check.name, verdict.word())?;
        }
        Ok(())
    }
}
