//! `Signature-Input` and `Signature` (RFC 9421 §4): the signatures of a request, and the parameters of each.

use http::HeaderMap;
use sfv::{BareItem, Dictionary, InnerList, ListEntry, Parser};

use super::{super::rejected::Rejected, TAG};

/// Maximum bytes of `Signature-Input` and of `Signature`: enough for eight signatures of 32 components each.
const MAX_BYTES: usize = 8 * 1024;
/// Maximum signatures in a request, with any tag.
const MAX_LABELS: usize = 8;
/// Maximum components that one signature covers.
const MAX_COMPONENTS: usize = 32;
/// Maximum characters of a nonce; the draft has 88.
const MAX_NONCE: usize = 256;

/// A signature with our `tag`.
pub(super) struct Input {
    /// The covered components and all parameters, in the order received.
    pub(super) list: InnerList,
    pub(super) keyid: String,
    pub(super) alg: Option<String>,
    pub(super) nonce: Option<String>,
    /// Unix seconds.
    pub(super) created: u64,
    /// Unix seconds.
    pub(super) expires: u64,
    pub(super) signature: Vec<u8>,
}

/// The signatures with our `tag`, in the order received; empty where none has it.
///
/// # Errors
///
/// The fields cannot be parsed, exceed the bounds on bytes, signatures or components, or a parameter is missing or
/// invalid: [`Rejected::SignatureMalformed`].
pub(super) fn read(headers: &HeaderMap) -> Result<Vec<Input>, Rejected> {
    // These characters have only one spelling in a structured string, so without them no signature is ours. Fields
    // that other parties use among themselves are then not parsed, well-formed or not.
    let mentioned = |value: &http::HeaderValue| memchr::memmem::find(value.as_bytes(), TAG.as_bytes()).is_some();
    if !headers.get_all("signature-input").iter().any(mentioned) {
        return Ok(Vec::new());
    }
    let inputs = dictionary(headers, "signature-input")?;
    if inputs.len() > MAX_LABELS {
        return Err(Rejected::SignatureMalformed);
    }
    let mut ours = Vec::new();
    let mut signatures = None;
    for (label, entry) in inputs {
        let ListEntry::InnerList(list) = entry else { continue };
        let tag = list.params.get("tag").and_then(BareItem::as_string);
        if tag.is_none_or(|tag| tag.as_str() != TAG) {
            continue;
        }
        let signatures = match &mut signatures {
            Some(read) => read,
            none => none.insert(dictionary(headers, "signature")?),
        };
        let signature = match signatures.swap_remove(label.as_str()) {
            Some(ListEntry::Item(item)) => item.bare_item,
            _ => return Err(Rejected::SignatureMalformed),
        };
        ours.push(input(list, signature)?);
    }
    Ok(ours)
}

fn input(list: InnerList, signature: BareItem) -> Result<Input, Rejected> {
    let BareItem::ByteSequence(signature) = signature else { return Err(Rejected::SignatureMalformed) };
    if list.items.len() > MAX_COMPONENTS {
        return Err(Rejected::SignatureMalformed);
    }
    let text = |name: &str| match list.params.get(name) {
        None => Ok(None),
        Some(BareItem::String(text)) => Ok(Some(text.as_str().to_owned())),
        Some(_) => Err(Rejected::SignatureMalformed),
    };
    let date = |name: &str| {
        let date = list.params.get(name).and_then(BareItem::as_integer);
        date.and_then(|date| u64::try_from(date).ok()).ok_or(Rejected::SignatureMalformed)
    };
    let nonce = text("nonce")?;
    if nonce.as_ref().is_some_and(|nonce| nonce.len() > MAX_NONCE) {
        return Err(Rejected::SignatureMalformed);
    }
    let keyid = text("keyid")?.ok_or(Rejected::SignatureMalformed)?;
    let (alg, created, expires) = (text("alg")?, date("created")?, date("expires")?);
    Ok(Input { keyid, alg, nonce, created, expires, signature, list })
}

/// The members of a dictionary field, its lines joined (RFC 9651 §4.2).
fn dictionary(headers: &HeaderMap, name: &str) -> Result<Dictionary, Rejected> {
    let mut joined = Vec::new();
    for value in headers.get_all(name) {
        if !joined.is_empty() {
            joined.extend_from_slice(b", ");
        }
        joined.extend_from_slice(value.as_bytes());
    }
    if joined.len() > MAX_BYTES {
        return Err(Rejected::SignatureMalformed);
    }
    Parser::new(&joined).parse().map_err(|_| Rejected::SignatureMalformed)
}
