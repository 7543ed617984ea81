//! Finds the line of a JSON path in the text, for error messages.

/// The line, from 1, of the deepest part of the path that exists. The text is valid JSON.
pub(super) fn line_of(text: &str, path: &[String]) -> usize {
    let mut walk = Walk { bytes: text.as_bytes(), at: 0 };
    let mut deepest = 0;
    for step in path {
        match walk.enter(step) {
            Some(at) => deepest = at,
            None => break,
        }
    }
    1 + memchr::memchr_iter(b'\n', &text.as_bytes()[..deepest]).count()
}

struct Walk<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Walk<'_> {
    /// Moves to the value of a member of the object here, and returns the position of its name.
    fn enter(&mut self, name: &str) -> Option<usize> {
        self.blanks();
        if self.next() != Some(b'{') {
            return None;
        }
        loop {
            self.blanks();
            let from = self.at;
            if self.bytes.get(from) != Some(&b'"') {
                return None;
            }
            self.string();
            let found = serde_json::from_slice::<String>(&self.bytes[from..self.at]).is_ok_and(|key| key == name);
            self.blanks();
            self.next().filter(|byte| *byte == b':')?;
            if found {
                return Some(from);
            }
            self.value();
            self.next().filter(|byte| *byte == b',')?;
        }
    }

    /// Skips a value, up to the comma or bracket after it.
    fn value(&mut self) {
        let mut depth = 0_usize;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'"' => {
                    self.string();
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b',' | b'}' | b']' if depth == 0 => return,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Skips a string.
    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.next() {
            match byte {
                b'\\' => self.at += 1,
                b'"' => return,
                _ => {}
            }
        }
        self.at = self.bytes.len();
    }

    fn blanks(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.bytes.get(self.at).copied();
        self.at += usize::from(byte.is_some());
        byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_down_leads_to_a_line() {
        let text = "{\n \"a\": {\"x\": [1, {\"b\": \"}\\\"\"}], \"y\": 0},\n \"b\":\n {\n  \"c\\u0064\": 1,\n  \"e\": {}\n }\n}\n";
        let line = |path: &[&str]| line_of(text, &path.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>());
        assert_eq!((line(&[]), line(&["a"]), line(&["a", "y"]), line(&["b"])), (1, 2, 2, 3));
        assert_eq!(
            (line(&["b", "cd"]), line(&["b", "e", "f"]), line(&["b", "nothing"]), line(&["nothing"])),
            (5, 6, 3, 1)
        );
        for odd in ["", "{", "{\"a\"", "{\"a\":", "{\"a\\", "[]", "1"] {
            assert_eq!(line_of(odd, &["a".to_owned(), "b".to_owned()]), 1, "{odd}");
        }
    }
}
