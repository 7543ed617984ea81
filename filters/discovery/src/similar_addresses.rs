//! Finds the addresses that are most like another one, by pairs of letters that both have. Prepared, so that a
//! search looks only at addresses that have one in common.

use std::collections::{BTreeMap, BTreeSet};

/// Maximum addresses that are searched.
const MOST: usize = 5_000;
/// Maximum bytes of an address that count: the last ones, which differ most.
const LONGEST: usize = 96;
/// What two addresses must have in common at least, in percent of both.
const LEAST: usize = 35;

/// The addresses, by what they are made of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SimilarAddresses {
    with: BTreeMap<[u8; 2], Vec<u32>>,
    sizes: Vec<usize>,
}

impl SimilarAddresses {
    pub(crate) fn new<'a>(targets: impl Iterator<Item = &'a str>) -> Self {
        let mut near = Self::default();
        for (nth, target) in (0..).zip(targets.take(MOST)) {
            let pairs = pairs(target);
            near.sizes.push(pairs.len());
            for pair in pairs {
                near.with.entry(pair).or_default().push(nth);
            }
        }
        near
    }

    /// The places of the most similar, the best first.
    pub(crate) fn find(&self, target: &str, most: usize) -> Vec<usize> {
        let sought = pairs(target);
        let mut common = vec![0_usize; self.sizes.len()];
        for pair in &sought {
            for nth in self.with.get(pair).into_iter().flatten() {
                common[*nth as usize] += 1;
            }
        }
        let likeness = |nth: usize| 200 * common[nth] / (sought.len() + self.sizes[nth]).max(1);
        let mut found: Vec<(usize, usize)> =
            (0..common.len()).map(|nth| (likeness(nth), nth)).filter(|(likeness, _)| *likeness >= LEAST).collect();
        found.sort_by_key(|(likeness, nth)| (usize::MAX - likeness, *nth));
        found.into_iter().take(most).map(|(_, nth)| nth).collect()
    }
}

/// The pairs of letters of a path, its query and its ending aside.
fn pairs(target: &str) -> BTreeSet<[u8; 2]> {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let (folder, name) = path.rsplit_once('/').unwrap_or_default();
    let name = name.split_once('.').map_or(name, |(stem, _)| stem);
    let text =
        percent_encoding::percent_decode_str(folder).chain(*b"/").chain(percent_encoding::percent_decode_str(name));
    let bytes: Vec<u8> = text.chain(*b"$").map(|b| b.to_ascii_lowercase()).collect();
    let last = &bytes[bytes.len().saturating_sub(LONGEST)..];
    last.windows(2).map(|pair| [pair[0], pair[1]]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_page_that_was_meant() {
        let paths = ["/", "/about", "/contact.html", "/docs/install", "/docs/configure", "/blog/2026/hello-world"];
        let near = SimilarAddresses::new(paths.into_iter());
        let best = |target: &str| near.find(target, 1).first().map(|nth| paths[*nth]);
        for (target, meant) in [
            ("/abuot", Some("/about")),
            ("/About.html", Some("/about")),
            ("/contact", Some("/contact.html")),
            ("/contact/?utm=1", Some("/contact.html")),
            ("/docs/instal", Some("/docs/install")),
            ("/install", Some("/docs/install")),
            ("/hello%2Dworld", Some("/blog/2026/hello-world")),
            ("/zzzzzz", None),
        ] {
            assert_eq!(best(target), meant, "{target}");
        }
        assert_eq!(near.find("/docs/instal", 2).len(), 2, "neighbours follow");
    }

    #[test]
    fn long_addresses_are_bounded() {
        let long = format!("/{}", "abc".repeat(10_000));
        assert!(pairs(&long).len() < LONGEST);
        let many: Vec<String> = (0..MOST + 10).map(|n| format!("/{n}")).collect();
        assert_eq!(SimilarAddresses::new(many.iter().map(String::as_str)).sizes.len(), MOST);
    }
}
