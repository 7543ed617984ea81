//! Writes inputs as `multipart/form-data` (RFC 7578).

use frontdesk_base::target::plain;
use serde_json::Value;

use crate::fingerprint::fingerprint;

/// Digits of a boundary.
const BOUNDARY: usize = 32;

/// Fields as a body, and its boundary. Each item of a list is a part of its own.
///
/// The boundary is a digest of the parts: no part can contain it, and one that tries costs no second attempt.
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
    let digest = fingerprint(&parts.iter().map(String::as_bytes).collect::<Vec<_>>());
    let boundary = format!("frontdesk-{}", digest.get(..BOUNDARY).unwrap_or(&digest));
    let mut body: String = parts.iter().map(|part| format!("--{boundary}\r\n{part}")).collect();
    body.push_str(&format!("--{boundary}--\r\n"));
    (body, boundary)
}
