//! Rules of the call to the site: a body in one form, and each input in one place.

use super::*;

/// A capability with these lines in its `upstream`.
fn calling(method: &str, lines: &str) -> String {
    format!(
        "[[capabilities]]\nid = 'a.b'\ntype = 'query'\nmethod = '{method}'\nendpoint = '/agent/x'\nrisk_level = 'low'\n\
         auth = 'none'\n[capabilities.upstream]\npath = '/x'\n{lines}\n"
    )
}

#[test]
fn a_body_has_one_form() {
    let form = "form = { page = '/p' }";
    let template = "body_template = '{}'";
    for (method, lines, says) in [
        ("POST", format!("{template}\nbody = 'form'"), "upstream.body is there too; a call has one body"),
        ("POST", format!("{template}\n{form}"), "upstream.form is there too; a call has one body"),
        (
            "POST",
            format!("{template}\nparameters = {{ a = {{ in = 'body' }} }}"),
            "upstream.body_template is there too",
        ),
        ("POST", "parameters = { a = { in = 'body' }, b = { in = 'body' } }".into(), "\"a\" is the whole body already"),
        ("GET", "parameters = { a = { in = 'body' } }".into(), "is the body, and this request has none"),
        ("DELETE", "parameters = { a = { in = 'body' } }".into(), "is the body, and this request has none"),
        ("POST", "content_type = 'json'".into(), "\"json\" is not a media type"),
        ("POST", "parameters = { a = { style = 'x' } }".into(), "upstream.parameters.a.style"),
    ] {
        refuses(&calling(method, &lines), says);
    }
    for (method, lines, says) in [
        (
            "GET",
            "content_type = 'application/json'".to_owned(),
            "content_type: has no effect: this request has no body",
        ),
        (
            "POST",
            "body = 'none'\nbody_optional = true".into(),
            "body_optional: has no effect: this request has no body",
        ),
        ("DELETE", "content_type = 'application/json'".into(), "content_type: has no effect"),
        (
            "POST",
            format!("{template}\nbody_optional = true"),
            "body_optional: has no effect beside upstream.body_template",
        ),
        (
            "POST",
            format!("{form}\nparameters = {{ a = {{ in = 'query' }} }}"),
            "parameters: has no effect beside upstream.form",
        ),
        ("POST", format!("{form}\ncontent_type = 'text/xml'"), "content_type: has no effect beside upstream.form"),
    ] {
        warns(&calling(method, &lines), says);
    }
    let fine = |method, lines: &str| {
        let warned = warned(&with_upstream(&calling(method, lines)));
        assert!(!warned.iter().any(|line| line.contains("upstream")), "{lines}: {warned:?}");
    };
    fine("GET", &format!("{template}\ncontent_type = 'application/json'"));
    fine("DELETE", "body = 'json'\ncontent_type = 'application/merge-patch+json'\nbody_optional = true");
    fine("POST", "content_type = 'text/plain'\nparameters = { a = { in = 'body' }, b = { in = 'query' } }");
}
