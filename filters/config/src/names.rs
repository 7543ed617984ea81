//! The names of capabilities for agents, and the maximum lengths of texts in all documents.

/// Bounds of the published schema, in characters. Declared texts are cut to them when they are read.
const NAME: usize = 64;
pub const DESCRIPTION: usize = 256;
pub const SITE_NAME: usize = 128;
pub const SITE_DESCRIPTION: usize = 512;

/// The agents' name of a capability: its own name, or one derived from its id.
pub fn name(id: &str, own: Option<&str>) -> String {
    own.map_or_else(|| name_from_id(id), str::to_owned)
}

/// Whether a name can stand in a URL and be a tool's name.
///
/// # Errors
///
/// What to write instead.
pub fn can_be_named(name: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if name.len() <= NAME && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(fits) {
        return Ok(());
    }
    let how = "lower-case letters, digits and underscores, a letter first";
    Err(format!("is no name that agents can call; write at most {NAME} {how}, as in \"flights_search\""))
}

/// `flights.search` becomes `flights_search`: lower case, no dots or hyphens, begins with a letter.
fn name_from_id(id: &str) -> String {
    let name: String =
        id.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }).collect();
    if name.starts_with(|c: char| c.is_ascii_lowercase()) { name } else { format!("c_{name}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_schema() {
        for (id, name) in [("flights.search", "flights_search"), ("A-b.C", "a_b_c"), ("1x", "c_1x"), ("_x", "c__x")] {
            assert_eq!(name_from_id(id), name);
        }
    }

    #[test]
    fn a_name_of_its_own_can_stand_in_an_address() {
        assert!(can_be_named("a").is_ok() && can_be_named(&"a".repeat(64)).is_ok() && can_be_named("a1_b").is_ok());
        for wrong in ["", "A", "1a", "_a", "a-b", "a b", "a/b", "a{b}", "ä", "a.b", &"a".repeat(65)] {
            assert!(can_be_named(wrong).is_err(), "{wrong}");
        }
    }
}
