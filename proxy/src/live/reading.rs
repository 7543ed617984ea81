//! The progress of the site's crawl, for the operator's page and for answers that depend on it.

use super::Live;

/// The most characters of an address on the operator's page.
const LONGEST: usize = 300;

/// The current crawl, or the last one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reading {
    pub stage: Stage,
    /// At least one crawl of this site has ended.
    pub has_ended: bool,
    /// Known pages.
    pub pages: usize,
    /// Requests of this crawl.
    pub asked: usize,
    /// Links that this crawl did not follow.
    pub left_out: usize,
    /// The most informative outcome of requests that gave no page, in words.
    pub other: Option<String>,
}

/// The state of the crawl.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Stage {
    /// No request was sent yet, or no feature needs the pages.
    #[default]
    NotBegun,
    UnderWay,
    Ended,
    /// Another replica crawls the site.
    ByAnother,
    /// The crawl could not go on.
    Stopped(String),
}

impl Reading {
    /// Whether all is well, and one line about it; `None` if there is nothing to report.
    pub fn line(&self) -> Option<(bool, String)> {
        let Self { stage, has_ended, pages, asked, left_out, other } = self;
        let pages_of = format!("content: {pages} pages of {asked} asked");
        let other = other.as_deref().filter(|_| *pages == 0).map(|other| format!(": {other}")).unwrap_or_default();
        let left_out = match left_out {
            0 => String::new(),
            count => format!(", links not followed: {count} (the log names the first of each kind)"),
        };
        match stage {
            Stage::NotBegun => None,
            Stage::UnderWay if *has_ended => Some((true, format!("content: {pages} pages, the site is read again"))),
            Stage::UnderWay => Some((true, format!("{pages_of} so far, the first reading is under way{other}"))),
            Stage::Ended => Some((*pages > 0, format!("{pages_of}{left_out}{other}"))),
            Stage::ByAnother => {
                Some((true, format!("content: {pages} pages, read by another replica or before this start")))
            }
            Stage::Stopped(why) => Some((false, format!("{pages_of}, the reading stopped: {}", shown(why)))),
        }
    }
}

impl Live {
    /// The crawl's progress.
    pub fn reading(&self) -> Reading {
        self.reading.lock().clone()
    }

    /// Updates the crawl's progress.
    pub fn note_reading(&self, note: impl FnOnce(&mut Reading)) {
        note(&mut self.reading.lock());
    }
}

/// Shortens a text that comes from the site.
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
        reading.left_out = 2;
        let said = "content: 3 pages of 7 asked, links not followed: 2 (the log names the first of each kind)";
        assert_eq!(line(&reading), (true, said.into()));
        (reading.pages, reading.left_out) = (0, 0);
        assert_eq!(line(&reading), (false, "content: 0 pages of 7 asked: / moved to http://other.test/".into()));
        reading.stage = Stage::Stopped("x\n".repeat(LONGEST));
        let (well, said) = line(&reading);
        assert!(!well && !said.contains('\n') && said.len() < LONGEST + 60);
    }
}
