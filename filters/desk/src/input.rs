//! Merges the input of a call, from a JSON body, a query and the places of a path, into one object.
//!
//! A name that comes from two sides with two values is refused: the site might use the value that was not checked.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{
    schema::{MOST_VIOLATIONS, Schema, Violation, read_untyped},
    target::escaped,
};
use frontdesk_base::{
    exact_numbers::ROUNDED,
    fault::{Fault, Refusal},
    strict,
};

/// Maximum parts of a query.
const MOST_TEXTS: usize = 256;

/// The input as it came with a request.
pub struct Given<'a> {
    /// The body; empty where the method has none.
    pub body: &'a [u8],
    /// The query without its question mark.
    pub query: &'a str,
    /// The values of the path's placeholders.
    pub places: &'a [(String, String)],
}

impl Given<'_> {
    /// Merges all of it into one object. Text is converted to the type that the schema declares.
    ///
    /// # Errors
    ///
    /// The body is not JSON, or one name has two values.
    pub fn merged(&self, schema: Option<&Schema>) -> Result<Value, Refusal> {
        let mut members = body_of(self.body)?;
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut pairs = url::form_urlencoded::parse(self.query.as_bytes());
        for (name, value) in pairs.by_ref().take(MOST_TEXTS) {
            texts.entry(name.into_owned()).or_default().push(value.into_owned());
        }
        if pairs.next().is_some() {
            return Err(Refusal::from(Fault::BadRequest).saying("The query has too many parts. Send a JSON body."));
        }
        for (name, value) in self.places {
            let value = std::slice::from_ref(value);
            if texts.insert(name.clone(), value.to_vec()).is_some_and(|other| other != value) {
                return Err(wrong(vec![twice(name)]));
            }
        }
        for (name, values) in texts {
            let value =
                schema.map_or_else(|| read_untyped(values.clone()), |schema| schema.read(&name, values.clone()));
            if members.get(&name).is_some_and(|other| *other != value) {
                return Err(wrong(vec![twice(&name)]));
            }
            members.insert(name, value);
        }
        Ok(Value::Object(members))
    }
}

/// The members of a JSON body; none for an empty one.
///
/// # Errors
///
/// The body is not a JSON object, or holds a number that would be rounded.
pub fn body_of(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match body.trim_ascii() {
        [] => Ok(Map::new()),
        body => match strict::value(body) {
            Ok(Value::Object(members)) => Ok(members),
            Ok(_) => Err(wrong(vec![violation("", "The input has to be a JSON object.")])),
            Err(why) if why == ROUNDED => Err(wrong(vec![violation("", ROUNDED)])),
            Err(why) => Err(Refusal::from(Fault::BadRequest).saying(why)),
        },
    }
}

fn violation(pointer: &str, message: &str) -> Violation {
    Violation::new(pointer, message)
}

fn twice(name: &str) -> Violation {
    violation(&format!("/{}", escaped(name)), "This is given twice, in different ways.")
}

/// The refusal of an invalid input.
pub(super) fn wrong(violations: Vec<Violation>) -> Refusal {
    Refusal { violations, ..Fault::InvalidInput.into() }
}

/// Forbidden input names, at any depth and in any spelling (AICP §9.3).
#[derive(Debug, Clone)]
pub(super) struct Forbidden(Vec<String>);

impl Forbidden {
    pub(super) fn new(names: &[String]) -> Self {
        Self(names.iter().map(|name| folded(name)).collect())
    }

    /// Refuses an input that holds a forbidden name.
    pub(super) fn check(&self, input: &Value) -> Result<(), Refusal> {
        if self.0.is_empty() {
            return Ok(());
        }
        let mut found = Vec::new();
        self.search(input, &mut String::new(), &mut found);
        if found.is_empty() { Ok(()) } else { Err(Refusal { violations: found, ..Fault::ForbiddenField.into() }) }
    }

    /// Whether a name is forbidden, also as a site would split it (`a[b]` and `a.b` are `b` in `a`).
    fn has(&self, name: &str) -> bool {
        // A site written in C may stop reading at a NUL.
        let name = name.split('\0').next().unwrap_or_default();
        let mut spelled = std::iter::once(name).chain(name.split(['[', ']', '.']).filter(|part| !part.is_empty()));
        spelled.any(|name| self.0.contains(&folded(name)))
    }

