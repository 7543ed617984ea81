//! Detects conflicting endpoints: two that one request could match (AGTP-API §5.4).

use std::collections::HashMap;

use super::template::Template;

/// The endpoints by verb, each with its owner.
#[derive(Debug)]
pub struct TakenRoutes<Who> {
    /// Keyed by verb, segments and placeholders. Templates with different numbers of placeholders differ in
    /// specificity and do not conflict.
    by: HashMap<(String, usize, usize), Group<Who>>,
}

#[derive(Debug)]
struct Group<Who> {
    literal: HashMap<String, Who>,
    templates: Vec<(Template, Who)>,
}

impl<Who> Default for TakenRoutes<Who> {
    fn default() -> Self {
        Self { by: HashMap::new() }
    }
}

impl<Who> TakenRoutes<Who> {
    /// Takes a path for a verb.
    ///
    /// # Errors
    ///
    /// The owner of a conflicting path.
    pub fn take(&mut self, method: &str, template: Template, who: Who) -> Result<(), &Who> {
        let places = template.names().count();
        let key = (method.to_owned(), template.length(), places);
        let group = self.by.entry(key).or_insert_with(|| Group { literal: HashMap::new(), templates: Vec::new() });
        if places == 0 {
            let path = template.fill(&[]).unwrap_or_default();
            return match group.literal.entry(path) {
                std::collections::hash_map::Entry::Occupied(there) => Err(there.into_mut()),
                std::collections::hash_map::Entry::Vacant(free) => {
                    free.insert(who);
                    Ok(())
                }
            };
        }
        match group.templates.iter().position(|(other, _)| other.overlaps(&template)) {
            Some(at) => Err(&group.templates[at].1),
            None => {
                group.templates.push((template, who));
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn a_path_is_taken_once_by_each_verb() {
        let mut taken = TakenRoutes::default();
        let mut take = |method: &str, path: &str| {
            let template = Template::parse(path, &Catalog::built_in()).unwrap_or_else(|wrong| panic!("{wrong:?}"));
            taken.take(method, template, format!("{method} {path}")).map_err(|who| who.clone())
        };
        for (method, path) in [("BOOK", "/"), ("BOOK", "/a"), ("PAY", "/a"), ("BOOK", "/a/{x}"), ("BOOK", "/a/b")] {
            assert_eq!(take(method, path), Ok(()), "{method} {path}");
        }
        assert_eq!(take("BOOK", "/{x}/{y}"), Ok(()));
        assert_eq!(take("BOOK", "/"), Err("BOOK /".into()));
        assert_eq!(take("BOOK", "/%61"), Err("BOOK /a".into()));
        assert_eq!(take("BOOK", "/{x}/c"), Err("BOOK /a/{x}".into()));
        assert_eq!(take("PAY", "/{x}/c"), Ok(()));
    }
}
