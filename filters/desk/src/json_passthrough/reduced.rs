//! Removes what plain text can do without: blanks, and escapes of characters that need none.

/// The length of an escape, and whether JSON requires it; `None` where serde_json has to judge.
pub(super) fn escape(text: &[u8]) -> Option<(usize, bool)> {
    match text.get(1)? {
        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => Some((2, true)),
        b'/' => Some((2, false)),
        b'u' => escaped(text).map(|_| (6, false)),
        _ => None,
    }
}

/// The character of an escape such as `\u00e9`, where the character needs no escape.
fn escaped(text: &[u8]) -> Option<char> {
    let digits = std::str::from_utf8(text.get(2..6)?).ok().filter(|digits| !digits.starts_with('+'))?;
    let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
    (c >= ' ' && !matches!(c, '"' | '\\')).then_some(c)
}

/// A plain text without blanks and needless escapes.
pub(super) fn reduced(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let (mut at, mut quoted) = (0, false);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => quoted = !quoted,
            b' ' | b'\n' | b'\r' | b'\t' if !quoted => {
                at += 1;
                continue;
            }
            b'\\' => {
                let (length, needed) = escape(&json[at..]).unwrap_or((1, true));
                match escaped(&json[at..]).filter(|_| length == 6) {
                    Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                    None if needed => out.extend_from_slice(&json[at..at + length]),
                    None => out.push(b'/'),
                }
                at += length;
                continue;
            }
            _ => {}
        }
        out.push(*byte);
        at += 1;
    }
    out
}
