//! The catalog of verbs (AGTP-API §3, §4): names, meanings, deprecations.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use semver::Version;
use serde::Deserialize;

/// The taxonomy (§3.1).
pub(crate) const CATEGORIES: &[&str] = &[
    "discovery",
    "retrieval",
    "analysis",
    "transaction",
    "modification",
    "creation",
    "notification",
    "mechanics",
    "domain_spanning",
];

/// The floor, the verbs that every server and every catalog has (§3.1).
pub(crate) const FLOOR: [&str; 18] = [
    "QUERY",
    "DISCOVER",
    "DESCRIBE",
    "INSPECT",
    "SUMMARIZE",
    "PLAN",
    "PROPOSE",
    "EXECUTE",
    "DELEGATE",
    "ESCALATE",
    "CONFIRM",
    "SUSPEND",
    "NOTIFY",
    "ACTIVATE",
    "DEACTIVATE",
    "REINSTATE",
    "REVOKE",
    "DEPRECATE",
];

/// Methods of HTTP that are no verbs (§3.2).
pub const HTTP: [&str; 7] = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"];

static BUILT_IN: LazyLock<Arc<Catalog>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../../conf/catalog/agtp-1.0.0.json");
    // A test reads it.
    Arc::new(Catalog::read(bytes).unwrap_or_default())
});

/// One version of the catalog.
#[derive(Debug, Default)]
pub struct Catalog {
    pub version: String,
    verbs: HashMap<String, Verb>,
    /// The verbs removed by this version (§4.5), with their successors.
    removed: HashMap<String, Option<String>>,
    /// The HTTP verbs, with the verb that each stands for.
    legacy: HashMap<String, String>,
}

/// A verb of the catalog.
#[derive(Debug, Clone, Deserialize)]
pub struct Verb {
    pub name: String,
    #[serde(default)]
    pub categories: Vec<String>,
    pub deprecated_in: Option<String>,
    pub removed_in: Option<String>,
    pub successor: Option<String>,
}

#[derive(Deserialize)]
struct Document {
    version: String,
    #[serde(default)]
    legacy: Vec<Legacy>,
    #[serde(alias = "methods")]
    verbs: Vec<Verb>,
}

#[derive(Deserialize)]
struct Legacy {
    name: String,
    preferred: String,
}

impl Catalog {
    /// The built-in catalog.
    pub fn built_in() -> Arc<Self> {
        BUILT_IN.clone()
    }

