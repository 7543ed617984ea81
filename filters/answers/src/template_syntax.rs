//! Members of a body whose text is a language of its own, such as a query: a value in it would be syntax, however well the
//! body itself is escaped.

use serde_json::Value;

/// Members whose text is GraphQL, or a search.
const QUERIES: [&str; 5] = ["query", "mutation", "subscription", "gql", "graphql"];
/// Members of a GraphQL request beside its query: with one of them, `query` is no search.
const BESIDE_A_QUERY: [&str; 3] = ["variables", "operationname", "extensions"];
/// Members whose text is another query language.
const LANGUAGES: [&str; 10] = ["sql", "soql", "sosl", "jql", "cql", "hql", "cypher", "sparql", "xpath", "xquery"];
/// What an operation of GraphQL begins with.
const OPERATIONS: [&str; 4] = ["query", "mutation", "subscription", "fragment"];

/// Checks that no value stands in such a text, in a body with `mark` in the place of each value.
///
/// # Errors
///
/// One does: where, and what to write.
pub(super) fn check(body: &Value, mark: &str) -> Result<(), String> {
    within(body, ("", false), mark)
}

/// `of`: the name of the member that this is, and whether members of a GraphQL request are beside it.
fn within(value: &Value, of: (&str, bool), mark: &str) -> Result<(), String> {
    match value {
        Value::String(text) if text.contains(mark) => check_text(text, of, mark),
        Value::Array(items) => items.iter().try_for_each(|item| within(item, of, mark)),
        Value::Object(members) => {
            let is_graphql = members.keys().any(|name| BESIDE_A_QUERY.contains(&name.to_ascii_lowercase().as_str()));
            members.iter().try_for_each(|(name, value)| {
                if name.contains(mark) {
                    return Err("has a value in the name of a member, which it would choose; write the name out, and \
                                {{ input.name }} as its value"
                        .to_owned());
                }
                // Text of an element of XML that has attributes too.
                let name = if name == "#text" { of.0 } else { name.trim_start_matches('@') };
                within(value, (name, is_graphql), mark)
            })
        }
        _ => Ok(()),
    }
}

fn check_text(text: &str, (name, is_graphql): (&str, bool), mark: &str) -> Result<(), String> {
    let small = name.to_ascii_lowercase();
    let is_all = text.trim() == mark;
    let is_named = QUERIES.contains(&small.as_str()) && (!is_all || is_graphql);
    if is_named || is_operation(text) {
        return Err(format!(
            "puts a value into the text of {name:?}, where it would be syntax of the query; declare a variable there, \
             as in query($id: ID!) {{ … }}, and write \"variables\": {{ \"id\": {{{{ input.id }}}} }}"
        ));
    }
    if LANGUAGES.contains(&small.as_str()) && !is_all {
        return Err(format!(
            "puts a value into the text of {name:?}, where it would be syntax of the query; write it as a parameter, \
             in a member of its own"
        ));
    }
    if text.trim_start().starts_with('{') {
        return Err(format!(
            "puts a value into the text of {name:?}, which is a document of its own; write the value as a member of \
             its own, as in \"id\": {{{{ input.id }}}}"
        ));
    }
    Ok(())
}

/// Whether a text is an operation of GraphQL, under whatever name it is sent.
fn is_operation(text: &str) -> bool {
    let code = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#')).unwrap_or_default();
    let is_one = |word: &&str| {
        code.strip_prefix(*word).is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    text.contains('{') && OPERATIONS.iter().any(is_one)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_within_a_language_is_a_mistake() {
        for (body, says) in [
            (json!({ "query": "{ user(id: M) { name } }" }), "variables"),
            (json!({ "Query": "a M" }), "variables"),
            (json!([{ "query": "M", "variables": {} }]), "variables"),
            (json!({ "q": "# all\nmutation { drop(id: M) }" }), "variables"),
            (json!({ "extra": { "gql": ["{ a(b: M) }"] } }), "variables"),
            (json!({ "Envelope": { "Body": { "sql": { "@a": "1", "#text": "SELECT M" } } } }), "parameter"),
            (json!({ "Find": { "@xpath": "//a[. = 'M']" } }), "parameter"),
            (json!({ "payload": " {\"id\": \"M\"}" }), "a member of its own"),
            (json!({ "aMb": 1 }), "write the name out"),
        ] {
            let why = check(&body, "M").unwrap_err();
            assert!(why.contains(says), "{body}: {why}");
        }
        for body in [
            json!({ "query": "M" }),
            json!({ "query": "query($id: ID!) { user(id: $id) { name } }", "variables": "M" }),
            json!({ "sql": "SELECT 1", "parameters": ["M"] }),
            json!({ "text": "Query of M", "list": ["a M"], "queryName": "x M" }),
        ] {
            assert_eq!(check(&body, "M"), Ok(()), "{body}");
        }
    }
}
