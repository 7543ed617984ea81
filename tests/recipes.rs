//! Promise: a recipe calls several capabilities as one, as strictly as the strictest of them, in every dialect, and
//! once.

use crate::support::calls::{
    BARE, FULL, assert_answer, assert_fault, believing, call, confirmation_token, declare, query, site, token,
};
use crate::support::contract::as_json;
use crate::support::desk::run_to_end;
use crate::support::handshake::{asking, question, with};
use crate::support::jwks::TokenKey;
use crate::support::rates::at_once;
use crate::support::shop::is_replay;
use crate::support::trips::{ALL, SEARCH, agency, asked, book_call, confirmed, times, travel, trip};
use crate::support::{Ask, Dir, Via, rpc};
use serde_json::{Value, json};

// ── what it does ────────────────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn recipe_steps_are_told_what_those_before_them_said() {
    let (origin, _) = agency().await;
    let desk = site(&origin, &travel()).start().await;
    let answer = assert_answer(&desk.call(book_call(&trip())).await, 200, "all three");
    assert_eq!(answer["data"], json!({ "booking": { "ref": "QX7" }, "paid": 682, "reference": "QX7" }));
    let expected = [
        ("GET /api/flights?origin=AMS".to_owned(), Value::Null),
        // With its type; a text with a reference in it is text; what leads nowhere is left out.
        ("POST /api/holds".to_owned(), json!({ "fare": "f-1", "seats": 2, "note": "for Ada" })),
        ("POST /api/payments".to_owned(), json!({ "hold": 7, "price": { "amount": 682 } })),
    ];
    assert_eq!(asked(&origin), expected);
    // Without what is optional.
    assert_answer(&desk.call(book_call(&json!({ "origin": "AMS" }))).await, 200, "two members less");
    assert_eq!(asked(&origin)[4].1, json!({ "fare": "f-1" }));
}

#[tokio::test]
async fn recipe_is_called_in_every_dialect() {
    let (origin, _) = agency().await;
    let desk = site(&origin, &travel()).start().await;
    let told = desk.told_to(FULL, &with(question("book", "book it"), json!({ "input": trip() }))).await;
    assert_eq!(told["meta"]["capability_used"], "book", "{told}");
    let called = rpc::post(rpc::call("book", trip()).to_string()).bearer(FULL);
    let result = rpc::result(&desk.rpc(called).await);
    assert_eq!(result["isError"], false, "{result}");
    let operation = Ask::post("/capabilities/book", trip().to_string());
    let operation = operation.header("Content-Type", "application/json").bearer(FULL);
    let response = desk.call(operation).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(times(&origin, ALL), [3, 3, 3]);
}

#[tokio::test]
async fn recipe_steps_that_are_not_exposed_are_nowhere_else() {
    let (origin, _) = agency().await;
    let desk = site(&origin, &travel()).start().await;
    let response = desk.call(call("/agent/hold", &json!({ "fare": "f" })).bearer(FULL)).await;
    assert_eq!(response.status, 404, "{}", response.text());
    let response = desk.ask(Via::H1, asking(&question("hold", "hold f")).bearer(FULL)).await;
    assert_eq!(response.json()["code"], "unknown_capability", "{}", response.text());
    let contract = as_json(&desk).await.to_string();
    assert!(
        contract.contains("\"book\"") && !contract.contains("\"hold\"") && !contract.contains("recipe"),
        "{contract}"
    );
    assert!(times(&origin, ALL)[1] == 0);
}

