//! Pages to serve, and checks of what Frontdesk inserted.

/// A small page with a quoted `>` in its body tag.
pub const PAGE: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Example</title>\n\
    <link rel=\"icon\" href=\"/i.png\">\n</head>\n<body class=\"home\" data-x='a > b'>\n<h1>Welcome</h1>\n\
    <p>Grüße, 世界 &amp; everyone.</p>\n</body>\n</html>\n";

/// The one Link line that Frontdesk adds.
pub const LINK: &str = "</.well-known/agent.json>; rel=\"ahp-manifest\"; type=\"application/agent+json\", \
    </.well-known/agent-interface.toml>; rel=\"agent-interface\"; type=\"application/aicp+toml\"";

/// A page of about `size` bytes.
pub fn big(size: usize) -> String {
    let (top, bottom) = PAGE.split_once("</body>").expect("the page has a body");
    let mut page = String::with_capacity(size + 200);
    page.push_str(top);
    let mut line = 0u32;
    while page.len() < size {
        // A little irregular, so that its compressed size is realistic.
        page.push_str(&format!("<p>Line {line}: {:08x} of a long page.</p>\n", line.wrapping_mul(2_654_435_761)));
        line += 1;
    }
    page + "</body>" + bottom
}

/// A page without Frontdesk's insertions.
#[derive(Debug)]
pub struct TakenOut {
    pub rest: String,
    pub notices: Vec<String>,
    pub links: Vec<String>,
    /// The position in `rest` of the first notice.
    pub notice_at: usize,
    /// The position in `rest` of the last link.
    pub links_at: usize,
}

pub fn take_out(html: &str) -> TakenOut {
    let marks = [
        ("<section class=\"ahp-notice\"", "</section>"),
        ("<div class=\"ahp-notice\"", "</div>"),
        ("<link rel=\"agent-interface\"", ">"),
        ("<link rel=\"ahp-manifest\"", ">"),
        ("<link rel=\"alternate\" href=\"/", "type=\"text/markdown\">"),
    ];
    let mut out = TakenOut { rest: String::new(), notices: vec![], links: vec![], notice_at: 0, links_at: 0 };
    let mut left = html;
    loop {
        let found = marks.iter().filter_map(|(open, end)| left.find(open).map(|at| (at, *end))).min();
        let Some((at, end)) = found else {
            out.rest.push_str(left);
            return out;
        };
        out.rest.push_str(&left[..at]);
        let length = left[at..].find(end).map_or(left.len() - at, |n| n + end.len());
        let taken = left[at..at + length].to_owned();
        if !end.starts_with("</") {
            out.links.push(taken);
            out.links_at = out.rest.len();
        } else {
            if out.notices.is_empty() {
                out.notice_at = out.rest.len();
            }
            out.notices.push(taken);
        }
        left = &left[at + length..];
    }
}

/// Checks that only a notice right before the end of the body and links at the end of the head were inserted.
#[track_caller]
pub fn assert_rewritten(origin: &str, got: &str, when: &str) {
    let at = assert_added(origin, got, when);
    let after = &origin[at..];
    assert!(after.starts_with("</body>"), "right before the end of the body, {when}, not before {:?}", excerpt(after));
}

/// The same with the notice right after the body tag.
#[track_caller]
pub fn assert_rewritten_at_start(origin: &str, got: &str, when: &str) {
    let before = &origin[..assert_added(origin, got, when)];
    let tag =
        before.rfind("<body").unwrap_or_else(|| panic!("the notice is not in the body, {when}:\n{}", excerpt(got)));
    assert!(is_one_tag(&before[tag..]), "right after the body tag, {when}, not after {:?}", &before[tag..]);
}

/// Checks that only one notice and links at the end of the head were inserted. Returns the notice's position.
#[track_caller]
fn assert_added(origin: &str, got: &str, when: &str) -> usize {
    let taken = take_out(got);
    assert_eq!(taken.notices.len(), 1, "one notice, {when}, in:\n{}", excerpt(got));
    let of_page = taken.links.iter().filter(|link| link.contains("text/markdown")).count();
    assert!(of_page <= 1, "one link to the page's Markdown, {when}, in:\n{}", excerpt(got));
    assert_eq!(taken.links.len() - of_page, 2, "two link elements, {when}, in:\n{}", excerpt(got));
    assert!(taken.rest == origin, "the rest is the origin's page, {when}: {}", first_difference(origin, &taken.rest));
    let after = origin[taken.links_at..].trim_start().to_ascii_lowercase();
    assert!(after.starts_with("</head"), "at the end of the head, {when}, not before {:?}", excerpt(&after));
    taken.notice_at
}

/// Checks that nothing was inserted.
#[track_caller]
pub fn assert_untouched(origin: &[u8], got: &[u8], when: &str) {
    if origin != got {
        let texts = (String::from_utf8_lossy(origin), String::from_utf8_lossy(got));
        panic!("untouched, {when}: {}", first_difference(&texts.0, &texts.1));
    }
}

fn is_one_tag(text: &str) -> bool {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (None, '>') => return at + 1 == text.len(),
            (None, '"' | '\'') => quote = Some(c),
            (Some(q), c) if q == c => quote = None,
            _ => {}
        }
    }
    false
}

fn excerpt(text: &str) -> String {
    text.chars().take(1500).collect()
}

pub fn first_difference(expected: &str, got: &str) -> String {
    let at = expected.bytes().zip(got.bytes()).take_while(|(a, b)| a == b).count();
    let around =
        |s: &str| String::from_utf8_lossy(&s.as_bytes()[at.saturating_sub(40)..s.len().min(at + 80)]).into_owned();
    format!(
        "lengths {} and {}, first difference at {at}: expected {:?}, got {:?}",
        expected.len(),
        got.len(),
        around(expected),
        around(got)
    )
}
