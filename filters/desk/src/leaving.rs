//! Scans the site's answers on their way out, once, before they are stored and before they are sent.
//!
//! A composition passes the result of one step to the next unscanned, because it goes back to the site and not to an
//! agent. What is *stored* of such a step is scanned all the same, so that no record holds a secret. A resumed
//! composition that needs a removed part treats that step's result as not stored.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Raw, Told, promised::kept, records::is_kept_whole, step::Step};
use frontdesk_base::fault::Refusal;
use frontdesk_firewall::{Firewall, Flags, Form, blocked};

/// The findings in an answer, in the words that its reader gets. Nearly always empty.
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

    /// The findings as [`Flags::told`] words them.
    pub fn told(&self) -> &[String] {
        self.0.as_ref().map_or(&[], |found| &found.told)
    }

    /// Adds the findings to a stored answer, where there are any.
    pub(super) fn keep(&self, kept: &mut Value) {
        if !self.told().is_empty() {
            kept["flags"] = json!({ "told": self.told(), "changed": self.changed() });
        }
    }

    /// Whether something was removed.
    pub(super) fn changed(&self) -> bool {
        self.0.as_ref().is_some_and(|found| found.changed)
    }
}

impl Step<'_> {
    /// The part of the site's answer that may leave.
    ///
    /// # Errors
    ///
    /// The answer must not leave.
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

    /// The part that may be stored of what [`shown`](Self::shown) returned.
    pub(super) async fn keepable<'t>(&self, told: &'t Told) -> Cow<'t, Told> {
        if self.depth == 0 {
            return Cow::Borrowed(told);
        }
        Cow::Owned(match self.passed(told.clone()).await {
            Ok((told, _)) => told,
            Err(_) => Told { data: Value::Null.into(), raw: None, omitted: true, ..told.clone() },
        })
    }

    /// Whether a step's result is stored unchanged, so that a retry can resume after it.
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

    /// A refusal with its texts scanned: some of them quote the site.
    pub(super) fn scrubbed(&mut self, mut refusal: Refusal) -> Refusal {
        if !refusal.violations.is_empty() {
            // They may be the site's own words about a form.
            let messages: Vec<&str> = refusal.violations.iter().map(|v| v.message.as_str()).collect();
            let passed = self.desk.compiled.firewall.pass(json!(messages).to_string().into(), Form::Json);
            self.account.flags.merge(&passed.flags);
            if passed.blocked {
                refusal.violations.clear();
            } else if !passed.flags.is_empty()
                && let Ok(messages) = serde_json::from_slice::<Vec<String>>(&passed.body)
            {
                for (violation, message) in refusal.violations.iter_mut().zip(messages) {
                    violation.message = message;
                }
            }
        }
        if let Some(details) = &mut refusal.details {
            let pass = |details: &Value| self.desk.compiled.firewall.pass(details.to_string().into(), Form::Json);
            let mut passed = pass(details);
            if let Some(all) = details.as_object_mut().filter(|_| passed.blocked) {
                // Frontdesk's own texts stay: which step failed, and whether a retry can resume.
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

/// Why an answer is withheld.
enum Stays {
    /// The firewall's findings forbid it.
    Found(Flags),
    /// It could not be scanned in time.
    Unread,
}

/// A person's answer as it may leave, with its findings; `None`: it must not leave.
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

/// The part of an answer that may leave, its findings, and whether this was the first scan of the data and found
/// nothing.
///
/// # Errors
///
/// The findings forbid that any of it leaves.
fn passed(firewall: &Firewall, mut told: Told, text: &Bytes) -> Result<(Told, Flags, bool), Flags> {
    let mut flags = Flags::default();
    let (mut changed, mut clean) = (false, false);
    if text.len() > 4 && !told.data.is_seen() {
        let passed = firewall.pass(text.clone(), Form::Json);
        if passed.blocked {
            return Err(passed.flags);
        }
        // The same bytes in the same place mean that nothing was removed.
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
    use crate::{Data, clean_responses::Seen};
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
        // A cached text is not scanned; another firewall has to begin with an empty cache.
        let seen = Seen::default();
        seen.remember(data(mail).sent().unwrap());
        let data = seen.known(mail).unwrap();
        let text = data.text();
        let (told, _, clean) = passed(&wall(Mode::Report), Told::of(StatusCode::OK, data), &text).unwrap();
        assert!(told.flags.told().is_empty() && !clean);
    }
}
