//! The names of inputs: those of the document, where every client of MCP takes them.

use std::collections::HashSet;

use super::name::at_word;

/// Maximum length of an input's name.
const LONGEST: usize = 64;

/// Whether every client of MCP takes it as an input's name.
pub(super) fn is_input(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=LONGEST).contains(&name.len()) && name.chars().all(fits)
}

/// Whether a name of the document can stand as a text in a declaration.
pub(super) fn can_be_renamed(name: &str) -> bool {
    !name.trim().is_empty() && !name.contains("${")
}

/// The names of inputs of one operation.
#[derive(Default)]
pub(super) struct InputNames {
    given: HashSet<String>,
    /// Names that stay as they are, for the document's names only.
    own: HashSet<String>,
}

impl InputNames {
    /// The names that the document has, of which those that fit are kept for themselves.
    pub(super) fn with<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let own = names.filter(|name| is_input(name)).map(str::to_owned).collect();
        Self { given: HashSet::new(), own }
    }

    /// A name of the document as an input's name: letters, digits, `_`, `-` and `.`, at most 64, each once.
    pub(super) fn of(&mut self, name: &str) -> String {
        if is_input(name) && self.given.insert(name.to_owned()) {
            return name.to_owned();
        }
        let mut plain = String::new();
        for c in name.chars() {
            match c {
                c if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') => plain.push(c),
                _ if plain.is_empty() || plain.ends_with('_') => {}
                _ => plain.push('_'),
            }
        }
        let plain = at_word(plain.trim_end_matches('_'), LONGEST);
        let plain = if plain.is_empty() { "input" } else { plain };
        let numbered = (1..).map(|number: u32| match number {
            1 => plain.to_owned(),
            number => {
                let end = format!("_{number}");
                format!("{}{end}", at_word(plain, LONGEST - end.len()))
            }
        });
        let mut free = numbered.filter(|name| !self.own.contains(name) && !self.given.contains(name));
        let ours = free.next().unwrap_or_else(|| plain.to_owned());
        self.given.insert(ours.clone());
        ours
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_has_a_name_that_clients_take() {
        let mut names = InputNames::with(["filter", "page", "page[size]"].into_iter());
        let named = ["$filter", "page[size]", "filter", "page", "{}", "é", "page.size"].map(|name| names.of(name));
        assert_eq!(named, ["filter_2", "page_size", "filter", "page", "input", "input_2", "page.size"]);
        let long = "word_".repeat(30);
        let named = [names.of(&long), names.of(&(long.clone() + "x"))];
        assert!(named.iter().all(|name| is_input(name)) && named[0] != named[1], "{named:?}");
    }
}
