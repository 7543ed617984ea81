//! The keys of `[capabilities.ahp]` and their checks.

use frontdesk_config::{
    Declared, Extension, Findings, Item, Kind::*, Place, Table, capability_kind, closed, forms::*, key,
    names::can_be_named,
};

use super::{MANIFEST, MOVED, is_type, pattern};
use frontdesk_base::templates;

/// AHP's configuration keys and checks.
pub static EXTENSION: Extension =
    Extension { keys: &[(Place::Capability, key("ahp", Sub(&AHP)).private())], documents: &[MANIFEST, MOVED], check };

static AHP: Table = closed(&[
    key("name", Text(can_be_named)),
    key("mode", Word(&["MODE1", "MODE2", "MODE3"])),
    key("response_types", List(&Text(filled))),
    key("accept_fallback", Bool),
    key("extract", Map(&Text(filled))),
    key("payload", Map(&Any)),
    key("answer", Text(any)),
    key("action_type", Word(&["query", "action", "async"])),
    key("eta", Text(duration)),
]);

fn check(declared: &Declared<'_>, found: &mut Findings) {
    let capabilities = declared.root.get("capabilities").map(Item::items).unwrap_or_default();
    for (index, capability) in capabilities.iter().enumerate() {
        rules(capability, &format!("capabilities[{index}].ahp"), found);
    }
}

fn rules(capability: &Item, trail: &str, found: &mut Findings) {
    let types = capability.at(&["ahp", "response_types"]).map(Item::items).unwrap_or_default();
    for item in types.iter().filter(|item| item.str().is_some_and(|kind| !is_type(kind))) {
        let what = format!("{} is no type that a manifest takes; clients that check it refuse all of it", item.shown());
        let finding = found.warning(item.line, format_args!("{trail}.response_types"), what);
        finding.hint("text/NAME, application/NAME, media/NAME, file/NAME or x-OWN/NAME, without dots and plus signs");
    }
    let kind = capability.get("type").and_then(Item::str).and_then(capability_kind);
    let is_action = kind.is_some_and(|kind| kind.is_action());
    let told_as_one = capability.at(&["ahp", "action_type"]).and_then(Item::str) == Some("action");
    let lower = |item: &&Item| matches!(item.str(), Some("MODE1" | "MODE2"));
    if let Some(item) = capability.at(&["ahp", "mode"]).filter(lower).filter(|_| is_action || told_as_one) {
        let what = format!(
            "{}, and only MODE3 takes actions; agents that keep to the handshake do not expect one",
            item.shown()
        );
        found.warning(item.line, format_args!("{trail}.mode"), what).hint("leave it out: MODE3 is the default");
    }
    if let Some(item) = capability.at(&["ahp", "answer"])
        && let Err(why) = templates::check(item.str().unwrap_or_default())
    {
        let what = format!("is no template that can be used: {why}");
        found.mistake(item.line, format_args!("{trail}.answer"), what);
    }
    for entry in capability.at(&["ahp", "extract"]).map(Item::entries).unwrap_or_default() {
        if let Err(why) = pattern(entry.item.str().unwrap_or_default()) {
            let what = format!("is no pattern that can be used: {}", why.lines().last().unwrap_or_default());
            found.mistake(entry.line, format_args!("{trail}.extract.{}", entry.key), what);
        }
    }
}
