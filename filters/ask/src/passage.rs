//! A page cut into passages: what stands under one heading, or a part of it that can be read by itself.
//!
//! A section that is short enough is one passage. A longer one is cut between its blocks: code stays with the sentence
//! before it, a term with its definition, and tables and lists stay whole as long as they are not too long themselves.

use std::{collections::HashMap, ops::Range};

use super::{
    links,
    markdown::{self, Block, Fences, Kind, Line},
    plain,
};

/// A section up to this size, in bytes, is one passage.
const WHOLE: usize = 1_300;
/// The size at which a passage of a longer section ends.
const PASSAGE: usize = 800;
/// A table or a list item may be so long before it is cut.
const LONGEST: usize = 4_000;
/// The longest heading or title, in bytes.
pub(super) const HEADING: usize = 200;
/// Passages taken from one page.
const PASSAGES: usize = 4_000;
/// So many blocks in a row that are nothing but a link are a list of links.
const LINKS: usize = 3;
/// What stands before such a list and is no longer than this, in bytes, is its label.
const LABEL: usize = 60;
/// How deep headings are kept.
const DEPTH: usize = 7;
/// The level of a question that is no heading.
const QUESTION: u8 = 7;

/// What a passage mostly is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    #[default]
    Prose,
    List,
    Table,
    Code,
    /// The heading is a question, and this its answer.
    Answer,
    /// A later part of something long: it begins within code, whose first fence is in an earlier part.
    WithinCode,
}

/// What stands under one heading.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Section {
    /// The headings that lead here, the outermost first; empty before the first heading.
    pub(super) path: Vec<String>,
    /// How many headings with the same words stand before its own on the page; `None` where it has none of its own.
    pub(super) alike_before: Option<usize>,
    pub(super) parts: Vec<Part>,
}

/// A passage.
#[derive(Debug, PartialEq)]
pub(super) struct Part {
    /// Where it stands in the page's Markdown.
    pub(super) range: Range<usize>,
    pub(super) form: Form,
    /// How much of its text is links, in percent.
    pub(super) linked: u8,
}

/// Cuts a page into its sections. Blocks that `drop` names are no part of any.
pub(super) fn cut(markdown: &str, mut drop: impl FnMut(&str) -> bool) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut path: Vec<(u8, String)> = Vec::new();
    let mut open: Vec<Block> = Vec::new();
    let mut left = PASSAGES;
    let mut alike: HashMap<String, usize> = HashMap::new();
    for block in markdown::blocks(markdown) {
        let text = &markdown[block.range.clone()];
        let heading = match block.kind {
            Kind::Heading(_) => markdown::heading(text),
            Kind::Prose => folded_question(text).map(|question| (QUESTION, question)),
            _ => None,
        };
        let Some((level, text)) = heading else {
            if !matches!(block.kind, Kind::Heading(_)) && !drop(text) {
                open.push(block);
            }
            continue;
        };
        finish(markdown, &mut sections, &mut open, &mut left);
        let text = plain::text(text).0;
        let text = plain::shortened(text.trim_end_matches(['¶', '#', ' ']), HEADING);
        path.retain(|(above, _)| *above < level);
        let mut alike_before = None;
        if !text.is_empty() && path.len() < DEPTH {
            path.push((level, text.to_owned()));
            let known = alike.entry(links::bare(text)).or_default();
            alike_before = Some(*known);
            *known += 1;
        }
        // A heading without a text of its own begins no section.
        sections.pop_if(|last| last.parts.is_empty());
        let path = path.iter().map(|(_, text)| text.clone()).collect();
        sections.push(Section { path, alike_before, parts: Vec::new() });
    }
    finish(markdown, &mut sections, &mut open, &mut left);
    sections.retain(|section| !section.parts.is_empty());
    sections
}

/// The question of a paragraph that is only bold text with a question mark, as FAQ accordions become: `**May I?**`.
fn folded_question(text: &str) -> Option<&str> {
    let question = text.strip_prefix("**")?.strip_suffix("**")?;
    let fits = (3..=HEADING).contains(&question.len()) && !question.contains("**");
    (fits && question.ends_with(['?', '？'])).then_some(question)
}

