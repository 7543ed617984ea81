//! A trip that is booked in three steps: the agency's API, the desk's declarations, and the requests that the agency
//! got.

use super::ask::Ask;
use super::calls::{FULL, action, call, declare, query, upstream_calls};
use super::message::Request;
use super::origin::Origin;
use super::reply::{Answer, Reply};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// Answers that replace the usual ones, by path.
pub type Script = Arc<Mutex<HashMap<&'static str, fn() -> Answer>>>;

/// The agency's API: flights, holds, payments.
pub async fn agency() -> (Origin, Script) {
    let script = Script::default();
    let own = script.clone();
    let origin = Origin::start(move |r: &Request| -> Answer {
        let path = r.target.split('?').next().unwrap_or_default();
        let said = own.lock().expect("the script").get(path).copied();
        match (said, path) {
            (Some(said), _) => said(),
            (None, "/api/flights") => Reply::json(
                json!({ "flights": [{ "id": "f-1", "price": { "amount": 682 } }, { "id": "f-2" }], "secret": "s" })
                    .to_string(),
            )
            .into(),
            (None, "/api/holds") => Reply::new(201)
                .header("Content-Type", "application/json")
                .body("{\"hold\":7,\"until\":\"noon\"}")
                .into(),
            (None, "/api/payments") => Reply::json("{\"booking\":{\"ref\":\"QX7\"},\"paid\":682}").into(),
            _ => Reply::new(404).into(),
        }
    })
    .await;
    (origin, script)
}

/// Sets the answer at this path.
pub fn says(script: &Script, path: &'static str, what: fn() -> Answer) {
    script.lock().expect("the script").insert(path, what);
}

/// Restores the usual answers.
pub fn as_usual(script: &Script) {
    script.lock().expect("the script").clear();
}

pub const SEARCH: &str = "\nupstream = { method = \"GET\", path = \"/api/flights\", rename_output = { results = \"flights\" }, errors = { \"404\" = \"no_flights\" } }";
const HOLD: &str = "\nexposed = false\nrequired_scopes = [\"bookings:hold\"]\n\
    input_schema = { type = \"object\", required = [\"fare\"], properties = { fare = { type = \"string\" }, seats = { type = \"integer\" }, note = { type = \"string\" }, gone = {} } }\n\
    upstream = { method = \"POST\", path = \"/api/holds\", timeout = \"5s\" }";
const PAY: &str = "\nrequired_scopes = [\"bookings:purchase\"]\n\
    upstream = { method = \"POST\", path = \"/api/payments\", timeout = \"1s\", errors = { \"409\" = \"card_declined\" } }";
const RECIPE: &str = r#"
[[agtp.recipes]]
name = "book-cheapest"
version = "1"
steps = [
  { capability = "search", input = { origin = "{input.origin}" } },
  { capability = "hold", input = { fare = "{steps.0.data.results.0.id}", seats = "{input.seats}", note = "for {input.who}", gone = "{steps.0.data.nothing}" } },
  { capability = "pay", input = { hold = "{steps.1.data.hold}", price = "{steps.0.data.results.0.price}" } },
]
"#;

/// The capability that runs the recipe, with more lines.
fn book(lines: &str) -> String {
    let own = "\nrisk_level = \"low\"\nrequires_user_confirmation = false\n\
        input_schema = { type = \"object\", required = [\"origin\"], properties = { origin = { type = \"string\" }, who = { type = \"string\" }, seats = { type = \"integer\" } } }\n\
        upstream = { recipe = \"book-cheapest\", rename_output = { reference = \"booking.ref\" } }";
    declare("book", "commit_action", &format!("{own}{lines}"))
}

/// `search`, the hidden `hold`, `pay`, and `book`, which runs all three.
pub fn travel() -> String {
    query("search", SEARCH) + &action("hold", HOLD) + &action("pay", PAY) + &book("") + RECIPE
}

/// The same with confirmation for `hold` and `pay`.
pub fn confirmed() -> String {
    let confirmed =
        |text: &str| text.replace("requires_user_confirmation = false", "requires_user_confirmation = true");
    let own = "\n[capabilities.confirmation]\nsummary = \"Pay for hold {{ input.hold }} with {{ input.card }}\"\nconsequence = \"Your card is charged.\"";
    query("search", SEARCH)
        + &confirmed(&action("hold", HOLD))
        + &confirmed(&action("pay", &format!("{PAY}{own}")))
        + &book("")
        + &RECIPE.replace("price = \"{steps.0.data.results.0.price}\"", "card = \"{input.who}\"")
}

/// A complete input.
pub fn trip() -> Value {
    json!({ "origin": "AMS", "who": "Ada", "seats": 2 })
}

/// A call of `book` with this input.
pub fn book_call(input: &Value) -> Ask {
    call("/agent/book", input).bearer(FULL)
}

/// The requests that the site got, in order, with their JSON.
pub fn asked(origin: &Origin) -> Vec<(String, Value)> {
    let line = |r: Request| {
        let body = serde_json::from_slice(&r.body).unwrap_or(Value::Null);
        (format!("{} {}", r.method, r.target), body)
    };
    upstream_calls(origin).into_iter().map(line).collect()
}

/// The number of requests that the site got at each of these paths.
pub fn times(origin: &Origin, paths: [&str; 3]) -> [usize; 3] {
    let all = asked(origin);
    paths.map(|path| all.iter().filter(|(target, _)| target.contains(path)).count())
}

/// The site's path of each step.
pub const ALL: [&str; 3] = ["/api/flights", "/api/holds", "/api/payments"];
