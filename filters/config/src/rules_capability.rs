//! Checks the references of capabilities, and warns where a declaration overrides a safe default.

use std::{
    collections::{HashMap, HashSet},
    fmt,
};

use frontdesk_base::{Fault, path, target::Target, templates};
use http::StatusCode;

use super::{
    extension::Keys,
    key_path::KeyPath,
    lower_capability,
    mistake::Findings,
    names,
    raw::Item,
    rules_pages,
    rules_shared::unique,
    rules_summary,
    schemas::{Pointed, Schemas},
};

/// Kilobytes of an input schema that are worth a warning.
const LARGE: usize = 8;

/// The checks of `[[capabilities]]` and of all keys that name one.
pub(super) fn rules(root: &Item, keys: Keys, schemas: &Schemas, found: &mut Findings) {
    let capabilities = root.get("capabilities").map(Item::items).unwrap_or_default();
    unique(capabilities, "id", "capabilities", found);
    one_name_each(capabilities, found);
    one_address_each(capabilities, keys, found);

    let recipes = root.at(&["agtp", "recipes"]).map(Item::items).unwrap_or_default();
    let ids = Names::of(capabilities, "id", "the id of a capability");
    let recipe_names = Names::of(recipes, "name", "a recipe of [[agtp.recipes]]");
    let all = KeyPath::Top.key("capabilities");
    for (index, capability) in capabilities.iter().enumerate() {
        let trail = all.index(index);
        safe_defaults(capability, &trail, found);
        way(capability, &trail, found);
        templates(capability, &trail, found);
        rules_pages::rules(capability, &trail, found);
        rules_summary::rules(capability, &trail, found);
        for key in ["input_schema", "output_schema"] {
            let Some(item) = capability.get(key) else { continue };
            if matches!(schemas.pointed(item), Pointed::Nowhere) {
                let finding = found.warning(item.line, trail.key(key), format!("{} leads nowhere here", item.shown()));
                finding.hint(match key {
                    "input_schema" => {
                        "declare it in [schemas] (file or openapi); until then inputs are not checked against it"
                    }
                    _ => "declare it in [schemas], inline or in a file",
                });
            } else if key == "output_schema" {
                // It is published but not enforced.
            } else if let Err(why) = schemas.compiled(item) {
                found.mistake(item.line, trail.key(key), format!("is no JSON Schema that can be used: {why}"));
            } else if let Some(kilobytes) = schemas.length(item).map(|bytes| bytes >> 10).filter(|kb| *kb >= LARGE) {
                let what = format!("has {kilobytes} KB, and every agent that uses it has to read it");
                found.warning(item.line, trail.key(key), what).hint("leave out what agents do not need");
            }
        }
        if let Some(item) = capability.at(&["upstream", "recipe"]) {
            recipe_names.check(item, trail.key("upstream.recipe"), found);
        }
        let actions = capability.at(&["aom", "actions"]).map(Item::items).unwrap_or_default();
        for (action, item) in actions.iter().enumerate().filter_map(|(n, item)| Some((n, item.get("id")?))) {
            ids.check(item, trail.key("aom.actions").index(action).key("id"), found);
        }
    }
    for (index, recipe) in recipes.iter().enumerate() {
        let steps = recipe.get("steps").map(Item::items).unwrap_or_default();
        for (step, item) in steps.iter().enumerate().filter_map(|(n, item)| Some((n, item.get("capability")?))) {
            ids.check(item, format_args!("agtp.recipes[{index}].steps[{step}].capability"), found);
        }
    }
}

/// The names by which tables can be referred to.
struct Names<'a> {
    in_order: Vec<&'a str>,
    set: HashSet<&'a str>,
    /// The kind of table, in words, for "… is not".
    what: &'static str,
}

