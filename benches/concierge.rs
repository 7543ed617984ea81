//! Measures crawling a site and answering from it: time, memory, tokens. It prints figures and asserts none.
//!
//! The sites are generated: pages of about 15 KB with eight sections of prose, from a vocabulary of 20,000 words with a
//! natural frequency distribution, like the manuals of the questions in tests/.

use std::{fs, hint::black_box, sync::Arc, time::Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use frontdesk_ask::{Answer, Library, Question, SiteFacts};
use frontdesk_base::tokens;
use frontdesk_page::content::Page;

const WORDS: u64 = 20_000;

/// A small random number generator with a fixed sequence, for the same sites in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Small numbers are frequent and large ones rare, like words.
    fn word(&mut self) -> String {
        let share = (self.roll() % 1_000_000) as f64 / 1_000_000.0;
        let number = ((WORDS as f64).powf(share)) as u64;
        const SYLLABLES: [&str; 16] =
            ["ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "wo", "xu", "za"];
        (0..4).map(|at| SYLLABLES[(number >> (4 * at)) as usize % 16]).collect()
    }

    fn sentence(&mut self) -> String {
        let words: Vec<String> = (0..8 + self.roll() % 12).map(|_| self.word()).collect();
        let mut text = words.join(" ");
        text[..1].make_ascii_uppercase();
        text + ". "
    }
}

fn site(pages: usize) -> Vec<Arc<Page>> {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let page = |at: usize| {
        let mut markdown = format!("# {} {}\n\n", dice.word(), dice.word());
        for _ in 0..8 {
            markdown += &format!("## {} {} {}\n\n", dice.word(), dice.word(), dice.word());
            for _ in 0..3 {
                (0..8).for_each(|_| markdown += &dice.sentence());
                markdown += "\n\n";
            }
        }
        Arc::new(Page {
            path: format!("/page/{at}"),
            title: format!("{} {}", dice.word(), dice.word()),
            description: None,
            language: Some("en".into()),
            markdown,
            links: Vec::new(),
            canonical: None,
            noindex: false,
            nofollow: false,
            alternate_markdown: None,
            modified: None,
            anchors: Vec::new(),
        })
    };
    (0..pages).map(page).collect()
}

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or_default() * 4096
}

fn questions() -> Vec<String> {
    let mut dice = Dice(7);
    (0..50)
        .map(|_| format!("How do I {} the {} of a {} {}?", dice.word(), dice.word(), dice.word(), dice.word()))
        .collect()
}

fn cost(answer: &Answer) -> u32 {
    match answer {
        Answer::Found { text, sources, follow_ups, .. } => {
            let sources: u32 =
                sources.iter().map(|source| tokens::count(&source.title) + tokens::count(&source.url)).sum();
            tokens::count(text) + sources + follow_ups.iter().map(|text| tokens::count(text)).sum::<u32>()
        }
        Answer::Unclear { question, options } => {
            tokens::count(question) + options.iter().map(|text| tokens::count(text)).sum::<u32>()
        }
        Answer::Nothing { text, .. } => tokens::count(text),
    }
}

fn concierge(criterion: &mut Criterion) {
    tokens::count("warm");
    let facts = SiteFacts::default();
    let thousand = site(1_000);
    let (before, begun) = (resident(), Instant::now());
    let library = Library::build(&facts, &thousand);
    println!(
        "1,000 pages ({} MB of Markdown): indexed in {:.2} s; {} MB by its own account, {} MB more resident",
        thousand.iter().map(|page| page.markdown.len()).sum::<usize>() >> 20,
        begun.elapsed().as_secs_f64(),
        library.bytes() >> 20,
        resident().saturating_sub(before) >> 20,
    );
    let hundred = Library::build(&facts, &site(100));
    let questions = questions();
    for (library, pages) in [(&hundred, 100), (&library, 1_000)] {
        let mut times = Vec::new();
        let mut costs = Vec::new();
        let mut found = 0;
        for query in &questions {
            let begun = Instant::now();
            let answer = library.answer(&Question { query, max_tokens: 300, ..Question::default() });
            times.push(begun.elapsed());
            found += usize::from(matches!(answer, Answer::Found { .. }));
            costs.push(cost(&answer));
        }
        times.sort_unstable();
        println!(
            "{pages} pages: {} questions ({found} found), median {:?}, slowest {:?}, most tokens {}",
            times.len(),
            times[times.len() / 2],
            times[times.len() - 1],
            costs.iter().max().unwrap_or(&0),
        );
        let mut at = 0;
        criterion.bench_function(&format!("an answer from {pages} pages"), |bench| {
            bench.iter(|| {
                at = (at + 1) % questions.len();
                black_box(library.answer(&Question { query: &questions[at], max_tokens: 300, ..Question::default() }))
            });
        });
        // The worst case: as many words as are read, all of them frequent.
        let worst: String = library_words(4_000);
        criterion.bench_function(&format!("the longest question to {pages} pages"), |bench| {
            bench.iter(|| {
                black_box(library.answer(&Question { query: &worst, max_tokens: 300, ..Question::default() }))
            });
        });
    }
}

fn library_words(most: usize) -> String {
    let mut dice = Dice(99);
    let mut text = String::new();
    while text.len() < most {
        text += &dice.word();
        text.push(' ');
    }
    text
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = concierge
}
criterion_main!(benches);
