//! Completes the addresses of pages, for clients that fill in the resource template (2025-06-18, "Completion").

use serde_json::{Value, json};

use super::envelope::{INVALID_PARAMS, Problem};
use frontdesk_desk::Desk;

/// The variable of the template, in which slashes stay as they are (RFC 6570 §3.2.3).
pub(super) const VARIABLE: &str = "path";
/// Values in one answer, which is what the protocol allows.
const MOST: usize = 100;

/// The members of the result: pages whose address begins with what was typed, else those that contain it.
pub(super) fn complete(
    desk: &Desk<'_>,
    template: &str,
    params: &serde_json::Map<String, Value>,
) -> Result<String, Problem> {
    let wrong = |why: &str| Problem::new(INVALID_PARAMS, why.into());
    let reference = params.get("ref").and_then(Value::as_object).ok_or_else(|| wrong("`ref` has to be an object."))?;
    let argument = params.get("argument").and_then(Value::as_object);
    let argument = argument.ok_or_else(|| wrong("`argument` has to be an object."))?;
    let text = |name: &str| argument.get(name).and_then(Value::as_str);
    let (Some(name), Some(typed)) = (text("name"), text("value")) else {
        return Err(wrong("`argument` has to have `name` and `value`, both strings."));
    };
    let is_ours = match reference.get("type").and_then(Value::as_str) {
        Some("ref/resource") => reference.get("uri").and_then(Value::as_str) == Some(template) && name == VARIABLE,
        // There are no prompts, so nothing completes them.
        Some("ref/prompt") => false,
        _ => return Err(wrong("`ref.type` has to be \"ref/resource\" or \"ref/prompt\".")),
    };
    let shelf = if is_ours { desk.library.shelf() } else { &[] };
    let typed = typed.trim_start_matches('/');
    let paths = || shelf.iter().map(|page| page.path.trim_start_matches('/'));
    let mut values: Vec<&str> = paths().filter(|path| path.starts_with(typed)).collect();
    values.extend(paths().filter(|path| !path.starts_with(typed) && path.contains(typed)));
    let (total, more) = (values.len(), values.len() > MOST);
    values.truncate(MOST);
    Ok(format!("\"completion\":{}", json!({ "values": values, "total": total, "hasMore": more })))
}
