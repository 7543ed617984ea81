//! Tests of stored answers, and of values that pass from step to step.

use super::*;
use crate::support::calls::declare;

#[tokio::test]
async fn firewall_keeps_nothing_secret_for_a_replay_or_a_ticket() {
    let (dir, origin) = (Dir::new(), leaking().await);
    let store = format!("url = \"file:{}\"", dir.join("store").display());
    let desk = before(&origin).set("store", &store).set("firewall", "pii = \"redact\"").start().await;
    let act = call("/agent/leak/act", &json!({})).bearer(FULL).header("Idempotency-Key", "k1");
    let first = desk.call(act.clone()).await;
    let again = desk.call(act).await;
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(again.json()["data"], first.json()["data"]);
    assert_eq!(again.headers.joined(FLAGS), first.headers.joined(FLAGS), "the flags are told again too");
    assert_eq!(upstream_calls(&origin).len(), 1);

    let later = json!({ "capability": "leak_later", "query": "one" });
    let accepted = desk.call(call("/agent/converse", &later).bearer(FULL)).await.json();
    let poll = accepted["poll"].as_str().unwrap_or_else(|| panic!("accepted: {accepted}")).to_owned();
    let ended = async || desk.ask(Via::H1, Ask::get(&poll).bearer(FULL)).await.json();
    eventually("its end", SOON, async || ended().await["status"] == "success").await;
    let told = ended().await;
    assert_clean(&told.to_string(), "the later reply");
    assert!(told["meta"]["flags"].to_string().contains("injection-suspect"), "{told}");
    let polled = desk.ask(Via::H1, Ask::get(&poll).bearer(FULL)).await;
    assert!(polled.headers.joined(FLAGS).contains("injection-suspect"), "{:?}", polled.headers);

    for entry in walk(&dir.join("store")) {
        let bytes = std::fs::read(&entry).expect("a file of the store");
        let text = String::from_utf8_lossy(&bytes);
        assert_clean(&text, "the store");
        assert!(!text.contains(MAIL), "{}", entry.display());
    }
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the store").map(|e| e.expect("an entry").path()) {
        if entry.is_dir() { found.extend(walk(&entry)) } else { found.push(entry) }
    }
    assert!(!found.is_empty());
    found
}

/// What goes from step to step goes back to the site, and not to an agent.
#[tokio::test]
async fn firewall_leaves_what_steps_hand_on_as_it_is() {
    let origin = Origin::start(|r: &Request| match r.target.as_str() {
        "/api/login" => Reply::json(json!({ "ticket": TOKEN }).to_string()),
        _ => Reply::json(json!({ "you_sent": String::from_utf8_lossy(&r.body) }).to_string()),
    })
    .await;
    let recipe = "\n[[agtp.recipes]]\nname = \"both\"\nversion = \"1\"\nsteps = [{ capability = \"login\", input = {} }, \
                  { capability = \"use\", input = { ticket = \"{steps.0.data.ticket}\" } }]\n";
    let of = |id: &str, path: &str| {
        action(id, &format!("\nexposed = false\nupstream = {{ method = \"POST\", path = \"{path}\" }}"))
    };
    let both = declare(
        "both",
        "commit_action",
        "\nrisk_level = \"low\"\nrequires_user_confirmation = false\nupstream = { recipe = \"both\" }",
    );
    let all = of("login", "/api/login") + &of("use", "/api/use") + &both + recipe;
    let dir = Dir::new();
    let store = format!("url = \"file:{}\"", dir.join("store").display());
    let desk = site(&origin, &all).set("store", &store).start().await;
    let response = desk.call(call("/agent/both", &json!({})).bearer(FULL).header("Idempotency-Key", "k")).await;
    assert_eq!(response.status, 200, "{}", response.text());
    assert_clean(&response.text(), "the answer");
    let used = upstream_calls(&origin).pop().expect("the second step");
    assert!(String::from_utf8_lossy(&used.body).contains(TOKEN), "the site gets what the site said");
    for entry in walk(&dir.join("store")) {
        assert_clean(&String::from_utf8_lossy(&std::fs::read(&entry).expect("a file")), "the store");
    }
}

