//! Which inputs a template shows: those that it writes as they are (`{{ input.a.b }}`), where a rendering comes by.
//!
//! A test, a filter or a loop looks at a value and shows nothing of it, or a part: such a place counts for nothing. Behind
//! each of the others a mark is put that no value can hold, so that what was rendered says which were come by.

/// The first of the marks, in the order of the places: private characters, of which values show escapes.
const FIRST: u32 = 0xe100;
/// Places of one template.
const MOST: usize = 1000;

/// A template with its marks.
#[derive(Debug, Clone)]
pub(super) struct Marked {
    pub(super) template: String,
    /// The way to the input that each place shows.
    places: Vec<Vec<String>>,
}

impl Marked {
    /// Where a template does more than to ask and to repeat, no place of it is sure to be shown.
    pub(super) fn new(template: &str) -> Self {
        marked(template).unwrap_or_else(|| Self { template: template.to_owned(), places: Vec::new() })
    }

    /// The ways to what a rendering shows; its marks are taken out.
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
                    // A comment, for the blanks that the place had taken away.
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

/// The length of a tag that decides whether, or how often, what follows is come by; of no other.
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

/// Where what began is over, strings aside.
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

/// The way of a text that begins with `{{ input.a["b"][0] }}`, and what follows.
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
