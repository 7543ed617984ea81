//! Reads and checks the fields of a JSON body. A wrong form gets all its mistakes at once.

use http::StatusCode;
use serde_json::{Map, Value, json};

use super::{flights::CURRENCY, reply::Reply};

/// The longest text a field may hold.
const MOST_CHARACTERS: usize = 200;

/// The fields of a request, with the mistakes found so far.
pub struct Form<'a> {
    input: &'a Map<String, Value>,
    wrong: Map<String, Value>,
}

impl<'a> Form<'a> {
    pub fn new(input: &'a Map<String, Value>) -> Self {
        Self { input, wrong: Map::new() }
    }

    fn refuse(&mut self, name: &str, why: &str) {
        self.wrong.insert(name.to_owned(), why.into());
    }

    /// A required text; empty if it is refused.
    pub fn text(&mut self, name: &str) -> &'a str {
        match self.input.get(name).and_then(Value::as_str).map(str::trim) {
            None | Some("") => self.refuse(name, "This field is required."),
            Some(text) if text.chars().count() > MOST_CHARACTERS => self.refuse(name, "This text is too long."),
            Some(text) => return text,
        }
        ""
    }

    /// A text that could be an email address.
    pub fn email(&mut self, name: &str) {
        let email = self.text(name);
        let plausible = email.split_once('@').is_some_and(|(who, at)| !who.is_empty() && at.contains('.'));
        if !email.is_empty() && (!plausible || email.contains(char::is_whitespace)) {
            self.refuse(name, "This is not an email address.");
        }
    }

    /// A price in euros: `{"amount": 700, "currency": "EUR"}`, or the bare number.
    pub fn threshold(&mut self) -> f64 {
        let threshold = self.input.get("threshold").unwrap_or(&Value::Null);
        let currency = threshold.get("currency").map_or(Some(CURRENCY), Value::as_str);
        let amount = threshold.get("amount").unwrap_or(threshold).as_f64();
        if currency != Some(CURRENCY) {
            self.refuse("threshold", "Prices are in EUR.");
        } else if !amount.is_some_and(|amount| amount > 0.0) {
            self.refuse("threshold", "This has to be a price above zero.");
        }
        amount.unwrap_or_default()
    }

    /// All mistakes as a 422, or nothing.
    pub fn check(self) -> Result<(), Reply> {
        if self.wrong.is_empty() {
            return Ok(());
        }
        let message = "Please check the fields below.";
        let body = json!({ "error": "validation_failed", "message": message, "fields": self.wrong });
        Err(Reply::json(StatusCode::UNPROCESSABLE_ENTITY, &body))
    }
}

/// An amount as JSON, without a needless ".0".
pub fn euros(amount: f64) -> Value {
    if amount.fract() == 0.0 && amount < 1e15 { json!(amount as u64) } else { json!(amount) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(value: Value, read: impl FnOnce(&mut Form)) -> Option<Vec<String>> {
        let input = value.as_object().unwrap().clone();
        let mut form = Form::new(&input);
        read(&mut form);
        let refusal = form.check().err()?;
        assert_eq!(refusal.status, StatusCode::UNPROCESSABLE_ENTITY);
        let body: Value = serde_json::from_slice(&refusal.body).unwrap();
        Some(body["fields"].as_object().unwrap().keys().cloned().collect())
    }

    #[test]
    fn texts_are_there_and_not_too_long() {
        for value in [json!({}), json!({ "name": " " }), json!({ "name": 1 }), json!({ "name": "x".repeat(201) })] {
            assert_eq!(wrong(value, |form| assert_eq!(form.text("name"), "")), Some(vec!["name".into()]));
        }
        assert_eq!(wrong(json!({ "name": " Ana " }), |form| assert_eq!(form.text("name"), "Ana")), None);
    }

    #[test]
    fn addresses_look_like_addresses() {
        for email in ["ana", "@example.org", "ana@localhost", "ana ruiz@example.org"] {
            assert!(wrong(json!({ "email": email }), |form| form.email("email")).is_some(), "{email}");
        }
        assert_eq!(wrong(json!({ "email": "ana@example.org" }), |form| form.email("email")), None);
    }

    #[test]
    fn thresholds_are_prices_in_euros() {
        for good in [json!(700), json!({ "amount": 700 }), json!({ "amount": 700.0, "currency": "EUR" })] {
            let read = |form: &mut Form| assert_eq!(euros(form.threshold()), json!(700));
            assert_eq!(wrong(json!({ "threshold": good }), read), None);
        }
        for bad in [json!(null), json!(-1), json!("700"), json!([]), json!({ "amount": 700, "currency": "USD" })] {
            assert!(wrong(json!({ "threshold": bad }), |form| _ = form.threshold()).is_some());
        }
    }
}
