//! Writes inputs as `multipart/form-data` (RFC 7578).

use frontdesk_base::target::plain;
use serde_json::Value;

/// Fields as a body, and its boundary. Each item of a list is a part of its own.
pub(super) fn body(fields: &[(&str, &Value)]) -> (String, String) {
    let mut parts = Vec::new();
    for (name, value) in fields {
        let each = match value {
            Value::Array(items) => items.as_slice(),
            Value::Null => &[],
            other => std::slice::from_ref(*other),
        };
        // As browsers escape a name.
        let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        for value in each {
            let kind = if value.is_object() || value.is_array() { "Content-Type: application/json\r\n" } else { "" };
            parts.push(format!("Content-Disposition: form-data; name=\"{name}\"\r\n{kind}\r\n{}\r\n", plain(value)));
        }
    }
    let numbered = |number: u32| format!("frontdesk-part-{number}");
    let is_free = |boundary: &String| !parts.iter().any(|part| part.contains(boundary.as_str()));
    let boundary = (0..).map(numbered).find(is_free).unwrap_or_default();
    let mut body: String = parts.iter().map(|part| format!("--{boundary}\r\n{part}")).collect();
    body.push_str(&format!("--{boundary}--\r\n"));
    (body, boundary)
}
