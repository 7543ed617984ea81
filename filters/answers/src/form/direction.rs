//! `dirname`: a form may ask for the direction in which a text is written.

use frontdesk_page::content::css;

use super::control::{Control, Kind};

/// The name that a control's direction is sent by, and the direction of the text in it.
pub(super) fn of(control: &Control<'_>, text: &str) -> Option<(String, &'static str)> {
    let name = control.element.attr("dirname").filter(|name| !name.is_empty())?.to_string();
    let kind = control.input_type();
    let has_direction = match control.kind {
        Kind::Hidden | Kind::TextArea => true,
        Kind::Text => !matches!(
            kind.as_str(),
            "number" | "range" | "color" | "date" | "month" | "week" | "time" | "datetime-local"
        ),
        _ => false,
    };
    if !has_direction {
        return None;
    }
    let said = |element: &css::Element<'_>| {
        css::attribute(element, "dir")
            .map(|dir| dir.to_ascii_lowercase())
            .filter(|dir| matches!(dir.as_str(), "ltr" | "rtl" | "auto"))
    };
    let direction = match said(&control.element).as_deref() {
        Some("auto") => first_strong(text),
        Some("rtl") => "rtl",
        Some(_) => "ltr",
        None if kind == "tel" => "ltr",
        // What is above and says `auto` would have to be read whole for each control.
        None => match control.element.ancestors_it(None).find_map(|above| said(&above)).as_deref() {
            Some("rtl") => "rtl",
            _ => "ltr",
        },
    };
    Some((name, direction))
}

/// The direction of the first letter that has one.
fn first_strong(text: &str) -> &'static str {
    match text.chars().find(|c| c.is_alphabetic()) {
        Some(
            '\u{590}'..='\u{8ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{feff}'
            | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}',
        ) => "rtl",
        _ => "ltr",
    }
}
