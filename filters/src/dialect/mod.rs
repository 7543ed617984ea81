//! The dialects: each protocol's translation of the declaration, in a folder of its own, and one table that lists
//! them.

pub(crate) mod api_catalog;
mod export;
mod summary;

pub use export::{export, export_as, exports, forms};
pub(crate) use frontdesk_agtp as agtp;
pub use frontdesk_agtp::diff as catalog;
pub use frontdesk_dialects::*;
pub use summary::summary;

/// How an endpoint is called in verbs: what may be written, and what to write instead.
pub mod verbs {
    pub use frontdesk_agtp::{
        catalog::Catalog,
        name::path_of,
        suggest::{Suggested, suggest},
        taken::Taken,
        template::Template,
    };
}

/// The table of dialects, in the order of their announced links.
pub const DIALECTS: &[Dialect] = &[ahp::DIALECT, aicp::DIALECT, mcp::DIALECT, openapi::DIALECT, agtp::DIALECT];

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
        folders.push("agtp".into());
        folders.sort();
        table.sort();
        assert_eq!(folders, table);
    }
}
