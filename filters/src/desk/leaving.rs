//! What the site said, on its way out: looked through once, before it is kept and before it is told.
//!
//! What one step of a composition hands to the next stays as the site said it: it goes back to the site, and not to an
//! agent. What is *kept* of such a step is looked through all the same, so that nothing secret lies in a record; a step
//! that would need what was taken out is told of as one whose answer was not kept.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{Raw, Told, promised::kept, records::is_kept_whole, seen::Seen, step::Step};
use crate::{
    fault::Refusal,
    firewall::{Firewall, Flags, Form, blocked},
};

/// What was found in what is told, as whoever reads it hears of it.
/// Nearly always nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flagged(Option<Box<Found>>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Found {
    told: Vec<String>,
    changed: bool,
}

impl Flagged {
    pub(super) fn new(told: Vec<String>, changed: bool) -> Self {
        Self((changed || !told.is_empty()).then(|| Box::new(Found { told, changed })))
    }

    /// As [`Flags::told`] has it.
    pub fn told(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |found| &found.told)
    }

    /// Puts it into what is kept of an answer, where there is something.
    pub(super) fn keep(&self, kept: &mut Value) {
        if !self.told().is_empty() {
            kept["flags"] = json!({ "told": self.told(), "changed": self.changed() });
        }
    }

    /// Whether something was taken out.
    pub(super) fn changed(&self) -> bool {
        self.0.as_ref().is_some_and(|found| found.changed)
    }
}

impl Step<'_> {
    /// What leaves of what the site said.
    ///
    /// # Errors
    ///
    /// It must not.
    pub(super) fn shown(&mut self, told: Told) -> Result<Told, Refusal> {
        if self.depth > 0 {
            return Ok(told);
        }
        let (told, flags) = match self.passed(told) {
            Ok((told, flags)) => (Ok(told), flags),
            Err(flags) => (Err(blocked()), flags),
        };
        self.account.flags.merge(&flags);
        told
    }

    /// What may be kept of what was [`shown`](Self::shown).
    pub(super) fn keepable<'t>(&self, told: &'t Told) -> Cow<'t, Told> {
        if self.depth == 0 {
            return Cow::Borrowed(told);
        }
        Cow::Owned(match self.passed(told.clone()) {
            Ok((told, _)) => told,
            Err(_) => Told { data: Value::Null.into(), raw: None, omitted: true, ..told.clone() },
        })
    }

    /// Whether what a step said is kept as it was said, so that steps after it can be gone on with later.
    pub(super) fn keeps_whole(&self, told: &Told) -> bool {
        self.passed(told.clone()).is_ok_and(|(told, _)| !told.flags.changed() && is_kept_whole(&kept(Ok(&told))))
    }

    fn passed(&self, told: Told) -> Result<(Told, Flags), Flags> {
        let snapshot = self.desk.snapshot;
        passed(&snapshot.firewall, &snapshot.seen, told)
    }

    /// A refusal without what must not leave: some of it is the site's own words.
    pub(super) fn scrubbed(&mut self, mut refusal: Refusal) -> Refusal {
        if let Some(details) = &mut refusal.details {
            let pass = |details: &Value| self.desk.snapshot.firewall.pass(details.to_string().into(), Form::Json);
            let mut passed = pass(details);
            if let Some(all) = details.as_object_mut().filter(|_| passed.blocked) {
                // What is ours to say stays: which step it was, and whether it may be gone on with.
                all.remove("steps");
                self.account.flags.merge(&passed.flags);
                passed = pass(details);
            }
            let words = if passed.blocked { Vec::new() } else { passed.flags.told() };
            self.account.flags.merge(&passed.flags);
            self.account.told_of(words);
            if passed.blocked {
                refusal.details = (details["may_go_on"] == true).then(|| json!({ "may_go_on": true }));
            } else if !passed.flags.is_empty() {
                refusal.details = serde_json::from_slice(&passed.body).ok();
            }
        }
        refusal
    }
}

/// A person's answer as it may leave, and what was found in it; `None`: it must not.
pub(super) fn passed_value(firewall: &Firewall, value: &Value) -> Option<(Value, Flagged)> {
    let passed = firewall.pass(value.to_string().into(), Form::Json);
    match passed.blocked {
        true => None,
        false if passed.flags.is_empty() => Some((value.clone(), Flagged::default())),
        false => {
            let leaving = serde_json::from_slice(&passed.body).ok()?;
            let changed = leaving != *value;
            Some((leaving, Flagged::new(passed.flags.told(), changed)))
        }
    }
}

