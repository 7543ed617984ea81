//! Where the picture of an image is: images that load when they come into view name it elsewhere than in `src`.

use dom_query::NodeRef;

use super::walk::{attribute, name};

/// Attributes that scripts read the address from.
const LAZY: [&str; 7] =
    ["data-src", "data-lazy-src", "data-original", "data-original-src", "data-url", "data-image", "data-full-src"];
/// The same with several addresses, each with a width.
const SETS: [&str; 3] = ["srcset", "data-srcset", "data-lazy-srcset"];

/// The address of an image's picture.
pub(super) fn source(image: &NodeRef<'_>) -> Option<String> {
    let shown = attribute(image, "src").filter(|source| !source.is_empty());
    let lazy = LAZY.iter().filter_map(|name| attribute(image, name)).find(|source| is_address(source));
    if lazy.is_some() && shown.as_deref().is_none_or(is_placeholder) {
        return lazy;
    }
    let is_nothing = shown.as_deref().is_none_or(|source| source.starts_with("data:"));
    if !is_nothing {
        return shown;
    }
    from_set(image).or_else(|| around(image)).or_else(|| without_scripts(image)).or(shown)
}

fn is_address(source: &str) -> bool {
    !source.is_empty() && !source.starts_with("data:")
}

/// Something small that stands in for the picture.
fn is_placeholder(source: &str) -> bool {
    let source = source.to_ascii_lowercase();
    ["data:", "placeholder", "spacer", "blank", "lazy", "loading", "transparent", "pixel", "1x1"]
        .iter()
        .any(|part| source.contains(part))
}

/// The first address of a set.
fn from_set(node: &NodeRef<'_>) -> Option<String> {
    let sets = SETS.iter().filter_map(|name| attribute(node, name));
    sets.filter_map(|set| set.split_ascii_whitespace().next().map(|first| first.trim_end_matches(',').to_owned()))
        .find(|source| is_address(source))
}

/// By the sources of a `<picture>`.
fn around(image: &NodeRef<'_>) -> Option<String> {
    let picture = image.parent().filter(|around| name(around) == "picture")?;
    picture.children_it(false).filter(|child| name(child) == "source").find_map(|source| from_set(&source))
}

/// By the image for people without scripts, which stands beside it.
fn without_scripts(image: &NodeRef<'_>) -> Option<String> {
    let beside = [image.next_element_sibling(), image.prev_element_sibling()];
    let noscript = beside.into_iter().flatten().find(|node| name(node) == "noscript")?;
    let inner = noscript.descendants_it().find(|node| name(node) == "img")?;
    attribute(&inner, "src").filter(|source| is_address(source))
}
