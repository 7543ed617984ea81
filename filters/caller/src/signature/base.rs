//! Rebuilds the signature base (RFC 9421 §2.5), the text that was signed, from the request.
//!
//! Components, their order and their parameters are serialised as received, not reconstructed from our interpretation.

use sfv::{FieldType, InnerList, ListEntry};

use super::{
    super::rejected::Rejected,
    component::{Components, member},
};

/// The base for these components and parameters.
///
/// # Errors
///
/// A component cannot be rebuilt from the request, or is covered twice: [`Rejected::SignatureMalformed`].
pub(super) fn base(list: &InnerList, components: &mut Components) -> Result<String, Rejected> {
    let mut base = String::new();
    for (index, item) in list.items.iter().enumerate() {
        // Equal in any order of the parameters (RFC 9421 §2).
        if list.items.iter().take(index).any(|other| other == item) {
            return Err(Rejected::SignatureMalformed);
        }
        let value = components.value(item).ok_or(Rejected::SignatureMalformed)?;
        // A line feed would start a component that was not received. The base is ASCII.
        if !value.bytes().all(|byte| byte == b'\t' || (b' '..0x7f).contains(&byte)) {
            return Err(Rejected::SignatureMalformed);
        }
        base.push_str(&item.serialize());
        base.push_str(": ");
        base.push_str(&value);
        base.push('\n');
    }
    base.push_str("\"@signature-params\": ");
    base.push_str(&member(&ListEntry::InnerList(list.clone())));
    Ok(base)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue, Method};
    use sfv::{List, Parser};

    use super::{super::Signed, *};

    fn of(list: &str, path: &str) -> Result<String, Rejected> {
        let mut headers = HeaderMap::new();
        headers.insert("x", HeaderValue::from_static("a\tb"));
        headers.insert("z", HeaderValue::from_bytes("é".as_bytes()).unwrap());
        let (method, authority) = (&Method::GET, "example.com");
        let request = Signed { method, authority, scheme: "https", path, query: None, headers: &headers };
        let parsed: List = Parser::new(list).parse().unwrap();
        let [ListEntry::InnerList(parsed)] = &parsed[..] else { panic!("{list}") };
        base(parsed, &mut Components::new(&request))
    }

    #[test]
    fn members_and_parameters_stay_as_they_came() {
        let expected = "\"x\";bs: :YQli:\n\"@path\": /p\n\"x\": a\tb\n\"@signature-params\": (\"x\";bs \"@path\" \"x\")\
                        ;z=1;created=5;a=\"\\\"\";b=:AA==:;c=?0;d;e=1.5;f=tok/en;g=@1";
        let list =
            "( \"x\";  bs   \"@path\" \"x\" ) ;z=1;created=05; a=\"\\\"\";b=:AA==:;c=?0;d=?1;e=1.50;f=tok/en;g=@1";
        assert_eq!(of(&list.replace(" ) ;", " );"), "/p").unwrap(), expected);
        assert_eq!(of("()", "/").unwrap(), "\"@signature-params\": ()");
    }

    #[test]
    fn nothing_is_covered_twice_and_no_line_is_slipped_in() {
        for list in ["(\"x\" \"@path\" \"x\")", "(\"x\";bs \"x\";bs)", "(\"@path\" \"@path\")"] {
            assert_eq!(of(list, "/"), Err(Rejected::SignatureMalformed), "{list}");
        }
        for path in ["/\n\"@authority\": evil", "/\r", "/\0", "/é", "/\x7f"] {
            assert_eq!(of("(\"@path\")", path), Err(Rejected::SignatureMalformed), "{path:?}");
        }
        assert_eq!(of("(\"z\")", "/"), Err(Rejected::SignatureMalformed));
    }
}
