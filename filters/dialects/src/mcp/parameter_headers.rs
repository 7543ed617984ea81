//! Checks the headers that repeat arguments (`x-mcp-header`, MCP 2026-07-28). Gateways in front route and count by such
//! a header, so it has to say what the body says.

use std::collections::HashMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use frontdesk_base::text;
use frontdesk_config::Settings;
use http::{HeaderMap, HeaderName};
use serde_json::{Map, Value};

use super::{
    call,
    envelope::{MISMATCH, Problem},
    message::Request,
    tools::Tools,
};

/// The keyword in a property's schema.
const KEYWORD: &str = "x-mcp-header";
const PREFIX: &str = "mcp-param-";

/// The arguments that a header repeats, by the capability's index.
#[derive(Debug, Default)]
pub(super) struct ParameterHeaders(HashMap<usize, Vec<(String, HeaderName)>>);

impl ParameterHeaders {
    pub(super) fn new(settings: &Settings) -> Self {
        let mut all = HashMap::new();
        for (index, capability) in settings.capabilities.iter().enumerate() {
            let properties = capability.input_schema.as_ref().and_then(|schema| schema["properties"].as_object());
            let named = properties.into_iter().flatten().filter_map(|(name, schema)| {
                let header = format!("{PREFIX}{}", schema.get(KEYWORD)?.as_str()?.to_ascii_lowercase());
                Some((name.clone(), header.parse().ok()?))
            });
            let named: Vec<(String, HeaderName)> = named.collect();
            if !named.is_empty() {
                all.insert(index, named);
            }
        }
        Self(all)
    }

    /// Checks the headers of a call. `by_name`: its client does not know the schema, so that headers may be missing.
    ///
    /// # Errors
    ///
    /// One is missing, or says something else than its argument.
    pub(super) fn check_call(
        &self,
        tools: &Tools,
        headers: &HeaderMap,
        request: &Request,
        by_name: bool,
    ) -> Result<(), Problem> {
        match (request.tool().and_then(|name| tools.find(name)), call::arguments(request)) {
            (Some(function), Ok(arguments)) => self.check(function.index, headers, &arguments, by_name),
            _ => Ok(()),
        }
    }

    fn check(
        &self,
        capability: usize,
        headers: &HeaderMap,
        arguments: &Map<String, Value>,
        by_name: bool,
    ) -> Result<(), Problem> {
        for (name, header) in self.0.get(&capability).into_iter().flatten() {
            let said = text::once(headers, header).map_err(|twice| Problem::new(MISMATCH, twice.to_string()))?;
            let argument = arguments.get(name).filter(|value| !value.is_null());
            let agrees = match (said, argument) {
                (None, None) => true,
                (None, Some(_)) => by_name,
                (Some(said), Some(argument)) => decoded(said).is_some_and(|said| is_same(&said, argument)),
                _ => false,
            };
            if !agrees {
                let why = format!("The header {header} does not say what the argument `{name}` says.");
                return Err(Problem::new(MISMATCH, why));
            }
        }
        Ok(())
    }
}

/// A header's value; `None`: it is coded, and not validly so.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

fn is_same(said: &str, argument: &Value) -> bool {
    match argument {
        Value::String(text) => said == text,
        Value::Bool(value) => said == if *value { "true" } else { "false" },
        Value::Number(number) => {
            said == number.to_string() || said.parse::<f64>().ok().is_some_and(|said| number.as_f64() == Some(said))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_header_says_what_its_argument_says() {
        let headers =
            ParameterHeaders(HashMap::from([(0, vec![("region".to_owned(), "mcp-param-region".parse().unwrap())])]));
        let check = |value: Option<&str>, arguments: Value| {
            let mut map = HeaderMap::new();
            if let Some(value) = value {
                map.insert("mcp-param-region", value.parse().unwrap());
            }
            let check = |by_name| headers.check(0, &map, arguments.as_object().unwrap(), by_name).map_err(|p| p.code);
            // By name a header may be missing, and one that is there has to be right.
            assert_eq!(check(true), if value.is_none() { Ok(()) } else { check(false) });
            check(false)
        };
        for (value, argument) in [
            (Some("eu"), json!("eu")),
            (Some("=?base64?U8O8ZA==?="), json!("Süd")),
            (Some("42"), json!(42)),
            (Some("42.0"), json!(42)),
            (Some("true"), json!(true)),
            (None, json!(null)),
        ] {
            assert_eq!(check(value, json!({ "region": argument })), Ok(()), "{value:?}");
        }
        for (value, argument) in [
            (Some("us"), json!("eu")),
            (None, json!("eu")),
            (Some("eu"), json!(null)),
            (Some("=?base64?U8O8ZA=?="), json!("Süd")),
            (Some("=?base64?!!?="), json!("x")),
            (Some("True"), json!(true)),
            (Some("[]"), json!([])),
        ] {
            assert_eq!(check(value, json!({ "region": argument })), Err(MISMATCH), "{value:?}");
        }
        assert_eq!(
            headers
                .check(1, &HeaderMap::new(), json!({ "region": "eu" }).as_object().unwrap(), false)
                .err()
                .map(|p| p.code),
            None
        );
    }
}
