//! Names for the parts of a document in a declaration: ids, paths, schema names, and one-line texts.

use std::collections::{HashMap, HashSet};

use crate::lines::is_unseen;

/// Maximum length of an id: with a prefix it is still a name for agents, which has at most 64.
pub(super) const LONGEST: usize = 62;
/// Maximum length of a schema's name.
const LONGEST_SCHEMA: usize = 120;
/// Maximum length of a description in a schema.
pub(super) const DESCRIPTION: usize = 240;

/// The used names, each once.
#[derive(Default)]
pub(super) struct Taken {
    names: HashSet<String>,
    /// The last number that was given to names that begin so. With it a thousand equal names are numbered in one pass.
    numbers: HashMap<String, u32>,
}

impl Taken {
    /// With some names that are taken already.
    pub(super) fn with<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { names: names.into_iter().map(str::to_owned).collect(), ..Self::default() }
    }

    /// Takes a name; whether it was free.
    pub(super) fn take(&mut self, name: impl Into<String>) -> bool {
        self.names.insert(name.into())
    }

    /// The name, or the same with a number in place of its end, within this length.
    pub(super) fn unique_within(&mut self, name: String, most: usize) -> String {
        /// Room for the number.
        const NUMBER: usize = 6;
        if self.take(name.as_str()) {
            return name;
        }
        let beginning = at_word(&name, most.saturating_sub(NUMBER)).to_owned();
        self.numbered(beginning, |number| {
            let end = format!("_{number}");
            format!("{}{end}", at_word(&name, most.saturating_sub(end.len())))
        })
    }

    /// The name, or the same with a number appended.
    pub(super) fn unique(&mut self, name: String, between: &str) -> String {
        if self.take(name.as_str()) {
            return name;
        }
        self.numbered(name.clone(), |number| format!("{name}{between}{number}"))
    }

    fn numbered(&mut self, beginning: String, name: impl Fn(u32) -> String) -> String {
        let number = self.numbers.entry(beginning).or_insert(1);
        loop {
            *number += 1;
            let name = name(*number);
            if self.names.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// An operation's identifier in lower snake case, with dots for its dots, slashes and colons; empty where it has no
/// ASCII letter.
pub(super) fn of_operation(operation: &str) -> String {
    let parts = operation.split(['.', '/', ':']).map(snake).filter(|part| !part.is_empty());
    let id = parts.collect::<Vec<_>>().join(".");
    at_word(&id, LONGEST).to_owned()
}

/// The id as a name for agents has it, in which they must differ.
pub(super) fn flat(id: &str) -> String {
    id.replace('.', "_")
}

/// An id from an operation's path and method.
pub(super) fn of_place(path: &str, method: &str) -> String {
    let segment = |segment: &str| match segment.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
        Some(name) => format!("by_{}", snake(name)),
        None => snake(segment),
    };
    let parts: Vec<_> = path.split('/').map(segment).filter(|part| !part.is_empty()).collect();
    let joined = parts.join(".");
    // The end of a path says more than its beginning.
    let most = LONGEST - "delete".len() - 1;
    let mut joined = joined.as_str();
    while joined.len() > most {
        match joined.split_once('.') {
            Some((_, rest)) => joined = rest,
            None => joined = at_word(joined, most),
        }
    }
    let between = if joined.is_empty() { "" } else { "." };
    format!("{joined}{between}{}", method.to_ascii_lowercase())
}

/// `listPetsByURL` becomes `list_pets_by_url`.
pub(super) fn snake(text: &str) -> String {
    let mut out = String::new();
    let chars: Vec<char> = text.chars().collect();
    for (at, &c) in chars.iter().enumerate() {
        if !c.is_ascii_alphanumeric() {
            if !out.is_empty() && !out.ends_with('_') {
                out.push('_');
            }
            continue;
        }
        let before = at.checked_sub(1).map(|before| chars[before]);
        let begins = c.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_digit()
                    || before.is_ascii_uppercase() && chars.get(at + 1).is_some_and(char::is_ascii_lowercase)
            });
        if begins && !out.ends_with('_') {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out.truncate(out.trim_end_matches('_').len());
    out
}

/// A schema's name as it can stand after `#/schemas/`.
pub(super) fn of_schema(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    let name = bounded(name.chars().map(fit).collect(), LONGEST_SCHEMA);
    if name.is_empty() { "Schema".into() } else { name }
}

/// A path parameter's name as it can stand in braces.
pub(super) fn of_placeholder(name: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' };
    if name.is_empty() { "_".into() } else { name.chars().map(fit).collect() }
}

/// A text of at most this many bytes, cut between its words where that leaves most of it.
pub(super) fn at_word(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = &text[..end];
    let whole = matches!(text.as_bytes()[end], b'_' | b'.' | b'-');
    let word = if whole { None } else { cut.rfind(['_', '.', '-']).filter(|at| *at > most / 2) };
    cut[..word.unwrap_or(cut.len())].trim_end_matches(['_', '.', '-'])
}

/// A text on one line of at most this many characters: whole sentences, if the first one fits, else whole words.
pub(super) fn sentence(text: &str, most: usize) -> String {
    let line = one_line(text, most);
    if !line.ends_with('…') {
        return line;
    }
    let end = [". ", "! ", "? ", "; "].into_iter().filter_map(|end| Some((line.rfind(end)?, end))).max();
    if let Some((at, _)) = end.filter(|(at, _)| *at * 3 > line.len()) {
        return format!("{}.", &line[..at]);
    }
    let words = line.trim_end_matches('…').rsplit_once(' ').map(|(words, _)| words);
    words.map_or(line.clone(), |words| format!("{}…", words.trim_end_matches([',', ';', ':', '.', '-'])))
}

/// A path of the document, split into literal texts and parameter names.
pub(super) fn pieces(path: &str) -> Vec<Result<&str, &str>> {
    let mut pieces = Vec::new();
    let (mut rest, mut from) = (path, 0);
    while let Some(open) = rest[from..].find('{').map(|at| at + from) {
        // No further than the next brace or slash, so that a path of nothing but braces is read once.
        let after = &rest[open + 1..];
        let end = after.find(['}', '/', '{']).filter(|end| after[*end..].starts_with('}'));
        match end.map(|end| &after[..end]) {
            Some(name) => {
                pieces.extend([Ok(&rest[..open]), Err(name)]);
                (rest, from) = (&rest[open + name.len() + 2..], 0);
            }
            // An unmatched brace is an ordinary character.
            None => from = open + 1,
        }
    }
    pieces.push(Ok(rest));
    pieces
}

/// The site's path. Other characters are percent-encoded. A fragment, which some documents use to distinguish
/// operations, is never sent.
pub(super) fn site_path(base: &str, path: &str) -> String {
    let path = path.split('#').next().unwrap_or_default();
    let mut out = String::new();
    for piece in [Ok(base)].into_iter().chain(pieces(path)) {
        match piece {
            Ok(text) => text.chars().for_each(|c| match c {
                '!'..='~' if !matches!(c, '#' | '{' | '}' | '"' | '<' | '>' | '\\' | '^' | '`' | '|') => out.push(c),
                _ => out.extend(c.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("%{byte:02X}"))),
            }),
            Err(name) => {
                // "${" would be replaced from the environment.
                if out.ends_with('$') {
                    out.truncate(out.len() - 1);
                    out.push_str("%24");
                }
                out.push('{');
                out.push_str(&of_placeholder(name));
                out.push('}');
            }
        }
    }
    if out.starts_with('/') { out } else { format!("/{out}") }
}

