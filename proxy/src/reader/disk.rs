//! The pages and the index in the directory `content.index`, so that a restart answers at once.
//!
//! Three files, each written beside its place and then renamed: `pages` (what the crawler knows), `index` (the library),
//! and `crawl.json` (of which site they are, and when the last crawl was completed). The index knows a page by what it
//! says, so a crash between two of them costs no more than reading a few pages again.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant, UNIX_EPOCH},
};

use bytes::Bytes;
use frontdesk_filters::{
    concierge::{Coverage, Library},
    content::{
        Page,
        crawl::{Books, Rules, shared},
    },
    desk::site_facts,
    discovery::Contents,
};
use serde_json::{Value, json};

use super::{Published, Reader, Site, now, rest};
use crate::running::Running;

/// The form of the files. Others are not read.
const FORM: u64 = 1;
/// How often the files are written during a crawl.
pub(super) const SAVED: Duration = Duration::from_secs(30);
/// The most pieces of pages.
const PIECES: usize = 100_000;

/// What the files were written from last.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Saved {
    dir: PathBuf,
    version: u64,
    library: u64,
}

/// What the files hold.
struct Restored {
    books: Books,
    /// When the crawl was completed, in seconds since 1970; 0 if it was not.
    at: u64,
    index: Option<Vec<u8>>,
}

impl Reader {
    /// Publishes the pages that an earlier process left in the directory, if it has one of this site's.
    pub(super) async fn restore(&self, running: &Arc<Running>, site: &Site) -> Result<(), String> {
        let settings = &running.snapshot.settings;
        let Some(dir) = settings.content.index.clone() else { return Ok(()) };
        let (rules, facts, asked) = (site.rules.clone(), site_facts(settings), site.library);
        let shown = dir.display().to_string();
        let (vectors, configured) = (self.vectors.clone(), running.clone());
        let read = tokio::task::spawn_blocking(move || {
            let Some(Restored { books, at, index }) = read(&dir, &rules)? else { return Ok(None) };
            let pages: Vec<Arc<Page>> = books.pages();
            let restored = index.filter(|_| asked).and_then(|index| Library::restored(&facts, &pages, &index));
            let library = match (restored, asked) {
                (Some(library), _) => library,
                (None, true) => Library::build(&facts, &pages),
                (None, false) => Library::empty(),
            };
            let coverage = if at > 0 { Coverage::Whole } else { Coverage::Partial };
            let library = vectors.given_to(library.covering(coverage), &configured);
            Ok(Some((library, Contents::new(books.dated(), books.site_map().map(str::to_owned)), books, at, coverage)))
        });
        let read: io::Result<Option<_>> = read.await.map_err(|e| e.to_string())?;
        let (library, contents, books, at, coverage) = match read {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(()),
            Err(why) => {
                tracing::warn!(dir = shown, %why, "the index on disk cannot be read; the site is read anew");
                return Ok(());
            }
        };
        let count = books.len();
        self.metrics.crawl_pages(count, library.bytes());
        self.publish(running, library, Some(contents)).await?;
        self.count_without_vector();
        tracing::info!(dir = shown, pages = count, "the pages of the site come from the index on disk");
        let content = &settings.content;
        let pause = rest(content.refresh, content.refresh_is_chosen, &books, Duration::ZERO);
        let since = Duration::from_secs(now().saturating_sub(at));
        if at > 0 {
            self.metrics.crawl_completed(UNIX_EPOCH + Duration::from_secs(at));
            self.live.note_reading(|reading| (reading.has_ended, reading.pages) = (true, count));
        }
        let mut known = self.known.lock();
        known.published = Some(Published { version: books.version(), hash: running.snapshot.hash.clone(), coverage });
        known.due = Instant::now() + if at > 0 { pause.saturating_sub(since) } else { Duration::ZERO };
        known.books = books;
        Ok(())
    }

    /// Writes the pages and the library in use to the directory, as far as they have changed. `at`: when the crawl was
    /// completed; 0 if it is under way.
    pub(super) async fn save(&self, site: &Site, books: &Books, at: u64) {
        let Some(dir) = self.live.current().snapshot.settings.content.index.clone() else { return };
        let library = self.live.library();
        let before = self.saved.lock().clone();
        let saved = Saved { dir: dir.clone(), version: books.version(), library: library.number() };
        let (rules, books, same) = (site.rules.clone(), books.clone(), before == saved);
        let shown = dir.display().to_string();
        let written = tokio::task::spawn_blocking(move || {
            fs::create_dir_all(&dir)?;
            if !same {
                // A newer library may have gone on with this index: then that one is saved after its own crawl.
                if let Some(index) = library.saved() {
                    replace(&dir, "index", &[&index])?;
                }
                let pieces = shared::pieces(&books, usize::MAX);
                let sizes: Vec<usize> = pieces.iter().map(Bytes::len).collect();
                let head = format!("{}\n", json!({ "form": FORM, "site": rules.site(), "sizes": sizes }));
                let parts: Vec<&[u8]> =
                    [head.as_bytes()].into_iter().chain(pieces.iter().map(|piece| &piece[..])).collect();
                replace(&dir, "pages", &parts)?;
            }
            let crawl = json!({ "form": FORM, "site": rules.site(), "rules": rules.name(), "at": at }).to_string();
            replace(&dir, "crawl.json", &[crawl.as_bytes()])
        });
        match written.await.map_err(io::Error::other).flatten() {
            Ok(()) => *self.saved.lock() = saved,
            Err(why) => {
                tracing::warn!(dir = shown, %why, "the index on disk cannot be written; a restart reads the site anew");
            }
        }
    }
}

/// Puts a whole file in the place of the one before.
pub(super) fn replace(dir: &Path, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    use io::Write;
    let beside = dir.join(format!("{name}.new"));
    let mut file = fs::File::create(&beside)?;
    for part in parts {
        file.write_all(part)?;
    }
    file.sync_all()?;
    fs::rename(&beside, dir.join(name))
}

/// Reads what an earlier process wrote; `None` where there is nothing of this site's.
fn read(dir: &Path, rules: &Rules) -> io::Result<Option<Restored>> {
    let Some(pages) = file(&dir.join("pages"))? else { return Ok(None) };
    let Some(books) = books(&pages, rules) else { return Ok(None) };
    let crawl = file(&dir.join("crawl.json"))?.and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    let is_ours = |crawl: &Value| crawl["site"] == rules.site().as_str() && crawl["rules"] == rules.name().as_str();
    let at = crawl.filter(is_ours).and_then(|crawl| crawl["at"].as_u64()).unwrap_or_default();
    // A clock that was set back must not put the next crawl off.
    let at = if at > now() { 0 } else { at };
    Ok(Some(Restored { books, at, index: file(&dir.join("index"))? }))
}

pub(super) fn file(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(why),
    }
}

fn books(bytes: &[u8], rules: &Rules) -> Option<Books> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let head: Value = serde_json::from_slice(&bytes[..end]).ok()?;
    if head["form"] != FORM || head["site"] != rules.site().as_str() {
        return None;
    }
    let (mut rest, mut pieces) = (&bytes[end + 1..], Vec::new());
    for size in head["sizes"].as_array()?.iter().take(PIECES) {
        let (piece, after) = rest.split_at_checked(usize::try_from(size.as_u64()?).ok()?)?;
        pieces.push(Bytes::copy_from_slice(piece));
        rest = after;
    }
    shared::books(&pieces, rules).filter(|books| !books.is_empty())
}
