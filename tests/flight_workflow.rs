//! Promise: the flight workflow of the AICP paper (§11) runs end to end on the example site, and nothing is bought
//! twice.

use crate::support::calls::{action_ids, assert_answer, assert_fault, call, confirmation_token, token};
use crate::support::contract::TOML;
use crate::support::jwks::{AUDIENCE, ISSUER, TokenKey, jwks};
use crate::support::{Ask, Desk, Dir, Ports, SOON, eventually};
use serde_json::{Value, json};

const TRAVEL: &str = include_str!("../conf/travel.toml");
const SCOPES: &str = "flights:read fares:watch bookings:hold bookings:purchase";
const PAYMENT: &str = "tok_visa_4711";

/// The example site behind its own desk, and a desk of ours that believes tokens in front of it.
struct Workflow {
    site: Desk,
    desk: Desk,
    key: TokenKey,
}

impl Workflow {
    async fn start() -> Workflow {
        let site = Desk::with_args(&["demo"]).await;
        let (key, dir, ports) = (TokenKey::ed("ed"), Dir::new(), Ports::free());
        let verified = format!(
            "[auth]\nissuer = \"{ISSUER}\"\naudience = \"{AUDIENCE}\"\njwks = \"jwks.json\"\nstrong_acr = [\"mfa\"]\n"
        );
        let text = TRAVEL
            .replace("[auth]\n", &verified)
            .replace("${TRAVEL_URL:-http://127.0.0.1:3000}", &format!("http://{}", site.ports.http));
        assert!(text.contains(&verified) && !text.contains("TRAVEL_URL"), "the declaration is another one now");
        let ours = format!(
            "\n[listen]\nhttp = \"{}\"\nadmin = \"{}\"\n\
             [discovery]\non_conflict = \"frontdesk\"\n[content]\nconcierge = false\n",
            ports.http, ports.admin
        );
        dir.write("frontdesk.toml", text + &ours);
        dir.write("jwks.json", jwks(&[&key]));
        let desk = Desk::in_dir(dir, "frontdesk.toml", ports).await;
        Workflow { site, desk, key }
    }

    fn traveller(&self, more: Value) -> String {
        token(&self.key, "traveller-1", SCOPES, more)
    }

    /// Takes an action of an answer, with more input.
    fn take(&self, answer: &Value, id: &str, more: Value) -> Ask {
        let action = answer["actions"].as_array().expect("actions").iter().find(|a| a["id"] == id);
        let action = action.unwrap_or_else(|| panic!("no {id}: {answer}"));
        let mut input = action["input"].clone();
        input.as_object_mut().expect("an input").extend(more.as_object().cloned().expect("more"));
        assert_eq!(action["method"], "POST");
        call(action["endpoint"].as_str().expect("an endpoint"), &input)
    }

    /// Audit lines once there are so many.
    async fn audit(&self, lines: usize) -> Vec<Value> {
        let path = self.desk.dir.join("audit.jsonl");
        let read = || std::fs::read_to_string(&path).unwrap_or_default();
        eventually("the audit", SOON, async || read().lines().count() >= lines).await;
        read().lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}"))).collect()
    }

    async fn search(&self) -> Value {
        let input =
            json!({ "origin": "MAD", "destination": "NRT", "max_stops": 1, "checked_baggage": true, "max_price": 700 });
        let ask =
            call("/agent/flights/search", &input).bearer(&self.traveller(json!({}))).accept("application/aom+json");
        assert_answer(&self.desk.call(ask).await, 200, "a search")
    }

    async fn hold(&self, answer: &Value, key: &str) -> Value {
        let ask = self.take(answer, "bookings.hold", json!({})).bearer(&self.traveller(json!({})));
        let ask = ask.header("Idempotency-Key", key);
        let asked = self.desk.call(ask.clone()).await;
        let confirmation = confirmation_token(&asked);
        assert!(asked.json()["confirmation"]["summary"].as_str().expect("a summary").contains("fare_123"));
        let held = self.desk.call(ask.header("AICP-Confirmation", &confirmation)).await;
        assert_answer(&held, 201, "a hold")
    }

    /// Buys a held fare with a token with these claims.
    fn purchase(&self, held: &Value, key: &str, more: Value) -> Ask {
        let who = json!({ "payment_token": PAYMENT, "full_name": "Ana Ruiz", "email": "ana@example.org" });
        let ask = self.take(held, "bookings.purchase", who).bearer(&self.traveller(more));
        ask.header("Idempotency-Key", key)
    }
}

