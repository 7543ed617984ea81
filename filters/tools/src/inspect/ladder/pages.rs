//! Checks of the page itself: its head, its text, its Markdown, and what is answered where there is no page.

use frontdesk_page::markdown_path;
use http::header;

use super::{Look, Verdict, pass_or};
use crate::inspect::{
    Answer,
    links::{self, Link},
    offer,
    plain::some,
    probes::{ABOUT, NOWHERE},
};

/// `Link` relations that count.
const RELATIONS: [&str; 7] =
    ["alternate", "describedby", "service-desc", "service-doc", "api-catalog", "service-meta", "status"];
/// Characters of text that a page has to have.
const LEAST_TEXT: usize = 500;
/// Characters that a page should not exceed.
const MOST_TEXT: usize = 100_000;
/// Bytes of a short 404.
const SHORT: usize = 10_000;

fn links_of(answer: &Answer) -> Vec<Link> {
    let values = answer.headers.get_all(header::LINK).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(links::of_header).collect()
}

pub(super) fn link_header(look: &Look<'_>) -> Verdict {
    let Some(page) = look.page() else { return Verdict::Fail("the page does not answer 200".into()) };
    let links = links_of(&page);
    let found: Vec<&str> = RELATIONS.into_iter().filter(|rel| links.iter().any(|link| link.is(rel))).collect();
    pass_or((!found.is_empty()).then(|| some(&found)), "no standard relation in it")
}

/// The page as Markdown, if there is any.
fn own_markdown(look: &Look<'_>) -> Option<Answer> {
    look.markdown(look.page).filter(|answer| answer.status.is_success() && answer.is_markdown())
}

pub(super) fn markdown(look: &Look<'_>) -> Verdict {
    match own_markdown(look) {
        None => Verdict::Fail("Accept: text/markdown gets something else".into()),
        Some(answer) if !answer.varies_by_accept() => {
            Verdict::Fail("without Vary: Accept a cache mixes it up with the page".into())
        }
        Some(answer) => Verdict::Pass(format!("{} bytes", answer.body.len())),
    }
}

pub(super) fn static_text(look: &Look<'_>) -> Verdict {
    let characters = look.page_text().map_or(0, |text| text.trim().chars().count());
    let said = format!("{characters} characters in the HTML");
    if characters >= LEAST_TEXT { Verdict::Pass(said) } else { Verdict::Fail(format!("{said}, not {LEAST_TEXT}")) }
}

pub(super) fn page_size(look: &Look<'_>) -> Verdict {
    let characters = look.page_text().map_or(0, |text| text.chars().count());
    let said = format!("{characters} characters");
    if characters <= MOST_TEXT { Verdict::Pass(said) } else { Verdict::Fail(format!("{said}, over {MOST_TEXT}")) }
}

pub(super) fn not_found(look: &Look<'_>) -> Verdict {
    let missing = |answer: &Answer| matches!(answer.status.as_u16(), 404 | 410);
    let Some(page) = look.get(NOWHERE) else { return Verdict::Neutral("not asked".into()) };
    if !missing(&page) {
        return Verdict::Fail(format!("a page that is not there answers {}, not 404", page.status.as_u16()));
    }
    let Some(markdown) = look.markdown(NOWHERE).filter(missing).filter(Answer::is_markdown) else {
        return Verdict::Fail("no 404 in Markdown for those who ask for Markdown".into());
    };
    let text = markdown.text();
    let names = |what: &str| text.contains(what);
    match () {
        () if markdown.body.len() > SHORT => Verdict::Fail(format!("its Markdown has {} bytes", markdown.body.len())),
        () if !names("llms.txt") => Verdict::Fail("its Markdown does not name llms.txt".into()),
        () if !names("sitemap") => Verdict::Fail("its Markdown does not name the sitemap".into()),
        () => Verdict::Pass(format!("404, in Markdown {} bytes", markdown.body.len())),
    }
}

pub(super) fn redirects(look: &Look<'_>) -> Verdict {
    let Some(page) = look.page() else { return Verdict::Fail("the page does not answer 200".into()) };
    let mut refresh = None;
    links::tags(&page.body, b"meta", |tag| {
        let [equiv, content] = links::attributes(tag, ["http-equiv", "content"]);
        let refreshes = equiv.is_some_and(|equiv| equiv.trim().eq_ignore_ascii_case("refresh"));
        refresh = content.filter(|content| refreshes && content.to_ascii_lowercase().contains("url="));
        refresh.is_none()
    });
    match refresh {
        Some(to) => Verdict::Fail(format!("the page redirects by <meta http-equiv=refresh>: {to}")),
        None => Verdict::Pass("none by <meta http-equiv=refresh>".into()),
    }
}

pub(super) fn structured(look: &Look<'_>) -> Verdict {
    let found = look.page().is_some_and(|page| offer::structured(&page.body));
    pass_or(found.then(String::new), "none in the page")
}

