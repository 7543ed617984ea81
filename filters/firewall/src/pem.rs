//! Finds private keys in PEM armour (RFC 7468), as whole blocks.
//!
//! Each line is read once. A block without an end extends as far as its base64. Line breaks may be written as ` `, as
//! in environment files and configuration.

/// The start of every block.
pub(super) const ANCHOR: &str = "-----BEGIN ";

/// Minimum base64 characters of a block.
const LEAST: usize = 32;
/// Minimum characters of a base64 line, except the last.
const LINE: usize = 16;
/// Maximum header lines of an encrypted key.
const HEADERS: usize = 8;

/// The end of a private key's block that begins at `start`; `None` where there is none.
pub(super) fn confirm(text: &[u8], start: usize) -> Option<usize> {
    let label = start + ANCHOR.len();
    let line = &text[label.min(text.len())..(label + 64).min(text.len())];
    let len = memchr::memmem::find(line, b"-----")?;
    if !is_private(&line[..len]) {
        return None;
    }
    let mut at = headers(text, label + len + 5);
    let (mut letters, mut end) = (0, at);
    loop {
        at = blanks(text, at);
        if text[at..].starts_with(b"-----END ") {
            let tail = &text[at + 9..(at + 80).min(text.len())];
            let close = memchr::memmem::find(tail, b"-----").map_or(at + 9, |len| at + 9 + len + 5);
            return (letters >= LEAST).then_some(close);
        }
        let run = text[at..].iter().take_while(|byte| is_base64(**byte)).count();
        if run == 0 || run < LINE && letters == 0 {
            break;
        }
        at += run;
        (letters, end) = (letters + run, at);
        // After a short line only the checksum and the end can follow.
        if run < LINE
            && !text[blanks(text, at)..].starts_with(b"-----END ")
            && text.get(blanks(text, at)) != Some(&b'=')
        {
            break;
        }
    }
    (letters >= LEAST).then_some(end)
}

/// `RSA PRIVATE KEY`, `ENCRYPTED PRIVATE KEY`, `PGP PRIVATE KEY BLOCK`.
fn is_private(label: &[u8]) -> bool {
    let plain = label.iter().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ');
    plain && memchr::memmem::find(label, b"PRIVATE KEY").is_some()
}

/// Skips lines such as `Proc-Type: 4,ENCRYPTED`.
fn headers(text: &[u8], mut at: usize) -> usize {
    for _ in 0..HEADERS {
        let line = blanks(text, at);
        let rest = &text[line..(line + 160).min(text.len())];
        let name = rest.iter().take_while(|byte| byte.is_ascii_alphabetic() || **byte == b'-').count();
        if name == 0 || rest.get(name) != Some(&b':') {
            break;
        }
        let newline = memchr::memchr2(b'\n', b'\\', rest).unwrap_or(rest.len());
        at = line + newline;
    }
    at
}

/// Skips blanks, and the characters that quotations or configuration files put at line ends.
fn blanks(text: &[u8], mut at: usize) -> usize {
    while let Some(byte) = text.get(at) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b'>' | b'"' | b'\'' => at += 1,
            b'\\' if matches!(text.get(at + 1), Some(b'n' | b'r' | b't' | b'\n' | b'\\')) => at += 2,
            _ => break,
        }
    }
    at.min(text.len())
}

pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> Option<&str> {
        let start = text.find(ANCHOR)?;
        confirm(text.as_bytes(), start).map(|end| &text[start..end])
    }

    const BODY: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\nVJTUt9Us8cKjMzEfYyjiWA4R4ZZ0a1\nQ2d==";

    #[test]
    fn the_whole_block_goes() {
        let block = format!("-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----");
        assert_eq!(taken(&format!("see {block}\nrest")), Some(block.as_str()));
        let escaped = block.replace('\n', "\\n");
        assert_eq!(taken(&format!("KEY=\"{escaped}\"")), Some(escaped.as_str()));
        let headed = block.replace("-----\nM", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AB12\n\nM");
        assert_eq!(taken(&headed), Some(headed.as_str()));
        let open = format!("-----BEGIN RSA PRIVATE KEY-----\n{BODY}");
        assert_eq!(taken(&format!("{open}. And so on")), Some(open.as_str()));
    }

    #[test]
    fn a_word_about_one_is_none() {
        for text in [
            "a file that begins with -----BEGIN RSA PRIVATE KEY----- and so on for many lines",
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
            "-----BEGIN CERTIFICATE-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n-----END CERTIFICATE-----",
            "-----BEGIN PUBLIC KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n-----END PUBLIC KEY-----",
            "-----BEGIN ",
        ] {
            assert_eq!(taken(text), None, "{text}");
        }
    }
}
