//! Default names of a capability: a verb from its type, a path from its id.

use super::catalog::Catalog;
use frontdesk_config::CapabilityKind;

/// The verb: as declared, else from the type.
pub(crate) fn method_of(kind: CapabilityKind, written: Option<&str>) -> &str {
    written.unwrap_or(match kind {
        CapabilityKind::Query | CapabilityKind::Policy => "QUERY",
        CapabilityKind::Resource => "FETCH",
        CapabilityKind::Compare => "COMPARE",
        CapabilityKind::Monitor => "MONITOR",
        CapabilityKind::PrepareAction => "INITIATE",
        CapabilityKind::CommitAction => "EXECUTE",
        CapabilityKind::DestructiveAction => "REMOVE",
        CapabilityKind::Event => "SUBSCRIBE",
    })
}

/// The path: as declared, else the id as one segment, so that a verb in it (`flights.search`) is only a part of the
/// segment. An id that is itself a verb gets a suffix.
pub fn path_of(id: &str, written: Option<&str>, catalog: &Catalog) -> String {
    if let Some(path) = written {
        return path.to_owned();
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let mut path: String = std::iter::once('/').chain(id.chars().map(plain)).collect();
    if catalog.leaked_by(&path[1..]).is_some() {
        path.push_str("-call");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    #[test]
    fn every_type_has_a_verb_of_the_catalog() {
        use CapabilityKind::*;
        let catalog = Catalog::built_in();
        for kind in [Resource, Query, Compare, Monitor, PrepareAction, CommitAction, DestructiveAction, Event, Policy] {
            assert!(catalog.verb(method_of(kind, None)).is_some(), "{kind:?}");
            assert_eq!(method_of(kind, Some("BOOK")), "BOOK");
        }
    }

    #[test]
    fn an_id_becomes_a_path_that_keeps_to_the_grammar() {
        let catalog = Catalog::built_in();
        for (id, path) in [
            ("flights.search", "/flights-search"),
            ("site_info", "/site-info"),
            ("search", "/search-call"),
            ("check.out", "/check-out-call"),
            ("get", "/get-call"),
            ("café/{x}", "/caf---x-"),
            ("..", "/--"),
        ] {
            assert_eq!(path_of(id, None, &catalog), path, "{id}");
            assert!(Template::parse(path, &catalog).is_ok(), "{id}");
        }
        assert_eq!(path_of("search", Some("/flights"), &catalog), "/flights");
    }
}
