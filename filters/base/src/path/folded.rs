//! The path as the most lenient site would read it. Endpoints and hidden files are looked up by this form.
//!
//! The folded form only decides whom a path belongs to. To be answered, a path has to be spelled exactly.

use super::unfold::unfold;

/// The path of a request, folded.
#[derive(Debug, Clone)]
pub struct Folded(String);

/// The effect of `..` depends on the site. A path with more segments than this is refused and not worked out.
const MOST_WITH_CLIMBING: usize = 64;

impl Folded {
    /// Folds a path without its query.
    pub(super) fn of(path: &str) -> Self {
        Self(unfold(path))
    }

    /// The segments, up to the first character that some site takes for the end of the path.
    pub fn segments(&self) -> impl Iterator<Item = &str> + Clone {
        let end = self.0.find(['?', '#', '\0']).unwrap_or(self.0.len());
        segments(&self.0[..end])
    }

    /// Every string that some site could take for a segment.
    pub fn pieces(&self) -> impl Iterator<Item = &str> + Clone {
        segments(&self.0)
    }

    /// Whether a segment is `..`, in any spelling.
    pub fn climbs(&self) -> bool {
        self.0.contains("..") && self.pieces().any(|piece| piece == "..")
    }

    /// Whether it has `..` among too many segments, so that it is refused.
    pub(crate) fn is_tangled(&self) -> bool {
        self.climbs() && self.pieces().nth(MOST_WITH_CLIMBING).is_some()
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> + Clone {
    path.split(['/', '\\', '?', '#', '\0']).map(tidy).filter(|segment| !matches!(*segment, "" | "."))
}

/// A segment without the parts that some file systems and servers ignore: `;parameters`, NTFS streams, and trailing
/// blanks and dots.
fn tidy(segment: &str) -> &str {
    let segment = segment.split(';').next().unwrap_or_default();
    let segment = segment.split(":$").next().unwrap_or_default();
    let segment = segment.trim_matches(' ').trim_end_matches(':');
    if matches!(segment, "." | "..") { segment } else { segment.trim_end_matches(['.', ' ']) }
}

/// A declared segment in folded form.
pub fn folded_segment(segment: &str) -> String {
    tidy(&unfold(segment)).to_owned()
}

/// Whether a segment is the NTFS short name of a file: `aiigno~1` for `.aiignore`. Both folded.
pub fn is_short_for(segment: &str, name: &str) -> bool {
    const LONGEST_STEM: usize = 8;
    let Some((stem, rest)) = segment.split_once('~') else { return false };
    let (number, extension) = rest.split_once('.').unwrap_or((rest, ""));
    if number.is_empty() || number.len() > 6 || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let name = name.trim_start_matches('.');
    let (base, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let allowed = |text: &str| -> Vec<u8> {
        let kept = text.bytes().filter(|byte| !matches!(byte, b'.' | b' '));
        kept.map(|byte| if b"+,;=[]".contains(&byte) { b'_' } else { byte }).collect()
    };
    let (base, ending) = (allowed(base), allowed(ending));
    let begins = |length: usize| base.iter().take(length).eq(stem.as_bytes());
    let room = LONGEST_STEM - 1 - number.len();
    // After a few files with the same prefix, NTFS uses four digits of a hash.
    let hashed = || {
        let (begin, hash) = stem.as_bytes().split_at(stem.len().saturating_sub(4));
        hash.len() == 4 && hash.iter().all(u8::is_ascii_hexdigit) && base.iter().take(2).eq(begin)
    };
    (begins(room) || hashed()) && ending.iter().take(3).eq(extension.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_end_where_some_site_ends_them() {
        for path in [
            "/a/b",
            "//a//b//",
            "/a/./b/.",
            "/a\\b",
            "/a%2fb",
            "/a%5Cb",
            "/a%255cb",
            "/a;x/b;y",
            "/a./b..",
            "/a%20/b%20.",
            "/%20a/b",
            "/a/b%3fx",
            "/a/b%23x/c",
            "/a/b%00.html",
            "/a/b::$DATA",
            "/A:$i30:$INDEX_ALLOCATION/b",
            "/a／b",
        ] {
            assert_eq!(Folded::of(path).segments().collect::<Vec<_>>(), ["a", "b"], "{path}");
        }
        assert_eq!(Folded::of("/v1/a:b/...").segments().collect::<Vec<_>>(), ["v1", "a:b"]);
        assert_eq!(Folded::of("/a%3fb/c").pieces().collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn climbing_is_known_in_any_spelling() {
        for path in ["/a/..", "/a/%2e%2e/b", "/a/..;x/b", "/a/..%20/b", "/a/．．/b", "/a%3f/../b", "/a/‥/b", "/a%5c.."]
        {
            assert!(Folded::of(path).climbs(), "{path}");
        }
        for path in ["/a..b", "/..a", "/a../b", "/a/.../b", "/a/. ./b"] {
            assert!(!Folded::of(path).climbs(), "{path}");
        }
        assert!(Folded::of(&"/a/..".repeat(64)).is_tangled());
        assert!(!Folded::of(&"/a/..".repeat(8)).is_tangled());
        assert!(!Folded::of(&"/a/b".repeat(64)).is_tangled());
    }

    #[test]
    fn short_names_are_told_from_others() {
        for (short, name) in [
            ("aiigno~1", ".aiignore"),
            ("aiign~12", ".aiignore"),
            ("ai1f3a~1", ".aiignore"),
            ("ai~1", ".ai"),
            ("handof~1.loc", "handoff.lock"),
            ("pii-al~2.jso", "pii-allowlist.json"),
        ] {
            assert!(is_short_for(short, name), "{short} for {name}");
        }
        for (other, name) in [
            ("~1", ".ai"),
            ("a~1", ".ai"),
            ("aix~1", ".ai"),
            ("ai~", ".ai"),
            ("ai~x", ".ai"),
            ("ai~1.txt", ".ai"),
            ("handof~1", "handoff.lock"),
            ("aiignore~1", ".aiignore"),
            ("~ai", ".ai"),
        ] {
            assert!(!is_short_for(other, name), "{other} for {name}");
        }
    }
}
