//! A body that is here as a whole: out of the coding in which it came, within bounds.

use std::borrow::Cow;

use super::{
    content_coding::Coding,
    decode::{Decoder, Status},
};

/// The window through which decoded bytes pass.
const WINDOW_BYTES: usize = 32 * 1024;

/// The body without its coding; `None` where it is not in that coding, incomplete, or longer than `most`.
pub fn decoded(coding: Coding, body: &[u8], most: usize) -> Option<Cow<'_, [u8]>> {
    if coding == Coding::Identity {
        return (body.len() <= most).then_some(Cow::Borrowed(body));
    }
    let mut decoder = Decoder::new(coding, body).ok()?;
    let mut window = vec![0; WINDOW_BYTES];
    let (mut plain, mut rest) = (Vec::new(), body);
    loop {
        let (taken, given, status) = decoder.step(rest, &mut window).ok()?;
        rest = &rest[taken..];
        if plain.len() + given > most {
            return None;
        }
        plain.extend_from_slice(&window[..given]);
        if status == Status::Starved && rest.is_empty() {
            return decoder.complete().then_some(Cow::Owned(plain));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(plain).unwrap();
        out.finish().unwrap()
    }

    #[test]
    fn a_body_comes_out_whole_or_not_at_all() {
        let plain = b"words ".repeat(50_000);
        let coded = gzip(&plain);
        assert_eq!(decoded(Coding::Gzip, &coded, plain.len()).as_deref(), Some(&plain[..]));
        assert_eq!(decoded(Coding::Gzip, &coded, plain.len() - 1), None, "a bomb");
        assert_eq!(decoded(Coding::Gzip, &coded[..coded.len() - 9], plain.len()), None, "cut");
        assert_eq!(decoded(Coding::Gzip, b"no gzip", 100), None);
        assert_eq!(decoded(Coding::Gzip, b"", 100), None);
        assert_eq!(decoded(Coding::Identity, b"abc", 2), None);
        assert_eq!(decoded(Coding::Identity, b"abc", 3).as_deref(), Some(&b"abc"[..]));
        let zstd = zstd::encode_all(&plain[..], 1).unwrap();
        assert_eq!(decoded(Coding::Zstd, &zstd, plain.len()).as_deref(), Some(&plain[..]));
    }
}
