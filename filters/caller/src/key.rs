//! Finds which configured API key was presented.
//!
//! Only hashes are stored. Each comparison covers all hashes to their last bytes, so the time reveals neither whether
//! one matched nor which.

use std::hint::black_box;

use ring::digest;

use frontdesk_config::ApiKey;

/// The configured keys, as SHA-256.
#[derive(Clone)]
pub struct ApiKeys {
    hashes: Vec<[u8; 32]>,
}

impl ApiKeys {
    /// The keys of `[[auth.api_keys]]`.
    pub fn new(keys: &[ApiKey]) -> Self {
        Self { hashes: keys.iter().map(|key| key.sha256).collect() }
    }

    /// Whether no key is configured.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The index, in the settings, of the presented key. Takes the same time for every key of the same length, known
    /// or not: no branch depends on a comparison, and no match ends the loop early.
    ///
    /// An empty text never matches, even where a declared key was empty by mistake.
    pub fn find(&self, presented: &[u8]) -> Option<usize> {
        if presented.is_empty() {
            return None;
        }
        let presented = digest::digest(&digest::SHA256, presented);
        // The index of the match plus one; 0 without a match.
        let mut found = 0usize;
        for (index, hash) in self.hashes.iter().enumerate() {
            let differing = hash.iter().zip(presented.as_ref()).fold(0u8, |differing, (a, b)| differing | (a ^ b));
            // All ones where the hashes are equal, else zero. `black_box` keeps the compiler from turning this into a
            // branch.
            let same = usize::from(black_box(differing)).wrapping_sub(1) >> 8;
            let mask = 0usize.wrapping_sub(same & 1);
            found = found & !mask | (index + 1) & mask;
        }
        found.checked_sub(1)
    }
}

impl std::fmt::Debug for ApiKeys {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "ApiKeys({})", self.hashes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(texts: &[&str]) -> ApiKeys {
        let settings: Vec<ApiKey> = texts
            .iter()
            .map(|text| ApiKey {
                name: (*text).to_owned(),
                sha256: digest::digest(&digest::SHA256, text.as_bytes()).as_ref().try_into().unwrap(),
                scopes: Vec::new(),
                rate_limit: None,
            })
            .collect();
        ApiKeys::new(&settings)
    }

    #[test]
    fn each_key_is_found_where_it_stands() {
        let keys = keys(&["one", "two", "three", "four"]);
        for (index, text) in ["one", "two", "three", "four"].iter().enumerate() {
            assert_eq!(keys.find(text.as_bytes()), Some(index));
        }
        for text in ["", "on", "one ", "One", "five"] {
            assert_eq!(keys.find(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn a_hash_that_differs_in_one_bit_is_another() {
        let hash: [u8; 32] = digest::digest(&digest::SHA256, b"one").as_ref().try_into().unwrap();
        for bit in 0..256 {
            let mut other = hash;
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(ApiKeys { hashes: vec![other] }.find(b"one"), None, "bit {bit}");
            assert_eq!(ApiKeys { hashes: vec![other, hash] }.find(b"one"), Some(1), "bit {bit}");
        }
    }

    #[test]
    fn without_keys_nothing_is_found_and_debug_shows_no_hash() {
        assert!(keys(&[]).is_empty() && keys(&[]).find(b"").is_none());
        assert_eq!(keys(&[""]).find(b""), None, "nothing is no key, though somebody took its hash");
        assert!(!keys(&["one"]).is_empty());
        assert_eq!(format!("{:?}", keys(&["one"])), "ApiKeys(1)");
    }

    #[test]
    #[ignore = "prints what it costs"]
    fn cost_of_finding() {
        let texts: Vec<String> = (0..100).map(|n| format!("key-{n}")).collect();
        let keys = keys(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let batch = || {
            let begun = std::time::Instant::now();
            for _ in 0..100 {
                black_box(keys.find(black_box(b"key-50")));
            }
            begun.elapsed().as_nanos() / 100
        };
        println!("one of 100 API keys: {} ns", (0..200).map(|_| batch()).min().unwrap());
    }
}