/// The agent's path: below `/agent`, in the canonical spelling of our paths.
pub(super) fn endpoint(path: &str) -> String {
    let mut out = String::new();
    for piece in pieces(path) {
        match piece {
            Ok(text) => out.extend(text.chars().map(|c| match c {
                'a'..='z' | 'A'..='Z' | '0'..='9' | '/' | '-' | '_' | '.' | '~' | ':' | '@' => c,
                _ => '-',
            })),
            Err(name) => out.extend(["{", &of_placeholder(name), "}"]),
        }
    }
    let segments = out.split('/').filter(|segment| !segment.is_empty() && !segment.bytes().all(|byte| byte == b'.'));
    segments.fold("/agent".to_owned(), |path, segment| match segment.matches('{').count() {
        0 | 1 => path + "/" + segment,
        // Two values in one segment would be ambiguous, so they are given with the rest of the input.
        _ => path + "/" + &segment.replace(['{', '}'], ""),
    })
}

/// The endpoint with uniform placeholders: two with the same shape would be ambiguous.
pub(super) fn shape(endpoint: &str) -> String {
    pieces(endpoint).into_iter().map(|piece| piece.unwrap_or("{}")).collect()
}

/// A text on one line of at most this many characters, without invisible or direction-changing characters and without
/// references to the environment.
pub(super) fn one_line(text: &str, most: usize) -> String {
    let seen = text.chars().map(|c| if is_unseen(c) { ' ' } else { c });
    let mut line = String::new();
    let mut count = 0;
    for c in seen {
        if c.is_whitespace() && (line.is_empty() || line.ends_with(' ')) {
            continue;
        }
        if count == most {
            line.truncate(line.trim_end().len());
            line.push('…');
            break;
        }
        line.push(if c.is_whitespace() { ' ' } else { c });
        count += 1;
    }
    line.truncate(line.trim_end().len());
    line.replace("${", "$ {")
}

/// The distinct notes, and no more than a person reads.
pub(super) fn few(notes: Vec<String>) -> Vec<String> {
    const FEW: usize = 6;
    let mut said = HashSet::new();
    let mut few: Vec<String> = notes.into_iter().filter(|note| said.insert(note.clone())).collect();
    let more = few.len().saturating_sub(FEW);
    if more > 1 {
        few.truncate(FEW);
        few.push(format!("and {more} more such things"));
    }
    few
}