impl<'a> Names<'a> {
    fn of(tables: &'a [Item<'a>], key: &str, what: &'static str) -> Self {
        let in_order: Vec<_> = tables.iter().filter_map(|item| text(item, key)).collect();
        Self { set: in_order.iter().copied().collect(), in_order, what }
    }

    /// Checks that a reference names one of them.
    fn check(&self, item: &Item, key: impl fmt::Display, found: &mut Findings) {
        if let Some(name) = item.str().filter(|name| !self.set.contains(name)) {
            let finding = found.mistake(item.line, key, format!("{} is not {}", item.shown(), self.what));
            finding.did_you_mean(name, self.in_order.iter().copied());
        }
    }
}

/// Warns where a missing value is read as a restriction, and where a declared value lifts one.
fn safe_defaults(capability: &Item, trail: &KeyPath, found: &mut Findings) {
    if capability.get("risk_level").is_none() {
        let finding = found.warning(capability.line, trail.key("risk_level"), "missing; it is published as high");
        finding.hint("write low, medium, high or critical");
    }
    let (own, spelled_out) =
        (capability.get("requires_user_confirmation"), capability.at(&["confirmation", "required"]));
    if let (Some(own), Some(spelled_out)) = (own, spelled_out)
        && own.bool() != spelled_out.bool()
    {
        let what = format!("{}, and confirmation.required is {}", own.shown(), spelled_out.shown());
        let finding = found.warning(own.line, trail.key("requires_user_confirmation"), what);
        finding.hint("the stricter one holds: a person is asked");
    }
    let key = if own.is_some() { "requires_user_confirmation" } else { "confirmation.required" };
    let unasked = |item: &&Item| item.bool() == Some(false);
    if let Some(item) = own.or(spelled_out).filter(unasked).filter(|_| lower_capability::wants_consent(capability)) {
        let what = "false, and privacy.requires_explicit_consent asks for one";
        found.warning(item.line, trail.key(key), what).hint("the stricter one holds: a person is asked");
    }
    if let Some(item) = capability
        .at(&["confirmation", "consequence"])
        .filter(|item| item.str().is_some_and(|text| text.contains("{{")))
    {
        let finding = found.warning(item.line, trail.key("confirmation.consequence"), "is shown as it is written");
        finding.hint("confirmation.summary alone is a template");
    }
    let is_action =
        text(capability, "type").and_then(lower_capability::capability_kind).is_some_and(|kind| kind.is_action());
    if !is_action {
        return;
    }
    if let Some(item) = capability.get("auth").filter(|item| item.str() == Some("none")) {
        found.warning(item.line, trail.key("auth"), "an action that anyone may call");
    }
    if let Some(item) = own.or(spelled_out).filter(|_| lower_capability::confirmed(capability) == Some(false)) {
        found.warning(item.line, trail.key(key), "an action that no person confirms");
    }
}

/// Checks that there is exactly one way to call the site.
fn way(capability: &Item, trail: &KeyPath, found: &mut Findings) {
    let upstream = capability.get("upstream");
    let given = |key: &str| upstream.and_then(|upstream| upstream.get(key)).filter(|item| item.bool() != Some(false));
    let mut ways = ["path", "url", "recipe", "desk"].into_iter().filter_map(|key| Some((key, given(key)?)));
    let (way, other) = (ways.next(), ways.next());
    if let (Some((first, _)), Some((second, item))) = (way, other) {
        let what = format!("{first} is there too; a capability is answered in one way");
        found.mistake(item.line, trail.key("upstream").key(second), what);
    }
    let idle: &[&str] = match way {
        Some(("desk", _)) => &["method"],
        Some(("recipe", _)) => &[
            "method",
            "rename_input",
            "errors",
            "timeout",
            "body",
            "content_type",
            "body_optional",
            "parameters",
            "headers",
            "idempotent",
            "response",
            "body_template",
            "failed",
            "extract",
            "form",
            "cookies",
            "identity",
        ],
        _ => &[],
    };
    for (key, item) in idle.iter().filter_map(|key| Some((key, given(key)?))) {
        let what = format!("has no effect beside upstream.{}", way.map_or("", |(way, _)| way));
        found.warning(item.line, trail.key("upstream").key(key), what);
    }
    let hidden = capability.get("exposed").filter(|item| item.bool() == Some(false));
    if let (Some(item), None, Some(_)) = (hidden, way, capability.get("endpoint")) {
        let what = "its endpoint is the site's own, and is the site's alone: nothing declared here holds there";
        found.warning(item.line, trail.key("exposed"), what).hint(
            "an agent that knows the address can call it as any client can; have the site refuse it, or expose it",
        );
    }
    let called = !matches!(text(capability, "type"), Some("event" | "policy")) && hidden.is_none();
    if called && way.is_none() && capability.get("endpoint").is_none() {
        found
            .warning(capability.line, trail.key("endpoint"), "missing, and nothing in upstream takes its place")
            .hint("without it the capability cannot be called");
    }
}

