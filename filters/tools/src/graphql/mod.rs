//! Imports a GraphQL schema (`import graphql`): queries become reads, mutations become actions with confirmation.
//!
//! The document is the answer to an introspection query. Values stand in `variables`, never in the query.

mod schema;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use crate::{
    import::{Asked, Imported, Unusable},
    lines::{Lines, one_line},
};
use schema::{Field, Schema};

/// The query whose answer is imported, for a server that is asked by GET.
pub const INTROSPECTION: &str = "{__schema{queryType{name}mutationType{name}types{kind name fields{name description \
    args{name description type{...T}defaultValue}type{...T}isDeprecated}inputFields{name description type{...T}\
    defaultValue}enumValues{name}possibleTypes{name}}}}fragment T on __Type{kind name ofType{kind name ofType{kind name \
    ofType{kind name ofType{kind name}}}}}";

/// The most queries and mutations of a declaration.
const MOST: usize = 200;

/// Imports an answer to the introspection query.
pub(crate) fn import(
    document: &[u8],
    asked: &Asked,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Imported, Unusable> {
    let unreadable = |why: &str| Unusable::Unreadable(why.to_owned());
    let answer: Value = serde_json::from_slice(document)
        .map_err(|_| unreadable("is no JSON; import the answer to an introspection query, or the server's URL"))?;
    let schema = Schema::read(&answer).ok_or_else(|| {
        unreadable("has no __schema; import the answer to an introspection query, or the server's URL")
    })?;
    let (queries, mutations) = (schema.queries(), schema.mutations());
    let all: Vec<(&Field, bool)> =
        queries.iter().map(|field| (field, false)).chain(mutations.iter().map(|field| (field, true))).collect();
    let wanted = |field: &Field| asked.deprecated || !field.is_deprecated;
    let mut page = Lines::default();
    page.comment(&format!("Imported by `frontdesk import graphql` from {}.", asked.from));
    page.comment("A start, not a contract yet: everything that was guessed is marked \"review:\".");
    page.comment("Then run `frontdesk check FILE`.");
    let (url, path) = address(asked.from);
    page.text.push_str("\n[upstream]\n");
    page.entry("url", &url.as_str().into(), if path.is_some() { "" } else { "where the server is" });
    let path = path.unwrap_or_else(|| "/graphql".to_owned());
    let (mut capabilities, mut left_out) = (0, 0);
    for (at, (field, is_mutation)) in all.iter().enumerate() {
        progress(at, all.len());
        if !wanted(field) || capabilities >= MOST {
            left_out += 1;
            continue;
        }
        match schema.query(field, *is_mutation) {
            Some(query) => {
                capability(&mut page, &schema, field, *is_mutation, (&path, &query));
                capabilities += 1;
            }
            None => {
                page.comment(&format!("left out: {}: none of its fields is a scalar within two levels", field.name));
                left_out += 1;
            }
        }
    }
    if capabilities == 0 {
        return Err(unreadable("has no query or mutation that can be imported"));
    }
    Ok(Imported { text: page.text, capabilities, left_out, reviews: page.reviews, probe: None })
}

/// The origin and the path of a server; a file says neither.
fn address(from: &str) -> (String, Option<String>) {
    match url::Url::parse(from).ok().filter(|url| matches!(url.scheme(), "http" | "https")) {
        Some(url) => (url.origin().ascii_serialization(), Some(url.path().to_owned())),
        None => ("http://127.0.0.1:4000".to_owned(), None),
    }
}

fn capability(page: &mut Lines, schema: &Schema, field: &Field, is_mutation: bool, (path, query): (&str, &str)) {
    let kind = if is_mutation { "mutation" } else { "query" };
    page.text.push_str("\n[[capabilities]]\n");
    page.entry("id", &format!("{kind}.{}", field.name).into(), "");
    page.entry("type", &if is_mutation { "commit_action" } else { "query" }.into(), "");
    let what =
        if field.description.is_empty() { format!("The {kind} {}.", field.name) } else { one_line(&field.description) };
    page.entry("description", &what.into(), "");
    page.text.push_str("method = \"POST\"\n");
    page.entry("endpoint", &format!("/agent/{kind}/{}", field.name).into(), "");
    page.entry("risk_level", &if is_mutation { "high" } else { "low" }.into(), "guessed");
    page.entry(
        "auth",
        &if is_mutation { "required" } else { "optional" }.into(),
        "the schema does not say who may call",
    );
    if is_mutation {
        page.text.push_str("requires_user_confirmation = true\nidempotency_required = true\n");
    }
    page.entry("input_schema", &schema.input(field), "");
    page.text.push_str("[capabilities.upstream]\nmethod = \"POST\"\n");
    page.entry("path", &path.into(), "");
    let body = format!("{{\"query\": {}, \"variables\": {{{{ input }}}} }}", json!(query));
    page.entry("body_template", &body.into(), "");
    page.entry("failed", &"/errors".into(), "");
    page.text.push_str("undeclared = \"drop\"\n");
    page.review("errors = { \"/errors/0/extensions/code=CODE\" = \"name\" } names what can go wrong");
}