#[tokio::test]
async fn flight_is_found_watched_held_and_bought_once() {
    let flow = Workflow::start().await;
    let desk = &flow.desk;
    let contract: toml::Table = toml::from_str(&desk.get(TOML).await.text()).expect("TOML");
    let capabilities = contract["capabilities"].as_array().expect("capabilities");
    let ids: Vec<&str> = capabilities.iter().filter_map(|c| c["id"].as_str()).collect();
    assert_eq!(ids, ["flights.search", "fares.watch", "bookings.hold", "bookings.purchase", "bookings.cancel"]);

    let found = flow.search().await;
    let results = found["data"]["results"].as_array().expect("results");
    assert_eq!(results.len(), 1, "{found}");
    assert_eq!((&results[0]["id"], &results[0]["price"]["amount"]), (&json!("fare_123"), &json!(682)));
    assert_eq!(action_ids(&found), ["fares.watch", "bookings.hold"]);
    assert_eq!(found["freshness"]["revalidation_required_before_commit"], true);
    assert_eq!(found["warnings"][0]["code"], "price_may_change");

    let threshold = json!({ "threshold": { "amount": 600, "currency": "EUR" } });
    let watch = flow.take(&found, "fares.watch", threshold);
    assert_fault(&desk.call(watch.clone()).await, 401, "auth_required", "a watch is somebody's");
    let watched = desk.call(watch.bearer(&flow.traveller(json!({})))).await;
    // A monitor is no read: the site's 201 may be kept, and a 200 is as good.
    assert!([200, 201].contains(&watched.status), "{}", watched.text());
    let watched = assert_answer(&watched, watched.status, "a watch, without confirmation");
    assert_eq!(watched["data"]["status"], "watching");

    let held = flow.hold(&watched, "hold-1").await;
    assert_eq!(held["data"]["status"], "held");
    assert_eq!(action_ids(&held), ["bookings.purchase"]);

    let weak = desk.call(flow.purchase(&held, "buy-1", json!({ "acr": "pwd" }))).await;
    assert_fault(&weak, 401, "strong_authentication_required", "a password is not enough");
    let challenge = weak.header("www-authenticate").expect("a challenge");
    assert!(challenge.contains("insufficient_user_authentication") && challenge.contains("mfa"), "{challenge}");
    let strong = flow.purchase(&held, "buy-1", json!({ "acr": "mfa" }));
    let asked = desk.call(strong.clone()).await;
    let confirmation = confirmation_token(&asked);
    let shown = asked.json()["confirmation"].clone();
    let (summary, all) = (shown["summary"].as_str().expect("a summary"), shown.to_string());
    for word in ["hold_", "Ana Ruiz", "ticket_purchase", "full_name", "email", "airline_provider", "payment_processor"]
    {
        assert!(summary.contains(word), "consent names purpose, data and recipients: {word}: {summary}");
    }
    assert!(!all.contains(PAYMENT) && all.contains("charged"), "{all}");

    let confirmed = strong.clone().header("AICP-Confirmation", &confirmation);
    let bought = desk.call(confirmed.clone()).await;
    let booking = assert_answer(&bought, 201, "a purchase");
    assert_eq!(booking["data"]["status"], "ticketed");
    assert!(bought.header("idempotency-replayed").is_none());
    // The answer got lost on the way: again with the token, without it, and after a new sign-in.
    for retry in [confirmed, strong, flow.purchase(&held, "buy-1", json!({ "amr": ["mfa"], "jti": "2" }))] {
        let again = desk.call(retry).await;
        assert_eq!(again.header("idempotency-replayed"), Some("true"), "{}: {}", again.status, again.text());
        assert_eq!(assert_answer(&again, 201, "a retry")["data"], booking["data"]);
    }
    assert_eq!(booking["data"]["booking_id"], "booking_1001");
    assert_eq!(flow.site.get("/api/bookings/booking_1001").await.status, 200);
    assert_eq!(flow.site.get("/api/bookings/booking_1002").await.status, 404, "bought once");
    assert_eq!(flow.site.get("/api/holds/hold_1002").await.status, 404, "held once");
}

