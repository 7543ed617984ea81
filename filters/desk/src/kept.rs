//! The cache of answers to reads: `cache_ttl_seconds`.
//!
//! The cache is read only after the caller is authorised. Entries are per caller, unless the answer is about no user
//! and the request names none (docs/decisions/0018-private-answers.md).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use quick_cache::{Weighter, sync::Cache};

use super::shape::Told;

/// Maximum bytes of all entries, by [`Weight`].
const BYTES: u64 = 32 * 1024 * 1024;
/// About how many entries that is; it sizes the tables at the start.
const ANSWERS: usize = 4096;

/// Cached answers by cache key.
#[derive(Debug)]
pub struct Kept {
    answers: Cache<String, Arc<Answer>, Weight>,
}

/// An entry. Its data is kept as text, because a tree takes many times the memory.
#[derive(Debug)]
struct Answer {
    told: Told,
    until: Instant,
}

#[derive(Debug, Clone)]
struct Weight;

impl Weighter<String, Arc<Answer>> for Weight {
    fn weight(&self, key: &String, answer: &Arc<Answer>) -> u64 {
        let raw = answer.told.raw.as_ref().map_or(0, |raw| raw.content_type.len() + raw.body.len());
        (key.len() + 512 + answer.told.data.length() + raw) as u64
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self { answers: Cache::with_weighter(ANSWERS, BYTES, Weight) }
    }
}

impl Kept {
    /// The cached answer, and for how much longer it is fresh.
    pub(super) fn get(&self, key: &str) -> Option<(Told, Duration)> {
        let answer = self.answers.get(key)?;
        let left = answer.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            self.answers.remove(key);
            return None;
        }
        Some((answer.told.clone(), left))
    }

    /// Empties the cache. No request under another configuration could hit these entries, and they would take up room.
    pub fn forget(&self) {
        self.answers.clear();
    }

    pub(super) fn keep(&self, key: String, told: &Told, ttl: Duration) {
        let told = Told { data: told.data.as_text(), file: None, ..told.clone() };
        let answer = Answer { told, until: Instant::now() + ttl };
        self.answers.insert(key, Arc::new(answer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;
    use serde_json::json;

    #[test]
    fn answers_end_and_are_bounded() {
        let kept = Kept::default();
        let told = Told::of(StatusCode::OK, json!(1).into());
        kept.keep("a".into(), &told, Duration::from_secs(60));
        kept.keep("b".into(), &told, Duration::ZERO);
        assert!(kept.get("a").is_some() && kept.get("b").is_none() && kept.get("c").is_none());
        kept.forget();
        assert!(kept.get("a").is_none() && kept.answers.weight() == 0);
        let told = Told { data: json!("x".repeat(1024 * 1024)).into(), ..told };
        for n in 0..100 {
            kept.keep(format!("{n}"), &told, Duration::from_secs(60));
        }
        assert!(kept.answers.weight() <= BYTES, "{}", kept.answers.weight());
    }
}
