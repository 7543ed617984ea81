//! A declared path (AGTP-API §5.3, §5.4): segments, some of which are placeholders for inputs.

use std::borrow::Cow;

use super::{
    catalog::Catalog,
    path::{PathError, Piece, pieces},
};
use frontdesk_desk::encoded;

/// The values of a path's placeholders, by name.
pub type Places = Vec<(String, String)>;

/// A path such as `/orders/{order_id}/items`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    pieces: Vec<Piece<'static>>,
}

impl Template {
    /// Parses a path such as `/orders/{order_id}/items`.
    ///
    /// # Errors
    ///
    /// The path could match no request, or is ambiguous.
    pub fn parse(path: &str, catalog: &Catalog) -> Result<Self, PathError> {
        let pieces = pieces(path, catalog, true)?;
        let mut names = Vec::new();
        for piece in &pieces {
            let Piece::Place(name) = piece else { continue };
            if names.contains(&name) {
                return Err(PathError::violation(&format!("{{{name}}}"), format!("has two places for \"{name}\"")));
            }
            names.push(name);
        }
        let owned = |piece| match piece {
            Piece::Literal(text) => Piece::Literal(Cow::Owned(text.into_owned())),
            Piece::Place(name) => Piece::Place(Cow::Owned(name.into_owned())),
        };
        Ok(Self { pieces: pieces.into_iter().map(owned).collect() })
    }

    /// The names of its placeholders, in order. Templates with fewer are matched first (§5.4).
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Place(name) => Some(&**name),
            Piece::Literal(_) => None,
        })
    }

    /// The values of its placeholders, if a path with these decoded segments matches.
    pub fn matches(&self, segments: &[Cow<'_, str>]) -> Option<Places> {
        if self.pieces.len() != segments.len() {
            return None;
        }
        let fits = |(piece, segment): (&Piece, &Cow<str>)| match piece {
            Piece::Literal(literal) => literal == segment,
            Piece::Place(_) => true,
        };
        if !self.pieces.iter().zip(segments).all(fits) {
            return None;
        }
        let places = self.pieces.iter().zip(segments).filter_map(|(piece, segment)| match piece {
            Piece::Place(name) => Some((name.to_string(), segment.to_string())),
            Piece::Literal(_) => None,
        });
        Some(places.collect())
    }

    /// Whether some path matches both templates.
    pub fn meets(&self, other: &Self) -> bool {
        let both = |(one, two): (&Piece, &Piece)| match (one, two) {
            (Piece::Literal(one), Piece::Literal(two)) => one == two,
            _ => true,
        };
        self.pieces.len() == other.pieces.len() && self.pieces.iter().zip(&other.pieces).all(both)
    }

    /// Whether some path is like both of them, and neither is the more specific one (§5.4).
    pub fn overlaps(&self, other: &Self) -> bool {
        self.names().count() == other.names().count() && self.meets(other)
    }

    /// The path with its places filled, as it is sent; `None` where a value is missing.
    pub fn fill(&self, values: &[(String, String)]) -> Option<String> {
        let mut path = String::new();
        for piece in &self.pieces {
            let segment = match piece {
                Piece::Literal(literal) => &**literal,
                Piece::Place(place) => {
                    values.iter().find_map(|(name, value)| (name == place).then_some(value.as_str()))?
                }
            };
            path.push('/');
            path.extend(encoded(segment));
        }
        if path.is_empty() {
            path.push('/');
        }
        Some(path)
    }

    /// Its segments; `None` for a placeholder.
    pub fn segments(&self) -> impl Iterator<Item = Option<&str>> {
        self.pieces.iter().map(|piece| match piece {
            Piece::Literal(text) => Some(&**text),
            Piece::Place(_) => None,
        })
    }

    /// The number of segments.
    pub fn length(&self) -> usize {
        self.pieces.len()
    }

    /// Whether it is the bare root.
    pub fn is_root(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Its first segment, where that is literal.
    pub fn first(&self) -> Option<&str> {
        match self.pieces.first()? {
            Piece::Literal(text) => Some(text),
            Piece::Place(_) => None,
        }
    }
}

/// Whether a segment has the form of a placeholder.
pub(crate) fn is_place(segment: &str) -> bool {
    segment.starts_with('{') && segment.ends_with('}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::read;

    fn template(path: &str) -> Template {
        Template::parse(path, &Catalog::built_in()).unwrap_or_else(|wrong| panic!("{path}: {wrong:?}"))
    }

    #[test]
    fn a_declared_path_has_whole_segments_for_places() {
        assert_eq!(template("/orders/{order_id}/items/{n}").names().collect::<Vec<_>>(), ["order_id", "n"]);
        assert!(template("/").is_root());
        // A placeholder may have a verb's name: it is exempt (§5.1).
        assert_eq!(template("/x/{search}").names().next(), Some("search"));
        let catalog = Catalog::built_in();
        for (path, status) in [
            ("/orders/{}", 460),
            ("/orders/{a-b}", 460),
            ("/orders/x{id}", 460),
            ("/orders/{id}.json", 460),
            ("/orders/{a}{b}", 460),
            ("/orders/{?page}", 460),
            ("/orders/{+id}", 460),
            ("/orders/{id", 460),
            ("/orders/id}", 460),
            ("/a/{id}/b/{id}", 460),
            ("/a/{id}/", 460),
            ("/a//b", 460),
            ("a", 460),
            ("/a/search", 460),
            ("/a/%2e", 400),
            ("/ä", 400),
        ] {
            assert_eq!(Template::parse(path, &catalog).map_err(|wrong| wrong.status), Err(status), "{path}");
        }
    }

    #[test]
    fn a_template_matches_segment_by_segment() {
        let (catalog, orders) = (Catalog::built_in(), template("/orders/{id}/items/{n}"));
        let asked = |target| read(target, &catalog).unwrap().segments;
        let found = orders.matches(&asked("/orders/a%20b/items/7")).unwrap();
        assert_eq!(found, [("id".to_owned(), "a b".to_owned()), ("n".to_owned(), "7".to_owned())]);
        assert_eq!(orders.fill(&found).as_deref(), Some("/orders/a%20b/items/7"));
        for other in ["/orders/a/items", "/orders/a/parts/7", "/Orders/a/items/7", "/orders/a/items/7/x", "/"] {
            assert_eq!(orders.matches(&asked(other)), None, "{other}");
        }
        // A literal segment matches in every encoding.
        assert!(template("/caf%C3%A9").matches(&asked("/%63af%c3%a9")).is_some());
        assert_eq!(template("/").matches(&[]), Some(Vec::new()));
    }

    #[test]
    fn templates_that_nothing_tells_apart_overlap() {
        for (one, two, overlap) in [
            ("/a/{x}", "/a/{y}", true),
            ("/a/{x}", "/{y}/b", true),
            ("/a/{x}/c", "/a/b/{y}", true),
            ("/a/{x}", "/a/b", false),
            ("/a/{x}", "/b/{x}", false),
            ("/a/{x}", "/a/{x}/c", false),
            ("/{x}/{y}", "/a/{y}", false),
            ("/a", "/a", true),
        ] {
            assert_eq!(template(one).overlaps(&template(two)), overlap, "{one} {two}");
            assert_eq!(template(two).overlaps(&template(one)), overlap, "{two} {one}");
        }
        assert!(template("/{x}/{y}").meets(&template("/a/{y}")));
    }
}
