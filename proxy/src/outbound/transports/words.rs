//! Splits a command line into words as a shell does. There is no shell, so nothing is expanded, joined or redirected.

/// Splits at blanks. Single quotes keep their content unchanged. In double quotes a backslash escapes a quote or a
/// backslash; outside of quotes it escapes any character.
pub(super) fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            c if c.is_whitespace() => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some('\'') => break,
                        Some(c) => word.push(c),
                        None => return Err("stdio: a ' is not closed".into()),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next() {
                        Some('"') => break,
                        Some('\\') => match rest.next() {
                            Some(c @ ('"' | '\\')) => word.push(c),
                            Some(c) => word.extend(['\\', c]),
                            None => return Err("stdio: a \" is not closed".into()),
                        },
                        Some(c) => word.push(c),
                        None => return Err("stdio: a \" is not closed".into()),
                    }
                }
            }
            '\\' => match rest.next() {
                Some(c) => word.get_or_insert_default().push(c),
                None => return Err("stdio: nothing stands after the last backslash".into()),
            },
            '\0' => return Err("stdio: a NUL cannot be in a command".into()),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        _ => Err("stdio: takes a command, such as stdio:python3 harness.py".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_a_shell_has_them() {
        for (line, words) in [
            ("python3 harness.py", vec!["python3", "harness.py"]),
            ("  a\t b  ", vec!["a", "b"]),
            (r#"'a b' "c d""#, vec!["a b", "c d"]),
            (r#"a'b'"c"d"#, vec!["abcd"]),
            (r#"a '' """#, vec!["a", "", ""]),
            (r"a\ b \'c", vec!["a b", "'c"]),
            (r#""\"\\\n" '\'"#, vec![r#""\\n"#, r"\"]),
            ("a $HOME * ; b | c > d", vec!["a", "$HOME", "*", ";", "b", "|", "c", ">", "d"]),
        ] {
            assert_eq!(split(line), Ok(words.into_iter().map(str::to_owned).collect()), "{line}");
        }
        for wrong in ["", "  ", "''", "a 'b", "a \"b", "a \"b\\", "a\\", "a\0b"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }
}
