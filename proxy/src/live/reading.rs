//! How far the site has been read, for the operator and for the answers that rest on it.

use super::Live;

/// The most characters of an address that an operator is shown.
const LONGEST: usize = 300;

/// The reading that is under way, or the last one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    pub stage: Stage,
    /// A reading has ended since this site is read.
    pub has_ended: bool,
    /// Pages that are known.
    pub pages: usize,
    /// Requests of this reading.
    pub asked: usize,
    /// What became of those that gave no page: the most telling one, in words.
    pub other: Option<String>,
}

/// Where a reading stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nothing was asked yet, or nobody wants to know.
    #[default]
    NotBegun,
    UnderWay,
    Ended,
    /// Another replica reads.
    ByAnother,
    /// It could not go on.
    Stopped(String),
}

impl Reading {
    /// Whether all is well, and a line about it; `None` where there is nothing to say.
    pub fn line(&self) -> Option<(bool, String)> {
        let Self { stage, has_ended, pages, asked, other } = self;
        let pages_of = format!("content: {pages} pages of {asked} asked");
        let other = other.as_deref().filter(|_| *pages == 0).map(|other| format!(": {other}")).unwrap_or_default();
        match stage {
            Stage::NotBegun => None,
            Stage::UnderWay if *has_ended => Some((true, format!("content: {pages} pages, the site is read again"))),
            Stage::UnderWay => Some((true, format!("{pages_of} so far, the first reading is under way{other}"))),
            Stage::Ended => Some((*pages > 0, format!("{pages_of}{other}"))),
            Stage::ByAnother => {
                Some((true, format!("content: {pages} pages, read by another replica or before this start")))
            }
            Stage::Stopped(why) => Some((false, format!("{pages_of}, the reading stopped: {}", shown(why)))),
        }
    }
}

impl Live {
    /// How far the site has been read.
    pub fn reading(&self) -> Reading {
        self.reading.lock().clone()
    }

    /// Takes note of how far it has been read.
    pub fn note_reading(&self, note: impl FnOnce(&mut Reading)) {
        note(&mut self.reading.lock());
    }
}

/// A site's own words, no longer than an operator wants to read.
pub fn shown(words: &str) -> String {
    words.chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_a_line() {
        let mut reading = Reading::default();
        assert_eq!(reading.line(), None);
        reading.stage = Stage::UnderWay;
        (reading.asked, reading.pages) = (7, 3);
        let line = |reading: &Reading| reading.line().unwrap();
        assert_eq!(line(&reading), (true, "content: 3 pages of 7 asked so far, the first reading is under way".into()));
        reading.stage = Stage::Ended;
        reading.other = Some("/ moved to http://other.test/".into());
        assert_eq!(line(&reading), (true, "content: 3 pages of 7 asked".into()));
        reading.pages = 0;
        assert_eq!(line(&reading), (false, "content: 0 pages of 7 asked: / moved to http://other.test/".into()));
        reading.stage = Stage::Stopped("x\n".repeat(LONGEST));
        let (well, said) = line(&reading);
        assert!(!well && !said.contains('\n') && said.len() < LONGEST + 60);
    }
}
