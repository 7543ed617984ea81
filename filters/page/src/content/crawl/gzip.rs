//! What came compressed with gzip, within a bound on what it grows to.

use std::io::Read;

use flate2::read::MultiGzDecoder;

/// Whether it begins like something compressed.
pub(super) fn is_packed(body: &[u8]) -> bool {
    body.starts_with(&[0x1f, 0x8b])
}

/// What it says; `None` where that is broken, or more than `most` bytes.
pub(super) fn unpack(body: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    // One more than the bound shows that there is more.
    let read = MultiGzDecoder::new(body).take(most as u64 + 1).read_to_end(&mut out);
    (read.is_ok() && out.len() <= most).then_some(out)
}

#[cfg(test)]
pub(super) mod testing {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    /// Compressed as well as can be.
    pub(in super::super) fn packed(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::{testing::packed, *};

    #[test]
    fn it_grows_to_its_bound_and_no_further() {
        let body = packed(&[b'a'; 1000]);
        assert!(is_packed(&body));
        assert_eq!(unpack(&body, 1000).map(|out| out.len()), Some(1000));
        assert_eq!(unpack(&body, 999), None);
        assert_eq!(unpack(&body[..body.len() - 9], 1000), None);
    }
}
