//! The operations of a document that are imported, each with the place where it is written.

use serde_json::{Map, Value};

use super::{choose::Chosen, pointer::At, schemas::Schemas};

/// The methods of a path, in the usual order.
pub(super) const METHODS: [(&str, &str); 6] =
    [("get", "GET"), ("head", "HEAD"), ("post", "POST"), ("put", "PUT"), ("patch", "PATCH"), ("delete", "DELETE")];

/// An operation and its place.
pub(super) struct Operation<'d> {
    pub(super) method: &'static str,
    pub(super) path: &'d str,
    pub(super) own: &'d Map<String, Value>,
    pub(super) place: String,
    /// What all operations of the path share.
    pub(super) item: &'d Map<String, Value>,
    pub(super) item_place: String,
}

/// The numbers of operations left out.
#[derive(Default)]
pub(super) struct LeftOut {
    /// Deprecated ones, and methods that no agent calls.
    pub(super) unusual: usize,
    /// Those that were not asked for.
    pub(super) not_chosen: usize,
}

impl LeftOut {
    pub(super) fn all(&self) -> usize {
        self.unusual + self.not_chosen
    }
}

/// The operations of a document, and the number left out.
pub(super) fn all<'d>(
    schemas: &mut Schemas<'d>,
    deprecated: bool,
    chosen: &Chosen<'_>,
) -> (Vec<Operation<'d>>, LeftOut) {
    let (mut operations, mut left_out) = (Vec::new(), LeftOut::default());
    let paths = schemas.document.get("paths").and_then(Value::as_object);
    let at = At::Pointer("/paths");
    for (path, item) in paths.into_iter().flatten().filter(|(path, _)| !path.starts_with("x-")) {
        let (item, item_place) = schemas.resolved(item, &at.key(path));
        let Some(item) = item.as_object() else { continue };
        left_out.unusual += ["options", "trace"].iter().filter(|method| item.contains_key(**method)).count();
        for (key, method) in METHODS {
            let Some(own) = item.get(key) else { continue };
            let place = At::Pointer(&item_place).key(key).to_string();
            let Some(own) = own.as_object() else {
                schemas.mistake(&At::Pointer(&place), "is not an operation");
                continue;
            };
            let old = own.get("deprecated") == Some(&Value::Bool(true)) && !deprecated;
            // A GET answers HEAD as well.
            if old || method == "HEAD" && item.contains_key("get") {
                left_out.unusual += 1;
                continue;
            }
            if !chosen.takes(method, path, own) {
                left_out.not_chosen += 1;
                continue;
            }
            operations.push(Operation { method, path, own, place, item, item_place: item_place.clone() });
        }
    }
    (operations, left_out)
}
