//! Markdown cut into passages: what stands under one heading, as plain sentences.
//!
//! A passage is what gets found, a sentence what gets said. What a page means as markup (emphasis, links, tables) is
//! taken off here once, and so is what could disturb a reader's terminal or hide words from a person: an answer holds
//! the plain words of a page and nothing else.

use super::plain;

/// The longest passage, in bytes, before the next one begins under the same heading.
const PASSAGE: usize = 900;
/// The longest sentence, in bytes; what is longer is cut between words.
pub(super) const SENTENCE: usize = 480;
/// The longest heading or title, in bytes.
pub(super) const HEADING: usize = 160;
/// Passages taken from one page.
const PASSAGES: usize = 600;

/// What stands under one heading, or a part of it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Passage {
    /// The nearest heading; empty before the first.
    pub(super) heading: String,
    pub(super) sentences: Vec<Sentence>,
    /// How much of the text is links, in percent: lists of links lead to answers, they are none.
    pub(super) linked: u8,
}

#[derive(Debug, PartialEq)]
pub(super) struct Sentence {
    pub(super) text: String,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Prose,
    Item,
    Row,
    Code,
}

/// Cuts a page into passages, in its order.
pub(super) fn cut(markdown: &str) -> Vec<Passage> {
    let mut cutter = Cutter::default();
    let mut lines = markdown.lines().peekable();
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if let Some(fence) = fence(trimmed) {
            cutter.flush();
            let mut code = String::new();
            for line in lines.by_ref() {
                if line.trim_start().starts_with(fence) {
                    break;
                }
                if code.len() < SENTENCE {
                    code.push_str(line.trim());
                    code.push(' ');
                }
            }
            cutter.push(&code, Kind::Code);
        } else if let Some(heading) = heading(trimmed) {
            cutter.begin(heading);
        } else if trimmed.starts_with('|') {
            cutter.flush();
            let mut rows = vec![cells(trimmed)];
            while let Some(row) = lines.next_if(|line| line.trim().starts_with('|')) {
                rows.push(cells(row.trim()));
            }
            cutter.table(&rows);
        } else if trimmed.is_empty() || trimmed.chars().all(|c| matches!(c, '-' | '*' | '_' | ' ' | '=')) {
            cutter.flush();
        } else if let Some(item) = item(trimmed) {
            cutter.flush();
            cutter.kind = Kind::Item;
            cutter.open.push_str(item);
        } else {
            if !cutter.open.is_empty() {
                cutter.open.push(' ');
            }
            cutter.open.push_str(trimmed.trim_start_matches("> "));
        }
    }
    cutter.finish()
}

#[derive(Default)]
struct Cutter {
    done: Vec<Passage>,
    passage: Passage,
    size: usize,
    links: usize,
    open: String,
    kind: Kind,
}

impl Cutter {
    /// Ends the paragraph or item.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.open);
        let kind = std::mem::take(&mut self.kind);
        self.push(&text, kind);
    }

    fn push(&mut self, markdown: &str, kind: Kind) {
        let (text, links) = match kind {
            Kind::Code => (plain::clean(markdown), 0),
            _ => plain::text(markdown),
        };
        if text.is_empty() {
            return;
        }
        if self.size > 0 && self.size + text.len() > PASSAGE {
            self.close();
        }
        self.links += links;
        let mut add = |text: &str| {
            if self.size > 0 && self.size + text.len() > PASSAGE {
                self.close();
            }
            self.size += text.len();
            self.passage.sentences.push(Sentence { text: text.to_owned(), kind });
        };
        match kind {
            Kind::Prose | Kind::Item => plain::sentences(&text, SENTENCE, &mut add),
            Kind::Row | Kind::Code => add(plain::shortened(&text, SENTENCE)),
        }
    }

    fn table(&mut self, rows: &[Vec<String>]) {
        let ruled = rows.get(1).is_some_and(|row| {
            row.iter().all(|cell| !cell.is_empty() && cell.bytes().all(|b| matches!(b, b'-' | b':')))
        });
        let (names, rows) = match rows.split_first() {
            Some((names, rest)) if ruled => (names.as_slice(), &rest[1..]),
            _ => (&[][..], rows),
        };
        // A table of one row is how manuals head the description of an option.
        let filled = |row: &Vec<String>| row.iter().any(|cell| !cell.is_empty());
        let one = match (filled(&names.to_vec()), rows) {
            (true, []) => Some(names),
            (false, [row]) => Some(row.as_slice()),
            _ => None,
        };
        if let Some([first, rest @ ..]) = one
            && !rest.is_empty()
            && first.len() <= 60
        {
            let (name, rest) = (first.clone(), rest.join("; "));
            self.begin(&name);
            self.push(&rest, Kind::Row);
            return;
        }
        // Each stands in every row.
        let names: Vec<&str> = names.iter().map(|name| plain::shortened(name, HEADING)).collect();
        for row in rows.iter().filter(|row| filled(row)) {
            if self.done.len() >= PASSAGES {
                return;
            }
            let named =
                row.iter().enumerate().filter(|(_, cell)| !cell.is_empty()).map(|(at, cell)| match names.get(at) {
                    Some(name) if !name.is_empty() => format!("{name}: {cell}"),
                    _ => cell.clone(),
                });
            let text = named.collect::<Vec<_>>().join("; ");
            self.push(&text, Kind::Row);
        }
    }

    fn begin(&mut self, heading: &str) {
        self.flush();
        self.close();
        self.passage.heading =
            plain::shortened(&plain::text(heading).0, HEADING).trim_end_matches(['¶', '#', ' ']).to_owned();
    }

    fn close(&mut self) {
        let heading = self.passage.heading.clone();
        let mut passage = std::mem::take(&mut self.passage);
        passage.linked = (self.links * 100 / self.size.max(1)).min(100) as u8;
        (self.size, self.links) = (0, 0);
        self.passage.heading = heading;
        if !passage.sentences.is_empty() && self.done.len() < PASSAGES {
            self.done.push(passage);
        }
    }

    fn finish(mut self) -> Vec<Passage> {
        self.flush();
        self.close();
        self.done
    }
}

