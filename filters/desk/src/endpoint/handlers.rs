//! Recognises other addresses at which a site may reach the handler of an endpoint.
//!
//! `/index.php/api/holds`, `/api/holds.json`, `/api.php/holds` and `/api/holds/index.php` differ from `/api/holds`, but on
//! many sites they run the same program. Where an endpoint wraps the site's own path and requires a credential, they would bypass
//! it.

#[cfg(test)]
mod tests;

use super::{place, tree::Node};
use frontdesk_base::text::without_accents;

/// Extensions of files that a web server executes. The rest of the path is passed to the program, and some servers
/// find the file without its extension.
const PROGRAMS: [&str; 40] = [
    "php", "php3", "php4", "php5", "php6", "php7", "php8", "phtml", "pht", "phar", "asp", "aspx", "ashx", "asmx",
    "axd", "svc", "mvc", "jsp", "jspx", "jsf", "faces", "do", "action", "cgi", "fcgi", "fpl", "pl", "py", "pyc",
    "wsgi", "psgi", "rb", "ru", "cfm", "cfc", "lua", "exe", "dll", "nsf", "tcl",
];
/// Directories of programs without extensions.
const PROGRAM_DIRECTORIES: [&str; 4] = ["cgi-bin", "fcgi-bin", "scgi-bin", "cgi"];
/// Files that a server uses for a directory.
const INDEXES: [&str; 2] = ["index", "default"];
/// The first program of many sites. Apache finds `index.php` for `/index/api/holds` (`MultiViews`).
const INDEX: &str = "index";
/// Names of programs that route all requests of a site, whatever their extension is. By GET, other names with an unknown
/// extension are pages: `/john.doe/holds`, `/example.org/holds`.
const FRONT_CONTROLLERS: [&str; 21] = [
    "index",
    "default",
    "app",
    "application",
    "main",
    "api",
    "server",
    "service",
    "dispatch",
    "dispatcher",
    "router",
    "public",
    "web",
    "start",
    "run",
    "handler",
    "gateway",
    "cgi",
    "wsgi",
    "rest",
    "rpc",
];
/// Extensions of static assets. Such a file beside an endpoint is read by GET.
const ASSETS: [&str; 26] = [
    "css",
    "js",
    "mjs",
    "map",
    "png",
    "jpg",
    "jpeg",
    "gif",
    "svg",
    "webp",
    "avif",
    "ico",
    "bmp",
    "woff",
    "woff2",
    "ttf",
    "otf",
    "eot",
    "mp3",
    "mp4",
    "webm",
    "ogg",
    "pdf",
    "zip",
    "wasm",
    "webmanifest",
];
/// Maximum extensions that are stripped from the end of a name, and from its first dot on, beyond those in the
/// declaration. A name may have any number.
const MOST_ENDINGS: usize = 3;

/// How a request at another address reaches a handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// As another representation, or as a directory's index. There the site chooses the handler by method, as for its
    /// own pages.
    Form,
    /// As a program, which may do the same for every method.
    Program,
}

/// The guarded endpoints, by their paths without a program's extension.
#[derive(Debug, Clone, Default)]
pub(super) struct Handlers {
    tree: Node,
    /// The directories whose index is declared.
    directories: Node,
    /// There is at least one.
    any: bool,
    /// Some can be at a path without any special segment.
    anywhere: bool,
    /// Those declared with a program's extension.
    programs: Vec<usize>,
    /// Those whose paths consist of placeholders only, which match every path of the same length.
    unnamed: Vec<usize>,
    /// The maximum number of dots in a last segment.
    dots: usize,
    /// The maximum number of segments.
    deepest: usize,
}

impl Handlers {
    /// Adds an endpoint with these folded segments.
    pub(super) fn add(&mut self, declared: &[String], index: usize) {
        self.any = true;
        self.deepest = self.deepest.max(declared.len());
        let mut bare = declared.to_vec();
        if let Some(last) = bare.last_mut() {
            if let Some(name) = program(last).map(str::to_owned) {
                *last = name;
                self.programs.push(index);
                self.anywhere = true;
            }
            self.dots = self.dots.max(last.matches('.').count());
        }
        let has_name = |segments: &[String]| segments.iter().any(|segment| place(segment).is_none());
        if !has_name(declared) {
            self.unnamed.push(index);
        }
        if let Some((last, above)) = bare.split_last()
            && INDEXES.contains(&last.split('.').next().unwrap_or_default())
        {
            self.directories.grow(above).here.get_or_insert(index);
            self.anywhere = true;
        }
        // `/index.php/api/holds` is `/api/holds` where the server rewrites.
        let inner = bare.len().saturating_sub(1);
        if let Some(at) = (0..inner).find(|at| program(&bare[*at]).is_some()) {
            let routed = [&bare[..at], &bare[at + 1..]].concat();
            if has_name(&routed) {
                self.tree.grow(&routed).here.get_or_insert(index);
                self.anywhere = true;
            }
        }
        self.tree.grow(&bare).here.get_or_insert(index);
    }

    /// Whether a canonical path that equals its folded form is certainly none of them. Fast, without allocation.
    pub(super) fn cannot_be_at(&self, path: &str) -> bool {
        let names_index = || path.split('/').any(|segment| INDEXES.contains(&segment));
        !self.anywhere && !path.contains('.') && !path.contains("/(") && !path.contains("cgi") && !names_index()
    }

    pub(super) fn is_empty(&self) -> bool {
        !self.any
    }

