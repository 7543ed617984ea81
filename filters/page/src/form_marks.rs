//! Marks a site's own forms for an agent in the browser, with the declarative attributes of WebMCP (`toolname`,
//! `tooldescription`, `toolparamdescription`), while the page streams by.
//!
//! Only pages that a declared capability names get this far, so it may cost what a streaming HTML parser costs. A tag
//! that is larger than the bound ends it: the rest of the page passes as it is.

use std::{
    borrow::Cow,
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use encoding_rs::Encoding;
use lol_html::{
    AsciiCompatibleEncoding, MemorySettings, Selector,
    send::{Element, ElementContentHandlers, HtmlRewriter, Settings},
};
use url::Url;

/// Maximum bytes of a page that wait for the end of a tag, and of the parser's own state.
const MOST_BYTES: usize = 256 * 1024;
/// What is a control of a form. Hidden values and passwords are nobody's to describe.
const CONTROLS: &str = "input:not([type=hidden i]):not([type=password i]), select, textarea";

/// A form of the site that a capability declares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FormMark {
    /// The path of the page that has it, without a query.
    pub page: String,
    /// A CSS selector for it; where there is none, or one that a stream cannot follow, its action has to be `action`.
    pub select: Option<String>,
    /// The path to which it is sent, without a query.
    pub action: String,
    pub name: String,
    pub description: String,
    /// The names of controls, and what each is for.
    pub fields: Vec<(String, String)>,
}

/// What is known while a page is read.
#[derive(Default)]
struct Seen {
    /// The form that is open, by its place among the marks.
    open: Option<usize>,
    marked: Vec<bool>,
    /// Marked forms by their id, for controls elsewhere on the page.
    by_id: HashMap<String, usize>,
}

/// Takes what leaves of a page.
type Sink = Box<dyn FnMut(&[u8]) + Send>;

type Rewriter = HtmlRewriter<'static, Sink>;

/// The marking of one page.
pub struct FormMarker {
    /// `None` once it has given up. Never locked: the mutex only lets a page be shared between threads.
    rewriter: Mutex<Option<Rewriter>>,
    out: Arc<Mutex<Vec<u8>>>,
}

impl FormMarker {
    /// For a page with these forms, in the encoding that its `Content-Type` names.
    pub fn new(marks: Vec<FormMark>, charset: Option<&str>) -> Self {
        let out = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&out);
        let sink: Sink = Box::new(move |bytes: &[u8]| lock(&sink).extend_from_slice(bytes));
        Self { rewriter: Mutex::new(Some(HtmlRewriter::new(settings(marks, charset), sink))), out }
    }

    /// The next piece of the page in, what may leave now out.
    pub fn feed(&mut self, chunk: Bytes) -> Bytes {
        let rewriter = self.rewriter.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(reading) = rewriter else { return chunk };
        if reading.write(&chunk).is_err() {
            // The bound: everything so far has been given to the sink.
            *rewriter = None;
        }
        self.taken()
    }

    /// The page has ended, or was cut off: what waited.
    pub fn finish(&mut self) -> Bytes {
        let rewriter = self.rewriter.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(rewriter) = rewriter.take() {
            // An error gives what waited to the sink too.
            rewriter.end().ok();
        }
        self.taken()
    }

    fn taken(&self) -> Bytes {
        std::mem::take(&mut *lock(&self.out)).into()
    }
}

impl fmt::Debug for FormMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FormMarker").finish_non_exhaustive()
    }
}

