//! What a page says, without what surrounds it: the site's own words as Markdown, and where its links lead.
//!
//! Used for pages as Markdown, and by the crawler for answers. What is read here was
//! written by others: every bound holds before the work it bounds.

mod anchors;
mod article;
mod article_signs;
mod code;
mod controls;
pub mod crawl;
pub mod css;
mod element_fate;
mod facts;
mod faq;
mod images;
mod link_markup;
mod math;
mod page;
mod parse;
mod prune;
mod published;
mod select;
mod surroundings;
mod table;
mod tabs;
mod teasers;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod tidy;
mod walk;
mod write;

pub use frontdesk_base::charset::text;
pub use page::{MAX_BYTES, Page, read, read_for_answer, title};
use page::{Marks, read_marked};
use published::is_relative;
