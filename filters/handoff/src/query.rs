//! Parses a request to a handoff: the index, a file, or a part of a file.

use serde_json::json;

use super::{log, manifest::MANIFEST, sections};
use frontdesk_base::fault::{Fault, Refusal};

/// The query parameters of the index and of a file.
const OF_INDEX: [&str; 2] = ["envelope", "view"];
const OF_FILE: [&str; 2] = ["section", "entries"];
/// Maximum sections of one file in a request, and maximum log entries.
const MOST_SECTIONS: usize = 32;
const MOST_ENTRIES: usize = 1000;

/// The requested item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted<'a> {
    Index {
        /// With the envelope.
        envelope: bool,
        /// With the core files.
        core: bool,
    },
    File(&'a str, Part),
}

/// The requested part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Whole,
    /// Sections in the requested order; at least one.
    Sections(Vec<String>),
    /// This many of the newest log entries.
    Entries(usize),
}

impl<'a> Wanted<'a> {
    /// Parses a request for a file, or for the index where there is no name.
    ///
    /// # Errors
    ///
    /// The refusal of an invalid request.
    pub(super) fn read(name: Option<&'a str>, query: &str) -> Result<Self, Refusal> {
        match name {
            None | Some(MANIFEST) => index(query),
            Some(name) => Ok(Self::File(name, part(name, query)?)),
        }
    }
}

fn index(query: &str) -> Result<Wanted<'static>, Refusal> {
    let (mut envelope, mut core) = (None, None);
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*key {
            "envelope" => once(
                &mut envelope,
                OF_INDEX,
                match &*value {
                    "1" => Ok(true),
                    "0" => Ok(false),
                    _ => Err("envelope is 1 or 0."),
                },
            )?,
            "view" => {
                once(&mut core, OF_INDEX, if value == "core" { Ok(true) } else { Err("The only view is core.") })?
            }
            _ => return Err(wrong(OF_INDEX, "The index takes envelope=1 and view=core.")),
        }
    }
    Ok(Wanted::Index { envelope: envelope.unwrap_or(false), core: core.unwrap_or(false) })
}

fn part(name: &str, query: &str) -> Result<Part, Refusal> {
    let (mut entries, mut names) = (None, Vec::new());
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*key {
            "section" => {
                if !name.ends_with(".md") {
                    return Err(wrong(OF_FILE, "Only Markdown has sections."));
                }
                if !sections::is_name(&value) {
                    return Err(wrong(
                        OF_FILE,
                        "A section's name is a small letter and then up to 63 of a-z, 0-9 and _.",
                    ));
                }
                if names.len() == MOST_SECTIONS {
                    return Err(wrong(OF_FILE, "These are more sections than are given at once: 32."));
                }
                names.push(value.into_owned());
            }
            "entries" => {
                if ![log::LOG, log::ARCHIVE].contains(&name) {
                    return Err(wrong(OF_FILE, "Only LOG.md and LOG-ARCHIVE.md have entries."));
                }
                let number = value.parse().ok().filter(|number| (1..=MOST_ENTRIES).contains(number));
                once(&mut entries, OF_FILE, number.ok_or("entries is a whole number from 1 to 1000."))?;
            }
            _ => return Err(wrong(OF_FILE, "A file takes section=NAME, as often as you like, and a log entries=N.")),
        }
    }
    match (entries, names.is_empty()) {
        (Some(most), true) => Ok(Part::Entries(most)),
        (Some(_), false) => Err(wrong(OF_FILE, "Ask for sections or for entries.")),
        (None, true) => Ok(Part::Whole),
        (None, false) => Ok(Part::Sections(names)),
    }
}

fn once<T>(slot: &mut Option<T>, known: [&str; 2], value: Result<T, &'static str>) -> Result<(), Refusal> {
    let value = value.map_err(|why| wrong(known, why))?;
    if slot.replace(value).is_some() { Err(wrong(known, "Only section may be there more than once.")) } else { Ok(()) }
}

fn wrong(known: [&str; 2], why: &'static str) -> Refusal {
    let details = Some(json!({ "parameters": known }));
    Refusal { reason: "handoff_bad_parameter", details, ..Refusal::from(Fault::BadRequest).saying(why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: Option<&'static str>, query: &str) -> Option<Wanted<'static>> {
        Wanted::read(name, query).ok()
    }

    #[test]
    fn what_can_be_asked_for() {
        let index = |envelope, core| Some(Wanted::Index { envelope, core });
        assert_eq!((read(None, ""), read(Some("MANIFEST.json"), "")), (index(false, false), index(false, false)));
        assert_eq!(read(None, "envelope=1&view=core"), index(true, true));
        let file = |part| Some(Wanted::File("LOG.md", part));
        assert_eq!((read(Some("LOG.md"), ""), read(Some("LOG.md"), "&")), (file(Part::Whole), file(Part::Whole)));
        assert_eq!(read(Some("LOG.md"), "entries=3"), file(Part::Entries(3)));
        let sections = Part::Sections(vec!["b".into(), "a_1".into(), "b".into()]);
        assert_eq!(read(Some("LOG.md"), "section=b&section=a%5F1&section=b"), file(sections));
    }

    #[test]
    fn everything_else_is_told_what_can_be() {
        let many = "section=a&".repeat(33);
        for (name, query) in [
            (None, "section=a"),
            (None, "envelope=yes"),
            (None, "envelope=1&envelope=1"),
            (None, "view=full"),
            (None, "Envelope=1"),
            (None, "x"),
            (Some("LOG.md"), "envelope=1"),
            (Some("LOG.md"), "entries=0"),
            (Some("LOG.md"), "entries=-1"),
            (Some("LOG.md"), "entries=1001"),
            (Some("LOG.md"), "entries="),
            (Some("LOG.md"), "entries=1&entries=2"),
            (Some("LOG.md"), "entries=1&section=a"),
            (Some("LOG.md"), "section="),
            (Some("LOG.md"), "section=../a"),
            (Some("LOG.md"), many.as_str()),
            (Some("STATUS.md"), "entries=1"),
            (Some("pii-allowlist.json"), "section=a"),
        ] {
            let refusal = Wanted::read(name, query).unwrap_err();
            assert_eq!(refusal.fault, Fault::BadRequest, "{query}");
            assert!(refusal.details.is_some_and(|known| known["parameters"].is_array()), "{query}");
        }
    }
}
