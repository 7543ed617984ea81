//! Converts pages to Markdown as Frontdesk does, without a server: `markdown FILE.html` prints the Markdown of one page,
//! `markdown DIR OUT` writes OUT/NAME.md for each DIR/NAME.html and prints how long a page takes.

use std::{
    env, fs,
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use frontdesk_page::content;
use url::Url;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let done = match arguments.as_slice() {
        [file] => one(Path::new(file)),
        [pages, out] => all(Path::new(pages), Path::new(out)),
        _ => Err("usage: markdown FILE.html | markdown DIR OUT".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn one(file: &Path) -> Result<(), String> {
    let (page, _) = convert(file)?;
    print!("{}", page.ok_or("no Markdown: the page is empty or too large")?);
    Ok(())
}

fn all(pages: &Path, out: &Path) -> Result<(), String> {
    fs::create_dir_all(out).map_err(|error| format!("{}: {error}", out.display()))?;
    let entries = fs::read_dir(pages).map_err(|error| format!("{}: {error}", pages.display()))?;
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    let mut times = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "html")) {
        let (page, took) = convert(file)?;
        times.push(took);
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let target = out.join(format!("{name}.md"));
        fs::write(&target, page.unwrap_or_default()).map_err(|error| format!("{}: {error}", target.display()))?;
    }
    times.sort();
    let sum: Duration = times.iter().sum();
    let count = u32::try_from(times.len()).unwrap_or(u32::MAX).max(1);
    let slowest = times.last().copied().unwrap_or_default();
    eprintln!("{} pages, {:?} a page, {slowest:?} the slowest", times.len(), sum / count);
    Ok(())
}

/// The Markdown of a file's page, and how long making it took.
fn convert(file: &Path) -> Result<(Option<String>, Duration), String> {
    let bytes = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let at = Url::parse("https://page.example/").and_then(|site| site.join(&name));
    let at = at.map_err(|error| format!("{name}: {error}"))?;
    let began = Instant::now();
    let text = content::text(&bytes, "text/html").ok_or_else(|| format!("{name}: unknown encoding"))?;
    let page = content::read(&text, &at);
    Ok((page.map(|page| page.markdown), began.elapsed()))
}