fn bounded(mut text: String, most: usize) -> String {
    while text.len() > most {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_names_are_numbered_in_one_pass() {
        let mut taken = Taken::with(["list_2"]);
        let names: Vec<String> = (0..4).map(|_| taken.unique_within("list".into(), LONGEST)).collect();
        assert_eq!(names, ["list", "list_3", "list_4", "list_5"]);
        let long = "a".repeat(LONGEST);
        let names: HashSet<String> = (0..20_000).map(|_| taken.unique_within(long.clone(), LONGEST)).collect();
        assert!(names.len() == 20_000 && names.iter().all(|name| name.len() <= LONGEST));
        assert_eq!((taken.unique("A".into(), " "), taken.unique("A".into(), " ")), ("A".into(), "A 2".into()));
    }

    #[test]
    fn a_path_of_braces_is_read_once() {
        assert_eq!(pieces("/a/{id}/b"), [Ok("/a/"), Err("id"), Ok("/b")]);
        assert_eq!(pieces("/{a{b}"), [Ok("/{a"), Err("b"), Ok("")]);
        assert_eq!(pieces("/{a/b}"), [Ok("/{a/b}")]);
        let braces = "{".repeat(200_000);
        assert_eq!(pieces(&braces), [Ok(braces.as_str())]);
    }

    #[test]
    fn identifiers_are_predictable() {
        for (operation, id) in [
            ("listPets", "list_pets"),
            ("getURLByID", "get_url_by_id"),
            ("repos/list-for-org", "repos.list_for_org"),
            ("pets.list", "pets.list"),
            ("  Search  Pets!", "search_pets"),
            ("каталог", ""),
            ("..//", ""),
            ("OAuth2Token", "o_auth2_token"),
        ] {
            assert_eq!(of_operation(operation), id, "{operation}");
        }
        assert_eq!(of_place("/pets/{petId}/toys", "GET"), "pets.by_pet_id.toys.get");
        assert_eq!(of_place("/", "POST"), "post");
    }

    #[test]
    fn addresses_keep_their_placeholders() {
        assert_eq!(endpoint("/pets/{petId}/"), "/agent/pets/{petId}");
        assert_eq!(endpoint("/a;b//../c d/{x y}?q#f"), "/agent/a-b/c-d/{x_y}-q-f");
        assert_eq!(endpoint("/r/{a}-{b}/{c}"), "/agent/r/a-b/{c}");
        assert_eq!(endpoint("/"), "/agent");
        assert_eq!(shape("/agent/{a}/b/{c}.json"), "/agent/{}/b/{}.json");
        assert_eq!(site_path("/v1", "/a b/{x/y}/{id}#frag"), "/v1/a%20b/%7Bx/y%7D/{id}");
        assert_eq!(site_path("", "/${HOME}/é"), "/%24{HOME}/%C3%A9");
        assert_eq!(site_path("", ""), "/");
    }

    #[test]
    fn names_fit_where_they_are_used() {
        let mut taken = Taken::default();
        let ids = ["GET", "POST", "GET"].map(|method| {
            taken.unique_within(of_place(&format!("/{}/{{id}}", "segment/".repeat(12)), method), LONGEST)
        });
        assert!(ids.iter().all(|id| id.len() <= LONGEST) && ids[0] != ids[2], "{ids:?}");
        assert!(ids[0].ends_with(".get") && ids[1].ends_with(".post") && ids[2].ends_with("_2"), "{ids:?}");
        assert_eq!(at_word("read_flows_flows_filter", 20), "read_flows_flows");
        assert_eq!(at_word("abcdefgh", 4), "abcd");
    }

    #[test]
    fn a_description_ends_with_a_sentence() {
        assert_eq!(sentence("One. Two three.", 80), "One. Two three.");
        assert_eq!(sentence("One two three. Four five six seven.", 24), "One two three.");
        assert_eq!(sentence("One two three four five", 12), "One two…");
        assert_eq!(sentence("Onetwothreefour", 6), "Onetwo…");
    }

    #[test]
    fn a_line_is_a_line() {
        assert_eq!(one_line(" a\n\r\tb\u{202e}c\u{0}  ${HOME} ", 80), "a b c $ {HOME}");
        assert_eq!(one_line("abcdef", 3), "abc…");
        assert_eq!(one_line("\u{200b}\n", 3), "");
    }

    #[test]
    fn no_more_is_said_than_a_person_reads() {
        let notes = |count: usize| few((0..count).flat_map(|n| [n.to_string(), "0".into()]).collect());
        assert_eq!((notes(3).len(), notes(7).len(), notes(99).len()), (3, 7, 7));
        assert_eq!(notes(99)[6], "and 93 more such things");
    }

    #[test]
    fn names_are_there_once() {
        let mut taken = Taken::with(["a"]);
        assert_eq!(["a", "b", "a"].map(|name| taken.unique(name.into(), "_")), ["a_2", "b", "a_3"]);
        assert_eq!(of_schema("a/b ~${x}"), "a_b____x_");
    }
}
