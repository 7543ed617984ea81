//! Models of lenient origin servers: every way in which a careless one reads the same bytes.
//!
//! Each reader has a different fault. All of them read an unambiguous request in the same way.

use std::borrow::Cow;

/// How one of them reads.
#[derive(Clone, Copy, Debug)]
pub struct Reader {
    /// A bare CR ends a line too; a bare LF always does.
    pub cr_ends: bool,
    /// Where there are both, the length counts.
    pub length_wins: bool,
    /// Of several, the last counts.
    pub last_wins: bool,
    /// Anything that has "chunked" in it is.
    pub any_chunked: bool,
}

/// All there are.
pub fn readers() -> impl Iterator<Item = Reader> {
    (0..16).map(|n| Reader { cr_ends: n & 1 > 0, length_wins: n & 2 > 0, last_wins: n & 4 > 0, any_chunked: n & 8 > 0 })
}

impl Reader {
    /// The request lines it sees, as method and target.
    pub fn requests(self, bytes: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(line) = self.line(&mut rest) else { break };
            if line.is_empty() {
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            let said = words.iter().take(2).copied().collect::<Vec<_>>().join(" ");
            let Some(fields) = self.fields(&mut rest) else { break };
            found.push(said);
            if !self.skip_body(&fields, &mut rest) {
                break;
            }
        }
        found
    }

    fn line<'a>(self, rest: &mut &'a [u8]) -> Option<Cow<'a, str>> {
        let ends = |at: usize, b: u8| b == b'\n' || self.cr_ends && b == b'\r' && rest.get(at + 1) != Some(&b'\n');
        let end = rest.iter().enumerate().find(|(at, b)| ends(*at, **b)).map(|(at, _)| at)?;
        let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
        *rest = &rest[end + 1..];
        Some(String::from_utf8_lossy(line))
    }

    /// Names without what is no letter, in lower case; values without what surrounds them.
    fn fields(self, rest: &mut &[u8]) -> Option<Vec<(String, String)>> {
        let mut fields: Vec<(String, String)> = Vec::new();
        loop {
            let line = self.line(rest)?;
            if line.is_empty() {
                return Some(fields);
            }
            let folded =
                line.starts_with([' ', '\t']) && !line.trim_start().to_ascii_lowercase().starts_with("transfer");
            if let (true, Some((_, value))) = (folded, fields.last_mut()) {
                value.push_str(line.trim());
                continue;
            }
            let (name, value) = line.split_once([':', '\0']).unwrap_or((&line, ""));
            let name = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
            fields.push((name, value.trim_matches(|c: char| !c.is_ascii_graphic()).to_ascii_lowercase()));
        }
    }

    fn one<'a>(self, fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
        let mut all = fields.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str());
        if self.last_wins { all.next_back() } else { all.next() }
    }

    /// False when it does not end.
    fn skip_body(self, fields: &[(String, String)], rest: &mut &[u8]) -> bool {
        let length = self.one(fields, "contentlength").map(|value| {
            let digits: String =
                value.trim_start_matches('+').chars().take_while(|c| c.is_ascii_digit()).take(9).collect();
            digits.parse().unwrap_or(0)
        });
        let chunked = self
            .one(fields, "transferencoding")
            .is_some_and(|value| value == "chunked" || self.any_chunked && value.contains("chunked"));
        if chunked && !(self.length_wins && length.is_some()) {
            return self.skip_chunks(rest);
        }
        let length: usize = length.unwrap_or(0);
        let there = rest.len() >= length;
        *rest = &rest[length.min(rest.len())..];
        there
    }

    fn skip_chunks(self, rest: &mut &[u8]) -> bool {
        loop {
            let Some(line) = self.line(rest) else { return false };
            let digits: String = line.trim().chars().take_while(char::is_ascii_hexdigit).take(9).collect();
            let Ok(size) = usize::from_str_radix(&digits, 16) else { return false };
            if size == 0 {
                return self.fields(rest).is_some();
            }
            if rest.len() < size {
                return false;
            }
            *rest = &rest[size..];
            if self.line(rest).is_none() {
                return false;
            }
        }
    }
}
