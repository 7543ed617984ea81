//! The latest questions that the site's pages do not answer, with how often each was asked.
//!
//! They are kept in bounded memory and shown on the operator's page alone: what people ask is in no log and no metric.

use std::{collections::VecDeque, time::Duration};

/// Different questions kept.
const MOST: usize = 100;
/// The longest question kept, in characters.
const LONGEST: usize = 200;

/// A question that the pages do not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unanswered {
    pub question: String,
    pub times: u64,
    /// The last time, since 1970.
    pub at: Duration,
}

/// The latest of them, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Questions(VecDeque<Unanswered>);

impl Questions {
    pub(super) fn note(&mut self, question: &str, at: Duration) {
        let words = question.split_whitespace().collect::<Vec<_>>().join(" ");
        let question: String = words.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        if question.is_empty() {
            return;
        }
        let small = question.to_lowercase();
        let known = self.0.iter().position(|known| known.question.to_lowercase() == small);
        let times = known.and_then(|at| self.0.remove(at)).map_or(0, |known| known.times);
        self.0.push_back(Unanswered { question, times: times + 1, at });
        if self.0.len() > MOST {
            self.0.pop_front();
        }
    }

    /// The most recent first.
    pub(super) fn latest(&self) -> Vec<Unanswered> {
        self.0.iter().rev().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_stands_once_and_the_oldest_goes() {
        let mut questions = Questions::default();
        let at = Duration::from_secs;
        questions.note(" Do you  ship\u{7} abroad? ", at(1));
        questions.note("Is it vegan?", at(2));
        questions.note("do you ship abroad?", at(3));
        questions.note("  ", at(4));
        let told: Vec<(String, u64)> = questions.latest().into_iter().map(|one| (one.question, one.times)).collect();
        assert_eq!(told, [("do you ship abroad?".into(), 2), ("Is it vegan?".into(), 1)]);
        (0..500).for_each(|n| questions.note(&format!("{n} {}", "x".repeat(5_000)), at(5)));
        assert_eq!(questions.latest().len(), MOST);
        assert!(questions.latest().iter().all(|one| one.question.chars().count() <= LONGEST));
    }
}