fn lock<T>(shared: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn settings(marks: Vec<FormMark>, charset: Option<&str>) -> Settings<'static, 'static> {
    let encoding = charset.and_then(|name| Encoding::for_label(name.as_bytes()));
    let encoding = encoding.and_then(AsciiCompatibleEncoding::new).unwrap_or_else(AsciiCompatibleEncoding::utf_8);
    let memory = MemorySettings::new()
        .with_max_allowed_memory_usage(MOST_BYTES)
        .with_graceful_bail_out_on_memory_limit_exceeded(true);
    let mut settings = Settings::new_send()
        .with_encoding(encoding)
        .with_adjust_charset_on_meta_tag(charset.is_none())
        .with_strict(false)
        .with_memory_settings(memory);
    let seen = Arc::new(Mutex::new(Seen { marked: vec![false; marks.len()], ..Seen::default() }));
    let marks = Arc::new(marks);
    let mut selected = vec![false; marks.len()];
    for (at, mark) in marks.iter().enumerate() {
        let Some(selector) = mark.select.as_deref().and_then(|select| select.parse::<Selector>().ok()) else {
            continue;
        };
        selected[at] = true;
        let (marks, seen) = (Arc::clone(&marks), Arc::clone(&seen));
        let handler = move |element: &mut Element<'_, '_>| {
            if element.tag_name() == "form" {
                open(element, &marks, at, &seen)?;
            }
            Ok(())
        };
        settings = settings
            .append_element_content_handler((Cow::Owned(selector), ElementContentHandlers::default().element(handler)));
    }
    let by_action = {
        let (marks, seen) = (Arc::clone(&marks), Arc::clone(&seen));
        move |element: &mut Element<'_, '_>| {
            let sent_to = element.get_attribute("action").unwrap_or_default();
            let fits = |mark: &FormMark| path_of(&mark.page, &sent_to).as_deref() == Some(mark.action.as_str());
            if let Some(at) = (0..marks.len()).find(|at| !selected[*at] && fits(&marks[*at])) {
                open(element, &marks, at, &seen)?;
            }
            Ok(())
        }
    };
    let describe = move |element: &mut Element<'_, '_>| {
        let form = match element.get_attribute("form") {
            Some(id) => lock(&seen).by_id.get(&id).copied(),
            None => lock(&seen).open,
        };
        let name = element.get_attribute("name").unwrap_or_default();
        let said = form.and_then(|at| marks[at].fields.iter().find(|(field, _)| *field == name));
        if let Some((_, description)) = said.filter(|_| !element.has_attribute("toolparamdescription")) {
            element.set_attribute("toolparamdescription", &escaped(description))?;
        }
        Ok(())
    };
    for (selector, handler) in [
        ("form", ElementContentHandlers::default().element(by_action)),
        (CONTROLS, ElementContentHandlers::default().element(describe)),
    ] {
        if let Ok(selector) = selector.parse::<Selector>() {
            settings = settings.append_element_content_handler((Cow::Owned(selector), handler));
        }
    }
    settings
}

/// Marks a form, unless it is marked, by the site or here, or another one has this mark already.
fn open(
    element: &mut Element<'_, '_>,
    marks: &[FormMark],
    at: usize,
    seen: &Arc<Mutex<Seen>>,
) -> lol_html::HandlerResult {
    let mut now = lock(seen);
    if now.marked[at] || element.has_attribute("toolname") {
        return Ok(());
    }
    now.marked[at] = true;
    now.open = Some(at);
    if let Some(id) = element.get_attribute("id") {
        now.by_id.insert(id, at);
    }
    drop(now);
    element.set_attribute("toolname", &escaped(&marks[at].name))?;
    element.set_attribute("tooldescription", &escaped(&marks[at].description))?;
    let seen = Arc::clone(seen);
    element.on_end_tag(Box::new(move |_| {
        lock(&seen).open = None;
        Ok(())
    }))
}

/// The path to which an action of a page leads. `None`: it names a host, and which one is the site's is not known here.
fn path_of(page: &str, action: &str) -> Option<String> {
    let page = Url::parse("http://site.invalid").and_then(|site| site.join(page)).ok()?;
    let target = page.join(action.trim()).ok()?;
    (target.origin() == page.origin()).then(|| target.path().to_owned())
}

/// Text as an attribute's value: the writer escapes quotes itself.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contact() -> FormMark {
        FormMark {
            page: "/contact".into(),
            action: "/contact/send".into(),
            name: "contact_send".into(),
            description: "Write to \"us\" & friends".into(),
            fields: vec![("email".into(), "Where to answer".into()), ("topic".into(), "What about".into())],
            ..FormMark::default()
        }
    }

    /// The page in pieces of every size from one byte to the whole.
    fn marked(marks: &[FormMark], page: &str) -> String {
        let mut made: Vec<String> = (1..page.len() + 1)
            .map(|size| {
                let mut marker = FormMarker::new(marks.to_vec(), Some("utf-8"));
                let mut out = Vec::new();
                for piece in page.as_bytes().chunks(size) {
                    out.extend_from_slice(&marker.feed(Bytes::copy_from_slice(piece)));
                }
                out.extend_from_slice(&marker.finish());
                String::from_utf8(out).unwrap()
            })
            .collect();
        made.dedup();
        assert_eq!(made.len(), 1, "{made:?}");
        made.remove(0)
    }

    #[test]
    fn a_declared_form_and_its_controls_are_marked_and_nothing_else_changes() {
        let page = "<!DOCTYPE html><form action=/search><input name=email></form><p>&eacute;\
            <form id=f ACTION='send' method=post><input type=hidden name=email value=1><input name=email required>\
            <select name=topic></select><textarea name=other></textarea></form><input name=topic form=f><input name=topic>";
        let tool = "toolname=\"contact_send\" tooldescription=\"Write to &quot;us&quot; &amp; friends\"";
        let mark = FormMark { page: "/contact/".into(), ..contact() };
        assert_eq!(
            marked(&[mark], page),
            page.replace("method=post>", &format!("method=post {tool}>"))
                .replace(
                    "<input name=email required>",
                    "<input name=email required toolparamdescription=\"Where to answer\">"
                )
                .replace("<select name=topic>", "<select name=topic toolparamdescription=\"What about\">")
                .replace("form=f>", "form=f toolparamdescription=\"What about\">")
        );
    }

    #[test]
    fn a_selector_tells_forms_with_one_action_apart() {
        let mark = FormMark { select: Some("form.two".into()), ..contact() };
        let page = "<form action=/contact/send class=one></form><form class=two action=/contact/send></form>";
        let made = marked(&[mark], page);
        assert!(made.starts_with("<form action=/contact/send class=one></form>"), "{made}");
        assert!(made.contains("<form class=two action=/contact/send toolname="), "{made}");
    }

    #[test]
    fn only_the_first_of_two_forms_alike_is_marked_and_none_that_the_site_marks() {
        let made = marked(&[contact()], "<form action=/contact/send></form><form action=/contact/send></form>");
        assert_eq!(made.matches("toolname").count(), 1, "{made}");
        let own = "<form action=/contact/send toolname=theirs><input name=email></form>";
        assert_eq!(marked(&[contact()], own), own);
        let text = "<!-- <form action=/contact/send> --><textarea><form action=/contact/send></textarea>";
        assert_eq!(marked(&[contact()], text), text);
    }

    #[test]
    fn descriptions_are_in_the_encoding_of_the_page() {
        let mark = FormMark { description: "Grüße".into(), ..contact() };
        let mut marker = FormMarker::new(vec![mark], Some("iso-8859-1"));
        let mut out = marker.feed(Bytes::from_static(b"<form action=/contact/send>\xfc</form>")).to_vec();
        out.extend_from_slice(&marker.finish());
        assert!(out.windows(5).any(|five| five == b"Gr\xfc\xdfe") && out.ends_with(b">\xfc</form>"), "{out:?}");
    }

    #[test]
    fn a_tag_beyond_the_bound_passes_and_so_does_the_rest() {
        let page = format!("<p>a<input alt=\"{}\"><form action=/contact/send></form>", "x".repeat(2 * MOST_BYTES));
        let mut marker = FormMarker::new(vec![contact()], None);
        let mut out = Vec::new();
        for piece in page.as_bytes().chunks(50_000) {
            out.extend_from_slice(&marker.feed(Bytes::copy_from_slice(piece)));
        }
        out.extend_from_slice(&marker.finish());
        assert!(out == page.as_bytes(), "{} bytes, not {}", out.len(), page.len());
    }
}
