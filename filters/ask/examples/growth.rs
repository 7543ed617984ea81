//! How a library grows: `growth FOLDER SET.tsv [PAGES]` makes so many pages (20,000) of the real ones in a folder, and prints
//! what they take and how long questions take on one thread.
//!
//! A copy differs from the page that it was made of: in every paragraph some words get an ending of their own, so that the
//! vocabulary grows with the pages as it does on real sites.

use std::{fmt::Write as _, fs, path::Path, sync::Arc, time::Instant};

use frontdesk_ask::{Library, Question, SiteFacts};
use frontdesk_page::content::{self, Page};
use url::Url;

/// One word in so many gets an ending; of those, one in so many the ending of its copy alone.
const CHANGED: u64 = 12;
const OWN: u64 = 8;
/// Bytes of a copy's Markdown: about ten passages.
const LONGEST: usize = 7_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, set, rest @ ..] = arguments.as_slice() else {
        eprintln!("growth FOLDER SET.tsv [PAGES]");
        return;
    };
    let wanted: usize = rest.first().and_then(|count| count.parse().ok()).unwrap_or(20_000);
    let mut real = Vec::new();
    read(Path::new(folder), Path::new(folder), &mut real);
    let mut pages: Vec<Arc<Page>> = (0..wanted).map(|n| Arc::new(copy(&real[n % real.len()], n))).collect();
    let markdown: usize = pages.iter().map(|page| page.markdown.len()).sum();
    let facts = SiteFacts::default();
    let begun = Instant::now();
    let library = Library::build(&facts, &pages);
    let built = begun.elapsed();
    let passages = library.passages();
    println!(
        "{} pages, {passages} passages, {} MB of Markdown; built in {built:.1?}; index {} MB, {:.1} KB a page beside its text",
        library.pages(),
        markdown >> 20,
        library.bytes() >> 20,
        library.bytes() as f64 / 1024.0 / wanted as f64
    );
    let begun = Instant::now();
    let saved = library.saved().expect("bytes");
    println!("saved as {} MB in {:.1?}", saved.len() >> 20, begun.elapsed());
    let begun = Instant::now();
    let restored = Library::restored(&facts, &pages, &saved).expect("a library");
    println!("restored in {:.1?}", begun.elapsed());
    drop(restored);
    let at = wanted / 2;
    pages[at] = Arc::new(copy(&real[0], wanted + 1));
    let begun = Instant::now();
    let library = library.renewed(&facts, &pages);
    println!("renewed with one changed page in {:.1?}", begun.elapsed());
    let text = fs::read_to_string(set).expect("a set of questions");
    let queries: Vec<&str> = text.lines().filter_map(|line| line.split('\t').next()).collect();
    let mut times = Vec::new();
    for round in 0..6 {
        for query in &queries {
            let begun = Instant::now();
            library.answer(&Question { query, ..Question::default() });
            if round > 0 {
                times.push(begun.elapsed());
            }
        }
    }
    times.sort_unstable();
    let share = |percent: usize| times[(times.len() - 1) * percent / 100];
    println!("{} answers: p50 {:.1?}, p90 {:.1?}, p99 {:.1?}", times.len(), share(50), share(90), share(99));
}

fn copy(page: &Page, n: usize) -> Page {
    let mut markdown = String::with_capacity(LONGEST);
    let mut seed = n as u64 + 1;
    // Other copies of a page begin further in.
    let skip = (n / 7) % 5 * 40;
    for line in page.markdown.lines().skip(if page.markdown.lines().count() > skip + 40 { skip } else { 0 }) {
        for word in line.split_inclusive(' ') {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let bare = word.trim_end();
            let is_word = bare.len() > 3 && bare.bytes().all(|byte| byte.is_ascii_lowercase());
            match is_word && (seed >> 33).is_multiple_of(CHANGED) {
                true if (seed >> 40).is_multiple_of(OWN) => drop(write!(markdown, "{bare}q{n}")),
                true => drop(write!(markdown, "{bare}{}", ["ora", "ex", "ium", "ant"][(seed >> 50) as usize % 4])),
                false => markdown.push_str(bare),
            }
            markdown.push_str(&word[bare.len()..]);
        }
        markdown.push('\n');
        if markdown.len() > LONGEST {
            break;
        }
    }
    Page { path: format!("/{n}{}", page.path), title: format!("{} {n}", page.title), markdown, ..page.clone() }
}

fn read(root: &Path, folder: &Path, pages: &mut Vec<Page>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).expect("a folder").filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && !path.is_symlink() {
            read(root, &path, pages);
        } else if path.extension().is_some_and(|ending| ending == "html") && path.is_file() && !path.is_symlink() {
            let name = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
            let at = Url::parse("https://site.test/").and_then(|base| base.join(&name)).expect("a URL");
            let html = fs::read(&path).expect("a page");
            pages.extend(content::read(&String::from_utf8_lossy(&html), &at));
        }
    }
}