#[tokio::test]
async fn firewall_of_another_configuration_looks_at_the_same_answer_anew() {
    let origin = Origin::start(|_: &Request| Reply::json(format!("{{\"mail\":\"{MAIL}\",\"nr\":\"ab-4711\"}}"))).await;
    // What is about nobody may be remembered.
    let public = "\ndata_sensitivity = \"public\"\nupstream = { method = \"GET\", path = \"/api/leak\" }";
    let of = |lines: &str| {
        let setup = site(&origin, &query("leak.read", public)).reading("concierge = false\nllms_txt = \"off\"");
        setup.set("firewall", &format!("secrets = \"redact\"\ninjection = \"off\"\n{lines}"))
    };
    let desk = of("pii = \"off\"").start().await;
    let looked = async |lines: &str, keeps: (bool, bool), flags: &str| {
        desk.swap(&of(lines)).await;
        // The first time, and where it may have been seen.
        for time in 0..3 {
            let told = desk.call(call("/agent/leak/read", &json!({}))).await;
            let data = told.json()["data"].to_string();
            assert_eq!((data.contains(MAIL), data.contains("4711")), keeps, "{lines}, {time}: {data}");
            assert_eq!(told.headers.joined(FLAGS), flags, "{lines}, {time}");
        }
    };
    for _ in 0..2 {
        looked("pii = \"off\"", (true, true), "").await;
        looked("pii = \"redact\"", (false, true), "pii-redacted;rules=email").await;
        looked(&format!("pii = \"redact\"\nallow = [\"{MAIL}\"]"), (true, true), "").await;
        looked("pii = \"report\"", (true, true), "pii-found;rules=email").await;
    }
}

/// What a step said is told where a later one fails, and that something is gone from it.
#[tokio::test]
async fn firewall_flags_what_steps_said_before_one_failed() {
    let origin = Origin::start(|r: &Request| match r.target.as_str() {
        "/api/first" => Reply::json(json!({ "ticket": TOKEN }).to_string()),
        _ => Reply::new(409).header("Content-Type", "application/json").body("{}"),
    })
    .await;
    let of =
        |id: &str| action(id, &format!("\nexposed = false\nupstream = {{ method = \"POST\", path = \"/api/{id}\" }}"));
    let both = declare(
        "both",
        "commit_action",
        "\nrisk_level = \"low\"\nrequires_user_confirmation = false\nupstream = { recipe = \"both\" }",
    );
    let recipe = "\n[[agtp.recipes]]\nname = \"both\"\nsteps = [{ capability = \"first\", input = {} }, \
                  { capability = \"second\", input = {} }]\n";
    let desk = site(&origin, &(of("first") + &of("second") + &both + recipe)).start().await;
    let failed = desk.call(call("/agent/both", &json!({})).bearer(FULL).header("Idempotency-Key", "k")).await;
    assert_eq!(failed.status, 422, "{}", failed.text());
    let said = &failed.json()["error"]["details"]["steps"][0]["data"]["ticket"];
    assert_eq!(said, "[redacted:github-token]", "{}", failed.text());
    assert_eq!(failed.headers.joined(FLAGS), "secret-redacted;rules=github-token");
    desk.metric_reaches("frontdesk_firewall_total{rule=\"github-token\"}", 1.0).await;
    assert_eq!(desk.metric("frontdesk_firewall_total{rule=\"github-token\"}").await, Some(1.0), "once");
    // What may not leave at all is counted too.
    let desk = site(&origin, &(of("first") + &of("second") + &both + recipe)).set("firewall", "secrets = \"block\"");
    let desk = desk.start().await;
    let failed = desk.call(call("/agent/both", &json!({})).bearer(FULL).header("Idempotency-Key", "k")).await;
    assert!(failed.json()["error"]["details"].get("steps").is_none(), "{}", failed.text());
    desk.metric_reaches("frontdesk_firewall_total{rule=\"github-token\"}", 1.0).await;
}

/// What the site sends somebody on to stands in the failure of a step and in that of the whole.
#[tokio::test]
async fn firewall_counts_once_what_a_failed_step_and_the_whole_tell() {
    let location = format!("/ask?of={MAIL}");
    let origin = Origin::start(move |_: &Request| Reply::new(302).header("Location", &location)).await;
    for kind in ["query", "commit_action"] {
        let of = |id: &str, lines: &str| declare(id, kind, &format!("\nrisk_level = \"low\"\n{lines}"));
        let part =
            of("part", "upstream = { method = \"POST\", path = \"/api/part\" }\nrequires_user_confirmation = false");
        let whole = of("whole", "requires_user_confirmation = false\nupstream = { recipe = \"whole\" }");
        let recipe = "\n[[agtp.recipes]]\nname = \"whole\"\nsteps = [{ capability = \"part\", input = {} }]\n";
        let desk = site(&origin, &(part + &whole + recipe)).start().await;
        let failed = desk.call(call("/agent/whole", &json!({})).bearer(FULL).header("Idempotency-Key", "k")).await;
        let within = &failed.json()["error"]["details"]["details"]["location"];
        assert!(within.as_str().is_some_and(|at| at.contains(MAIL)), "{kind}: {}", failed.text());
        assert_eq!(failed.headers.joined(FLAGS), "pii-found;rules=email", "{kind}");
        desk.metric_reaches("frontdesk_firewall_total{rule=\"email\"}", 1.0).await;
        assert_eq!(desk.metric("frontdesk_firewall_total{rule=\"email\"}").await, Some(1.0), "{kind}");
    }
}
