//! The one sentence or row of a table that answers by itself, to be said first.

use super::{
    cost::count,
    index::Index,
    markdown::{self, Kind},
    plain,
    question::Asked,
    wish::Wish,
};

/// Shorter passages, in bytes, need no sentence before them; nor where it is the beginning of the passage anyway.
const LONG: usize = 500;
const BEGINNING: usize = 160;
/// The longest sentence, in bytes.
const SENTENCE: usize = 320;
/// The least share of the question, and the least number of its words, that the sentence has to contain.
const HELD: f32 = 0.9;
const WORDS: u32 = 2;

/// The sentence of a passage that holds all that was asked for, if there is one.
pub(super) fn sentence(index: &Index, asked: &Asked, entry: usize) -> Option<String> {
    let passage = index.markdown(entry);
    if passage.len() < LONG || asked.promoted {
        return None;
    }
    let tongue = usize::from(index.leaf(entry).tongue);
    let mut best: Option<(f32, String)> = None;
    let mut consider = |at: usize, text: &str| {
        let figure = asked.wish != Wish::Figure || text.bytes().any(|byte| byte.is_ascii_digit());
        if at < BEGINNING || text.len() > SENTENCE || !figure {
            return;
        }
        let mut terms = Vec::new();
        index.vocabulary.known(text, tongue, &mut terms);
        let (share, covered) = asked.share_of(&terms);
        let covered = covered & asked.counting();
        let holds = asked.share(covered) >= HELD && covered.count_ones() >= WORDS;
        if holds && best.as_ref().is_none_or(|(known, _)| share > *known) {
            best = Some((share, text.to_owned()));
        }
    };
    for block in markdown::blocks(passage) {
        let text = &passage[block.range.clone()];
        match block.kind {
            Kind::Table => rows(text, |at, row| consider(block.range.start + at, row)),
            Kind::Prose | Kind::Item => {
                let text = plain::text(text).0;
                let mut at = block.range.start;
                plain::sentences(&text, usize::MAX, &mut |sentence| {
                    consider(at, sentence);
                    at += sentence.len();
                });
            }
            Kind::Heading(_) | Kind::Code => {}
        }
    }
    best.map(|(_, text)| text)
}

/// As many sentences of a passage's text as so many tokens hold: the one that says most of what was asked, and those around
/// it.
pub(super) fn around(index: &Index, asked: &Asked, entry: usize, text: &str, most: usize) -> String {
    let tongue = usize::from(index.leaf(entry).tongue);
    let mut sentences: Vec<String> = Vec::new();
    plain::sentences(text, SENTENCE, &mut |sentence| sentences.push(sentence.to_owned()));
    let held = |sentence: &String| {
        let mut terms = Vec::new();
        index.vocabulary.known(sentence, tongue, &mut terms);
        asked.share_of(&terms).0
    };
    let shares: Vec<f32> = sentences.iter().map(held).collect();
    let best = (0..shares.len()).max_by(|a, b| shares[*a].total_cmp(&shares[*b]).then(b.cmp(a))).unwrap_or_default();
    let (mut begin, mut end) = (best, (best + 1).min(sentences.len()));
    let joined = |begin: usize, end: usize| sentences[begin..end].join(" ");
    loop {
        if end < sentences.len() && count(&joined(begin, end + 1)) <= most {
            end += 1;
        } else if begin > 0 && count(&joined(begin - 1, end)) <= most {
            begin -= 1;
        } else {
            return cut(&joined(begin, end), most);
        }
    }
}

/// As much of a text as so many tokens hold.
fn cut(text: &str, most: usize) -> String {
    if count(text) <= most {
        return text.to_owned();
    }
    let (mut low, mut high) = (0, text.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        if count(plain::shortened(text, middle)) < most { low = middle } else { high = middle - 1 }
    }
    format!("{}…", plain::shortened(text, low).trim_end())
}

/// Calls `each` with every row of a table and where it stands, as names and cells: "Route: MAD; Price: 74 EUR".
fn rows(table: &str, mut each: impl FnMut(usize, &str)) {
    let lines: Vec<&str> = table.lines().collect();
    let names = match lines.as_slice() {
        [names, rule, ..] if is_rule(rule) => cells(names),
        _ => Vec::new(),
    };
    let mut at = 0;
    for (number, line) in lines.iter().enumerate() {
        let is_row = !line.trim().is_empty() && (number >= 2 || names.is_empty());
        if is_row {
            let cells = cells(line).into_iter().enumerate().filter(|(_, cell)| !cell.is_empty());
            let named = cells.map(|(at, cell)| match names.get(at) {
                Some(name) if !name.is_empty() => format!("{name}: {cell}"),
                _ => cell,
            });
            each(at, &named.collect::<Vec<_>>().join("; "));
        }
        at += line.len() + 1;
    }
}

fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_start_matches('|');
    let row = row.strip_suffix('|').unwrap_or(row);
    row.split('|').take(24).map(|cell| plain::text(cell.trim()).0).collect()
}

fn is_rule(row: &str) -> bool {
    row.contains('-') && row.bytes().all(|byte| matches!(byte, b'|' | b'-' | b':' | b' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_say_what_their_cells_are() {
        let mut found = Vec::new();
        rows("| Route | Price |\n| --- | --- |\n| MAD | **74** EUR |\n| LIS | |", |_, row| found.push(row.to_owned()));
        assert_eq!(found, ["Route: MAD; Price: 74 EUR", "Route: LIS"]);
    }
}
