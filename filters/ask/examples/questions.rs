//! How well the pages in a folder answer sets of questions: `questions FOLDER SET.tsv...`.
//!
//! A set has a question, a tab and what has to stand in the answer, a line each; a line without a tab is a question that
//! the pages do not answer. Right means: the answer holds the words, case, blanks, backticks and asterisks aside, and is at
//! most 9,000 characters long. The environment variables: TOKENS, how many tokens are quoted (1,500); SUFFIX, what the names of
//! pages end in (.html); QUIET, to print only the questions that are not answered right. Nothing is served;
//! `benches/ask` asks a running Frontdesk.

use std::{fs, path::Path, sync::Arc, time::Instant};

use frontdesk_ask::{ANSWER_TOKENS, Answer, Library, Question, SiteFacts};
use frontdesk_page::content::{self, Page};
use url::Url;

const LONGEST: usize = 9_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, sets @ ..] = arguments.as_slice() else {
        eprintln!(
            "questions FOLDER SET.tsv...   (SUFFIX of the pages in the environment variable SUFFIX, .html by default)"
        );
        return;
    };
    let suffix = std::env::var("SUFFIX").unwrap_or_else(|_| ".html".into());
    let quiet = std::env::var_os("QUIET").is_some();
    let begun = Instant::now();
    let mut pages = Vec::new();
    read(Path::new(folder), Path::new(folder), &suffix, &mut pages);
    let (read, begun) = (begun.elapsed(), Instant::now());
    let library = Library::build(&SiteFacts::default(), &pages);
    println!(
        "{} pages, {} passages, read in {read:.1?}, indexed in {:.1?}, {} KB",
        library.pages(),
        library.passages(),
        begun.elapsed(),
        library.bytes() >> 10
    );
    for set in sets {
        score(&library, set, quiet);
    }
}

fn score(library: &Library, set: &str, quiet: bool) {
    let answer_tokens = std::env::var("TOKENS").map_or(ANSWER_TOKENS, |count| count.parse().expect("a number"));
    let text = fs::read_to_string(set).expect("a set of questions");
    let (mut right, mut first, mut shown, mut back, mut nothing, mut claimed, mut all) = (0, 0, 0, 0, 0, 0, 0);
    let (mut sure, mut sure_right, mut characters) = (0, 0, 0);
    let mut times = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (query, words) = line.split_once('\t').unwrap_or((line, ""));
        let begun = Instant::now();
        let answer =
            library.answer(&Question { query, answer_tokens, max_tokens: answer_tokens + 500, ..Question::default() });
        times.push(begun.elapsed());
        all += 1;
        let (kind, text, confidence) = match &answer {
            Answer::Found { text, confidence, .. } => ("found", text.as_str(), *confidence),
            Answer::Nothing { text, .. } => ("nothing", text.as_str(), 0.0),
            Answer::Unclear { question, .. } => ("asked back", question.as_str(), 0.0),
        };
        back += usize::from(kind == "asked back");
        nothing += usize::from(kind == "nothing");
        characters += text.chars().count();
        claimed += usize::from(kind == "found" && words.is_empty());
        let holds = |text: &str| !words.is_empty() && normal(text).contains(&normal(words));
        let ok = holds(text) && text.chars().count() <= LONGEST;
        // A remark may stand before the first page that is quoted; what is not claimed has none.
        let top = text.strip_prefix("## ").or(text.split_once("\n\n## ").map(|(_, rest)| rest)).unwrap_or_default();
        let top = top.split("\n\n## ").next().unwrap_or_default();
        right += usize::from(ok);
        shown += usize::from(holds(top));
        first += usize::from(kind == "found" && holds(top));
        if confidence > 0.8 {
            sure += 1;
            sure_right += usize::from(ok);
        }
        let fine = if words.is_empty() { kind != "found" } else { ok };
        if !quiet || !fine {
            let mark = if !fine {
                "NO  "
            } else if holds(top) {
                "1st "
            } else {
                "ok  "
            };
            println!(
                "{mark} {confidence:.2} {query} [{words}] {kind}, {} characters: {:?}",
                text.chars().count(),
                text.chars().take(if quiet { 160 } else { 400 }).collect::<String>()
            );
        }
    }
    times.sort_unstable();
    println!(
        "{set}: {right} of {all} right, {first} in the first passage ({shown} where what is not claimed counts too), {back} asked back, {nothing} not answered, {claimed} claimed; \
         above 0.8: {sure_right} of {sure} right; {} characters an answer; median {:.1?}",
        characters / all.max(1),
        times.get(times.len() / 2).copied().unwrap_or_default()
    );
}

fn normal(text: &str) -> String {
    let text = text.replace(['\u{2019}', '\u{2018}'], "'").to_lowercase();
    let text: String = text.chars().map(|c| if matches!(c, '`' | '*' | '_' | '\\') { ' ' } else { c }).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn read(root: &Path, folder: &Path, suffix: &str, pages: &mut Vec<Arc<Page>>) {
    let mut entries: Vec<_> =
        fs::read_dir(folder).expect("a folder").filter_map(|entry| Some(entry.ok()?.path())).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() && !path.is_symlink() {
            read(root, &path, suffix, pages);
        } else if path.to_string_lossy().ends_with(suffix) && path.is_file() && !path.is_symlink() {
            let name = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
            let at = Url::parse("https://site.test/").and_then(|base| base.join(&name)).expect("a URL");
            let html = fs::read(&path).expect("a page");
            pages.extend(content::read(&String::from_utf8_lossy(&html), &at).map(Arc::new));
        }
    }
}
