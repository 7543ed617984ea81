//! Parses JSON strictly: no duplicate names, no rounded numbers, bounded depth.
//!
//! Parsers differ in which of two equal names they use. The parsed and the checked document must be the same.

use std::fmt;

use serde_json::{Map, Number, Value};

use crate::exact_numbers;

/// Parses an object.
///
/// # Errors
///
/// What is wrong, for the sender, without repeating their input.
pub fn object(text: &[u8]) -> Result<Map<String, Value>, String> {
    match value(text)? {
        Value::Object(members) => Ok(members),
        _ => Err("The body has to be a JSON object.".into()),
    }
}

/// Parses any value.
///
/// # Errors
///
/// What is wrong, for the sender, without repeating their input.
pub fn value(text: &[u8]) -> Result<Value, String> {
    read(text).map_err(|e| {
        // A number beyond the representable range.
        if e.line() == 0 || e.to_string().starts_with("number out of range") {
            return exact_numbers::ROUNDED.into();
        }
        let place = format!("line {}, column {}", e.line(), e.column());
        match e.classify() {
            // Our own errors, which have fixed texts.
            serde_json::error::Category::Data => {
                format!("{} (at {place})", e.to_string().split(" at line").next().unwrap_or("wrong"))
            }
            _ => format!("The body is not JSON (at {place}). Send one JSON object."),
        }
    })
}

/// The same for a caller that words its own errors.
///
/// # Errors
///
/// The text is not JSON, has a duplicate name in an object, or a number that cannot be represented exactly.
pub fn read(text: &[u8]) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let Strict(value) = serde::Deserialize::deserialize(&mut deserializer)?;
    deserializer.end()?;
    if exact_numbers::is_exact(text) { Ok(value) } else { Err(serde::de::Error::custom(exact_numbers::ROUNDED)) }
}

struct Strict(Value);

impl<'de> serde::Deserialize<'de> for Strict {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Visitor).map(Self)
    }
}

struct Visitor;

impl<'de> serde::de::Visitor<'de> for Visitor {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("A number is out of range."))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, Strict(value))) = entries.next_entry::<String, Strict>()? {
            if members.insert(name, value).is_some() {
                return Err(serde::de::Error::custom("A name stands twice in one object. Send it once."));
            }
        }
        Ok(members.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_meant_once_is_refused() {
        assert!(object(br#"{"a":1,"b":{"a":[2,null,true,-1.5,1e20,"x"]}}"#).is_ok());
        for (wrong, why) in [
            (r#"{"a":1,"a":2}"#, "twice"),
            (r#"{"b":[{"a":1,"\u0061":2}]}"#, "twice"),
            ("[1]", "JSON object"),
            ("{", "not JSON"),
            (r#"{"a":1} x"#, "not JSON"),
            (r#"{"a":123456789012345678901234567890}"#, "too large"),
            (r#"{"a":-9223372036854775809}"#, "too large"),
            (r#"{"a":12345678901234567.89}"#, "too many digits"),
            (r#"{"a":1e400}"#, "too large"),
            ("", "not JSON"),
        ] {
            let said = object(wrong.as_bytes()).unwrap_err();
            assert!(said.contains(why), "{wrong}: {said}");
        }
        let deep = format!("{}{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
        assert!(object(deep.as_bytes()).is_err());
    }
}
