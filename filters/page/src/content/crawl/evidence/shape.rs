//! Whether two addresses have the same shape: what is known of one page speaks for others of its kind.

use crate::content::crawl::acts;

/// Names of parameters that say which document is shown.
const WHICH: [&str; 2] = ["id", "title"];

/// Whether two addresses are of one kind: in the same section, as deep, and with a last segment of the same form.
pub(super) fn is_alike(one: &str, other: &str) -> bool {
    let (one_path, one_query) = one.split_once('?').unwrap_or((one, ""));
    let (other_path, other_query) = other.split_once('?').unwrap_or((other, ""));
    if !one_query.is_empty() || !other_query.is_empty() {
        return one_path == other_path && say_which(one_query, other_query);
    }
    let segments = |path: &'_ str| -> Vec<String> { path.split('/').skip(1).map(str::to_owned).collect() };
    let is_folder = |path: &str| path.ends_with('/');
    if is_folder(one_path) != is_folder(other_path) {
        return false;
    }
    let (one, other) = (segments(one_path.trim_end_matches('/')), segments(other_path.trim_end_matches('/')));
    let (Some((one_leaf, one)), Some((other_leaf, other))) = (one.split_last(), other.split_last()) else {
        return false;
    };
    let is_same = |(a, b): (&String, &String)| a == b || acts::is_identifier(a) && acts::is_identifier(b);
    // Below a thing, a word is as likely to be what is done to it.
    let is_deep_word = other.len() > 1 && Form::of(other_leaf).is_bare_word();
    one.len() == other.len()
        && one.iter().zip(other).all(is_same)
        && (one.iter().any(|section| !acts::is_identifier(section)) || one.first().is_some_and(|first| is_year(first)))
        && Form::of(one_leaf) == Form::of(other_leaf)
        && !is_deep_word
}

/// Posts are filed by year.
fn is_year(segment: &str) -> bool {
    segment.len() == 4 && is_number(segment)
}

/// Whether each has one parameter that says which document is shown: `id=start` and `id=wiki:syntax`, `t=5` and `t=7`.
fn say_which(one: &str, other: &str) -> bool {
    let (Some((one_name, one)), Some((other_name, other))) = (one.split_once('='), other.split_once('=')) else {
        return false;
    };
    let is_single = |value: &str| !value.is_empty() && !value.contains(['&', ';', '=', '?']);
    one_name == other_name
        && is_single(one)
        && is_single(other)
        && (WHICH.contains(&one_name) || is_number(one) && is_number(other))
}

/// What the last segment of an address looks like.
#[derive(Debug, PartialEq, Eq)]
struct Form {
    is_identifier: bool,
    /// Words are set apart by hyphens or low lines. Titles of wikis and names of files may be one word or many.
    has_many_words: bool,
    /// As wikis write titles.
    is_capitalised: bool,
    /// What stands before a colon, as namespaces of wikis do.
    space: Option<String>,
    ending: Option<String>,
}

impl Form {
    fn of(segment: &str) -> Self {
        let (space, name) = segment.split_once(':').map_or((None, segment), |(space, name)| (Some(space), name));
        let (name, ending) = name.rsplit_once('.').map_or((name, None), |(name, ending)| (name, Some(ending)));
        let is_capitalised = name.starts_with(|c: char| c.is_ascii_uppercase());
        Self {
            is_identifier: acts::is_identifier(name),
            has_many_words: !is_capitalised && ending.is_none() && name.contains(['-', '_']),
            is_capitalised,
            space: space.map(str::to_owned),
            ending: ending.map(str::to_ascii_lowercase),
        }
    }

    fn is_bare_word(&self) -> bool {
        !self.is_identifier && !self.has_many_words && !self.is_capitalised && self.ending.is_none()
    }
}

pub(super) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::is_alike;

    #[test]
    fn addresses_of_one_kind() {
        for (one, other) in [
            ("/blog/hello-world", "/blog/next-post"),
            ("/2024/05/hello-world/", "/2023/11/other-post/"),
            ("/blog/2024/05/hello-world.html", "/blog/2023/11/tea.html"),
            ("/wiki/Main_Page", "/wiki/Tea"),
            ("/wiki/Talk:Tea", "/wiki/Talk:Green_tea"),
            ("/users/ann", "/users/bob"),
            ("/articles/5", "/articles/7"),
            ("/doku.php?id=start", "/doku.php?id=wiki:syntax"),
            ("/viewtopic.php?t=5", "/viewtopic.php?t=77"),
            ("/index.php?title=Main_Page", "/index.php?title=Tea"),
        ] {
            assert!(is_alike(one, other), "{one} {other}");
        }
    }

    #[test]
    fn addresses_of_different_kinds() {
        for (one, other) in [
            ("/", "/about"),
            ("/5/six-seven", "/7/make-admin"),
            ("/about", "/clear-cache"),
            ("/blog/hello-world", "/blog/hello-world/"),
            ("/blog/hello-world", "/shop/hello-world"),
            ("/blog/hello-world", "/blog/feature"),
            ("/blog/hello-world", "/blog/5"),
            ("/blog/a-b.html", "/blog/c-d.php"),
            ("/users/bob/posts", "/users/bob/promote"),
            ("/orders/5/items", "/orders/5/ship"),
            ("/wiki/Main_Page", "/wiki/Special:UserLogout"),
            ("/wiki/Main_Page", "/wiki/tea"),
            ("/doku.php?id=start", "/doku.php?id=start&do=edit"),
            ("/doku.php?id=start", "/doku.php?do=login"),
            ("/doku.php?id=start", "/doku.php"),
            ("/index.php?page=home", "/index.php?page=rebuild"),
            ("/viewtopic.php?t=5", "/viewtopic.php?t=x"),
        ] {
            assert!(!is_alike(one, other), "{one} {other}");
        }
    }
}
