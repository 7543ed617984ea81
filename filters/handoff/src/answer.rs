//! Builds the answers of a handoff: the index, with or without its envelope, a file, or a part of a file.

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, time::SystemTime};

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{
    date, log,
    query::{Part, Wanted},
    reading::{Held, Integrity, Reading, State, View, Without},
    sections::Markers,
    trust::{self, TRUST},
};
use frontdesk_base::fault::{Fault, Refusal};
use frontdesk_config::Handoff;

/// The files that every agent reads first (§1.1).
pub(super) const CORE: [&str; 2] = ["STATUS.md", "NEXT_ACTIONS.md"];
/// `Retry-After` in seconds while files are being written, and after a writer has died.
const WRITING: u64 = 5;
const BROKEN_OFF: u64 = 60;

pub(super) const JSON: &str = "application/json";
pub(super) const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// An answer before the firewall's scan.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) kind: &'static str,
    /// UTF-8.
    pub(super) body: Bytes,
    /// The checksum of its file in the manifest.
    pub(super) checksum: Option<String>,
    pub(super) integrity: Option<Integrity>,
    pub(super) warnings: BTreeSet<&'static str>,
    /// It contains files, each with its integrity.
    pub(super) is_core: bool,
}

const MISMATCH: &str = "checksum-mismatch";

/// Builds the answer to a request.
///
/// # Errors
///
/// The reason of the refusal.
pub(super) fn answer(view: &View, wanted: &Wanted<'_>, handoff: &Handoff, now: SystemTime) -> Result<Answer, Refusal> {
    let shown = Shown { view, reading: reading(view, handoff)?, handoff, now };
    match wanted {
        Wanted::Index { envelope, core } => shown.index(*envelope, *core),
        Wanted::File(name, part) => shown.file(name, part),
    }
}

fn reading<'v>(view: &'v View, handoff: &Handoff) -> Result<&'v Reading, Refusal> {
    let nothing = |reason, detail| Refusal { reason, ..Refusal::from(Fault::NotFound).saying(detail) };
    match &view.found {
        Ok(reading) if reading.manifest.is_none() && !handoff.allow_v1 => {
            Err(nothing("handoff_v1", "There is no MANIFEST.json yet, and nothing is served without one."))
        }
        Ok(reading) => Ok(reading),
        Err(Without::Nothing) => Err(nothing("handoff_empty", "There is no handoff yet.")),
        Err(Without::Moving) => Err(being_written(view)),
        Err(Without::Broken) => {
            let detail = "MANIFEST.json does not conform to its schema, and nothing is served by it. \
                Its operator can see why with `frontdesk handoff lint`.";
            Err(Refusal { reason: "handoff_manifest_invalid", ..Refusal::from(Fault::Malformed).saying(detail) })
        }
        Err(Without::Away) => {
            let detail = "The handoff cannot be read at the moment. Try again later.";
            Err(Refusal { reason: "handoff_away", ..Refusal::from(Fault::Unavailable).saying(detail) })
        }
    }
}

fn being_written(view: &View) -> Refusal {
    let stale = view.lock.as_ref().is_some_and(|lock| lock.is_stale());
    let (retry_after, detail) = match stale {
        true => (BROKEN_OFF, "The writer of this handoff died while writing. It is served again once it is repaired."),
        false => (WRITING, "This is being written. Try again in a moment."),
    };
    let retry_after = Some(retry_after);
    Refusal { reason: "handoff_being_written", retry_after, ..Refusal::from(Fault::Unavailable).saying(detail) }
}

/// A reading together with its view.
struct Shown<'v> {
    view: &'v View,
    reading: &'v Reading,
    handoff: &'v Handoff,
    now: SystemTime,
}

