//! A page as data: its title, its address and its own words as Markdown, cut to what the reader has room for.

use frontdesk_base::{charset, fault::Refusal};
use frontdesk_page::content::{self, MAX_BYTES};
use serde_json::{Value, json};
use url::{Position, Url};

use crate::answered::{Answered, too_large, unknown_encoding};

/// How many links are named of the part that was cut away.
const MOST_LINKS: usize = 20;
/// About how many bytes a token has, as answers are counted.
const TOKEN: u64 = 4;
/// Bytes that go to what stands around the Markdown.
const AROUND: u64 = 240;
/// The least Markdown that is given, however small the room.
const LEAST: u64 = 200;

/// Reads a page.
///
/// # Errors
///
/// It is larger or deeper than pages are read.
pub(crate) fn read(answered: &Answered<'_>) -> Result<Value, Refusal> {
    if answered.body.len() > MAX_BYTES {
        return Err(too_large(format!(
            "The site's page is larger than {} MB, the most that is read.",
            MAX_BYTES >> 20
        )));
    }
    let html = charset::text(answered.body, answered.content_type).ok_or_else(unknown_encoding)?;
    let address = address(answered.at, answered.is_named);
    let Some(page) = content::read_for_answer(&html, answered.at, !answered.is_named) else {
        let title =
            content::title(&html).ok_or_else(|| too_large("The site's page is deeper or larger than is read."))?;
        return Ok(json!({ "title": title, "url": address, "markdown": "" }));
    };
    let room = answered.tokens.saturating_mul(TOKEN).saturating_sub(AROUND + page.title.len() as u64);
    let (markdown, rest) = cut(&page.markdown, room.max(LEAST), &address);
    let mut data = json!({ "title": page.title, "url": address, "markdown": markdown });
    if let Some(rest) = rest {
        let links: Vec<&String> =
            page.links.iter().filter(|link| rest.contains(link.as_str())).take(MOST_LINKS).collect();
        if !links.is_empty() {
            data["links"] = json!(links);
        }
    }
    Ok(data)
}

/// The address as it is told: whole where the site's name is known, else as a path of the site.
pub(crate) fn address(at: &Url, is_named: bool) -> String {
    if is_named { at.to_string() } else { at[Position::BeforePath..].to_owned() }
}

/// Markdown within so many bytes of JSON, cut between two blocks, and what was cut away.
fn cut<'m>(markdown: &'m str, room: u64, address: &str) -> (String, Option<&'m str>) {
    let written =
        |text: &str| text.len() as u64 + text.bytes().filter(|b| matches!(b, b'\n' | b'"' | b'\\')).count() as u64;
    if written(markdown) <= room {
        return (markdown.to_owned(), None);
    }
    let note = |shown: usize| {
        format!(
            "\n\n[Cut here: {shown} of {} characters. Ask with more room (max_tokens), or read the rest at {address}]",
            markdown.len()
        )
    };
    let room = room.saturating_sub(written(&note(markdown.len())));
    let (mut end, mut used, mut in_code) = (0, 0, false);
    for block in markdown.split_inclusive("\n\n") {
        used += written(block);
        if used > room {
            break;
        }
        let fences = block.lines().filter(|line| line.trim_start().starts_with("```")).count();
        in_code ^= fences % 2 == 1;
        // A fenced block has blank lines of its own.
        if !in_code {
            end = markdown.len().min(end_of(markdown, block));
        }
    }
    if end == 0 {
        // One block alone is longer than the room: cut at a word.
        let most = usize::try_from(room).unwrap_or(usize::MAX).min(markdown.len());
        let most = markdown.floor_char_boundary(most * 9 / 10);
        end = markdown[..most].rfind(char::is_whitespace).unwrap_or(most);
    }
    (format!("{}{}", markdown[..end].trim_end(), note(end)), Some(&markdown[end..]))
}

/// Where a part of a text ends in it.
fn end_of(whole: &str, part: &str) -> usize {
    part.as_ptr() as usize - whole.as_ptr() as usize + part.len()
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn page(html: &str, tokens: u64) -> Value {
        let (body, at) = (Bytes::from(html.to_owned()), Url::parse("http://site.test/a?b=1").unwrap());
        let answered = Answered {
            content_type: "text/html",
            disposition: None,
            body: &body,
            at: &at,
            is_named: false,
            own_hosts: &[],
            tokens,
        };
        read(&answered).unwrap()
    }

    #[test]
    fn a_page_is_its_own_words() {
        let data =
            page("<title>T</title><nav><a href=/x>Menu</a></nav><main><h1>H</h1><p>Hi <a href=/y>you</a>.</main>", 500);
        assert_eq!(data["title"], "T");
        assert_eq!(data["url"], "/a?b=1");
        let markdown = data["markdown"].as_str().unwrap();
        assert!(markdown.contains("# H") && markdown.contains("[you](/y)") && !markdown.contains("Menu"), "{markdown}");
        assert!(data.get("links").is_none(), "{data}");
    }

    #[test]
    fn a_long_page_is_cut_between_blocks_and_says_so() {
        let html: String =
            (0..200).map(|n| format!("<p>Paragraph {n} says <a href=/p/{n}>something</a>.</p>")).collect();
        let data = page(&format!("<main><h1>H</h1>{html}</main>"), 300);
        assert!(data.to_string().len() <= 1200 + 700, "{}", data.to_string().len());
        let markdown = data["markdown"].as_str().unwrap();
        let (shown, note) = markdown.rsplit_once("\n\n").unwrap();
        assert!(shown.ends_with('.') && note.starts_with("[Cut here: ") && note.contains("/a?b=1"), "{markdown}");
        assert_eq!(data["links"].as_array().map(Vec::len), Some(MOST_LINKS));
    }

    #[test]
    fn code_is_not_cut_in_the_middle_and_a_page_without_words_is_empty() {
        let code = "x\n\ny\n\n".repeat(400);
        let data = page(&format!("<main><p>First.</p><pre><code>{code}</code></pre></main>"), 300);
        assert!(data["markdown"].as_str().unwrap().starts_with("First.\n\n[Cut here"), "{data}");
        assert_eq!(page("<title>Nothing</title><body></body>", 300)["markdown"], "");
    }
}
