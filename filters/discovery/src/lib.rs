//! What a site announces beside the documents of the protocols: the `Link` header, llms.txt, and the list of everything
//! that can be found ([`Entry`]). It knows no dialect: each dialect hands in its entries.

#![forbid(unsafe_code)]

pub mod ai_catalog;
pub mod auth_md;
mod contents;
mod entry;
mod host;
pub mod links;
pub mod llms;
mod llms_addresses;
pub mod llms_full;
pub mod not_found;
mod occupied;
mod one_line;
pub mod protected_resource;
pub mod robots;
mod similar_addresses;
pub mod sitemap;
pub mod skills;
pub mod webmcp;

pub use contents::Contents;
pub use entry::Entry;
pub use host::{host_of, reversed_host};
pub use occupied::{IsOwn, Occupied, Probe, Seen, is_json, is_not_page, is_there};

use http::{HeaderValue, header};

use frontdesk_config::{Declaration, Settings};
use frontdesk_desk::Variant;

/// Where the list of what can be called is (RFC 9727).
pub const API_CATALOG: &str = "/.well-known/api-catalog";

/// The documents of this crate that the site may have itself, and how to tell.
pub fn probes(settings: &Settings) -> Vec<Probe> {
    let documents: [(&str, IsOwn); 9] = [
        (llms::PATH, is_not_page),
        (llms_full::PATH, is_not_page),
        (API_CATALOG, is_json),
        (ai_catalog::PATH, is_json),
        (skills::PATH, is_json),
        (webmcp::PATH, is_not_page),
        (auth_md::PATH, is_not_page),
        (protected_resource::PATH, is_json),
        (sitemap::PATH, is_list_or_leads_on),
    ];
    let elsewhere = sitemap::ELSEWHERE.map(|path| (path, is_not_page as IsOwn));
    let of_mcp = protected_resource::path_of(&settings.paths.mcp.path);
    let documents = documents.into_iter().chain(elsewhere).chain([(of_mcp.as_str(), is_json as IsOwn)]);
    documents.map(|(path, is_own)| Probe::of_document(path, is_own)).collect()
}

/// A sitemap, or a redirect to where it is.
fn is_list_or_leads_on(there: &Seen, nowhere: &Seen) -> bool {
    is_not_page(there, nowhere) || there.status.is_redirection() && there != nowhere
}

/// `Cache-Control` of a document at its own address.
pub fn cache_control(declaration: &Declaration) -> HeaderValue {
    let discovery = &declaration.settings.discovery;
    let (fresh, stale) = (discovery.manifest_max_age.as_secs(), discovery.stale_while_revalidate.as_secs());
    HeaderValue::try_from(format!("public, max-age={fresh}, stale-while-revalidate={stale}"))
        .unwrap_or_else(|_| HeaderValue::from_static("no-cache"))
}

/// `Cache-Control` of cards, catalogs and skills.
pub fn card_cache_control() -> HeaderValue {
    HeaderValue::from_static("public, max-age=3600")
}

/// A document of ours that pages of any origin may read, with its entity tag.
pub fn cors(variant: Variant) -> Variant {
    variant
        .generated()
        .with(header::ACCESS_CONTROL_ALLOW_METHODS, "GET")
        .with(header::ACCESS_CONTROL_ALLOW_HEADERS, "Content-Type, If-None-Match")
        .with(header::ACCESS_CONTROL_EXPOSE_HEADERS, "ETag")
}
