//! `Signature-Input` and `Signature` (RFC 9421 §4): which signatures there are, and what each says of itself.

use http::HeaderMap;
use sfv::{BareItem, Dictionary, InnerList, ListEntry, Parser};

use super::{super::rejected::Rejected, TAG};

/// Bytes of the longest `Signature-Input` and `Signature` that are parsed: eight of 32 components each fit.
const MAX_BYTES: usize = 8 * 1024;
/// The most signatures a request may carry, whosever they are.
const MAX_LABELS: usize = 8;
/// The most components one may cover.
const MAX_COMPONENTS: usize = 32;
/// Characters of the longest nonce; the draft has 88.
const MAX_NONCE: usize = 256;

/// A signature with our `tag`.
pub(super) struct Input {
    /// The covered components and all parameters, in the order they came in.
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

/// The signatures that have our `tag`, in the order they came in; none where nobody mentions it.
///
/// # Errors
///
/// Fields that cannot be read, more bytes, signatures or components than the bounds, a parameter that is missing or is
/// not what it must be: [`Rejected::SignatureMalformed`].
pub(super) fn read(headers: &HeaderMap) -> Result<Vec<Input>, Rejected> {
    // A structured string has one spelling for these characters, so without them no signature is ours, and what
    // others sign for others, well or badly, is not read.
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

/// The members of a field that is a dictionary, its lines joined (RFC 9651 §4.2).
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
