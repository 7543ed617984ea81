//! Words an answer: by the operator's template, or as the data itself where there is none.

use minijinja::{Environment, context, value::Serde};
use serde_json::Value;

use super::{listed::Listed, types};
use frontdesk_base::templates;
use frontdesk_caller::limits::tokens;
use frontdesk_config::Settings;
use frontdesk_desk::Told;

/// Maximum template instructions of one rendering.
const FUEL: u64 = 50_000;
/// Maximum bytes of text per token; a token is seldom longer.
const TOKEN: usize = 16;

/// The templates of all capabilities, by index.
#[derive(Debug)]
pub(super) struct Words(Environment<'static>);

impl Words {
    /// Compiles the checked templates.
    pub(super) fn new(settings: &Settings, listed: &[Listed]) -> Self {
        let mut templates = templates::environment(FUEL);
        for listed in listed {
            let declared = settings.capability(listed.index).and_then(|capability| capability.ahp.answer.clone());
            if let Some(template) = declared {
                // The configuration check refused templates that do not compile.
                let _ = templates.add_template_owned(listed.index.to_string(), template);
            }
        }
        Self(templates)
    }

    /// The words of an answer; `whole`: the data stands beside them.
    pub(super) fn answer(&self, listed: &Listed, input: &Value, told: &Told, data: &Value, whole: bool) -> String {
        if told.omitted {
            return "This was carried out before. Its answer was too long to be kept.".to_owned();
        }
        let rendered = self
            .0
            .get_template(&listed.index.to_string())
            .ok()
            .and_then(|template| template.render(context! { input => Serde(input), data => Serde(data) }).ok());
        if let Some(rendered) = rendered.filter(|text| !text.trim().is_empty()) {
            return rendered;
        }
        if let Some(raw) = &told.raw {
            let is_text = raw.content_type.trim_start().to_ascii_lowercase().starts_with("text/");
            return match std::str::from_utf8(&raw.body) {
                Ok(text) if is_text => text.to_owned(),
                _ => format!("{}: {} bytes of {}.", listed.name, raw.body.len(), raw.content_type),
            };
        }
        // The site's own words are the answer.
        if let Some(words) = own_words(data).filter(|_| !whole) {
            return words.to_owned();
        }
        match whole {
            true => format!("{}: done.", listed.subject()),
            false => format!("{}: {}", listed.subject(), types::named(data)),
        }
    }
}

/// The words of a page or of a text.
fn own_words(data: &Value) -> Option<&str> {
    let data = data.as_object()?;
    let only = |known: &[&str]| data.keys().all(|key| known.contains(&key.as_str()));
    let words = match () {
        () if only(&["title", "url", "markdown", "links"]) => data.get("markdown"),
        () if only(&["text"]) => data.get("text"),
        () => None,
    };
    words?.as_str().filter(|words| !words.trim().is_empty())
}

/// Cuts a text to at most this many tokens, at a word boundary; returns it with its tokens.
pub(super) fn cut(mut text: String, most: u64) -> (String, u64) {
    // No tokenisation allows more bytes than this.
    let longest = usize::try_from(most).unwrap_or(usize::MAX).saturating_mul(TOKEN);
    let mut shortened = text.len() > longest;
    text.truncate(text.floor_char_boundary(longest));
    loop {
        let count = u64::from(tokens::count(&text));
        let fits = if shortened { count < most.max(2) } else { count <= most };
        if fits || text.is_empty() {
            if shortened {
                text.push('…');
            }
            return (text, count + u64::from(shortened));
        }
        shortened = true;
        // Shorten in proportion to the excess, and a little more, so that the loop ends soon.
        let share = most.saturating_sub(1).max(1) as f64 / count as f64;
        let keep = ((text.len() as f64 * share * 0.97) as usize).min(text.len().saturating_sub(1));
        text.truncate(text.floor_char_boundary(keep));
        if let Some(end) = text.rfind(char::is_whitespace).filter(|end| *end > keep / 2) {
            text.truncate(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_to_their_tokens() {
        let long = "The quick brown fox jumps over the lazy dog. ".repeat(400);
        for most in [1, 2, 7, 50, 500] {
            let (text, count) = cut(long.clone(), most);
            assert!(count <= most.max(2) && u64::from(tokens::count(&text)) <= most + 1, "{most}: {count}");
            assert!(text.ends_with('…'), "{most}");
        }
        assert_eq!(cut("short".into(), 10).0, "short");
        let hostile = "\u{1F9D1}\u{200D}".repeat(20_000);
        assert!(cut(hostile, 100).1 <= 100);
    }
}
