//! Finds which inputs a rendered template shows: those that it writes directly (`{{ input.a.b }}`) on a path that was
//! taken.
//!
//! A test, a filter or a loop reads a value without showing all of it, so it does not count. Behind each direct output
//! a mark is put that no value can contain; the marks in the rendered text tell which outputs were reached.

/// The first mark; marks are numbered private-use characters, which values show only as escapes.
const FIRST: u32 = 0xe100;
/// Maximum outputs of one template.
const MOST: usize = 1000;

/// A template with its marks.
#[derive(Debug, Clone)]
pub(super) struct Marked {
    pub(super) template: String,
    /// The path of the input that each output shows.
    places: Vec<Vec<String>>,
}

impl Marked {
    /// Marks a template. In one with more than conditions and loops, no output counts.
    pub(super) fn new(template: &str) -> Self {
        marked(template).unwrap_or_else(|| Self { template: template.to_owned(), places: Vec::new() })
    }

    /// The paths that a rendering shows. Removes the marks from it.
    pub(super) fn shown(&self, rendered: &mut String) -> Vec<&[String]> {
        let place = |c: char| self.places.get(u32::from(c).checked_sub(FIRST)? as usize);
        let shown = rendered.chars().filter_map(place).map(Vec::as_slice).collect();
        rendered.retain(|c| place(c).is_none());
        shown
    }
}

fn marked(template: &str) -> Option<Marked> {
    if template.contains(|c| matches!(c, '\u{e000}'..='\u{f8ff}')) {
        return None;
    }
    let (mut marked, mut places) = (String::with_capacity(template.len() + 64), Vec::new());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        marked.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match rest.as_bytes().get(1) {
            Some(b'#') => rest.find("#}")? + 2,
            Some(b'%') => tag(rest)?,
            Some(b'{') => {
                if let Some((way, after)) = place(rest) {
                    let (text, trims) = match rest[..rest.len() - after.len()].strip_suffix("-}}") {
                        Some(text) => (text, true),
                        None => (&rest[..rest.len() - after.len() - 2], false),
                    };
                    marked.push_str(text);
                    marked.push_str("}}");
                    marked.push(char::from_u32(FIRST + u32::try_from(places.len()).ok()?)?);
                    // A comment that keeps the whitespace trimming of the output.
                    marked.push_str(if trims { "{# -#}" } else { "" });
                    places.push(way);
                    rest = after;
                    continue;
                }
                end(rest, "}}")?
            }
            _ => 1,
        };
        marked.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    marked.push_str(rest);
    (places.len() <= MOST).then_some(Marked { template: marked, places })
}

/// The length of a condition or loop tag at the start; `None` for any other tag.
fn tag(text: &str) -> Option<usize> {
    let length = end(text, "%}")?;
    let inner = text[2..length].trim_start_matches(['-', '+']).trim_start();
    let name = inner.split(|c: char| !c.is_ascii_alphanumeric()).next()?;
    let hides_input = || inner.split(" in ").next().is_none_or(|target| target.contains("input"));
    match name {
        "if" | "elif" | "else" | "endif" | "endfor" => Some(length),
        "for" if !hides_input() => Some(length),
        _ => None,
    }
}

/// The position after the closing delimiter, strings skipped.
fn end(text: &str, closing: &str) -> Option<usize> {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in text.char_indices().skip(2) {
        match quote {
            _ if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if text[at..].starts_with(closing) => return Some(at + closing.len()),
            None => {}
        }
    }
    None
}

/// The input path of a text that begins with `{{ input.a["b"][0] }}`, and the rest.
fn place(text: &str) -> Option<(Vec<String>, &str)> {
    let inner = text.strip_prefix("{{")?;
    let mut rest = inner.strip_prefix('-').unwrap_or(inner).trim_start().strip_prefix("input")?;
    let mut way = Vec::new();
    loop {
        let name = if let Some(after) = rest.strip_prefix('.') {
            let length = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            let (name, after) = after.split_at(length);
            rest = after;
            name
        } else if let Some(after) = rest.strip_prefix('[') {
            let (key, after) = after.split_once(']')?;
            rest = after;
            let quoted = |quote: char| key.strip_prefix(quote)?.strip_suffix(quote);
            let number = || Some(key).filter(|key| key.bytes().all(|b| b.is_ascii_digit()));
            quoted('"').or_else(|| quoted('\'')).or_else(number).filter(|name| !name.contains(['"', '\'', '\\']))?
        } else {
            break;
        };
        way.push(Some(name).filter(|name| !name.is_empty())?.to_owned());
    }
    let rest = rest.trim_start();
    let after = rest.strip_prefix('-').unwrap_or(rest).strip_prefix("}}")?;
    Some((way, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(template: &str) -> Vec<String> {
        Marked::new(template).places.iter().map(|way| way.join("/")).collect()
    }

    #[test]
    fn only_what_is_written_as_it_is_counts() {
        assert_eq!(
            places("{{ input.a }}{{input.b_1-}} {{- input['c d'][0].e }}{{ input }}"),
            ["a", "b_1", "c d/0/e", ""]
        );
        assert_eq!(places("{% if input.a %}{{ input.b }}{% else %}{{ input.c }}{% endif %}"), ["b", "c"]);
        assert_eq!(places("{% for i in input.a %}{{ i }}{{ input.b }}{% endfor %}"), ["b"]);
        for nothing in [
            "{{ input.a | length }}",
            "{{ input.a ~ input.b }}",
            "{{ inputs.a }}",
            "{{ input.a.b() }}",
            "{# {{ input.a }} #}",
            "{{ '{{ input.a }}' }}",
            "{{ '}} {{ input.a }}' }}",
            "{% if '%}{{ input.a }}' %}{% endif %}",
            "{% raw %}{{ input.a }}{% endraw %}",
            "{% for input in input.a %}{{ input.a }}{% endfor %}",
            "{% set input = 1 %}{{ input.a }}",
            "{% filter upper %}{{ input.a }}{% endfilter %}",
            "\u{e100}{{ input.a }}",
        ] {
            assert_eq!(places(nothing), [""; 0], "{nothing}");
        }
    }
}
