//! `frontdesk import`: turns a description of the site's interface into a first configuration.

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
    time::{Duration, Instant},
};

use frontdesk_tools::{
    formats::{FORMATS, Format},
    graphql,
    import::{Asked, Imported},
};
use http::StatusCode;

use super::{Import, import_site, new_file::write};
use crate::outbound::Outbound;

/// The largest accepted document in bytes.
const BOUND: usize = 96 << 20;
/// The time limit for fetching it.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time limit for trying one operation out.
const TRIAL: Duration = Duration::from_secs(5);
/// How long the import runs before it shows a progress bar.
const PATIENT: Duration = Duration::from_secs(1);
/// The width of the progress bar.
const BAR: usize = 40;

/// The names of the formats.
pub(super) fn formats() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name).chain(["site"]).collect()
}

pub(super) fn import(args: Import) -> ExitCode {
    if args.format != "openapi" && !(args.only.is_empty() && args.tag.is_empty()) {
        return refuse(&args.from, "--only and --tag choose operations of an OpenAPI document", 2);
    }
    if args.format == "site" {
        return import_site::import(&args);
    }
    let Some(format) = FORMATS.iter().find(|format| format.name == args.format) else { return ExitCode::from(2) };
    let asked = if args.format == "graphql" { introspecting(&args.from) } else { args.from.clone() };
    let document = match document(&asked) {
        Ok(document) => document,
        Err(why) => return refuse(&args.from, &why, 2),
    };
    let imported = match declare(format, &document, &args) {
        Ok(imported) => imported,
        Err(code) => return code,
    };
    let written = match &args.out {
        Some(file) => {
            write(file, imported.text.as_bytes(), args.force).map_err(|why| (file.display().to_string(), why))
        }
        None => {
            let mut out = io::stdout().lock();
            let written = out.write_all(imported.text.as_bytes()).and_then(|()| out.flush());
            match written {
                // The reader has closed the pipe: this is no failure.
                Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
                    Err(("standard output".to_owned(), format!("cannot be written: {e}")))
                }
                _ => Ok(()),
            }
        }
    };
    match written {
        Ok(()) => {
            tell(&args, &imported);
            imported.probe.as_deref().into_iter().for_each(try_out);
            ExitCode::SUCCESS
        }
        // An existing file is exit code 1: the caller may choose `--force`. A file that cannot be written is 2.
        Err((file, why)) => refuse(&file, &why, if args.out.as_ref().is_some_and(|out| out.exists()) { 1 } else { 2 }),
    }
}

fn refuse(what: &str, why: &str, code: u8) -> ExitCode {
    for line in why.lines() {
        eprintln!("{what}: {line}");
    }
    ExitCode::from(code)
}

fn declare(format: &Format, document: &[u8], args: &Import) -> Result<Imported, ExitCode> {
    let (only, tags) = (args.only.clone(), args.tag.clone());
    let asked = Asked { from: &args.from, deprecated: args.deprecated, only, tags };
    let mut bar = Bar::new();
    let imported = (format.import)(document, &asked, &mut |done, all| bar.show(done, all));
    bar.clear();
    imported.map_err(|unusable| refuse(&args.from, &unusable.to_string(), unusable.exit_code()))
}

/// The URL that asks a GraphQL server for its schema; a file stays as it is.
fn introspecting(from: &str) -> String {
    match url::Url::parse(from) {
        Ok(mut url) if matches!(url.scheme(), "http" | "https") => {
            url.query_pairs_mut().append_pair("query", graphql::INTROSPECTION);
            url.into()
        }
        _ => from.to_owned(),
    }
}

/// Reads a file, or fetches a URL.
fn document(from: &str) -> Result<Vec<u8>, String> {
    if from.starts_with("http://") || from.starts_with("https://") {
        return fetch(from);
    }
    let bound = BOUND as u64;
    let read = std::fs::metadata(from)
        .and_then(|there| if there.len() > bound { Ok(None) } else { std::fs::read(from).map(Some) });
    match read {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(format!("has more than {} MB", BOUND >> 20)),
        Err(e) => Err(format!("cannot be read: {e}")),
    }
}

fn fetch(url: &str) -> Result<Vec<u8>, String> {
    let fetched = asked(async { Outbound::new().document(url, BOUND, PATIENCE).await });
    fetched.map(Vec::from).map_err(|why| format!("cannot be fetched: {why}"))
}

/// Asks the site for one of the imported reads: many documents do not say that the API is below another path.
fn try_out(url: &str) {
    let answer = asked(async { Outbound::new().whole(url, "*/*", 1 << 10, TRIAL).await });
    if answer.is_ok_and(|answer| answer.status == StatusCode::NOT_FOUND) {
        eprintln!(
            "warning: GET {url} is 404: the API may be below another path, which the document does not name in `servers`. \
             Then every upstream.path needs it"
        );
    }
}

/// Runs one exchange with the site.
fn asked<T>(exchange: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|e| e.to_string())?.block_on(exchange)
}

fn tell(args: &Import, imported: &Imported) {
    let count = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    let mut told = count(imported.capabilities, "capability", "capabilities");
    if imported.left_out > 0 {
        told += &format!(", {} left out", count(imported.left_out, "operation", "operations"));
    }
    eprintln!("{told}, {} to review: look for \"review:\"", count(imported.reviews, "guess", "guesses"));
    if let Some(file) = &args.out {
        eprintln!("then run: frontdesk check {}", file.display());
    }
}

/// The progress bar, for a user at a terminal.
struct Bar {
    begun: Instant,
    shown: usize,
}

impl Bar {
    fn new() -> Self {
        Self { begun: Instant::now(), shown: 0 }
    }

    fn show(&mut self, done: usize, all: usize) {
        let full = done * BAR / all.max(1);
        if full == self.shown || self.begun.elapsed() < PATIENT || !io::stderr().is_terminal() {
            return;
        }
        self.shown = full;
        eprint!("\r[{}{}] {done} of {all}", "#".repeat(full), " ".repeat(BAR.saturating_sub(full)));
    }

    fn clear(&self) {
        if self.shown > 0 {
            eprint!("\r{}\r", " ".repeat(BAR * 2));
        }
    }
}
