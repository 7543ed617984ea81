//! Characters that XML writes as references: `&amp;`, `&#38;`.

/// The character that a reference stands for: one of XML's own names, or a number.
pub(super) fn character_of(reference: &str) -> Option<char> {
    match reference {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        number => numbered(number),
    }
}

/// `#38` or `#x26`.
fn numbered(reference: &str) -> Option<char> {
    let number = reference.strip_prefix('#')?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16),
        None => number.parse(),
    };
    char::from_u32(code.ok()?)
}
