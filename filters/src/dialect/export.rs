//! Exports a dialect's document without a server, byte for byte as it would be published.

use std::sync::Arc;

use bytes::Bytes;

#[cfg(feature = "agtp")]
use super::agtp;
use super::{DIALECTS, Occupied, Publishing, ahp, openapi};
use crate::{Learned, Snapshot, content::llms, site::Declaration};

/// The names of the exports.
pub fn exports() -> impl Iterator<Item = &'static str> {
    DIALECTS.iter().map(|dialect| dialect.name).chain([LLMS])
}

/// The site in one short text, which belongs to no protocol.
const LLMS: &str = "llms";

/// The dialect's entry document, or its JSON; `None` where the dialect or the JSON does not exist.
pub fn export(name: &str, json: bool, declaration: &Declaration) -> Option<Bytes> {
    if name == LLMS {
        let snapshot = Snapshot::compile(declaration, &Learned::default());
        return snapshot.document(llms::PATH).filter(|_| !json);
    }
    #[cfg(feature = "agtp")]
    if name == agtp::DIALECT.name {
        // This document is not served over HTTP, so it is built here.
        return agtp::manifest(declaration);
    }
    let dialect = DIALECTS.iter().find(|dialect| dialect.name == name)?;
    let occupied = &Occupied::default();
    let converse = &Arc::new(ahp::Converse::new(declaration, occupied));
    let published = (dialect.publish)(&Publishing { declaration, occupied, converse });
    if let Some(exported) = published.exported {
        return Some(exported);
    }
    let announced = published.announcement.as_ref().map(|announcement| announcement.path.as_str());
    let document = published.documents.iter().find(|document| announced.is_none_or(|path| document.path == path))?;
    let wanted = |media: &str| !json || media.ends_with("/json") || media.ends_with("+json");
    document.variants.iter().find(|variant| wanted(variant.media_type)).map(|variant| variant.body())
}

/// The additional forms of a document.
pub fn forms() -> impl Iterator<Item = &'static str> {
    [openapi::DIALECT.name].into_iter()
}

/// A dialect's document in another form; `None` where it has none.
pub fn export_as(name: &str, form: &str, declaration: &Declaration) -> Option<Bytes> {
    #[cfg(feature = "agtp")]
    if name == agtp::DIALECT.name && form == openapi::DIALECT.name {
        return agtp::as_openapi(declaration);
    }
    let _ = (name, form, declaration);
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::site::{
        declare_text, review,
        testing::{Nowhere, Only},
    };

    #[test]
    fn what_was_exported_is_exported_the_same_again() {
        let travel = include_str!("../../../conf/travel.toml");
        let first = export("aicp", false, &declare_text(Path::new("/x.toml"), travel, &Nowhere).unwrap()).unwrap();
        let review = review(Path::new("/y.toml"), &Only(&first)).unwrap();
        assert!(review.contract_alone);
        assert_eq!(export("aicp", false, &review.declaration).unwrap(), first);
    }

    #[test]
    fn what_is_exported_is_what_is_published() {
        let text = "[upstream]\nurl = 'http://a'\n[site]\nname = 'X'\n";
        let declaration = declare_text(Path::new("/x.toml"), text, &Nowhere).unwrap();
        for name in exports() {
            for json in [false, true] {
                let Some(exported) = export(name, json, &declaration) else {
                    // AGTP is off here.
                    assert!(json && name == LLMS || name == "agtp", "{name}");
                    continue;
                };
                assert!(!exported.is_empty(), "{name}");
                if json {
                    assert!(serde_json::from_slice::<serde_json::Value>(&exported).is_ok(), "{name}");
                }
            }
        }
        let toml = export("aicp", false, &declaration).unwrap();
        assert!(toml.starts_with(b"aicp_version = \"0.1\"\n"), "{toml:?}");
        assert!(export("nothing", false, &declaration).is_none());
    }
}
