//! The data of one rendering of the operator's page, and how it is put into words.

use std::{io, sync::Arc, time::Duration};

use frontdesk_filters::{
    desk::{rfc3339, ticket::Ticket},
    site::{Difference, Outline},
    state::NotKept,
};

use super::{Operator, html::Html};
use crate::{admin::Admin, live::Failure, running::Running};

/// The outcome of the form that was just sent.
pub(super) struct Told {
    pub(super) well: bool,
    pub(super) text: String,
}

impl Told {
    /// An outcome that reports a failure.
    pub(super) fn wrong(text: impl Into<String>) -> Self {
        Self { well: false, text: text.into() }
    }
}

/// The data of one rendering.
pub(super) struct View<'a> {
    pub(super) admin: &'a Admin,
    pub(super) running: Arc<Running>,
    pub(super) operator: Option<Operator>,
    pub(super) failure: Option<Failure>,
    /// The differences between the file and the running configuration, if the file could not be used.
    pub(super) differs: Option<io::Result<(Vec<Difference>, bool)>>,
    pub(super) tickets: Result<Vec<Ticket>, NotKept>,
    /// The time of the rendering, since 1970.
    pub(super) now: Duration,
}

impl<'a> View<'a> {
    /// Collects the data that has to be waited for.
    pub(super) async fn new(admin: &'a Admin, operator: Option<Operator>) -> Self {
        let running = admin.live.current();
        let failure = admin.live.failure();
        let mut differs = None;
        if failure.is_some() {
            let (live, running) = (admin.live.clone(), running.clone());
            let compare = move || {
                let outline = live.outline()?;
                Some(outline.map(|file| (Outline::of(&running.declaration.tables).differences(&file), file.partial)))
            };
            differs = tokio::task::spawn_blocking(compare).await.ok().flatten();
        }
        let tickets = admin.tickets(&running).asked().await;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Self { admin, running, operator, failure, differs, tickets, now }
    }

    /// The base path of the page's sections.
    pub(super) fn base(&self) -> &str {
        self.operator.as_ref().map_or("/page", |operator| &operator.base)
    }

    /// How long ago a moment was.
    pub(super) fn ago(&self, at: Duration) -> String {
        match self.now.saturating_sub(at) {
            age if age < Duration::from_secs(1) => "now".into(),
            age => format!("{} ago", span(age)),
        }
    }
}

/// The head of a document and the beginning of its body. `live`: the URL of its refreshed sections.
pub(super) fn begin(html: &mut Html, title: &'static str, live: Option<&str>) {
    html.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>").raw(title);
    html.raw("</title><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")
        .raw("<meta name=\"robots\" content=\"noindex\"><meta name=\"color-scheme\" content=\"light dark\">")
        .raw("<link rel=\"stylesheet\" href=\"/page/style.css\"><link rel=\"icon\" href=\"/page/icon.svg\">");
    match live {
        Some(base) => {
            html.raw("<script src=\"/page/script.js\" defer></script></head><body data-refresh=\"");
            html.text(base).raw("/live\">");
        }
        None => {
            html.raw("</head><body>");
        }
    }
}

/// A duration in its largest unit.
pub(super) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// The time of day.
pub(super) fn clock(since_1970: Duration) -> String {
    let text = rfc3339(std::time::UNIX_EPOCH + since_1970);
    text.get(11..19).unwrap_or_default().to_owned()
}

/// A number for a person: 12345 becomes 12 345.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push('\u{a0}');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(
            ["0", "999", "1\u{a0}000", "12\u{a0}345\u{a0}678"],
            [0, 999, 1000, 12_345_678].map(grouped).each_ref().map(String::as_str)
        );
        let spans = [0, 119, 120, 7199, 7200, 172_800].map(|s| span(Duration::from_secs(s)));
        assert_eq!(spans, ["0 s", "119 s", "2 min", "119 min", "2 h", "2 days"]);
        assert_eq!(clock(Duration::from_secs(3661)), "01:01:01");
    }
}