fn fence(line: &str) -> Option<&'static str> {
    ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence))
}

/// The text of `## A heading`.
fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())).then(|| rest.strip_prefix(' ')).flatten().map(|text| text.trim())
}

/// The text of `- an item` or `3. an item`.
fn item(line: &str) -> Option<&str> {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match digits {
        0 => line.strip_prefix(['-', '*', '+'])?,
        1..=3 => line[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    rest.strip_prefix(' ').map(str::trim)
}

fn cells(row: &str) -> Vec<String> {
    let row = row.strip_prefix('|').unwrap_or(row);
    let row = row.strip_suffix('|').unwrap_or(row);
    row.split('|').take(24).map(|cell| cell.trim().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_long_heading_of_a_table_is_not_long_in_every_row() {
        let table = format!("| {} | b |\n|---|---|\n{}", "word ".repeat(20_000), "| x | y |\n".repeat(5_000));
        let began = Instant::now();
        let passages = cut(&table);
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        assert!(passages[0].sentences[0].text.ends_with("x; b: y"), "{}", passages[0].sentences[0].text);
    }

    fn texts(passage: &Passage) -> Vec<&str> {
        passage.sentences.iter().map(|sentence| sentence.text.as_str()).collect()
    }

    #[test]
    fn a_passage_is_what_stands_under_a_heading() {
        let page = "# Baggage\n\nOne bag. It may weigh\n8 kg, e.g. a **handbag**.\n\n## [Extra](/x) bags\n\n- one: [35 EUR](/y)\n- two\n";
        let passages = cut(page);
        assert_eq!(passages.len(), 2);
        assert_eq!(passages[0].heading, "Baggage");
        assert_eq!(texts(&passages[0]), ["One bag.", "It may weigh 8 kg, e.g. a handbag."]);
        assert_eq!(passages[1].heading, "Extra bags");
        assert_eq!(texts(&passages[1]), ["one: 35 EUR", "two"]);
    }

    #[test]
    fn rows_say_what_their_cells_are() {
        let passages = cut("| Route | Price |\n| --- | --- |\n| MAD | 74 EUR |\n| LIS | 80 EUR |\n");
        assert_eq!(texts(&passages[0]), ["Route: MAD; Price: 74 EUR", "Route: LIS; Price: 80 EUR"]);
    }

    #[test]
    fn a_table_of_one_row_heads_what_follows() {
        let passages = cut("| | |\n|---|---|\n| timeout | Type: time |\n\nHow long to wait.\n");
        assert_eq!(passages[0].heading, "timeout");
        assert_eq!(texts(&passages[0]), ["Type: time", "How long to wait."]);
    }

    #[test]
    fn code_is_kept_apart_and_no_heading() {
        let passages = cut("Run:\n```sh\n# borg create\n```\nDone.");
        assert_eq!(passages.len(), 1);
        assert_eq!(passages[0].sentences[1], Sentence { text: "# borg create".into(), kind: Kind::Code });
    }

    #[test]
    fn long_sections_and_endless_sentences_are_cut() {
        let page = format!("# Long\n\n{}\n\n{}", "A sentence of some words. ".repeat(200), "word ".repeat(5_000));
        let passages = cut(&page);
        assert!(passages.len() > 5);
        for passage in &passages {
            assert_eq!(passage.heading, "Long");
            assert!(passage.sentences.iter().map(|s| s.text.len()).sum::<usize>() <= PASSAGE);
            assert!(passage.sentences.iter().all(|s| s.text.len() <= SENTENCE + 4));
        }
        assert_eq!(cut(&"# x\n\ny\n".repeat(5_000)).len(), PASSAGES);
    }

    #[test]
    fn lists_of_links_are_known_as_such() {
        let passages = cut(
            "# Index\n\n- [first chapter](/1)\n- [second chapter](/2)\n\n# Text\n\nRead [this](/1) and think about it for long.",
        );
        assert!(passages[0].linked > 90 && passages[1].linked < 20, "{passages:?}");
    }
}
