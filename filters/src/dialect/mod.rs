//! The dialects: each protocol's translation of the declaration, in a folder of its own, and one table that lists
//! them.

pub(crate) mod api_catalog;
mod export;
mod summary;

pub use export::{export, export_as, exports, forms};
#[cfg(feature = "agtp")]
pub(crate) use frontdesk_agtp as agtp;
#[cfg(feature = "agtp")]
pub use frontdesk_agtp::diff as catalog;
pub use frontdesk_dialects::{
    Announcement, Dialect, Document, Entry, Explain, Occupied, Probe, Publication, Publishing, Seen, Variant, a2a, ahp,
    aicp, cache_control, mcp, openapi,
};
pub use summary::summary;

use frontdesk_config::Settings;

/// How an endpoint is called in verbs: what may be written, and what to write instead.
#[cfg(feature = "agtp")]
pub mod verbs {
    pub use frontdesk_agtp::{
        catalog::Catalog,
        name::path_of,
        suggest::{Suggested, suggest},
        taken_routes::TakenRoutes,
        template::Template,
    };
}

/// What the site is asked for, to find out what it has itself where ours would be.
pub fn probes(settings: &Settings) -> Vec<Probe> {
    [frontdesk_dialects::probes(&settings.paths), frontdesk_discovery::probes(settings)].concat()
}

/// The table of dialects, in the order of their announced links.
pub const DIALECTS: &[Dialect] = &[
    ahp::DIALECT,
    aicp::DIALECT,
    mcp::DIALECT,
    a2a::DIALECT,
    openapi::DIALECT,
    #[cfg(feature = "agtp")]
    agtp::DIALECT,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_is_in_the_table() {
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/dialects/src");
        let mut folders: Vec<String> = std::fs::read_dir(here)
            .unwrap()
            .filter_map(|e| e.ok().filter(|e| e.path().is_dir()).map(|e| e.file_name().to_string_lossy().into_owned()))
            .collect();
        let mut table: Vec<String> = DIALECTS.iter().map(|d| d.name.to_owned()).collect();
        #[cfg(feature = "agtp")]
        folders.push("agtp".into());
        folders.sort();
        table.sort();
        assert_eq!(folders, table);
    }
}
