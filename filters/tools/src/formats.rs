//! The formats that can be imported, as a table, so that the command line knows no format by name.

use crate::{
    graphql,
    import::{Asked, Imported, Unusable},
    openapi,
};

/// A format that can be imported.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// Converts a document to a declaration.
    pub import: Import,
}

/// Converts a document; `progress` gets the number of finished operations and the total.
pub type Import =
    fn(document: &[u8], asked: &Asked, progress: &mut dyn FnMut(usize, usize)) -> Result<Imported, Unusable>;

/// All formats.
pub const FORMATS: &[Format] =
    &[Format { name: "openapi", import: openapi::import }, Format { name: "graphql", import: graphql::import }];
