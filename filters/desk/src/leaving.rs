//! What the site said, on its way out: looked through once, before it is kept and before it is told.
//!
//! What one step of a composition hands to the next stays as the site said it: it goes back to the site, and not to an
//! agent. What is *kept* of such a step is looked through all the same, so that nothing secret lies in a record; a step
//! that would need what was taken out is told of as one whose answer was not kept.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Raw, Told, promised::kept, records::is_kept_whole, step::Step};
use frontdesk_base::fault::Refusal;
use frontdesk_firewall::{Firewall, Flags, Form, blocked};

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
    pub(super) async fn shown(&mut self, told: Told) -> Result<Told, Refusal> {
        if self.depth > 0 {
            return Ok(told);
        }
        let (told, flags) = match self.passed(told).await {
            Ok((told, flags)) => (Ok(told), flags),
            Err(Stays::Found(flags)) => (Err(blocked()), flags),
            Err(Stays::Unread) => (Err(Refusal::unread()), Flags::default()),
        };
        self.account.flags.merge(&flags);
        told
    }

    /// What may be kept of what was [`shown`](Self::shown).
    pub(super) async fn keepable<'t>(&self, told: &'t Told) -> Cow<'t, Told> {
        if self.depth == 0 {
            return Cow::Borrowed(told);
        }
        Cow::Owned(match self.passed(told.clone()).await {
            Ok((told, _)) => told,
            Err(_) => Told { data: Value::Null.into(), raw: None, omitted: true, ..told.clone() },
        })
    }

    /// Whether what a step said is kept as it was said, so that steps after it can be gone on with later.
    pub(super) async fn keeps_whole(&self, told: &Told) -> bool {
        let passed = self.passed(told.clone()).await;
        passed.is_ok_and(|(told, _)| !told.flags.changed() && is_kept_whole(&kept(Ok(&told))))
    }

    async fn passed(&self, told: Told) -> Result<(Told, Flags), Stays> {
        let compiled = self.desk.compiled;
        if compiled.firewall.is_off() {
            return Ok((told, Flags::default()));
        }
        let text = told.data.text();
        let size = text.len() + told.raw.as_ref().map_or(0, |raw| raw.body.len());
        let (told, flags, clean) = self
            .desk
            .looked_through(size, move |firewall| passed(firewall, told, &text))
            .await
            .ok_or(Stays::Unread)?
            .map_err(Stays::Found)?;
        if clean && let Some(sent) = told.data.sent() {
            compiled.seen.remember(sent);
        }
        Ok((told, flags))
    }

    /// A refusal without what must not leave: some of it is the site's own words.
    pub(super) fn scrubbed(&mut self, mut refusal: Refusal) -> Refusal {
        if let Some(details) = &mut refusal.details {
            let pass = |details: &Value| self.desk.compiled.firewall.pass(details.to_string().into(), Form::Json);
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

/// Why nothing of an answer leaves.
enum Stays {
    /// For what was found in it.
    Found(Flags),
    /// Nobody could look through it in time.
    Unread,
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

/// The same without what must not leave, what was found, and whether that was nothing in data that was never looked
/// through before.
///
/// # Errors
///
/// Nothing of it may, for what was found.
fn passed(firewall: &Firewall, mut told: Told, text: &Bytes) -> Result<(Told, Flags, bool), Flags> {
    let mut flags = Flags::default();
    let (mut changed, mut clean) = (false, false);
    if text.len() > 4 && !told.data.is_seen() {
        let passed = firewall.pass(text.clone(), Form::Json);
        if passed.blocked {
            return Err(passed.flags);
        }
        // The same bytes are the same text: nothing was taken out.
        if passed.body.as_ptr() != text.as_ptr() {
            changed = true;
            told.data = super::Data::read(passed.body).map_err(|_| passed.flags.clone())?.unremembered();
        } else {
            clean = passed.flags.is_empty();
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
    Ok((told, flags, clean))
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use serde_json::json;

    use super::*;
    use crate::{Data, seen::Seen};
    use frontdesk_firewall::{Mode, Modes};

    const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

    #[test]
    fn data_and_raw_bodies_are_looked_through() {
        let modes = Modes { secrets: Mode::Redact, ..Modes::REPORT };
        let wall = Firewall::new(modes, [], Vec::new());
        let told = Told::of(StatusCode::OK, json!({ "a": TOKEN, "b": 1 }).into());
        let passed = |wall: &Firewall, told: Told| {
            let text = told.data.text();
            passed(wall, told, &text)
        };
        let (left, flags, _) = passed(&wall, told.clone()).unwrap();
        assert_eq!(left.data.text(), "{\"a\":\"[redacted:github-token]\",\"b\":1}");
        assert!(left.flags.changed() && !flags.is_empty());
        assert_eq!(left.flags.told(), ["secret-redacted;rules=github-token"]);

        let raw = |kind: &str| Some(Raw { content_type: kind.into(), body: Bytes::from(format!("x {TOKEN}")) });
        let body = |kind: &str| {
            let told = Told { raw: raw(kind), ..Told::of(StatusCode::OK, Value::Null.into()) };
            passed(&wall, told).unwrap().0.raw.unwrap().body
        };
        assert_eq!(body("text/csv"), "x [redacted:github-token]");
        assert_eq!(body("application/octet-stream"), "x [redacted:github-token]", "whatever it is called");
        assert_eq!(body("image/png"), format!("x {TOKEN}"), "what is no text is not looked into");

        let wall = Firewall::new(Modes { secrets: Mode::Block, ..modes }, [], Vec::new());
        assert_eq!(passed(&wall, told).unwrap_err().counts().count(), 1);
    }

    #[test]
    fn only_an_answer_in_which_nothing_was_found_is_clean() {
        let wall = |pii| Firewall::new(Modes { pii, ..Modes::REPORT }, [], Vec::new());
        let mail = "{\"a\":\"maria.silva@lusitania-viagens.pt\"}";
        let look = |wall: &Firewall, data: Data| {
            let text = data.text();
            let (told, _, clean) = passed(wall, Told::of(StatusCode::OK, data), &text).unwrap();
            (told.flags.told().len(), clean)
        };
        let data = |text: &'static str| Data::read(Bytes::from_static(text.as_bytes())).unwrap();
        assert_eq!(look(&wall(Mode::Report), data("{\"a\":12345}")), (0, true));
        assert_eq!(look(&wall(Mode::Report), data(mail)), (1, false));
        assert_eq!(look(&wall(Mode::Redact), data(mail)), (1, false));
        // What is known is not looked through: another firewall has to begin with nothing.
        let seen = Seen::default();
        seen.remember(data(mail).sent().unwrap());
        let data = seen.known(mail).unwrap();
        let text = data.text();
        let (told, _, clean) = passed(&wall(Mode::Report), Told::of(StatusCode::OK, data), &text).unwrap();
        assert!(told.flags.told().is_empty() && !clean);
    }
}
