//! How much an answer is to be trusted: from how much of the question its best passage holds, how well it fits, and how
//! much of the question is nowhere on the site.
//!
//! The figures come from the question sets of `benches/ask` that are for tuning: of the answers above 0.8, nine in ten are
//! right there, and of twelve questions that a site does not answer one is claimed at most.

use super::{index::Index, question::Asked, rank::Ranked};

/// From here on a word that the site does not have is not worth a remark.
pub(super) const SURE: f32 = 0.8;
/// From here on the site answers, and where words were taken for others that are spelled like them.
const CLAIMED: f32 = 0.5;
const CLAIMED_GUESSED: f32 = 0.65;
/// Calibration points, for large and for small sites: a figure, and the share of right answers there. Below the second point
/// no answer is claimed.
const CURVE: [(f32, f32); 4] = [(0.0, 0.0), (0.325, 0.5), (0.72, 0.8), (1.0, 0.99)];
const CURVE_OF_SMALL: [(f32, f32); 4] = [(0.0, 0.0), (0.57, 0.5), (0.885, 0.8), (1.0, 0.99)];
/// The most where two sections fit alike, and how much more for how far the first is ahead.
const TIED: f32 = 0.7;
const AHEAD: f32 = 0.6;
/// No answer is wrong for certain, and none right.
const LEAST: f32 = 0.01;
const MOST: f32 = 0.99;
/// So many words of a question that stand in a passage as they are say that it is about the same; more say no more.
const WORDS: u32 = 6;
/// What a name takes off that the site never mentions: "Can I back up to Dropbox?" is not answered by a page about backups.
const UNMENTIONED: f32 = 1.4;
/// With a model: what the nearness of the meaning counts for, how far it stands out, and the figure by words; and what they
/// have to exceed together.
const NEARNESS: f32 = 3.3;
const STANDING_OUT: f32 = 9.3;
const BY_WORDS: f32 = 0.44;
const OFFSET: f32 = 2.0;
/// A meaning stands out from the one that is so many places behind it, on a site with so many passages at least.
const BEHIND: usize = 19;
const MANY: usize = 96;
/// The same on a site with fewer, where nothing is known of standing out.
const NEARNESS_OF_FEW: f32 = 5.5;
const BY_WORDS_OF_FEW: f32 = 0.57;
const OFFSET_OF_FEW: f32 = 1.14;
/// From here on a passage is near enough to be listed, and is what was meant.
const MAY_MEAN: f32 = 0.17;
pub(super) const MEANT: f32 = 0.3;
/// Small and large sites, as the binary logarithm of their passages.
const SMALL: f32 = 5.0;
const LARGE: f32 = 8.0;
/// From here on what is not claimed is shown in full all the same.
const LIKELY: f32 = 0.1;
/// The share of a question that a passage has to hold to be among the answers, and to be near one.
const HELD: f32 = 0.4;
const NEAR: f32 = 0.2;

/// From 0 to 1, by the best passage, and by how far it is ahead of the next section: of two that fit alike, either may be
/// the one.
pub(super) fn of(index: &Index, asked: &Asked, ranked: &[Ranked]) -> f32 {
    let Some((best, others)) = ranked.split_first() else { return 0.0 };
    let section = |ranked: &Ranked| index.entries[ranked.entry].section;
    let next = others.iter().find(|other| section(other) != section(best)).map_or(0.0, Ranked::fit_without_related);
    let stands_out = (index.entries.len() >= MANY).then(|| stands_out(ranked));
    of_one(index, asked, best, stands_out).min(TIED + AHEAD * (best.fit_without_related() - next))
}

/// How far the nearest meaning stands out from those behind it: many passages are about as near to a question that is only
/// about the same subject.
fn stands_out(ranked: &[Ranked]) -> f32 {
    let mut nearest: Vec<f32> = ranked.iter().filter_map(|ranked| ranked.near).collect();
    nearest.sort_unstable_by(|a, b| b.total_cmp(a));
    let at = |place: usize| nearest.get(place).copied().unwrap_or_default();
    at(0) - at(BEHIND)
}

