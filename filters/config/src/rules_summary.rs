//! Warns of a summary that shows inputs which callers may leave out. A person is then asked with the description and a list
//! of the inputs, in place of the words that the operator wrote.

use frontdesk_base::templates;

use super::{key_path::KeyPath, mistake::Findings, raw::Item};

pub(super) fn rules(capability: &Item, trail: &KeyPath, found: &mut Findings) {
    let Some(schema) = capability.get("input_schema").map(Item::json) else { return };
    for key in ["summary", "confirmation_text"] {
        let Some(item) = capability.at(&["confirmation", key]) else { continue };
        let optional = templates::shown_though_optional(item.str().unwrap_or_default(), &schema);
        let Some(first) = optional.first() else { continue };
        let named = optional.iter().map(|name| format!("input.{name}")).collect::<Vec<_>>().join(", ");
        let what = format!("shows {named}, which callers may leave out; such a call is summed up by its description");
        found
            .warning(item.line, trail.key("confirmation").key(key), what)
            .hint(format!("write {{% if input.{first} %}} {{{{ input.{first} }}}}{{% endif %}}"));
    }
}