/// Checks the templates.
fn templates(capability: &Item, trail: &KeyPath, found: &mut Findings) {
    let targets =
        [capability.get("endpoint"), capability.at(&["upstream", "path"]), capability.at(&["upstream", "url"])];
    for (item, key) in targets.into_iter().zip(["endpoint", "upstream.path", "upstream.url"]) {
        if let Some((item, Err(why))) = item.and_then(|item| Some((item, Target::parse(item.str()?)))) {
            found.mistake(item.line, trail.key(key), why);
        }
    }
    parameters(capability, trail, found);
    if let Some(names) = capability.at(&["upstream", "rename_input"]) {
        let mut theirs = HashSet::new();
        for entry in names.entries() {
            if !theirs.insert(entry.item.str()) {
                let what = format!("{} is already the name of another input", entry.item.shown());
                found.mistake(entry.line, trail.key("upstream").key("rename_input").key(&entry.key), what);
            }
        }
    }
    if let Some(item) = capability.get("endpoint")
        && item.str().is_some_and(|path| path.split('/').any(|segment| segment.matches('{').count() > 1))
    {
        found.mistake(item.line, trail.key("endpoint"), "has two placeholders in one segment, which is ambiguous");
    }
    for way in [["confirmation", "summary"], ["confirmation", "confirmation_text"]] {
        let Some(item) = capability.at(&way) else { continue };
        if let Err(why) = templates::check(item.str().unwrap_or_default()) {
            let what = format!("is no template that can be used: {why}");
            found.mistake(item.line, trail.key(way[0]).key(way[1]), what);
        }
    }
    for entry in capability.at(&["upstream", "errors"]).map(Item::entries).unwrap_or_default() {
        if entry.key.starts_with('/') && entry.key.contains('=') {
            // A name for what the answer says.
            continue;
        }
        let status = entry.key.parse().ok().filter(|status| (300..600).contains(status));
        let Some(status) = status.and_then(|status| StatusCode::from_u16(status).ok()) else {
            let what = "is no status of a failure; write one from 300 to 599, as in \"404\", or a JSON pointer and its value, as in \"/code=NOT_FOUND\"";
            found.mistake(entry.line, trail.key("upstream").key("errors").key(&entry.key), what);
            continue;
        };
        let told = Fault::Named(status).status();
        if told != status {
            let what = format!("agents get this name with {}; HTTP asks more of {}", told.as_u16(), status.as_u16());
            found.warning(entry.line, trail.key("upstream").key("errors").key(&entry.key), what);
        }
    }
}

