//! The configuration: from the text of a file to typed settings.
//!
//! Three stages: `raw` parses TOML with line numbers and replaces `${…}`; `check` and `rules` report all mistakes at
//! once; `lower` builds the typed `settings`. The table of keys (`keys` and its siblings) is the single source for
//! what is accepted, published and secret. Other modules add keys and checks through `extension`; this crate does not
//! know which modules there are.

#![forbid(unsafe_code)]

mod built_in;
mod capability_kind;
mod check;
mod config_diff;
mod extension;
pub mod forms;
mod forms_login;
mod key_path;
mod keys;
mod keys_capability;
mod lower;
mod lower_agtp;
mod lower_callers;
mod lower_capability;
mod lower_firewall;
mod lower_harness;
mod lower_pages;
mod merge_policy;
mod mistake;
pub mod names;
mod node;
mod publish;
mod raw;
mod recipe_steps;
mod recipes;
mod replace;
mod rules;
mod rules_capability;
mod rules_firewall;
mod rules_network;
mod rules_pages;
mod rules_policy;
mod rules_shared;
mod rules_summary;
mod schema;
mod schemas;
mod settings;
mod settings_agtp;
mod settings_call;
mod settings_callers;
mod settings_capability;
mod settings_firewall;
mod settings_handoff;
mod settings_harness;
mod settings_login;
mod settings_network;
mod settings_paths;
mod units;
mod view;

#[cfg(any(test, feature = "testing"))]
pub mod testing;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use frontdesk_base::text::hex;

pub use config_diff::{Difference, Outline, outline};
use extension::Keys;
pub use extension::{Declared, Extension, Extensions, unchecked};
pub use forms::read_address;
pub use forms_login::redirect_uri;
pub use keys::BOUNDED;
pub use lower::PATHS;
pub use lower_agtp::is_spoken;
pub use lower_capability::capability_kind;
pub use merge_policy::raise;
pub use mistake::{Findings, Mistake, Severity, nearest};
pub use node::Node;
pub use publish::without_password;
pub use raw::{Entry, Item, Raw, Value, parse};
pub use recipe_steps::{DEEPEST, steps};
pub use rules_policy::version;
pub use schema::{Key, Kind, Place, Table, closed, key};
pub use schemas::{Pointed, Schemas};
pub use settings::*;
pub use settings_handoff::PATH as HANDOFF_PATH;

/// The I/O that this crate needs in order to read a declaration.
pub trait Outside {
    /// An environment variable.
    fn var(&self, name: &str) -> Option<String>;
    /// The bytes of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;
    /// Whether there is a directory.
    fn is_dir(&self, path: &Path) -> bool;
}

/// Has neither variables nor files.
pub struct Nowhere;

impl Outside for Nowhere {
    fn var(&self, _: &str) -> Option<String> {
        None
    }

    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn is_dir(&self, _: &Path) -> bool {
        false
    }
}

/// A declaration without mistakes.
#[derive(Debug, Clone)]
pub struct Declaration {
    pub settings: Settings,
    /// The published part of the declaration, in written order and after replacement; always a table. Defaults are not
    /// filled in.
    pub contract: Arc<Node>,
    /// The whole document for `/config`, after replacement, without secrets and values from outside the file. It is
    /// JSON text, because a tree would take ten times the memory for as long as the declaration is in use.
    pub tables: Arc<str>,
    pub warnings: Vec<Mistake>,
    /// Every referenced file that was read, absolute and sorted, without the declaration's own file.
    pub references: Vec<PathBuf>,
    /// SHA-256, in hex, of the text, every replaced value and every referenced file.
    pub hash: String,
}

/// Why there is no declaration. Each variant holds at least one mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The file cannot be read, is not UTF-8 or not TOML.
    Unreadable(Vec<Mistake>),
    /// The file was parsed and has mistakes; the findings include warnings.
    Mistakes(Vec<Mistake>),
}

impl Refused {
    /// All findings, in line order.
    pub fn mistakes(&self) -> &[Mistake] {
        match self {
            Self::Unreadable(mistakes) | Self::Mistakes(mistakes) => mistakes,
        }
    }

