//! Other addresses at which a site may have the handler of an endpoint.
//!
//! `/index.php/api/holds`, `/api/holds.json` and `/api/holds/index.php` are other paths than `/api/holds`, and on many
//! sites the same program. Where an endpoint needs a credential and stands for the site's own address, they would be a
//! way around it.

use http::Method;

use super::tree::Node;
use crate::text::without_accents;

/// Endings of files that a web server runs: what follows in the path is handed to the program, and some servers find it
/// without its ending.
const PROGRAMS: [&str; 24] = [
    "php", "php3", "php4", "php5", "php7", "php8", "phtml", "phar", "asp", "aspx", "ashx", "asmx", "axd", "jsp",
    "jspx", "do", "action", "cgi", "fcgi", "pl", "py", "rb", "cfm", "lua",
];
/// Files that a directory stands for.
const INDEXES: [&str; 2] = ["index", "default"];
/// Endings of what a page is made of. A file with one that lies beside an endpoint is read, by GET.
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
/// The longest ending of a file's name, and the most of them that are taken away.
const LONGEST_ENDING: usize = 8;
const MOST_ENDINGS: usize = 3;

/// The endpoints that are looked for at other addresses, by their paths without the ending of a program.
#[derive(Debug, Clone, Default)]
pub(super) struct Handlers {
    tree: Node,
    /// Some are declared with the ending of a program.
    programs: bool,
}

impl Handlers {
    /// Adds an endpoint with these segments, folded.
    pub(super) fn add(&mut self, declared: &[String], index: usize) {
        let mut bare = declared.to_vec();
        if let Some(last) = bare.last_mut()
            && let Some(name) = program(last).map(str::to_owned)
        {
            *last = name;
            self.programs = true;
        }
        self.tree.grow(&bare).here.get_or_insert(index);
    }

    /// Whether a canonical path that folds to itself is surely none of them. One look, no allocation.
    pub(super) fn cannot_be_at(&self, path: &str) -> bool {
        let names_index = || path.rsplit('/').next().is_some_and(|last| INDEXES.contains(&last));
        !self.programs && !path.contains('.') && !names_index()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tree.is_empty()
    }

    /// The endpoint whose handler may be at a path with these segments, folded.
    pub(super) fn find<'p>(&self, segments: impl Iterator<Item = &'p str>, method: &Method) -> Option<usize> {
        let plain: Vec<_> = segments.map(without_accents).collect();
        let segments: Vec<&str> = plain.iter().map(AsRef::as_ref).collect();
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        if is_read && segments.last().and_then(|last| ending(last)).is_some_and(|(_, ending)| ASSETS.contains(&ending))
        {
            return None;
        }
        let by_program = || {
            let mut programs = (0..segments.len()).filter(|at| program(segments[*at]).is_some());
            programs.find_map(|at| {
                let (before, behind) = (&segments[..at], &segments[at + 1..]);
                let routed = || self.bare(behind).or_else(|| self.bare(&[before, behind].concat()));
                // What is behind the program of the endpoint itself.
                self.bare(&segments[..=at]).or_else(|| if behind.is_empty() { None } else { routed() })
            })
        };
        self.bare(&segments).or_else(by_program)
    }

    /// The same, whatever ending the last segment has, and whether it names the file that a directory stands for.
    fn bare(&self, segments: &[&str]) -> Option<usize> {
        let (last, above) = segments.split_last()?;
        let mut name = *last;
        for _ in 0..=MOST_ENDINGS {
            let of_directory = INDEXES.contains(&name).then(|| self.tree.find(above.iter().copied())).flatten();
            let found = of_directory.or_else(|| self.tree.find(above.iter().copied().chain([name])));
            if found.is_some() {
                return found;
            }
            name = ending(name)?.0;
        }
        None
    }
}

/// A file's name, and its ending.
fn ending(segment: &str) -> Option<(&str, &str)> {
    let (name, ending) = segment.rsplit_once('.')?;
    let is_ending = (1..=LONGEST_ENDING).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric());
    (is_ending && !name.is_empty()).then_some((name, ending))
}

/// The name of a program without its ending.
fn program(segment: &str) -> Option<&str> {
    ending(segment).filter(|(_, ending)| PROGRAMS.contains(ending)).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(declared: &str, path: &str, method: &Method) -> bool {
        let segments = |path: &str| path.split('/').skip(1).map(str::to_owned).collect::<Vec<_>>();
        let mut handlers = Handlers::default();
        handlers.add(&segments(declared), 0);
        if path.is_ascii() && handlers.cannot_be_at(path) {
            return false;
        }
        handlers.find(segments(path).iter().map(String::as_str), method).is_some()
    }

    #[test]
    fn a_handler_is_found_at_other_addresses() {
        for (declared, path) in [
            ("/api/holds", "/index.php/api/holds"),
            ("/api/holds", "/app_dev.php/api/holds"),
            ("/api/holds", "/api/index.php/holds"),
            ("/api/holds", "/shop/index.php/api/holds"),
            ("/api/holds", "/cgi-bin/app.cgi/api/holds.json"),
            ("/api/holds", "/api/holds.json"),
            ("/api/holds", "/api/holds.php"),
            ("/api/holds", "/api/holds.php/x"),
            ("/api/holds", "/api/holds.json.gz"),
            ("/api/holds", "/api/holds.anything"),
            ("/api/holds", "/api/holds/index.html"),
            ("/api/holds", "/api/holds/index"),
            ("/api/holds", "/api/holds/default.aspx"),
            ("/api/holds", "/āpi/hölds"),
            ("/api/holds.php", "/api/holds"),
            ("/api/holds.php", "/api/holds.html"),
            ("/api/holds.php", "/api/holds.php/x/y"),
            ("/records/{id}", "/index.php/records/7"),
            ("/records/{id}", "/records/7/index.php"),
        ] {
            assert!(is_found(declared, path, &Method::POST), "{declared} {path}");
            assert!(is_found(declared, path, &Method::GET), "{declared} {path}");
        }
        assert!(is_found("/api/holds", "/api/holds.png", &Method::POST), "Rails runs it before it asks for the format");
    }

    #[test]
    fn other_addresses_are_the_sites() {
        for (declared, path) in [
            ("/api/holds", "/api"),
            ("/api/holds", "/api/holds/7"),
            ("/api/holds", "/api/holds-2.json"),
            ("/api/holds", "/v2/api/holds"),
            ("/api/holds", "/api.json/holds"),
            ("/api/holds", "/index.html/api/holds"),
            ("/api/holds", "/index.php"),
            ("/api/holds", "/index.php/api/hold"),
            ("/api/holds", "/api/.holds"),
            ("/api/holds", "/api/holds.verylongending"),
            ("/api/holds.json", "/api/holds"),
            ("/search.html", "/search"),
            ("/cart", "/"),
        ] {
            assert!(!is_found(declared, path, &Method::POST), "{declared} {path}");
        }
        assert!(!is_found("/cart", "/cart.js", &Method::GET), "a part of a page");
        assert!(Handlers::default().find(["x.php"].into_iter(), &Method::GET).is_none());
    }
}