/// Checks that the parts of `upstream` that write the request fit together.
fn parameters(capability: &Item, trail: &KeyPath, found: &mut Findings) {
    let upstream = |key: &str| capability.at(&["upstream", key]);
    let usual = || text(capability, "type").and_then(lower_capability::capability_kind).map(|kind| kind.usual_method());
    let method = upstream("method").and_then(Item::str).or_else(|| text(capability, "method")).or_else(usual);
    let form = upstream("body").and_then(Item::str);
    let is_written_out = upstream("body_template").is_some();
    // `rules_pages` has the rules for a form of the site.
    let has_none = !is_written_out
        && upstream("form").is_none()
        && (form == Some("none")
            || matches!(method, Some("GET" | "HEAD" | "OPTIONS"))
            || method == Some("DELETE") && form.is_none());
    let trail = trail.key("upstream");
    for key in ["content_type", "body_optional"] {
        if let Some(item) = upstream(key).filter(|item| has_none && item.bool() != Some(false)) {
            found.warning(item.line, trail.key(key), "has no effect: this request has no body");
        }
    }
    let mut whole: Option<String> = None;
    for entry in upstream("parameters").map(Item::entries).unwrap_or_default() {
        let parameters = trail.key("parameters");
        let at = parameters.key(&entry.key);
        if entry.item.get("in").and_then(Item::str) != Some("body") {
            continue;
        }
        if is_written_out {
            found.mistake(entry.line, at, "is the body, and upstream.body_template is there too");
        } else if let Some(first) = whole.replace(entry.key.to_string()) {
            found.mistake(entry.line, at, format!("\"{first}\" is the whole body already"));
        } else if has_none {
            found.mistake(entry.line, at, "is the body, and this request has none").hint("write body = \"json\"");
        }
    }
}

/// Checks that agent names are unique; of two capabilities with one name only one could be called.
fn one_name_each(capabilities: &[Item], found: &mut Findings) {
    let mut taken: HashMap<String, usize> = HashMap::new();
    for (index, capability) in capabilities.iter().enumerate() {
        let Some(id) = text(capability, "id") else { continue };
        let given = capability.at(&["ahp", "name"]);
        let name = names::name(id, given.and_then(Item::str));
        let exposed = capability.get("exposed").and_then(Item::bool) != Some(false);
        if given.is_none() && exposed && names::can_be_named(&name).is_err() {
            let what =
                format!("makes a name of {} characters, and agents can call one of at most 64", name.chars().count());
            let line = capability.get("id").map_or(capability.line, |item| item.line);
            found
                .mistake(line, format_args!("capabilities[{index}].id"), what)
                .hint("shorten it, or write a name in ahp.name");
        }
        match taken.get(&name) {
            // Duplicate ids were reported before.
            Some(first) if text(&capabilities[*first], "id") != Some(id) => {
                let line = given.unwrap_or(capability).line;
                let what = format!("\"{name}\" is the AHP name of capabilities[{first}] already");
                found.mistake(line, format_args!("capabilities[{index}].ahp.name"), what);
            }
            Some(_) => {}
            None => drop(taken.insert(name, index)),
        }
    }
}

/// Checks that no two capabilities share a method and endpoint, in any spelling.
fn one_address_each(capabilities: &[Item], keys: Keys, found: &mut Findings) {
    let mut taken: HashMap<(String, String), usize> = HashMap::new();
    for (index, capability) in capabilities.iter().enumerate() {
        let Some(endpoint) = text(capability, "endpoint") else { continue };
        let usual =
            || text(capability, "type").and_then(lower_capability::capability_kind).map(|kind| kind.usual_method());
        let Some(method) = text(capability, "method").or_else(usual) else { continue };
        let line = capability.get("endpoint").map_or(0, |item| item.line);
        let key = || format!("capabilities[{index}].endpoint");
        let canonical = path::canonical(endpoint);
        if keys.documents().any(|ours| ours == canonical) {
            let what = format!("{endpoint} is where a document for agents is; choose another path");
            found.mistake(line, key(), what);
        }
        let address = (method.to_owned(), nameless(&canonical));
        if let Some(first) = taken.insert(address, index) {
            found.mistake(line, key(), format!("{method} {endpoint} is where capabilities[{first}] is already"));
        }
    }
}

/// A path without the names of its placeholders.
fn nameless(path: &str) -> String {
    let mut parts = path.split('{');
    let mut nameless = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        nameless.push_str("{}");
        nameless.push_str(part.split_once('}').map_or("", |(_, after)| after));
    }
    nameless
}

fn text<'a>(item: &'a Item, key: &str) -> Option<&'a str> {
    item.get(key).and_then(Item::str)
}
