//! Writes the declaration: the site, the authentication, the schemas, the capabilities.

use serde_json::{Map, Value};

#[cfg(feature = "agtp")]
use super::verbs::Spoken;
use super::{
    capability::Capability,
    expand::Named,
    guess,
    input::Input,
    name,
    operation::LeftOut,
    page::Page,
    security::Auth,
    server::{self, Server},
};
use crate::import::Asked;

/// The head of the file: its origin, and what to review.
pub(super) fn head(page: &mut Page, document: &Value, asked: &Asked, left_out: &LeftOut) {
    let info = &document["info"];
    let of = |key: &str| name::one_line(info[key].as_str().unwrap_or_default(), 120);
    let version = info["version"].as_f64().map_or(of("version"), |version| version.to_string());
    let what = [of("title"), version].join(" ");
    page.comment(&format!("Imported by `frontdesk import` from {}", server::from(asked.from)));
    page.comment(&format!("({}). A start, not a contract yet:", what.trim()));
    page.comment("");
    page.comment("- Everything that was guessed is marked \"review:\". Look at each, then take the mark away.");
    page.comment("- Type and risk decide what a person has to confirm. They were guessed from methods and names.");
    page.comment("- Leave out what agents have no business with, or write exposed = false.");
    #[cfg(feature = "agtp")]
    page.comment(
        "- A verb and a path (agtp) are how agents of the AGTP call it; intent, outcome and impact are said there.",
    );
    page.comment("- Say what is personal (data_sensitivity, [capabilities.privacy]): the document cannot know.");
    page.comment("- Then run `frontdesk check` on this file.");
    let not_here = |count: usize, why: &str| format!("{count} operations of the document are not here: {why}.");
    if left_out.unusual > 0 {
        page.comment("");
        let why = if asked.deprecated { "HEAD, OPTIONS or TRACE" } else { "deprecated, or HEAD, OPTIONS or TRACE" };
        page.comment(&not_here(left_out.unusual, why));
    }
    if left_out.not_chosen > 0 {
        page.comment("");
        page.comment(&not_here(left_out.not_chosen, "--only and --tag chose others"));
    }
}

/// `[upstream]` and `[site]`.
pub(super) fn site(page: &mut Page, document: &Value, server: &Server) {
    page.blank();
    page.table(&["upstream"]);
    match &server.note {
        Some(note) => page.guess("url", server.origin.as_str(), note),
        None => page.entry("url", server.origin.as_str()),
    }
    page.blank();
    page.table(&["site"]);
    for (key, from, most) in [("name", "/info/title", 100), ("description", "/info/description", 300)] {
        let text = document.pointer(from).and_then(Value::as_str).map(|text| name::one_line(text, most));
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            page.entry(key, text);
        }
    }
    page.review("origin = \"https://…\" is the address under which people know the site");
}

/// `[auth]`.
pub(super) fn auth(page: &mut Page, auth: &Auth) {
    page.blank();
    auth.notes.iter().for_each(|note| page.review(note));
    page.table(&["auth"]);
    page.entry("type", auth.kind);
    if auth.kind == "oauth2" {
        for (key, url) in [("authorization_url", &auth.authorization_url), ("token_url", &auth.token_url)] {
            if let Some(url) = url {
                page.entry(key, url.as_str());
            }
        }
    }
    if !auth.scopes.is_empty() {
        page.entry("available_scopes", auth.scopes.iter().map(String::as_str).collect::<Vec<_>>());
    }
    if let Some(wants) = &auth.wants {
        page.review(&format!("the site itself wants {wants}; put what it wants into upstream.headers of capabilities"));
    }
    match auth.kind {
        "oauth2" | "bearer" => page.review("without issuer, audience and jwks no token is accepted"),
        _ => page.review("agents need a key of [[auth.api_keys]]; there is none yet"),
    }
}

/// `[schemas]`.
pub(super) fn schemas(page: &mut Page, named: &[Named]) {
    for schema in named {
        page.blank();
        schema.notes.iter().for_each(|note| page.review(note));
        page.long_schema(&["schemas", &schema.name], &schema.schema);
    }
}

/// The suggested verb and path.
#[cfg(feature = "agtp")]
fn verb(page: &mut Page, spoken: &Spoken) {
    if let Some(note) = &spoken.note {
        page.comment(note);
    }
    let agtp = serde_json::json!({ "method": spoken.method, "path": spoken.path });
    page.guess("agtp", agtp, "guessed; a person says intent and impact");
}

/// One of `[[capabilities]]`.
pub(super) fn capability(page: &mut Page, capability: &Capability) {
    let (kind, risk) = (capability.guess.kind, capability.guess.risk);
    page.blank();
    page.comment(&capability.from);
    if let Some(wants) = &capability.needs.wants {
        page.comment(&format!("The site wants: {wants}"));
    }
    capability.notes.iter().for_each(|note| page.review(note));
    page.item(&["capabilities"]);
    page.entry("id", capability.id.as_str());
    page.guess("type", kind, &format!("guessed from {}", capability.guess.why));
    if !capability.description.is_empty() {
        page.entry("description", capability.description.as_str());
    }
    if let Some(group) = &capability.group {
        page.entry("group", group.as_str());
    }
    page.entry("method", capability.method);
    page.entry("endpoint", capability.endpoint.as_str());
    page.guess("risk_level", risk, "guessed with the type");
    match capability.needs.guessed {
        true => page.guess("auth", capability.needs.auth, "the document does not say who may call"),
        false => page.entry("auth", capability.needs.auth),
    }
    if !capability.needs.scopes.is_empty() {
        page.entry("required_scopes", capability.needs.scopes.clone());
    }
    if guess::is_action(kind) {
        page.guess("requires_user_confirmation", true, "guessed from the type");
        page.guess("idempotency_required", true, "guessed from the risk");
    }
    #[cfg(feature = "agtp")]
    verb(page, &capability.spoken);
    if let Some(why) = &capability.input.unfit {
        page.guess("exposed", false, why);
    }
    let schemas = [("input_schema", Some(&capability.input_schema)), ("output_schema", capability.output.as_ref())];
    let mut long = Vec::new();
    for (key, schema) in schemas.into_iter().filter_map(|(key, schema)| Some((key, schema?))) {
        if !page.short_schema(key, schema) {
            long.push((key, schema));
        }
    }
    page.table(&["capabilities", "upstream"]);
    page.entry("method", capability.site_method);
    page.entry(capability.target.0, capability.target.1.as_str());
    request(page, &capability.input);
    if capability.wrap {
        page.guess("response", "wrap", "the site's answer is not JSON");
    }
    for (key, schema) in long {
        page.long_schema(&["capabilities", key], schema);
    }
}

/// How the request is written: the body's form, the names and the styles of inputs.
fn request(page: &mut Page, input: &Input) {
    if let Some(form) = input.form {
        page.entry("body", form);
    }
    if let Some(kind) = &input.content_type {
        page.entry("content_type", kind.as_str());
    }
    if input.body_optional && input.form != Some("none") {
        page.entry("body_optional", true);
    }
    if !input.renamed.is_empty() {
        let names = input.renamed.iter().map(|(ours, theirs)| (ours.clone(), theirs.as_str().into()));
        page.entry("rename_input", names.collect::<Map<String, Value>>());
    }
    if !input.parameters.is_empty() {
        let styles = input.parameters.iter().map(|(name, styled)| (name.clone(), styled.to_json()));
        page.entry("parameters", styles.collect::<Map<String, Value>>());
    }
    page.entry("undeclared", "drop");
}
