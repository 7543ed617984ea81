//! What can be asked over A2A: the capabilities by name, and the one that answers questions in words. Messages name a
//! capability or none, so each is looked up here.

use std::{collections::HashMap, sync::Arc};

use super::super::ahp::{
    Converse,
    listed::{Listed, Mode},
};
use frontdesk_config::Declaration;

/// The built-in answers from the pages, or what the operator declared in their place.
const QUESTIONS: &str = "content_search";

/// A capability that can be asked.
#[derive(Debug)]
pub(super) struct Known {
    /// Its place among what is offered.
    pub(super) index: usize,
    /// Its name in the conversation.
    pub(super) name: String,
    pub(super) is_action: bool,
    /// The response types, in the site's order.
    pub(super) types: Vec<String>,
    mode: Mode,
    is_concierge: bool,
}

/// The capabilities, and the conversation that answers them.
#[derive(Debug)]
pub(super) struct Offered {
    pub(super) converse: Arc<Converse>,
    known: Vec<Known>,
    /// By the name in the conversation and by the declared id.
    by_name: HashMap<String, usize>,
    /// Which of them answers questions in words.
    for_words: Option<usize>,
}

impl Offered {
    pub(super) fn new(listed: &[Listed], declaration: &Declaration, converse: Arc<Converse>) -> Self {
        let known: Vec<Known> = listed.iter().map(Known::of).collect();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        for (at, listed) in listed.iter().enumerate() {
            if let Some(capability) = declaration.settings.capability(listed.index) {
                by_name.insert(capability.id.clone(), at);
            }
        }
        // Where a name is another capability's id, it is the name.
        by_name.extend(known.iter().enumerate().map(|(at, known)| (known.name.clone(), at)));
        let answers = |at: &usize| known[*at].mode == Mode::Two;
        let questions = by_name.get(QUESTIONS).copied().filter(answers);
        let for_words = questions
            .or_else(|| known.iter().position(|known| known.mode == Mode::Two && known.is_concierge))
            .or_else(|| known.iter().position(|known| known.mode == Mode::Two));
        Self { converse, known, by_name, for_words }
    }

    pub(super) fn known(&self, name: &str) -> Option<&Known> {
        self.known.get(*self.by_name.get(name)?)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.known.iter().map(|known| known.name.as_str())
    }

    /// The capability that answers questions in words.
    pub(super) fn for_words(&self) -> Option<&Known> {
        self.known.get(self.for_words?)
    }
}

impl Known {
    fn of(listed: &Listed) -> Self {
        Self {
            index: listed.index,
            name: listed.name.clone(),
            is_action: listed.is_action,
            types: listed.response_types.clone(),
            mode: listed.mode,
            is_concierge: listed.is_concierge,
        }
    }
}
