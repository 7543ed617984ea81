//! What the operator declared, from the text of a file to the Snapshot every request reads.
//!
//! raw (spanned TOML, `${…}` replaced) → check (every mistake at once) → settings (typed) → compile → Snapshot.

mod settings;

pub use settings::*;