#[tokio::test]
async fn recipe_of_reads_is_a_read_and_is_kept_like_one() {
    let (origin, _) = agency().await;
    let open = "\ndata_sensitivity = \"public\"\ncache_ttl_seconds = 60";
    let twice = "\n[[agtp.recipes]]\nname = \"twice\"\nsteps = [{ capability = \"search\", input = { origin = \"{input.a}\" } }, { capability = \"search\", input = { origin = \"{steps.0.data.results.1.id}\" } }]\n";
    let both = format!("{open}\nupstream = {{ recipe = \"twice\" }}");
    let declared = query("search", &format!("{open}{SEARCH}")) + &query("both", &both) + twice;
    let desk = site(&origin, &declared).start().await;
    let both = || call("/agent/both", &json!({ "a": "AMS" }));
    let first = desk.call(both()).await;
    assert_answer(&first, 200, "a read");
    assert_eq!(first.header("cache-control"), Some("public, max-age=60"));
    assert_answer(&desk.call(both()).await, 200, "the same from what was kept");
    let search: Vec<String> = asked(&origin).into_iter().map(|(target, _)| target).collect();
    assert_eq!(search, ["GET /api/flights?origin=AMS", "GET /api/flights?origin=f-2"]);
}

#[tokio::test]
async fn recipe_within_a_recipe_is_one_of_its_steps() {
    let (origin, _) = agency().await;
    let outer = "\n[[agtp.recipes]]\nname = \"outer\"\nsteps = [{ capability = \"book\", input = { origin = \"{input.from}\", who = \"Bo\" } }, { capability = \"pay\", input = { tip = \"{steps.0.data.reference}\" } }]\n";
    let own = "\nrisk_level = \"low\"\nupstream = { recipe = \"outer\" }\nrequires_user_confirmation = false";
    let desk = site(&origin, &(travel() + &declare("tour", "commit_action", own) + outer)).start().await;
    let tour = || call("/agent/tour", &json!({ "from": "AMS" })).bearer(FULL).header("Idempotency-Key", "k");
    let first = desk.call(tour()).await;
    assert_answer(&first, 200, "four steps");
    assert!(is_replay(&desk.call(tour()).await));
    let all = asked(&origin);
    assert_eq!(all.len(), 4, "{all:?}");
    assert_eq!((&all[1].1, &all[3].1), (&json!({ "fare": "f-1", "note": "for Bo" }), &json!({ "tip": "QX7" })));
}

// ── as strict as the strictest ──────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn recipe_is_published_as_strict_as_it_is() {
    let (origin, _) = agency().await;
    let strong = travel().replace("required_scopes = [\"bookings:purchase\"]", "required_scopes = [\"bookings:purchase\"]\nrequires_strong_authentication = true\nidempotency_required = true\nprivacy = { forbidden_fields = [\"cvc\"] }");
    let strong = strong.replace("\"book\"\ntype = \"commit_action\"", "\"book\"\ntype = \"query\"");
    let key = TokenKey::ed("k1");
    let desk = believing(site(&origin, &strong), &key).start().await;
    let contract = as_json(&desk).await;
    let book = contract["capabilities"].as_array().expect("a list").iter().find(|c| c["id"] == "book").expect("book");
    for (name, value) in [
        ("type", json!("commit_action")),
        ("risk_level", json!("medium")),
        ("auth", json!("required")),
        ("required_scopes", json!(["bookings:hold", "bookings:purchase"])),
        ("requires_strong_authentication", json!(true)),
        ("idempotency_required", json!(true)),
        ("privacy", json!({ "forbidden_fields": ["cvc"] })),
    ] {
        assert_eq!(book[name], value, "{name}: {book}");
    }
    // And it is so.
    let refused = |ask: Ask, status: u16, code: &'static str| {
        let desk = &desk;
        async move { assert_fault(&desk.call(ask).await, status, code, code) }
    };
    refused(call("/agent/book", &trip()), 401, "auth_required").await;
    let all = "bookings:hold bookings:purchase";
    let weak = token(&key, "ada", all, json!({}));
    refused(call("/agent/book", &trip()).bearer(&weak), 401, "strong_authentication_required").await;
    let some = token(&key, "ada", "bookings:hold", json!({ "amr": ["mfa"] }));
    refused(call("/agent/book", &trip()).bearer(&some), 403, "missing_scope").await;
    let strong = token(&key, "ada", all, json!({ "amr": ["mfa"] }));
    refused(call("/agent/book", &trip()).bearer(&strong), 400, "idempotency_key_required").await;
    let mut with_cvc = trip();
    with_cvc["card"] = json!({ "CVC": 123 });
    refused(call("/agent/book", &with_cvc).bearer(&strong), 422, "forbidden_field").await;
    assert!(asked(&origin).is_empty(), "nothing was asked of the site");
    let keyed = call("/agent/book", &trip()).bearer(&strong).header("Idempotency-Key", "k1");
    assert_answer(&desk.call(keyed).await, 200, "everything is there");
}