/// The same without what must not leave, and what was found.
///
/// # Errors
///
/// Nothing of it may, for what was found.
fn passed(firewall: &Firewall, seen: &Seen, mut told: Told) -> Result<(Told, Flags), Flags> {
    if firewall.is_off() {
        return Ok((told, Flags::default()));
    }
    let mut flags = Flags::default();
    let mut changed = false;
    let text = told.data.text();
    if text.len() > 4 && !told.data.is_seen() {
        let passed = firewall.pass(text.clone(), Form::Json);
        if passed.blocked {
            return Err(passed.flags);
        }
        // The same bytes are the same text: nothing was taken out.
        if passed.body.as_ptr() != text.as_ptr() {
            changed = true;
            told.data = super::Data::read(passed.body).map_err(|_| passed.flags.clone())?.unremembered();
        } else if let Some(sent) = told.data.sent().filter(|_| passed.flags.is_empty()) {
            seen.remember(sent);
        }
        flags.merge(&passed.flags);
    }
    if let Some(raw) = &mut told.raw {
        let passed = firewall.pass_raw(&raw.content_type, &raw.body).map_err(|found| flags.merged(&found))?;
        changed |= passed.is_changed;
        flags.merge(&passed.flags);
        *raw = Raw { content_type: passed.content_type, body: passed.body };
    }
    let mut words = told.flags.told().to_vec();
    for word in flags.told() {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    told.flags = Flagged::new(words, told.flags.changed() || changed);
    Ok((told, flags))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::StatusCode;
    use serde_json::json;

    use super::*;
    use crate::{
        desk::Data,
        firewall::{Mode, Modes},
    };

    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    #[test]
    fn data_and_raw_bodies_are_looked_through() {
        let modes = Modes { secrets: Mode::Redact, ..Modes::REPORT };
        let wall = Firewall::new(modes, [], Vec::new());
        let told = Told::of(StatusCode::OK, json!({ "a": TOKEN, "b": 1 }).into());
        let (left, flags) = passed(&wall, &Seen::default(), told.clone()).unwrap();
        assert_eq!(left.data.text(), "{\"a\":\"[redacted:github-token]\",\"b\":1}");
        assert!(left.flags.changed() && !flags.is_empty());
        assert_eq!(left.flags.told(), ["secret-redacted;rules=github-token"]);

        let raw = |kind: &str| Some(Raw { content_type: kind.into(), body: Bytes::from(format!("x {TOKEN}")) });
        let body = |kind: &str| {
            let told = Told { raw: raw(kind), ..Told::of(StatusCode::OK, Value::Null.into()) };
            passed(&wall, &Seen::default(), told).unwrap().0.raw.unwrap().body
        };
        assert_eq!(body("text/csv"), "x [redacted:github-token]");
        assert_eq!(body("application/octet-stream"), "x [redacted:github-token]", "whatever it is called");
        assert_eq!(body("image/png"), format!("x {TOKEN}"), "what is no text is not looked into");

        let wall = Firewall::new(Modes { secrets: Mode::Block, ..modes }, [], Vec::new());
        assert_eq!(passed(&wall, &Seen::default(), told).unwrap_err().counts().count(), 1);
    }

    #[test]
    fn an_answer_without_findings_is_looked_through_once() {
        let wall = |pii| Firewall::new(Modes { pii, ..Modes::REPORT }, [], Vec::new());
        let seen = Seen::default();
        let look = |wall: &Firewall, text: &str, remembered: bool| {
            let data = Data::read(Bytes::copy_from_slice(text.as_bytes())).unwrap();
            let data = if remembered { data } else { data.unremembered() };
            let (told, _) = passed(wall, &seen, Told::of(StatusCode::OK, data)).unwrap();
            (told.flags.told().len(), seen.known(text).is_some())
        };
        assert_eq!(look(&wall(Mode::Report), "{\"a\":12345}", true), (0, true));
        // Told of each time, not to be remembered, not what the site sent.
        for _ in 0..2 {
            assert_eq!(look(&wall(Mode::Report), "{\"a\":\"maria.silva@lusitania-viagens.pt\"}", true), (1, false));
        }
        assert_eq!(look(&wall(Mode::Report), "{\"a\":23456}", false), (0, false));
        assert_eq!(look(&wall(Mode::Report), "{ \"a\": 34567 }", true), (0, false));
        // What is known is not looked through: another firewall has to begin with nothing.
        let mail = "{\"b\":\"maria.silva@lusitania-viagens.pt\"}";
        assert_eq!(look(&wall(Mode::Off), mail, true), (0, true));
        let data = seen.known(mail).unwrap();
        let (told, _) = passed(&wall(Mode::Report), &seen, Told::of(StatusCode::OK, data)).unwrap();
        assert!(told.flags.told().is_empty());
    }
}
