//! Checksums over whole files without their CR characters (ADR-003 of AAHP), so that line endings do not matter.

use ring::digest::{Context, SHA256};

use frontdesk_base::text::hex;

/// The prefix of a checksum.
const SCHEME: &str = "sha256:";

/// A file's checksum in the form of the manifest.
pub(super) fn of(bytes: &[u8]) -> String {
    let mut digest = Context::new(&SHA256);
    let mut start = 0;
    for at in memchr::memchr_iter(b'\r', bytes) {
        digest.update(&bytes[start..at]);
        start = at + 1;
    }
    digest.update(&bytes[start..]);
    format!("{SCHEME}{}", hex(digest.finish().as_ref()))
}

/// Whether a text has the form of a checksum.
pub(super) fn is_one(text: &str) -> bool {
    let digits = text.strip_prefix(SCHEME).unwrap_or_default();
    digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_make_no_difference_and_all_else_does() {
        let short = "sha256:a1b2c3";
        let lf = of(b"a\nb\n");
        assert!(is_one(&lf) && !is_one(short));
        for same in [&b"a\r\nb\r\n"[..], b"a\nb\r\n", b"\ra\r\r\nb\n\r"] {
            assert_eq!(of(same), lf);
        }
        assert_ne!(of(b"a\nb"), lf);
        assert_eq!(of(b""), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(of(b"\r"), of(b""));
        assert!(!is_one(&lf.to_uppercase()) && !is_one(&lf[7..]) && !is_one(&lf.replace("sha256", "sha512")));
    }
}