    /// The exit code of a command that refuses the declaration.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Mistakes(_) => 1,
            Self::Unreadable(_) => 2,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes().iter().enumerate() {
            let newline = if index > 0 { "\n" } else { "" };
            write!(out, "{newline}{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

/// A declaration for a command that checks it and does not run it.
#[derive(Debug, Clone)]
pub struct Review {
    pub declaration: Declaration,
    /// It is a contract only: it can be published, but not run, because it names no site.
    pub contract_alone: bool,
    /// Promises in the contract that Frontdesk does not enforce, and contradictions within it.
    pub remarks: Vec<Mistake>,
}

/// Reads and checks the declaration at a path.
pub fn declare(path: &Path, outside: &dyn Outside, extensions: Extensions) -> Result<Declaration, Refused> {
    declare_text(path, &text_of(path, outside)?, outside, extensions)
}

/// The same without running it, so that a contract without a site is no mistake.
pub fn review(path: &Path, outside: &dyn Outside, extensions: Extensions) -> Result<Review, Refused> {
    judge(path, &text_of(path, outside)?, outside, Keys(extensions), true)
}

fn text_of(path: &Path, outside: &dyn Outside) -> Result<String, Refused> {
    let unreadable = |what: String| {
        let mut found = mistake::Findings::new(path.into());
        found.mistake(0, "", what);
        Refused::Unreadable(found.into_sorted())
    };
    let bytes = outside.read(path).map_err(|error| unreadable(format!("cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| unreadable("is not UTF-8 text".into()))
}

/// Checks the text of a declaration. `path` is its name in messages, and its directory is the base of relative
/// references.
pub fn declare_text(
    path: &Path,
    text: &str,
    outside: &dyn Outside,
    extensions: Extensions,
) -> Result<Declaration, Refused> {
    judge(path, text, outside, Keys(extensions), false).map(|review| review.declaration)
}

fn judge(path: &Path, text: &str, outside: &dyn Outside, keys: Keys, review: bool) -> Result<Review, Refused> {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    let base = absolute.parent().unwrap_or(Path::new("/"));
    // An editor's byte order mark is not part of the first key.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);

    let mut syntax = mistake::Findings::new(path.into());
    let mut found = mistake::Findings::new(path.into());
    let mut raw = raw::parse(text, base, outside, &mut syntax, &mut found);
    let syntax = syntax.into_sorted();
    if !syntax.is_empty() {
        return Err(Refused::Unreadable(syntax));
    }

    let files = check::check(&mut raw.root, keys, base, outside, &mut found);
    let schemas = schemas::Schemas::collect(&raw.root, base, &files, &mut found);
    let contract_alone = rules_policy::is_contract_alone(&raw.root, keys);
    rules::rules(&raw.root, keys, &mut found);
    if !(review && contract_alone) {
        rules::site(&raw.root, contract_alone, &mut found);
    }
    rules_capability::rules(&raw.root, keys, &schemas, &mut found);
    // Values that were wrong have been reported, and are absent from here on.
    let mut settings = lower::lower(&raw.root, base, &files, &schemas);
    let raised = recipes::rules(&raw.root, &mut settings, &mut found);
    rules::locked(&raw.root, &settings, &mut found);
    rules_firewall::rules(&raw.root, base, &files, &mut found);
    let declared = Declared { root: &raw.root, settings: &settings, schemas: &schemas, keys };
    keys.0.iter().for_each(|extension| (extension.check)(&declared, &mut found));
    let capabilities = raw.root.get("capabilities").map_or(&[][..], Item::items);
    let id = |place: usize| capabilities.get(place)?.get("id").filter(|id| !id.replaced)?.str();
    found.name_capabilities(id);
    let findings = found.into_sorted_without(&raw.replaced);
    if findings.iter().any(Mistake::is_fatal) {
        return Err(Refused::Mistakes(findings));
    }

    let hash = hash(text, &raw.replaced, &files);
    let mut references: Vec<PathBuf> = files.into_keys().chain(raw.files).collect();
    references.sort();
    references.dedup();
    let mut contract = publish::contract(&raw.root, keys, &schemas);
    recipes::publish(&mut contract, &settings, &raised);
    let declaration = Declaration {
        settings,
        contract: Arc::new(contract),
        tables: publish::redacted(&raw.root, keys),
        warnings: findings,
        references,
        hash,
    };
    let mut remarks = mistake::Findings::new(path.into());
    if review {
        rules_policy::remarks(&raw.root, &declaration.settings, contract_alone, &mut remarks);
    }
    remarks.name_capabilities(id);
    Ok(Review { declaration, contract_alone, remarks: remarks.into_sorted_without(&raw.replaced) })
}

/// Prefixes each part with its length, so that different declarations never hash the same input.
fn hash(text: &str, replaced: &[String], files: &raw::Files) -> String {
    let mut digest = ring::digest::Context::new(&ring::digest::SHA256);
    let names = files.iter().flat_map(|(path, bytes)| [path.as_os_str().as_encoded_bytes(), bytes]);
    for part in std::iter::once(text.as_bytes()).chain(replaced.iter().map(String::as_bytes)).chain(names) {
        digest.update(&(part.len() as u64).to_be_bytes());
        digest.update(part);
    }
    hex(digest.finish().as_ref())
}
