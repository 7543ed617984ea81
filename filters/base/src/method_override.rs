//! Names by which frameworks take another method than the request's: a header (`X-HTTP-Method-Override`), or a name in the
//! query or in a form (`_method`).

/// Whether a name in a query or a form may change the method.
pub fn is_field(name: &str) -> bool {
    let name = name.split(['[', '\0']).next().unwrap_or_default().trim();
    // PHP reads dots and blanks as underscores.
    let name = name.to_lowercase().replace(['.', ' ', '-'], "_");
    name == "_method" || name.ends_with("method_override") || name.ends_with("http_method")
}

/// Whether a header, in small letters, may change the method. All that are known contain the word. A preflight asks about
/// a method, and does not use it.
pub fn is_header(name: &str) -> bool {
    name.contains("method") && name != "access-control-request-method"
}
