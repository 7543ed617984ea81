//! The operator's models: one for the meaning of questions, one that writes answers.
//!
//! Both are a help and never a need. Where one fails, the site's own words are found by words and quoted.

use frontdesk_ask::{Draft, Later};

/// What the models are asked.
pub trait Models: Send + Sync {
    /// The vector of a question; `None`: only words are searched.
    fn vector<'a>(&'a self, question: &'a str) -> Later<'a, Option<Vec<f32>>>;

    /// Whether there is a model that writes answers.
    fn writes(&self) -> bool;

    /// What it writes; `None` where it fails, refuses, takes too long, or may not be asked any more today.
    fn write<'a>(&'a self, draft: &'a Draft) -> Later<'a, Option<String>>;
}

/// No models.
pub struct NoModels;

impl Models for NoModels {
    fn vector<'a>(&'a self, _: &'a str) -> Later<'a, Option<Vec<f32>>> {
        Box::pin(async { None })
    }

    fn writes(&self) -> bool {
        false
    }

    fn write<'a>(&'a self, _: &'a Draft) -> Later<'a, Option<String>> {
        Box::pin(async { None })
    }
}
