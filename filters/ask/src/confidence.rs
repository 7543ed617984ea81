//! How much an answer is to be trusted: from how much of the question its best passage holds, and how well it fits.
//!
//! The figures come from the question sets of `benches/ask` that are for tuning: of the answers above 0.8, 128 of 149 are
//! right there. Of what is below, nothing is claimed.

use super::{question::Asked, rank::Ranked};

/// From here on a word that the site does not have is not worth a remark.
pub(super) const SURE: f32 = 0.8;
/// From here on the site answers, and where words were taken for others that are spelled like them.
const CLAIMED: f32 = 0.52;
const CLAIMED_GUESSED: f32 = 0.72;
/// Of the first passages so many are looked at for one that holds the whole question.
const NEXT: usize = 3;
const WHOLE: f32 = 0.95;
/// From here on what is not claimed is shown in full all the same.
const LIKELY: f32 = 0.3;
/// The share of a question that a passage has to hold to be among the answers, and to be near one.
const HELD: f32 = 0.4;
const NEAR: f32 = 0.2;

/// From 0 to 1, by the best passage, or by one of the next that holds all of the question.
pub(super) fn of(asked: &Asked, ranked: &[Ranked]) -> f32 {
    let whole = ranked.iter().take(NEXT).find(|ranked| asked.share(ranked.covered) >= WHOLE);
    ranked.first().into_iter().chain(whole).map(|ranked| of_one(asked, ranked)).fold(0.0, f32::max)
}

fn of_one(asked: &Asked, best: &Ranked) -> f32 {
    let figure = 2.65 * asked.share(best.covered) + 1.16 * best.score - 3.48;
    (1.0 / (1.0 + (-figure).exp())).clamp(0.01, 0.99)
}

/// Do these passages answer?
pub(super) fn answers(asked: &Asked, ranked: &[Ranked], is_guessed: bool) -> bool {
    of(asked, ranked) >= if is_guessed { CLAIMED_GUESSED } else { CLAIMED }
}

/// May they answer after all, where that is not claimed?
pub(super) fn is_likely(asked: &Asked, ranked: &[Ranked]) -> bool {
    of(asked, ranked) >= LIKELY
}

/// Does a passage hold enough of a question to be listed?
pub(super) fn may_answer(asked: &Asked, ranked: &Ranked) -> bool {
    asked.share(ranked.covered) >= HELD
}

/// Does it hold something of it?
pub(super) fn is_near(asked: &Asked, ranked: &Ranked) -> bool {
    asked.share(ranked.covered) >= NEAR
}
