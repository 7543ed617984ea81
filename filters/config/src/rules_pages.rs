//! Checks the keys of a capability that reads pages or fills in forms: selectors, bodies that are written out, failures
//! within a 2xx.

use frontdesk_base::target::Target;
use frontdesk_page::content::css::Css;

use super::{key_path::KeyPath, mistake::Findings, raw::Item};

pub(super) fn rules(capability: &Item, path: &KeyPath, found: &mut Findings) {
    let Some(upstream) = capability.get("upstream") else { return };
    let path = path.key("upstream");
    if let Some(item) = upstream.get("failed")
        && let Some(text) = item.str().filter(|text| !text.is_empty())
        && !text.trim_start_matches('!').starts_with('/')
    {
        let what = "is no JSON pointer";
        found
            .mistake(item.line, path.key("failed"), what)
            .hint("write \"/errors\", or \"!/ok\" for something false or missing");
    }
    if let Some(item) = upstream.get("body_template").filter(|item| item.str().is_some_and(|text| !text.is_empty())) {
        for other in ["form", "body"] {
            if upstream.get(other).is_some() {
                let what = format!("upstream.{other} is there too; a call has one body");
                found.mistake(item.line, path.key("body_template"), what);
            }
        }
        if let Some(optional) = upstream.get("body_optional").filter(|item| item.bool() != Some(false)) {
            let what = "has no effect beside upstream.body_template, which is always sent";
            found.warning(optional.line, path.key("body_optional"), what);
        }
    }
    if let Some(extract) = upstream.get("extract") {
        let path = path.key("extract");
        if let Some(item) = upstream.get("response").filter(|item| item.str() != Some("extract")) {
            let what = format!("is {}, and upstream.extract reads a page by selectors", item.shown());
            found.mistake(item.line, path.key("response"), what).hint("leave response out");
        }
        if extract.get("fields").map(Item::entries).unwrap_or_default().is_empty() {
            found
                .mistake(extract.line, path.key("fields"), "is empty, so nothing would be read")
                .hint("write at least one");
        }
        for key in ["each", "must"] {
            selector(extract.get(key), &path, key, false, found);
        }
        selector(extract.get("next"), &path, "next", true, found);
        for entry in extract.get("fields").map(Item::entries).unwrap_or_default() {
            let own = match entry.item.str() {
                Some(_) => Some(&entry.item),
                None => entry.item.get("select"),
            };
            selector(own, &path.key("fields"), &entry.key, true, found);
        }
        if extract.get("must").is_none() {
            let what = "missing: a page in another form gives an empty answer, and no failure";
            found
                .warning(extract.line, path.key("must"), what)
                .hint("name an element that every page of this kind has");
        }
    } else if let Some(item) = upstream.get("response").filter(|item| item.str() == Some("extract")) {
        let what = "is \"extract\", and [capabilities.upstream.extract] is missing";
        found.mistake(item.line, path.key("response"), what);
    }
    if let Some(form) = upstream.get("form") {
        form_rules(form, upstream, &path, found);
    }
}

fn form_rules(form: &Item, upstream: &Item, outer: &KeyPath, found: &mut Findings) {
    let path = &outer.key("form");
    if upstream.get("path").is_none() {
        let what = "upstream.path is missing: it is the address that the form is sent to";
        found.mistake(form.line, path.key("page"), what);
    }
    for key in ["parameters", "content_type", "body_optional"] {
        if let Some(item) = upstream.get(key) {
            let what = "has no effect beside upstream.form: the page says how its fields are sent";
            found.warning(item.line, outer.key(key), what);
        }
    }
    if let Some(item) = form.get("page")
        && let Some(Err(why)) = item.str().map(Target::parse)
    {
        found.mistake(item.line, path.key("page"), why);
    }
    for key in ["select", "failed"] {
        selector(form.get(key), path, key, false, found);
    }
    if let Some(done) = form.get("done") {
        let ways = ["redirect", "select", "status"].into_iter().filter(|key| done.get(key).is_some()).count();
        if ways != 1 {
            let what = format!("has {ways} of redirect, select and status; it needs one");
            found.mistake(done.line, path.key("done"), what);
        }
        selector(done.get("select"), &path.key("done"), "select", false, found);
    }
    if form.get("done").is_none() && form.get("failed").is_none() {
        let what = "neither done nor failed is there: any page of the site counts as success";
        found
            .warning(form.line, path.key("done"), what)
            .hint("say what shows success, or where the site writes what is wrong");
    }
}

/// Checks a selector; with `attributes` it may end with `@name`.
fn selector(item: Option<&Item>, path: &KeyPath, key: &str, attributes: bool, found: &mut Findings) {
    let Some((item, text)) = item.and_then(|item| Some((item, item.str()?.trim()))) else { return };
    let select = match text.rsplit_once('@') {
        Some((select, name)) if attributes && !name.contains([']', '"', ' ']) => select.trim(),
        _ => text,
    };
    if select.is_empty() && attributes {
        return;
    }
    if let Err(why) = Css::parse(select) {
        found.mistake(item.line, path.key(key), format!("{} {why}", item.shown()));
    }
}
