//! What an answer is: by its Content-Type, else by its first bytes.

use frontdesk_base::media::{essence, is_json};
use frontdesk_config::ResponseKind;

/// How many bytes of an answer without a Content-Type are looked at.
const LOOKED_AT: usize = 512;

/// What an answer is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Json,
    Page,
    Text,
    Table,
    Xml,
    File,
}

impl Kind {
    /// What an answer with this Content-Type and these bytes is.
    pub fn of(content_type: &str, body: &[u8]) -> Self {
        let kind = essence(content_type).to_ascii_lowercase();
        match kind.as_str() {
            "" => Self::sniffed(body),
            _ if is_json(&kind) => Self::Json,
            "text/html" | "application/xhtml+xml" => Self::Page,
            "text/csv" | "application/csv" | "text/tab-separated-values" => Self::Table,
            "image/svg+xml" => Self::File,
            "text/xml" | "application/xml" => Self::Xml,
            _ if kind.ends_with("+xml") => Self::Xml,
            "text/calendar" | "text/vcard" => Self::File,
            _ if kind.starts_with("text/") => Self::Text,
            _ => Self::File,
        }
    }

    /// The same where the site does not say.
    fn sniffed(body: &[u8]) -> Self {
        let start = String::from_utf8_lossy(&body[..body.len().min(LOOKED_AT)]).to_ascii_lowercase();
        let start = start.trim_start_matches('\u{feff}').trim_start();
        match start {
            _ if start.starts_with("<!doctype html") || start.starts_with("<html") => Self::Page,
            _ if start.starts_with("<?xml") => Self::Xml,
            _ if start.is_empty() || start.starts_with(['{', '[']) => Self::Json,
            _ if !body.contains(&0) && std::str::from_utf8(body).is_ok() => Self::Text,
            _ => Self::File,
        }
    }

    /// The value of `response` that reads it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Page => "page",
            Self::Text => "text",
            Self::Table => "table",
            Self::Xml => "xml",
            Self::File => "file",
        }
    }

    /// What an answer with this declared `response` is read as; `None`: it does not fit.
    pub(crate) fn declared(response: ResponseKind, content_type: &str, body: &[u8]) -> Result<Self, Self> {
        let found = Self::of(content_type, body);
        let is_named = !essence(content_type).is_empty();
        let wanted = match response {
            ResponseKind::Page => Self::Page,
            // Tables, XML and pages are texts too, and many sites serve all of them as plain text.
            ResponseKind::Text if found != Self::File => return Ok(Self::Text),
            ResponseKind::Text => Self::Text,
            ResponseKind::Table if found == Self::Text || essence(content_type).ends_with("octet-stream") => {
                return Ok(Self::Table);
            }
            ResponseKind::Table if essence(content_type).contains("excel") => return Ok(Self::Table),
            ResponseKind::Table => Self::Table,
            ResponseKind::Xml if found == Self::Text || !is_named => return Ok(Self::Xml),
            ResponseKind::Xml => Self::Xml,
            ResponseKind::File => return Ok(Self::File),
            _ => return Ok(found),
        };
        if found == wanted { Ok(wanted) } else { Err(found) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_told_by_its_type_or_by_its_start() {
        for (kind, body, expected) in [
            ("application/json; charset=utf-8", "", Kind::Json),
            ("application/problem+json", "", Kind::Json),
            ("Text/HTML;charset=x", "", Kind::Page),
            ("application/xhtml+xml", "", Kind::Page),
            ("text/csv", "", Kind::Table),
            ("text/tab-separated-values", "", Kind::Table),
            ("application/rss+xml", "", Kind::Xml),
            ("text/xml", "", Kind::Xml),
            ("image/svg+xml", "", Kind::File),
            ("text/markdown", "", Kind::Text),
            ("application/pdf", "", Kind::File),
            ("", " <!DOCTYPE html><p>", Kind::Page),
            ("", "\u{feff}<?xml version='1.0'?>", Kind::Xml),
            ("", "[1]", Kind::Json),
            ("", "words", Kind::Text),
            ("", "a\0b", Kind::File),
        ] {
            assert_eq!(Kind::of(kind, body.as_bytes()), expected, "{kind} {body}");
        }
    }

    #[test]
    fn what_is_declared_has_to_fit() {
        let declared = |response, kind| Kind::declared(response, kind, b"x");
        assert_eq!(declared(ResponseKind::Auto, "text/html"), Ok(Kind::Page));
        assert_eq!(declared(ResponseKind::Page, "application/json"), Err(Kind::Json));
        assert_eq!(declared(ResponseKind::Table, "text/plain"), Ok(Kind::Table));
        assert_eq!(declared(ResponseKind::Table, "text/html"), Err(Kind::Page));
        assert_eq!(declared(ResponseKind::Text, "text/csv"), Ok(Kind::Text));
        assert_eq!(declared(ResponseKind::Text, "image/png"), Err(Kind::File));
        assert_eq!(declared(ResponseKind::Xml, "text/plain"), Ok(Kind::Xml));
        assert_eq!(declared(ResponseKind::File, "text/html"), Ok(Kind::File));
    }
}
