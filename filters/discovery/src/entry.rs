//! One thing that a site offers to agents, for every list that names it: the `Link` header, llms.txt, catalogs.

/// A document or an endpoint that Frontdesk serves. A dialect hands in its own; only what exists has an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// A short name, unique on a site and without blanks: the last part of its identifier in catalogs.
    pub name: &'static str,
    /// Its registered relation in the `Link` header of pages; `None` where pages do not name it.
    pub rel: Option<&'static str>,
    pub path: String,
    pub media_type: &'static str,
    /// One line for readers.
    pub title: &'static str,
}