#[tokio::test]
async fn recipe_without_the_scope_of_a_later_step_does_not_begin() {
    let (origin, _) = agency().await;
    let desk = site(&origin, &travel()).start().await;
    let refused =
        assert_fault(&desk.call(call("/agent/book", &trip()).bearer(BARE)).await, 403, "missing_scope", "bare");
    assert_eq!(refused["error"]["required_scopes"], json!(["bookings:hold", "bookings:purchase"]));
    assert_fault(&desk.call(call("/agent/book", &trip())).await, 401, "auth_required", "nobody");
    assert_fault(&desk.call(book_call(&json!({ "origin": 5 }))).await, 422, "invalid_input", "its own schema");
    assert!(asked(&origin).is_empty());
}

#[tokio::test]
async fn recipe_is_confirmed_once_with_every_step_that_acts() {
    let (origin, _) = agency().await;
    let desk = site(&origin, &confirmed()).start().await;
    let first = desk.call(book_call(&trip())).await;
    let token = confirmation_token(&first);
    let asked_for = first.json()["confirmation"].clone();
    assert_eq!(
        asked_for["summary"],
        "It is book; \"origin\": \"AMS\", \"seats\": \"2\", \"who\": \"Ada\". \
         Step 1: It is hold; \"fare\": from step 0, \"gone\": from step 0, \"note\": \"for Ada\", \"seats\": \"2\". \
         It cannot be undone, and may cost money or be legally binding. \
         Step 2: Pay for hold from step 1 with \"Ada\". Your card is charged."
    );
    assert!(asked(&origin).is_empty(), "nothing runs before it");
    // A value cannot pass for what a step will say.
    let mut sly = trip();
    sly["who"] = json!("\u{e000}from step 0\u{e001}");
    let sly = desk.call(book_call(&sly)).await.json()["confirmation"]["summary"].clone();
    let quoted = r#"with "\u{e000}from step 0\u{e001}". Your card"#;
    assert!(sly.as_str().is_some_and(|s| s.contains(quoted)), "{sly}");
    // The token is for this input.
    let other = book_call(&json!({ "origin": "LIS" })).header("AICP-Confirmation", &token);
    assert_fault(&desk.call(other).await, 428, "confirmation_invalid", "another input");
    let pay = call("/agent/pay", &json!({ "hold": 7 })).bearer(FULL).header("AICP-Confirmation", &token);
    assert_fault(&desk.call(pay).await, 428, "confirmation_invalid", "a step by itself");
    assert_answer(&desk.call(book_call(&trip()).header("AICP-Confirmation", &token)).await, 200, "confirmed");
    assert_eq!(times(&origin, ALL), [1, 1, 1]);
    let again = desk.call(book_call(&trip()).header("AICP-Confirmation", &token)).await;
    assert_fault(&again, 428, "confirmation_invalid", "spent");
}

#[tokio::test]
async fn recipe_of_another_version_is_confirmed_anew() {
    let (origin, _) = agency().await;
    let setup =
        |version: &str| site(&origin, &confirmed().replace("version = \"1\"", &format!("version = \"{version}\"")));
    let desk = setup("1").start().await;
    let token = confirmation_token(&desk.call(book_call(&trip())).await);
    desk.swap(&setup("2")).await;
    let late = desk.call(book_call(&trip()).header("AICP-Confirmation", &token)).await;
    assert_fault(&late, 428, "confirmation_invalid", "another version");
    desk.swap(&setup("1")).await;
    assert_answer(&desk.call(book_call(&trip()).header("AICP-Confirmation", &token)).await, 200, "the one it was for");
}