    /// Parses a catalog in the structure of §3.1.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in a sentence.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let document: Document = serde_json::from_slice(bytes).map_err(|e| format!("is no catalog: {e}"))?;
        let version = Version::parse(&document.version)
            .map_err(|_| format!("has the version \"{}\", which is not MAJOR.MINOR.PATCH", document.version))?;
        let mut catalog = Self { version: document.version, ..Self::default() };
        for mut verb in document.verbs {
            let name = verb.name.clone();
            if !is_name(&name) {
                return Err(format!("has a verb \"{}\"; a verb is 3 to 32 capital letters", name.escape_debug()));
            }
            // As an HTTP method it would hide the site.
            if HTTP.contains(&name.as_str()) {
                return Err(format!("has the verb {name}, which is a method of HTTP"));
            }
            // The name goes into a header.
            if let Some(successor) = verb.successor.as_deref().filter(|successor| !is_name(successor)) {
                return Err(format!(
                    "has \"{}\" for a successor of {name}, which is no verb",
                    successor.escape_debug()
                ));
            }
            let at = |key: &str, text: Option<&str>| match text.map(Version::parse) {
                None => Ok(None),
                Some(Ok(at)) => Ok(Some(at)),
                Some(Err(_)) => Err(format!("has a {key} of {name} that is not MAJOR.MINOR.PATCH")),
            };
            let deprecated = at("deprecated_in", verb.deprecated_in.as_deref())?;
            let removed = at("removed_in", verb.removed_in.as_deref())?;
            if deprecated.is_some_and(|at| at > version) {
                // The deprecation lies in a future version.
                verb.deprecated_in = None;
            }
            let twice = match removed.is_some_and(|gone| gone <= version) {
                true => {
                    catalog.removed.insert(name.clone(), verb.successor).is_some() || catalog.verbs.contains_key(&name)
                }
                false => catalog.removed.contains_key(&name) || catalog.verbs.insert(name.clone(), verb).is_some(),
            };
            if twice {
                return Err(format!("has the verb {name} twice"));
            }
        }
        if let Some(missing) = FLOOR.iter().find(|name| !catalog.verbs.contains_key(**name)) {
            return Err(format!("lacks {missing}, which every server has"));
        }
        for Legacy { name, preferred } in document.legacy {
            if !HTTP.contains(&name.as_str()) || !catalog.verbs.contains_key(&preferred) {
                return Err(format!(
                    "says that {name} means {preferred}; a method of HTTP means a verb of the catalog"
                ));
            }
            catalog.legacy.insert(name, preferred);
        }
        Ok(catalog)
    }

    /// Parses the operator's catalog. A catalog with a higher MAJOR than the built-in one may omit a verb instead of
    /// listing it as removed. The verb counts as removed all the same (§4.1): declarations that name it are skipped,
    /// whereas an unknown verb is an error.
    ///
    /// # Errors
    ///
    /// As for [`Catalog::read`].
    pub(crate) fn of_operator(bytes: &[u8]) -> Result<Self, String> {
        let (mut own, built_in) = (Self::read(bytes)?, Self::built_in());
        let major = |catalog: &Self| Version::parse(&catalog.version).map_or(0, |version| version.major);
        if major(&own) > major(&built_in) {
            for name in built_in.verbs.keys().filter(|name| !own.verbs.contains_key(*name)) {
                own.removed.entry(name.clone()).or_default();
            }
        }
        Ok(own)
    }

    /// A current or deprecated verb.
    pub fn verb(&self, name: &str) -> Option<&Verb> {
        self.verbs.get(name)
    }

    /// Whether a verb was removed.
    pub(crate) fn is_removed(&self, name: &str) -> bool {
        self.removed.contains_key(name)
    }

    /// What took the place of a verb that is none any more.
    pub fn successor(&self, name: &str) -> Option<&str> {
        self.removed.get(name)?.as_deref()
    }

    /// What is meant by one of the HTTP verbs (§3.1).
    pub fn preferred(&self, name: &str) -> Option<&str> {
        self.legacy.get(name).map(String::as_str)
    }

    /// The verb that a path segment spells (§5.1), in any case, with or without `-` and `_`. The segment is decoded.
    pub fn leaked_by(&self, segment: &str) -> Option<&str> {
        let mut spoken = [0; LONGEST];
        let mut length = 0;
        for byte in segment.bytes().filter(|byte| !matches!(byte, b'-' | b'_')) {
            // A verb consists of letters only and is no longer than this.
            *spoken.get_mut(length).filter(|_| byte.is_ascii_alphabetic())? = byte.to_ascii_uppercase();
            length += 1;
        }
        let spoken = std::str::from_utf8(&spoken[..length]).ok()?;
        let verb = self.verbs.get_key_value(spoken).map(|(name, _)| name);
        verb.or_else(|| self.legacy.get_key_value(spoken).map(|(name, _)| name)).map(String::as_str)
    }

    /// The HTTP verbs, and what is meant by each.
    pub fn legacy(&self) -> impl Iterator<Item = (&str, &str)> {
        self.legacy.iter().map(|(name, preferred)| (name.as_str(), preferred.as_str()))
    }

    /// Every verb that may be spoken, in no order.
    pub fn verbs(&self) -> impl Iterator<Item = &Verb> {
        self.verbs.values()
    }
}

impl Verb {
    /// The warning beside every answer to a deprecated verb (§4.4).
    pub fn warning(&self) -> Option<String> {
        self.deprecated_in.as_ref()?;
        let mut warning = "deprecated".to_owned();
        for (name, value) in [("successor", &self.successor), ("removed_in", &self.removed_in)] {
            if let Some(value) = value {
                warning.push_str(&format!("; {name}={value}"));
            }
        }
        Some(warning)
    }
}

/// Maximum letters of a verb (§3.2).
const LONGEST: usize = 32;

/// Whether a text has the form of a verb (§3.2).
pub fn is_name(name: &str) -> bool {
    (3..=LONGEST).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_uppercase())
}

#[cfg(test)]
mod tests;
