//! Builds the typed settings of extraction from pages and of forms.

use super::{raw::Item, settings::*, view::View};

pub(super) fn extract(view: View) -> Extract {
    let fields = view.get("fields").map(Item::entries).unwrap_or_default();
    let field = |item: &Item| match item.str() {
        Some(select) => ExtractField { select: select.to_owned(), all: false, kind: FieldKind::Text },
        None => ExtractField {
            select: item.get("select").and_then(Item::str).unwrap_or_default().to_owned(),
            all: item.get("all").and_then(Item::bool).unwrap_or(false),
            kind: match item.get("as").and_then(Item::str) {
                Some("number") => FieldKind::Number,
                Some("boolean") => FieldKind::Boolean,
                Some("date") => FieldKind::Date,
                Some("markdown") => FieldKind::Markdown,
                _ => FieldKind::Text,
            },
        },
    };
    Extract {
        each: view.text("each"),
        fields: fields.iter().map(|entry| (entry.key.to_string(), field(&entry.item))).collect(),
        must: view.text("must"),
        next: view.text("next"),
    }
}

pub(super) fn form(view: View) -> Form {
    let done = View { item: view.get("done"), ..view };
    let status = || u16::try_from(done.get("status").map(|_| done.number("status", 0))?).ok();
    Form {
        page: view.text_or("page", "/"),
        select: view.text("select"),
        submit: view.text("submit"),
        done: done
            .text("redirect")
            .map(FormDone::Redirect)
            .or_else(|| done.text("select").map(FormDone::Select))
            .or_else(|| status().map(FormDone::Status)),
        failed: view.text("failed"),
    }
}