pub(super) fn metadata(look: &Look<'_>) -> Verdict {
    let Some(page) = look.page() else { return Verdict::Fail("the page does not answer 200".into()) };
    let mut missing = Vec::new();
    if !links::of_page(&page.body).iter().any(|link| link.is("canonical")) {
        missing.push("canonical");
    }
    let language = links::first_tag(&page.body, b"html", ["lang"]).and_then(|[lang]| lang);
    if language.is_none_or(|language| language.trim().is_empty()) {
        missing.push("lang");
    }
    let mut properties = Vec::new();
    links::tags(&page.body, b"meta", |tag| {
        let [property, name] = links::attributes(tag, ["property", "name"]);
        properties.extend(property.or(name).map(|name| name.to_ascii_lowercase()));
        true
    });
    missing.extend(["og:image", "og:type"].into_iter().filter(|name| !properties.iter().any(|own| own == name)));
    match missing.is_empty() {
        true => Verdict::Pass(String::new()),
        false => Verdict::Fail(format!("without {}", missing.join(", "))),
    }
}

pub(super) fn about(look: &Look<'_>) -> Verdict {
    let page = look.page();
    let mut linked = Vec::new();
    if let Some(page) = &page {
        links::tags(&page.body, b"a", |tag| {
            let [href] = links::attributes(tag, ["href"]);
            linked.extend(href.and_then(|href| look.here(&href)));
            true
        });
    }
    let there = |path: &str| {
        let named = &path[1..];
        look.get(path).is_some_and(|answer| answer.status.is_success())
            || linked.iter().any(|link| link.rsplit('/').next().is_some_and(|last| last.starts_with(named)))
    };
    let missing: Vec<&str> = ABOUT.into_iter().filter(|path| !there(path)).collect();
    match missing.is_empty() {
        true => Verdict::Pass(String::new()),
        false => Verdict::Fail(format!("without {}", missing.join(", "))),
    }
}

pub(super) fn code_fences(look: &Look<'_>) -> Verdict {
    let Some(markdown) = own_markdown(look) else { return Verdict::Neutral("there is no Markdown".into()) };
    let text = markdown.text();
    let fences = text.lines().filter(|line| line.trim_start().starts_with("```")).count();
    match fences.is_multiple_of(2) {
        true => Verdict::Pass(format!("{fences} lines with a fence")),
        false => Verdict::Fail(format!("{fences} lines with a fence: one stays open")),
    }
}

pub(super) fn twins(look: &Look<'_>) -> Verdict {
    let path = markdown_path::path_of(look.page);
    let found = [path.as_str(), "/index.md"]
        .into_iter()
        .find(|path| look.markdown(path).is_some_and(|answer| answer.status.is_success() && answer.is_markdown()));
    pass_or(found.map(str::to_owned), "neither /index.md nor PATH.md is Markdown")
}

fn is_to_markdown(link: &Link) -> bool {
    let path = link.target.split(['?', '#']).next().unwrap_or_default();
    link.is("alternate") && (link.kind.starts_with("text/markdown") || path.ends_with(".md"))
}

pub(super) fn link_element(look: &Look<'_>) -> Verdict {
    let links = look.page().map(|page| links::of_page(&page.body)).unwrap_or_default();
    let found = links.iter().find(|link| is_to_markdown(link)).map(|link| link.target.clone());
    pass_or(found, "the page has no <link rel=alternate type=text/markdown>")
}

pub(super) fn front_matter(look: &Look<'_>) -> Verdict {
    let Some(markdown) = own_markdown(look) else { return Verdict::Fail("there is no Markdown".into()) };
    let text = markdown.text();
    let Some((front, _)) = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---")) else {
        return Verdict::Fail("the Markdown does not begin with front matter".into());
    };
    let keys: Vec<&str> = front.lines().filter_map(|line| line.split_once(':')).map(|(key, _)| key.trim()).collect();
    let missing: Vec<&str> = ["title", "canonical"].into_iter().filter(|key| !keys.contains(key)).collect();
    match missing.is_empty() {
        true => Verdict::Pass(some(&keys)),
        false => Verdict::Fail(format!("without {}", missing.join(", "))),
    }
}

pub(super) fn link_targets(look: &Look<'_>) -> Verdict {
    let links = look.page().map(|page| links_of(&page)).unwrap_or_default();
    let sitemap = links.iter().any(|link| link.is("sitemap"));
    let twin = links.iter().any(is_to_markdown);
    match (sitemap, twin) {
        (true, true) => Verdict::Pass(String::new()),
        (false, true) => Verdict::Fail("the Link header does not name the sitemap".into()),
        (true, false) => Verdict::Fail("the Link header does not name the page's Markdown".into()),
        (false, false) => Verdict::Fail("the Link header names neither".into()),
    }
}

/// Tools that a page registers, as far as that shows without a browser.
pub(super) fn web_mcp(look: &Look<'_>) -> Verdict {
    let Some(page) = look.page() else { return Verdict::Fail("the page does not answer 200".into()) };
    let registers = |script: &[u8]| {
        let has = |word: &[u8]| memchr::memmem::find(script, word).is_some();
        has(b"modelContext") && (has(b"registerTool") || has(b"provideContext"))
    };
    if registers(&page.body) {
        return Verdict::Pass("a script in the page registers tools".into());
    }
    let declared = links::first_tag(&page.body, b"form", ["toolname"]).and_then(|[name]| name);
    if let Some(name) = declared {
        return Verdict::Pass(format!("a form is the tool {name}"));
    }
    let scripts = links::scripts_of_page(&page.body);
    let found = scripts
        .iter()
        .filter_map(|script| look.here(script))
        .find(|target| look.get(target).is_some_and(|answer| answer.status.is_success() && registers(&answer.body)));
    pass_or(found.map(|script| format!("{script} registers tools")), "no script or form of the page registers a tool")
}