// ── once ────────────────────────────────────────────────────────────────────────────────────────────────────────────

#[tokio::test]
async fn recipe_with_a_key_is_carried_out_once() {
    let (origin, _) = agency().await;
    let desk = site(&origin, &travel()).start().await;
    let keyed = |key: &str| book_call(&trip()).header("Idempotency-Key", key);
    let first = desk.call(keyed("k1")).await;
    assert_answer(&first, 200, "the first");
    for _ in 0..2 {
        let again = desk.call(keyed("k1")).await;
        assert!(is_replay(&again) && again.json()["data"] == first.json()["data"], "{}", again.text());
    }
    assert_eq!(times(&origin, ALL), [1, 1, 1]);
    let reused = book_call(&json!({ "origin": "LIS" })).header("Idempotency-Key", "k1");
    assert_fault(&desk.call(reused).await, 422, "idempotency_key_reused", "another input");
    assert_answer(&desk.call(keyed("k2")).await, 200, "another key");
    assert_eq!(times(&origin, ALL), [2, 2, 2]);
    // Who sends no key wants it again each time.
    assert_answer(&desk.call(book_call(&trip())).await, 200, "no key");
    assert_answer(&desk.call(book_call(&trip())).await, 200, "no key, again");
    assert_eq!(times(&origin, ALL), [4, 4, 4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recipe_is_carried_out_once_for_equal_calls_at_once() {
    let (origin, _) = agency().await;
    let desk = site(&origin, &travel()).start().await;
    let answers = at_once(&[&desk], vec![book_call(&trip()).header("Idempotency-Key", "k1"); 16]).await;
    for answer in &answers {
        match answer.status {
            200 => drop(assert_answer(answer, 200, "carried out, or told again")),
            _ => drop(assert_fault(answer, 409, "idempotency_in_flight", "while it runs")),
        }
    }
    assert_eq!(answers.iter().filter(|a| a.status == 200 && !is_replay(a)).count(), 1);
    assert_eq!(times(&origin, ALL), [1, 1, 1]);
}

// ── the declaration ─────────────────────────────────────────────────────────────────────────────────────────────────

#[test]
fn recipe_that_never_ends_is_refused() {
    let dir = Dir::new();
    let declared = "[upstream]\nurl = \"http://127.0.0.1:1\"\n[agtp.policies]\nmax_synthesis_depth = 2\n".to_owned();
    let round = "\n[[agtp.recipes]]\nname = \"round\"\nsteps = [{ capability = \"tour\" }]\n";
    let long = "\n[[agtp.recipes]]\nname = \"long\"\nsteps = [{ capability = \"search\" }, { capability = \"search\" }, { capability = \"search\" }]\n";
    let tour = declare("tour", "commit_action", "\nupstream = { recipe = \"round\" }");
    dir.write("frontdesk.toml", declared + &query("search", SEARCH) + &tour + round + long);
    let (code, out, err) = run_to_end(&["check", "frontdesk.toml"], dir.path());
    let said = out + &err;
    assert_eq!(code, 1, "{said}");
    for words in [
        "agtp.recipes[0].steps[0].capability: \"tour\" is carried out by a recipe that leads back to itself",
        "agtp.recipes[1].steps: comes to 3 steps in all, and agtp.policies.max_synthesis_depth is 2",
    ] {
        assert!(said.contains(words), "{words} in:\n{said}");
    }
}

#[test]
fn recipe_that_is_written_too_weakly_is_warned_of() {
    let dir = Dir::new();
    dir.write("frontdesk.toml", "[upstream]\nurl = \"http://127.0.0.1:1\"\n".to_owned() + &travel());
    let (code, out, err) = run_to_end(&["check", "frontdesk.toml"], dir.path());
    let said = out + &err;
    assert_eq!(code, 0, "{said}");
    let words =
        "risk_level: \"low\" is less than step 1 of its recipe (hold) needs; \"medium\" holds, and is published";
    assert!(said.contains(words), "{said}");
}