    fn search(&self, value: &Value, pointer: &mut String, found: &mut Vec<Violation>) {
        let length = pointer.len();
        let mut step = |name: &str, value: &Value, found: &mut Vec<Violation>| {
            pointer.push('/');
            pointer.push_str(&escaped(name));
            if found.len() >= MOST_VIOLATIONS {
                // One finding is enough to refuse it.
            } else if self.has(name) {
                found.push(violation(pointer, "This must not be sent here. Leave it out."));
            } else {
                self.search(value, pointer, found);
            }
            pointer.truncate(length);
        };
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| step(name, value, found)),
            Value::Array(items) => items.iter().enumerate().for_each(|(at, item)| step(&at.to_string(), item, found)),
            _ => {}
        }
    }
}

/// `passportNumber`, `passport-number` and `Passport_Number` are one name.
fn folded(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(body: &str, query: &str, places: &[(&str, &str)]) -> Result<Value, Refusal> {
        let places: Vec<_> = places.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        Given { body: body.as_bytes(), query, places: &places }.merged(None)
    }

    #[test]
    fn all_sides_become_one() {
        assert_eq!(
            merged("{\"a\":1}", "b=2&c=x%20y&c=z", &[("d", "4")]).unwrap(),
            json!({ "a": 1, "b": "2", "c": ["x y", "z"], "d": "4" })
        );
        assert_eq!(merged("", "", &[]).unwrap(), json!({}));
        assert_eq!(merged("{\"a\":\"1\"}", "a=1", &[("a", "1")]).unwrap(), json!({ "a": "1" }));
    }

    #[test]
    fn nothing_is_given_twice() {
        for (body, query, places) in [
            ("{\"a\":1}", "a=2", vec![]),
            ("{\"a\":1}", "", vec![("a", "2")]),
            ("", "a=1", vec![("a", "2")]),
            ("", "a=2&a=1", vec![("a", "2")]),
        ] {
            let refusal = merged(body, query, &places).unwrap_err();
            assert_eq!((refusal.fault, refusal.violations[0].pointer.as_str()), (Fault::InvalidInput, "/a"), "{body}");
        }
        assert_eq!(merged("[1]", "", &[]).unwrap_err().fault, Fault::InvalidInput);
        for rounded in ["1e400", "-9223372036854775809", "12345678901234567.89"] {
            let refusal = merged(&format!("{{\"a\":{rounded}}}"), "", &[]).unwrap_err();
            assert_eq!((refusal.fault, &*refusal.violations[0].message), (Fault::InvalidInput, ROUNDED), "{rounded}");
        }
        assert_eq!(merged("{\"a\":1e20}", "", &[]).unwrap(), json!({ "a": 1e20 }));
        assert_eq!(merged("{\"a\":1,\"a\":1}", "", &[]).unwrap_err().fault, Fault::BadRequest, "as in every dialect");
        for body in ["{", "x", "{\"a\":1}{", "\u{feff}{}", &"[".repeat(100_000)] {
            assert_eq!(merged(body, "", &[]).unwrap_err().fault, Fault::BadRequest);
        }
    }

    #[test]
    fn what_is_not_wanted_is_found_at_any_depth_and_in_any_spelling() {
        let forbidden = Forbidden::new(&["passport_number".into(), "cvc".into()]);
        let input =
            json!({ "a": [{ "passportNumber": 1 }], "Passport-Number": 2, "x": { "CVC": { "cvc": 3 } }, "ok": "cvc" });
        let found = forbidden.check(&input).unwrap_err();
        let pointers: Vec<_> = found.violations.iter().map(|v| v.pointer.as_str()).collect();
        assert_eq!(pointers, ["/Passport-Number", "/a/0/passportNumber", "/x/CVC"]);
        assert!(forbidden.check(&json!({ "passport": 1 })).is_ok());
        for name in ["a[passport_number]", "a.cvc", "cvc[]", "[cvc", "cvc\0x", "x[cvc\0]"] {
            assert!(forbidden.check(&json!({ name: 1 })).is_err(), "{name:?}");
        }
        assert!(forbidden.check(&json!({ "a[b]": 1, "a.b.c": 2, "\0cvc": 3 })).is_ok());
        let many: Vec<Value> = (0..1000).map(|_| json!({ "cvc": 1 })).collect();
        let found = forbidden.check(&json!({ "k".repeat(30_000): many })).unwrap_err().violations;
        assert!(found.len() <= MOST_VIOLATIONS && found.iter().all(|v| v.pointer.len() < 1000));
    }
}