    /// The endpoint whose handler may be at a path with these folded segments. `reads`: the method is GET or HEAD.
    pub(super) fn find<'p>(&self, segments: impl Iterator<Item = &'p str>, reads: bool) -> Option<(usize, Reach)> {
        let plain: Vec<_> = segments.map(without_accents).collect();
        let mut segments: Vec<&str> = plain.iter().map(AsRef::as_ref).collect();
        if reads && segments.last().and_then(|last| ending(last)).is_some_and(|(_, ending)| ASSETS.contains(&ending)) {
            return None;
        }
        segments.retain(|segment| !is_session(segment));
        let as_directory = || self.directories.find(segments.iter().copied()).map(|index| (index, Reach::Form));
        self.bare(&segments).or_else(as_directory).or_else(|| self.by_program(&segments, reads))
    }

    /// The same, where a segment of the path is a program.
    fn by_program(&self, segments: &[&str], reads: bool) -> Option<(usize, Reach)> {
        let from_program = |at: usize| {
            let (before, behind) = (&segments[..at], &segments[at + 1..]);
            let name = segments[at];
            let in_directory = before.last().is_some_and(|directory| PROGRAM_DIRECTORIES.contains(directory));
            let is_program = in_directory || name == INDEX || program(name).is_some();
            if behind.is_empty() || !is_program && !may_be_program(name) {
                return None;
            }
            // One more for an index. Longer paths are not examined: a path may have thousands of segments.
            let may_fit = |segments: usize| segments <= self.deepest + 1;
            // What follows the endpoint's own program. Without a known program extension the segment may be a
            // placeholder's value, and the path is below the endpoint.
            let own = || {
                let own = segments.get(..=at).filter(|own| may_fit(own.len()))?;
                let is_place = !is_program && self.tree.find(own.iter().copied()).is_some();
                // Every path is below the root.
                if is_place || before.is_empty() && self.is_index_of_root(name) { None } else { self.bare(own) }
            };
            let routed = || {
                let found = if may_fit(behind.len()) { self.bare(behind) } else { None };
                let found = found.filter(|(index, _)| is_program || !self.unnamed.contains(index));
                let together = is_program && may_fit(before.len() + behind.len());
                found.or_else(|| if together { self.bare(&[before, behind].concat()) } else { None })
            };
            // `/records.php/7` is `/records/7` where the server finds a program without its extension.
            let extended = || {
                let stem = program(name).filter(|_| may_fit(segments.len()))?;
                let found = self.bare(&[before, &[stem], behind].concat());
                found.filter(|(index, _)| !self.unnamed.contains(index))
            };
            let other = || if is_program || may_route(name, reads) { routed().or_else(extended) } else { None };
            let (index, reach) = own().or_else(other)?;
            Some((index, if is_program { Reach::Program } else { reach }))
        };
        (0..segments.len()).find_map(from_program)
    }

    /// Whether a name is that of the root's index, and not that of an endpoint.
    fn is_index_of_root(&self, name: &str) -> bool {
        let stem = name.split('.').next().unwrap_or_default();
        INDEXES.contains(&stem) && self.tree.find([stem].into_iter()).is_none()
    }

    /// The same with any extension of the last segment, and whether that names a directory's index.
    fn bare(&self, segments: &[&str]) -> Option<(usize, Reach)> {
        let Some((last, above)) = segments.split_last() else {
            return self.tree.find(std::iter::empty()).map(|index| (index, Reach::Form));
        };
        for name in stems(last, self.dots) {
            let of_directory = INDEXES.contains(&name).then(|| self.tree.find(above.iter().copied())).flatten();
            let found = of_directory.or_else(|| self.tree.find(above.iter().copied().chain([name])));
            if let Some(index) = found {
                let taken = last[name.len()..].split('.');
                let runs = taken.clone().any(|ending| PROGRAMS.contains(&ending));
                let is_itself = name.len() == last.len() && self.programs.contains(&index);
                return Some((index, if runs || is_itself { Reach::Program } else { Reach::Form }));
            }
        }
        None
    }
}

/// A name with its extensions stripped one by one. Declared names have this many dots.
fn stems(name: &str, dots: usize) -> impl Iterator<Item = &str> {
    let before = |(at, _): (usize, &str)| name.get(..at);
    let from_end = name.rmatch_indices('.').take(MOST_ENDINGS).filter_map(before);
    let from_front = name.match_indices('.').take(dots + MOST_ENDINGS).filter_map(before);
    std::iter::once(name).chain(from_end).chain(from_front).filter(|stem| !stem.is_empty())
}

/// A file's name and its extension.
fn ending(segment: &str) -> Option<(&str, &str)> {
    segment.rsplit_once('.').filter(|(name, ending)| !name.is_empty() && !ending.is_empty())
}

/// The name of a program without its extension.
fn program(segment: &str) -> Option<&str> {
    ending(segment).filter(|(_, ending)| PROGRAMS.contains(ending)).map(|(name, _)| name)
}

/// Whether a segment may be a program with an unknown extension: not a version number.
fn may_be_program(segment: &str) -> bool {
    ending(segment).is_some_and(|(_, ending)| ending.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Whether a segment that may be a program may also route to another handler: a static file does not. `reads`: only if its
/// name is one that such programs have.
fn may_route(segment: &str, reads: bool) -> bool {
    ending(segment)
        .is_some_and(|(name, ending)| !ASSETS.contains(&ending) && (!reads || FRONT_CONTROLLERS.contains(&name)))
}

/// Whether a segment is an ASP.NET cookieless session, which the server removes from the path: `(S(...))`.
fn is_session(segment: &str) -> bool {
    let inner = segment.strip_prefix('(').and_then(|rest| rest.strip_suffix("))"));
    inner.is_some_and(|inner| inner.starts_with(|c: char| c.is_ascii_alphabetic()) && inner[1..].starts_with('('))
}