/// Cuts the blocks of the last section into its parts.
fn finish(markdown: &str, sections: &mut [Section], blocks: &mut Vec<Block>, left: &mut usize) {
    let blocks = without_link_lists(markdown, std::mem::take(blocks));
    let Some(section) = sections.last_mut() else { return };
    let asks = section.path.last().is_some_and(|heading| heading.ends_with(['?', '？']));
    // What was left out between two blocks is in no part.
    let is_next = |a: &Block, b: &Block| !markdown[a.range.end..b.range.start].contains(char::is_alphanumeric);
    let mut parts: Vec<Part> = Vec::new();
    for run in blocks.chunk_by(is_next) {
        let [first, .., last] = run else {
            parts.extend(pack(markdown, run));
            continue;
        };
        match last.range.end - first.range.start <= WHOLE {
            true => parts.push(part(markdown, run)),
            false => parts.extend(pack(markdown, run)),
        }
    }
    parts.truncate(*left);
    *left -= parts.len();
    for part in &mut parts {
        if asks && part.form == Form::Prose {
            part.form = Form::Answer;
        }
    }
    section.parts = parts;
}

/// Leaves out lists of links: they lead to answers, and are none.
fn without_link_lists(markdown: &str, blocks: Vec<Block>) -> Vec<Block> {
    let is_link = |block: &Block| {
        let (text, links) = plain::text(&markdown[block.range.clone()]);
        let size =
            text.trim_start_matches(['-', '*', '+', ' ', '.', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']).len();
        matches!(block.kind, Kind::Prose | Kind::Item) && size <= 400 && links * 100 >= 85 * size.max(1)
    };
    let links: Vec<bool> = blocks.iter().map(is_link).collect();
    let runs =
        links.chunk_by(|a, b| a == b).flat_map(|run| std::iter::repeat_n(run[0] && run.len() >= LINKS, run.len()));
    let dropped: Vec<bool> = runs.collect();
    // "Contents" says nothing without them.
    let is_label = |at: usize| {
        let text = &markdown[blocks[at].range.clone()];
        dropped.get(at + 1) == Some(&true) && text.len() <= LABEL && leads_on(text, blocks[at].kind)
    };
    let stays: Vec<bool> = (0..blocks.len()).map(|at| !dropped[at] && !is_label(at)).collect();
    blocks.into_iter().zip(stays).filter(|(_, stays)| *stays).map(|(block, _)| block).collect()
}

/// Packs blocks into parts of about the wanted size.
fn pack(markdown: &str, blocks: &[Block]) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut open: Vec<Block> = Vec::new();
    let size = |blocks: &[Block]| match (blocks.first(), blocks.last()) {
        (Some(first), Some(last)) => last.range.end - first.range.start,
        _ => 0,
    };
    for (at, block) in blocks.iter().enumerate() {
        let length = block.range.len();
        // What follows a colon or a term, and code, stays with what is before it.
        let leads = open.last().is_some_and(|before| leads_on(&markdown[before.range.clone()], before.kind));
        let clings = leads || block.kind == Kind::Code && length < PASSAGE;
        // A list that fits into a passage of its own begins one.
        let run = blocks[at..].iter().take_while(|next| next.kind == block.kind).map(|next| next.range.len());
        let begins = open.last().is_none_or(|before| before.kind != block.kind);
        let wanted = if block.kind == Kind::Item && begins { run.sum::<usize>().min(PASSAGE) } else { length };
        let filled = size(&open);
        let full = filled + wanted > PASSAGE && filled > PASSAGE / 4;
        if !open.is_empty() && full && !(clings && filled + length <= WHOLE) {
            // A term goes along with its definition.
            let kept = if leads && open.len() > 1 { open.pop() } else { None };
            parts.push(part(markdown, &open));
            open = kept.into_iter().collect();
        }
        if length > LONGEST {
            if !open.is_empty() {
                parts.push(part(markdown, &open));
                open.clear();
            }
            parts.extend(pieces(markdown, block));
            continue;
        }
        open.push(block.clone());
    }
    if !open.is_empty() {
        parts.push(part(markdown, &open));
    }
    parts
}

/// Does a text lead on to what follows: a colon at its end, or a short line without an end or in bold letters, as a term has
/// it?
fn leads_on(text: &str, kind: Kind) -> bool {
    let is_bold = text.trim_end().ends_with("**") && text.trim_start().starts_with("**");
    let text = text.trim_end_matches(['*', '`', '_', ' ']);
    kind == Kind::Prose
        && (text.ends_with(':')
            || text.len() <= 160 && (is_bold || !text.ends_with(['.', '!', '?', ';', '。', ')', '”'])))
}

/// A block that is too long, cut between its lines; between words where a line is too long itself.
fn pieces(markdown: &str, block: &Block) -> Vec<Part> {
    let text = &markdown[block.range.clone()];
    let mut pieces = Vec::new();
    let mut push = |range: Range<usize>, begins_in_code: bool| {
        if !text[range.clone()].trim().is_empty() {
            let range = block.range.start + range.start..block.range.start + range.end;
            let part = part(markdown, &[Block { kind: block.kind, range }]);
            pieces.push(Part { form: if begins_in_code { Form::WithinCode } else { part.form }, ..part });
        }
    };
    let mut fences = Fences::default();
    let (mut begin, mut end, mut is_code, mut begins_in_code) = (0, 0, false, false);
    for line in text.split_inclusive('\n') {
        if end > begin && end - begin + line.len() > PASSAGE {
            push(begin..end, begins_in_code);
            (begin, begins_in_code) = (end, is_code);
        }
        is_code = matches!(fences.read(line), Line::Opens(_) | Line::Within);
        end += line.len();
        while end - begin > LONGEST {
            let cut = begin + before_link(plain::shortened(&text[begin..end], PASSAGE)).len();
            push(begin..cut, begins_in_code);
            (begin, begins_in_code) = (cut, is_code);
        }
    }
    push(begin..end, begins_in_code);
    pieces
}

/// A text without the link that is cut at its end, if that leaves half of it.
fn before_link(text: &str) -> &str {
    let begin = text.rfind('[').filter(|at| *at * 2 > text.len() && !text[*at..].contains(')'));
    begin.map_or(text, |at| &text[..at])
}

fn part(markdown: &str, blocks: &[Block]) -> Part {
    let range = match (blocks.first(), blocks.last()) {
        (Some(first), Some(last)) => first.range.start..last.range.end,
        _ => 0..0,
    };
    let mut sizes = [0usize; 4];
    let (mut links, mut size) = (0, 0);
    for block in blocks {
        let text = &markdown[block.range.clone()];
        let at = match block.kind {
            Kind::Heading(_) | Kind::Prose => 0,
            Kind::Item => 1,
            Kind::Table => 2,
            Kind::Code => 3,
        };
        sizes[at] += text.len();
        if block.kind == Kind::Code {
            size += text.len();
            continue;
        }
        let (text, linked) = plain::text(text);
        size += text.bytes().filter(|byte| !matches!(byte, b'|' | b'-' | b' ')).count();
        links += linked;
    }
    let most = (0..4).max_by_key(|at| (sizes[*at], std::cmp::Reverse(*at))).unwrap_or_default();
    let form = [Form::Prose, Form::List, Form::Table, Form::Code][most];
    Part { range, form, linked: (links * 100 / size.max(1)).min(100) as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(markdown: &str) -> Vec<(Vec<String>, Vec<&str>)> {
        cut(markdown, |_| false)
            .into_iter()
            .map(|section| (section.path, section.parts.into_iter().map(|part| &markdown[part.range]).collect()))
            .collect()
    }

    #[test]
    fn a_passage_is_what_stands_under_a_heading() {
        let page =
            "# Baggage\n\nOne bag.\n\n## [Extra](/x) bags\n\n- one: 35 EUR\n- two\n\n## Empty\n\n# Next\n\nText.\n";
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            texts(page),
            [
                (path(&["Baggage"]), vec!["One bag."]),
                (path(&["Baggage", "Extra bags"]), vec!["- one: 35 EUR\n- two"]),
                (path(&["Next"]), vec!["Text."]),
            ]
        );
    }

    #[test]
    fn a_long_section_is_cut_between_blocks_and_code_stays_with_its_sentence() {
        let filler = "A sentence of some words. ".repeat(30);
        let page = format!("# Long\n\n{filler}\n\n{filler}\n\nRun this:\n\n```\nmake\n```\n\n`--flag`\n\n{filler}\n");
        let (_, parts) = &texts(&page)[0];
        assert!(parts.len() >= 2, "{parts:?}");
        let with_code = parts.iter().find(|part| part.contains("make")).expect("code");
        assert!(with_code.contains("Run this:"), "{with_code}");
        assert!(parts.iter().all(|part| !part.ends_with("`--flag`")), "{parts:?}");
    }

    #[test]
    fn a_term_stays_with_what_it_means() {
        let filler = format!("- {}", "A sentence of some words. ".repeat(25));
        let page = format!("# Terms\n\n**Bank**\n\n{filler}\n\n**Home Banking (HBCI)**\n\n{filler}\n");
        let (_, parts) = &texts(&page)[0];
        assert_eq!(parts.len(), 2, "{parts:?}");
        assert!(parts[1].starts_with("**Home Banking (HBCI)**"), "{parts:?}");
    }

    #[test]
    fn a_folded_question_begins_a_passage_of_its_own() {
        let page = "# Help\n\nAsk us.\n\n**May I pay later?**\n\nYes.\n\n- within 30 days\n\n**Do you ship?**\n\nNo.\n\n## Shops\n\n**Note**\n\nClosed.\n";
        let path = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            texts(page),
            [
                (path(&["Help"]), vec!["Ask us."]),
                (path(&["Help", "May I pay later?"]), vec!["Yes.\n\n- within 30 days"]),
                (path(&["Help", "Do you ship?"]), vec!["No."]),
                (path(&["Help", "Shops"]), vec!["**Note**\n\nClosed."]),
            ]
        );
        assert_eq!(cut(page, |_| false)[1].parts[0].form, Form::List);
        assert_eq!(cut(page, |_| false)[2].parts[0].form, Form::Answer);
    }

    #[test]
    fn headings_with_the_same_words_are_counted() {
        let page = "Before.\n\n## Price\n\n### Winter\n\nTen.\n\n## Price:\n\nFive.\n";
        let found: Vec<_> =
            cut(page, |_| false).into_iter().map(|section| (section.path.len(), section.alike_before)).collect();
        assert_eq!(found, [(0, None), (2, Some(0)), (1, Some(1))]);
    }

    #[test]
    fn a_part_of_long_code_begins_within_code() {
        let page = format!("# Code\n\n```\n{}```\n", "handlers[i](event);\n".repeat(400));
        let forms: Vec<Form> = cut(&page, |_| false)[0].parts.iter().map(|part| part.form).collect();
        assert!(forms.len() > 5 && forms[0] == Form::Code, "{forms:?}");
        assert!(forms[1..].iter().all(|form| *form == Form::WithinCode), "{forms:?}");
        let page =
            format!("# List\n\n- Run:\n  ```\n{}  ```\n  Then{}.\n", "  make[i](x)\n".repeat(200), " wait".repeat(900));
        let forms: Vec<Form> = cut(&page, |_| false)[0].parts.iter().map(|part| part.form).collect();
        assert!(forms.contains(&Form::WithinCode) && forms.ends_with(&[Form::List]), "{forms:?}");
    }

    #[test]
    fn endless_text_is_cut_and_bounded() {
        let page = format!("# Long\n\n{}", "word ".repeat(50_000));
        assert!(texts(&page)[0].1.iter().all(|part| part.len() <= LONGEST));
        let sections = cut(&"# x\n\ny\n".repeat(9_000), |_| false);
        assert_eq!(sections.len(), PASSAGES);
    }

    #[test]
    fn a_long_line_is_not_cut_within_a_link() {
        let page =
            format!("# Index\n\n| {} |\n", "[PermissionRequiredMixin (class in auth)](/ref/auth#x)<br>".repeat(400));
        for part in &cut(&page, |_| false)[0].parts {
            let text = &page[part.range.clone()];
            assert_eq!(text.matches('[').count(), text.matches("](").count(), "{text}");
            assert!(part.linked > 80, "{} {text}", part.linked);
        }
    }

    #[test]
    fn lists_of_links_are_known_as_such() {
        let sections = cut(
            "# Index\n\n- [first chapter](/1)\n- [second](/2)\n\n# Text\n\nRead [this](/1) and think for long.",
            |_| false,
        );
        assert!(sections[0].parts[0].linked > 90 && sections[1].parts[0].linked < 25, "{sections:?}");
        assert_eq!(sections[0].parts[0].form, Form::List);
        let page = "# Prices\n\nContents\n\n- [One](/1)\n- [Two](/2)\n- [Three](/3)\n\nA ticket costs 24 EUR.\n";
        assert_eq!(cut("- [One](/1)\n- [Two](/2)\n- [Three](/3)\n", |_| false), []);
        let parts = |page: &str| -> Vec<String> {
            cut(page, |_| false)[0].parts.iter().map(|part| page[part.range.clone()].to_owned()).collect()
        };
        assert_eq!(parts(page), ["A ticket costs 24 EUR."]);
        let page =
            "# Prices\n\nFares.\n\n**Table of Contents**\n\n**[1.](/1)**\n\n**[2.](/2)**\n\n**[3.](/3)**\n\nEnd.\n";
        assert_eq!(parts(page), ["Fares.", "End."], "what is left out between two blocks is in no part");
    }
}