#[tokio::test]
async fn flight_workflow_is_audited_call_by_call_without_what_pays() {
    let flow = Workflow::start().await;
    let found = flow.search().await;
    let held = flow.hold(&found, "hold-key-1").await;
    let ask = flow.purchase(&held, "buy-key-1", json!({ "acr": "mfa" })).header("AICP-Agent", "\"ExampleAgent/1.0\"");
    let confirmation = confirmation_token(&flow.desk.call(ask.clone()).await);
    let confirmed = ask.header("AICP-Confirmation", &confirmation);
    for _ in 0..2 {
        assert_eq!(flow.desk.call(confirmed.clone()).await.status, 201);
    }
    let refused = call("/agent/bookings/hold", &json!({ "fare_id": "fare_123" }));
    assert_eq!(flow.desk.call(refused).await.status, 401);
    let lines = flow.audit(7).await;
    let received = |l: &Value| {
        (l["capability"].as_str().unwrap_or_default().to_owned(), l["confirmation_received"] == json!(true))
    };
    let calls: Vec<(String, bool)> = lines.iter().map(received).collect();
    let expected = [
        ("flights.search", false),
        ("bookings.hold", false),
        ("bookings.hold", true),
        ("bookings.purchase", false),
        ("bookings.purchase", true),
    ];
    assert_eq!(calls[..5], expected.map(|(id, received)| (id.to_owned(), received)));
    assert_eq!((calls.len(), calls[5].0.as_str(), calls[6].0.as_str()), (7, "bookings.purchase", "bookings.hold"));
    for line in &lines {
        let who = ["timestamp", "request_id", "caller", "agent", "agent_verified", "risk_level", "scopes"];
        let how = ["confirmation_required", "idempotency_key", "decision", "upstream_status", "duration_ms", "tokens"];
        for field in who.into_iter().chain(how) {
            assert!(line.get(field).is_some(), "{field}: {line}");
        }
    }
    let bought = &lines[4];
    assert!(bought["caller"].as_str().is_some_and(|c| c.contains("traveller-1")), "{bought}");
    assert_eq!((&bought["risk_level"], &bought["upstream_status"]), (&json!("high"), &json!(201)));
    assert_eq!(
        (&bought["agent"], &bought["agent_verified"]),
        (&json!("ExampleAgent/1.0"), &json!(false)),
        "claimed only"
    );
    assert!(bought["scopes"].to_string().contains("bookings:purchase"), "{bought}");
    assert_ne!(lines[5]["decision"], bought["decision"], "a replay is none: {}", lines[5]);
    assert_eq!(lines[5]["upstream_status"], Value::Null);
    assert_eq!(lines[6]["caller"], Value::Null);
    let ids: std::collections::HashSet<&str> = lines.iter().filter_map(|l| l["request_id"].as_str()).collect();
    assert_eq!(ids.len(), 7, "one id a call");
    let text = std::fs::read_to_string(flow.desk.dir.join("audit.jsonl")).expect("the audit");
    for secret in [PAYMENT, "ana@example.org", "Ana Ruiz", "buy-key-1", "hold-key-1", &confirmation, "eyJ"] {
        assert!(!text.contains(secret), "{secret} was written down");
    }
}

#[tokio::test]
async fn flight_calls_refused_early_are_audited_too() {
    let flow = Workflow::start().await;
    let broken = Ask::post("/agent/bookings/hold", "{").header("Content-Type", "application/json");
    assert_eq!(flow.desk.call(broken.bearer(&flow.traveller(json!({})))).await.status, 400);
    let guessed = call("/agent/bookings/hold", &json!({ "fare_id": "fare_123" })).bearer("a-guess");
    assert_eq!(flow.desk.call(guessed).await.status, 401);
    let lines = flow.audit(2).await;
    assert_eq!((lines.len(), &lines[1]["caller"]), (2, &Value::Null), "one line a call: {lines:?}");
    assert!(lines.iter().all(|l| l["upstream_status"].is_null()), "{lines:?}");
}

#[tokio::test]
async fn flight_purchase_is_refused_while_the_site_refuses_it() {
    let flow = Workflow::start().await;
    let held = flow.hold(&flow.search().await, "hold-1").await;
    let who = json!({ "payment_token": "tok_declined", "full_name": "Ana Ruiz", "email": "ana@example.org" });
    let strong = flow.traveller(json!({ "acr": "mfa" }));
    let ask = flow.take(&held, "bookings.purchase", who).bearer(&strong).header("Idempotency-Key", "buy-1");
    let confirmation = confirmation_token(&flow.desk.call(ask.clone()).await);
    let declined = flow.desk.call(ask.header("AICP-Confirmation", &confirmation)).await;
    assert_fault(&declined, 402, "payment_declined", "the site's own no, by its declared name");
    assert_eq!(flow.site.get("/api/bookings/booking_1001").await.status, 404, "nothing was bought");
    for (key, status) in [("buy-2", 201), ("buy-3", 409)] {
        let ask = flow.purchase(&held, key, json!({ "acr": "mfa" }));
        let confirmation = confirmation_token(&flow.desk.call(ask.clone()).await);
        let answer = flow.desk.call(ask.header("AICP-Confirmation", &confirmation)).await;
        if status == 201 {
            assert_answer(&answer, 201, "with another card and another key");
        } else {
            assert_fault(&answer, 409, "already_booked", "under a new key");
        }
    }
}