impl Shown<'_> {
    fn index(&self, envelope: bool, core: bool) -> Result<Answer, Refusal> {
        if self.view.is_being_written(super::manifest::MANIFEST) {
            return Err(being_written(self.view));
        }
        let expired = self.expired();
        let mut warnings = self.warnings();
        if !expired.is_empty() {
            warnings.insert("trust-expired");
        }
        let body = match &self.reading.manifest {
            Some((stored, manifest)) if !envelope && !core && manifest.refused.is_empty() => stored.clone(),
            Some((_, manifest)) if !envelope && !core => manifest.value.to_string().into(),
            manifest => {
                let manifest = manifest.as_ref().map(|(_, manifest)| manifest.value.clone());
                let mut all = Map::from_iter([("manifest".to_owned(), manifest.into())]);
                // Without a manifest the envelope is the only index.
                if envelope || self.reading.manifest.is_none() {
                    all.extend(self.envelope(expired));
                }
                if core {
                    all.insert("files".to_owned(), self.core(&mut warnings));
                }
                Value::Object(all).to_string().into()
            }
        };
        Ok(Answer { kind: JSON, body, checksum: None, integrity: None, warnings, is_core: core })
    }

    /// The envelope around the manifest: the state, the lock and the warnings.
    fn envelope(&self, expired: Vec<Value>) -> Map<String, Value> {
        let word = |held: &Held| match held {
            Held::Text(_, Integrity::Unlisted) => "unlisted",
            Held::Text(_, Integrity::Verified) if !self.view.is_unsure() => "ok",
            Held::Text(..) => "assumed",
            Held::Missing | Held::TooLarge | Held::NotText => "missing",
        };
        let checks = self.reading.files.iter().map(|(name, held)| (name.clone(), word(held).into()));
        let lock = self.view.lock.as_ref();
        let mut envelope = Map::from_iter([
            ("state".to_owned(), self.view.state().map(State::word).into()),
            ("checks".to_owned(), Value::Object(checks.collect())),
            ("trust_expired".to_owned(), expired.into()),
            ("lock".to_owned(), lock.map(super::lock::Lock::json).into()),
        ]);
        if let Some(lock) = lock {
            // The files that the lock's session claims (§3.1).
            let unknown: Vec<&String> = self.reading.files.keys().filter(|name| lock.covers(name)).collect();
            envelope.insert("unknown".to_owned(), json!(unknown));
        }
        envelope
    }

    fn core(&self, warnings: &mut BTreeSet<&'static str>) -> Value {
        let mut files = Map::new();
        for name in CORE {
            let (integrity, content) = match self.reading.files.get(name) {
                Some(Held::Text(bytes, integrity)) => {
                    let integrity = self.believed(*integrity);
                    let refused = self.mismatch(integrity, warnings) || self.view.is_being_written(name);
                    let text = (!refused).then(|| String::from_utf8_lossy(bytes).into_owned());
                    (integrity.word(), text)
                }
                _ => ("missing", None),
            };
            let entry = json!({ "checksum": self.checksum(name), "integrity": integrity, "content": content });
            files.insert(name.to_owned(), entry);
        }
        files.into()
    }

    fn file(&self, name: &str, part: &Part) -> Result<Answer, Refusal> {
        let refused = |fault, reason, detail| Refusal { reason, ..Refusal::from(fault).saying(detail) };
        let held = self.reading.files.get(name).ok_or_else(|| {
            refused(
                Fault::NotFound,
                "not_found",
                "No file of this name is listed. See the manifest for those that are.",
            )
        })?;
        if self.view.is_being_written(name) {
            return Err(being_written(self.view));
        }
        let (bytes, integrity) = match held {
            Held::Text(bytes, integrity) => (bytes, self.believed(*integrity)),
            Held::Missing => {
                return Err(refused(
                    Fault::NotFound,
                    "handoff_file_missing",
                    "This file is listed, but does not exist.",
                ));
            }
            Held::TooLarge => {
                return Err(refused(Fault::Malformed, "handoff_file_too_large", "This file is larger than is served."));
            }
            Held::NotText => {
                return Err(refused(Fault::Malformed, "handoff_file_no_text", "This file is no text in UTF-8."));
            }
        };
        let mut warnings = self.warnings();
        if self.mismatch(integrity, &mut warnings) {
            let fault = Fault::Named(StatusCode::CONFLICT);
            let detail = "This file is not what the manifest says it is, and is not served until the two agree.";
            return Err(refused(fault, "handoff_checksum_mismatch", detail));
        }
        if name == TRUST && !self.expired().is_empty() {
            warnings.insert("trust-expired");
        }
        let text = || std::str::from_utf8(bytes).unwrap_or_default();
        let body = match part {
            Part::Whole => bytes.clone(),
            Part::Sections(names) => sections(text(), names, &mut warnings)?,
            Part::Entries(most) => {
                let entries = log::entries(text());
                if entries.is_empty() {
                    // A new log has no entries. A log with other headings has entries that are not recognised.
                    warnings.insert("no-entries");
                }
                log::newest(&entries, *most).iter().map(|entry| entry.text).collect::<String>().into()
            }
        };
        let kind = if name.ends_with(".json") { JSON } else { MARKDOWN };
        let (checksum, integrity) = (self.checksum(name), Some(integrity));
        Ok(Answer { kind, body, checksum, integrity, warnings, is_core: false })
    }

    /// A file that is being written is not verified, whatever its checksum says.
    fn believed(&self, integrity: Integrity) -> Integrity {
        let doubted = integrity == Integrity::Verified && self.view.is_unsure();
        if doubted { Integrity::Assumed } else { integrity }
    }

    /// Warns of a file that differs from the manifest; whether it must not be served.
    fn mismatch(&self, integrity: Integrity, warnings: &mut BTreeSet<&'static str>) -> bool {
        // While files are being written a difference proves nothing.
        let differs = integrity == Integrity::Assumed && !self.view.is_unsure();
        if differs {
            warnings.insert(MISMATCH);
        }
        differs && self.handoff.refuses_mismatch
    }

    fn checksum(&self, name: &str) -> Option<String> {
        self.reading.manifest.as_ref().and_then(|(_, manifest)| manifest.files.get(name)).cloned()
    }

    /// The verifications that have expired.
    fn expired(&self) -> Vec<Value> {
        let Some(Held::Text(bytes, _)) = self.reading.files.get(TRUST) else { return Vec::new() };
        let today = date::today(self.now);
        let claims = trust::claims(std::str::from_utf8(bytes).unwrap_or_default());
        let over = claims.iter().filter(|claim| claim.is_over(today) == Some(true));
        over.map(|claim| json!({ "property": claim.property, "expires": claim.expires })).collect()
    }

    /// The warnings about the directory as a whole.
    fn warnings(&self) -> BTreeSet<&'static str> {
        let lock =
            self.view.lock.as_ref().map(|lock| if lock.is_stale() { "stale-lock" } else { "update-in-progress" });
        let unlocked = (lock.is_none() && self.view.is_snapshot).then_some("update-in-progress");
        let refused = (!self.view.refused().is_empty()).then_some("entries-refused");
        lock.into_iter().chain(unlocked).chain(refused).collect()
    }
}

fn sections(text: &str, names: &[String], warnings: &mut BTreeSet<&'static str>) -> Result<Bytes, Refusal> {
    let markers = Markers::of(text);
    let mut body = String::new();
    for name in names {
        let Some((section, closed)) = markers.section(name) else {
            let detail = "This file has no section of that name. Those that it has are below.";
            let details = Some(json!({ "sections": markers.names() }));
            let refusal = Refusal::from(Fault::NotFound).saying(detail);
            return Err(Refusal { reason: "handoff_no_section", details, ..refusal });
        };
        if !closed {
            warnings.insert("section-unclosed");
        }
        if !body.is_empty() && !body.ends_with('\n') {
            body.push('\n');
        }
        body.push_str(section);
    }
    Ok(body.into())
}
