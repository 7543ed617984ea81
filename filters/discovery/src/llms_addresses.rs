//! The addresses that llms.txt names beside the pages.

/// The addresses of the other documents.
#[derive(Debug, Clone, Copy, Default)]
pub struct LlmsAddresses<'a> {
    pub manifest: Option<&'a str>,
    /// The path for questions.
    pub converse: Option<&'a str>,
    /// All pages in one text.
    pub full: Option<&'a str>,
    /// How agents get access.
    pub auth_md: Option<&'a str>,
}
