//! What a site announces beside the documents of the protocols: the `Link` header, llms.txt, and the list of everything
//! that can be found ([`Entry`]). It knows no dialect: each dialect hands in its entries.

#![forbid(unsafe_code)]

mod entry;
pub mod links;
pub mod llms;
mod occupied;

pub use entry::Entry;
pub use occupied::{IsOwn, Occupied, Probe, Seen, is_json, is_not_page, is_there};

use http::HeaderValue;

use frontdesk_config::Declaration;

/// Where the list of what can be called is (RFC 9727).
pub const API_CATALOG: &str = "/.well-known/api-catalog";

/// The documents of this crate that the site may have itself, and how to tell.
pub fn probes() -> Vec<Probe> {
    let documents: [(&str, IsOwn); 2] = [(llms::PATH, is_not_page), (API_CATALOG, is_json)];
    documents.map(|(path, is_own)| Probe::of_document(path, is_own)).into()
}

/// `Cache-Control` of a document at its own address.
pub fn cache_control(declaration: &Declaration) -> HeaderValue {
    let discovery = &declaration.settings.discovery;
    let (fresh, stale) = (discovery.manifest_max_age.as_secs(), discovery.stale_while_revalidate.as_secs());
    HeaderValue::try_from(format!("public, max-age={fresh}, stale-while-revalidate={stale}"))
        .unwrap_or_else(|_| HeaderValue::from_static("no-cache"))
}
