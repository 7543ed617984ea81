//! Writes JSON as Python's `json.dumps(…, sort_keys=True, separators=(",", ":"))` does: in ASCII only.
//!
//! A public implementation of AGTP hashes and signs this form. It differs from RFC 8785 for text that is not ASCII.

use std::io;

use serde::Serialize;
use serde_json::{
    Map, Serializer, Value,
    ser::{CompactFormatter, Formatter},
};

/// Writes an object with sorted keys.
pub(super) fn written(members: &Map<String, Value>) -> Vec<u8> {
    let mut out = Vec::new();
    // Writing to memory does not fail.
    let _ = members.serialize(&mut Serializer::with_formatter(&mut out, Ascii(CompactFormatter)));
    out
}

struct Ascii(CompactFormatter);

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, out: &mut W, text: &str) -> io::Result<()> {
        for c in text.chars() {
            if matches!(c, ' '..='~') {
                self.0.write_string_fragment(out, c.encode_utf8(&mut [0; 4]))?;
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(out, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_is_escaped_as_python_does() {
        // What Python 3 printed for the same value.
        let expected = r#"{"a":[1,-2,0.5,true,null],"b\"\\/":"\n\t\b\f\r\u0000\u001f\u007f \u00e4 \u20ac \ud83d\ude00","\u00f6":{}}"#;
        let value =
            json!({ "\u{f6}": {}, "b\"\\/": "\n\t\u{8}\u{c}\r\0\u{1f}\u{7f} ä € 😀", "a": [1, -2, 0.5, true, null] });
        let Value::Object(members) = value else { panic!() };
        assert_eq!(String::from_utf8(written(&members)).unwrap(), expected);
    }
}