fn of_one(index: &Index, asked: &Asked, best: &Ranked, stands_out: Option<f32>) -> f32 {
    let share = asked.share(best.covered);
    let passages = (index.entries.len().max(2) as f32).log2();
    // Words in a row, and words that stand there as they are, are signs for an answer. On a large site some passage holds a
    // few of any words, and a word that it does not have is asked in vain; a small one may only call it something else.
    let stands = asked.share(best.plain) * asked.counting().count_ones().min(WORDS) as f32 / WORDS as f32;
    let unmentioned = if asked.names_unknown() { UNMENTIONED } else { 0.0 };
    let large = 1.397 * share + 0.628 * best.score - 0.706 * asked.unknown_share()
        + 1.278 * best.heading
        + 2.288 * best.verbatim
        + 2.253 * best.aimed
        + 3.367 * stands
        - 0.1978 * passages
        - unmentioned
        - 2.188;
    if let Some(near) = best.near {
        let figure = match stands_out {
            Some(stands_out) => NEARNESS * near + STANDING_OUT * stands_out + BY_WORDS * large - OFFSET,
            None => NEARNESS_OF_FEW * near + BY_WORDS_OF_FEW * large - OFFSET_OF_FEW,
        };
        return logistic(figure).clamp(LEAST, MOST);
    }
    let small = 2.49 * share + 0.908 * best.score - 2.191;
    let (large, small) = (calibrated(&CURVE, logistic(large)), calibrated(&CURVE_OF_SMALL, logistic(small)));
    let size = ((passages - SMALL) / (LARGE - SMALL)).clamp(0.0, 1.0);
    small + size * (large - small)
}

fn logistic(figure: f32) -> f32 {
    1.0 / (1.0 + (-figure).exp())
}

/// What share of the answers with this figure is right. Words tell well what is no answer, and less well which of the
/// passages that hold them all is the one.
fn calibrated(curve: &[(f32, f32)], figure: f32) -> f32 {
    let mut last = (0.0, 0.0);
    for point in curve {
        if figure <= point.0 {
            let part = (figure - last.0) / (point.0 - last.0).max(f32::MIN_POSITIVE);
            return (last.1 + part * (point.1 - last.1)).clamp(LEAST, MOST);
        }
        last = *point;
    }
    last.1
}

/// Do these passages answer?
pub(super) fn answers(index: &Index, asked: &Asked, ranked: &[Ranked], is_guessed: bool) -> bool {
    of(index, asked, ranked) >= if is_guessed { CLAIMED_GUESSED } else { CLAIMED }
}

/// May they answer after all, where that is not claimed?
pub(super) fn is_likely(index: &Index, asked: &Asked, ranked: &[Ranked]) -> bool {
    of(index, asked, ranked) >= LIKELY
}

/// Does a passage hold enough of a question to be listed?
pub(super) fn may_answer(asked: &Asked, ranked: &Ranked) -> bool {
    asked.share(ranked.covered) >= HELD || ranked.near.is_some_and(|near| near >= MAY_MEAN)
}

/// Does it hold something of it?
pub(super) fn is_near(asked: &Asked, ranked: &Ranked) -> bool {
    asked.share(ranked.covered) >= NEAR || ranked.near.is_some_and(|near| near > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_figure_is_a_higher_confidence() {
        let all: Vec<f32> = (0..=100).map(|n| calibrated(&CURVE, n as f32 / 100.0)).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1] || pair[1] == LEAST), "{all:?}");
        assert!(calibrated(&CURVE, 0.32) < CLAIMED && calibrated(&CURVE, 0.33) > CLAIMED);
        assert!(calibrated(&CURVE, 0.71) < SURE && calibrated(&CURVE, 0.73) > SURE);
    }
}
