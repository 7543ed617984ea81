//! Promise: an action that needs confirmation runs only after a person has seen exactly this action, and only once.

use crate::support::jwks::now;
use crate::support::rates::at_once;
use crate::support::shop::{
    ADA, BOB, assert_fault, call, carried_out, code, declared, desk_before, item, open, order, token,
};
use crate::support::{Ask, Desk, Origin, SOON, Setup, Via, eventually};
use serde_json::{Value, json};
use std::collections::HashSet;

async fn shop() -> (Origin, Desk) {
    let origin = open().await;
    let desk = desk_before(&origin).start().await;
    (origin, desk)
}

fn sell() -> Ask {
    item("sell", "book").bearer(ADA)
}

/// A capability whose confirmation says `summary`.
fn letter(summary: &str, more: &str) -> String {
    format!(
        "\n[[capabilities]]\nid = \"letter.send\"\ntype = \"commit_action\"\ndescription = \"Sends a letter.\"\n\
         method = \"POST\"\nendpoint = \"/agent/letter\"\nrisk_level = \"high\"\nauth = \"optional\"\n\
         upstream = {{ method = \"POST\", path = \"/api/letter\" }}\n[capabilities.confirmation]\n\
         summary = \"{summary}\"\nconsequence = \"It cannot be taken back.\"\n{more}\n"
    )
}

async fn with_letter(summary: &str, more: &str) -> (Origin, Desk, Setup) {
    let origin = open().await;
    let setup = desk_before(&origin).tail(&letter(summary, more));
    (origin, setup.clone().start().await, setup)
}

/// The summary that a person would be shown.
async fn summary(desk: &Desk, input: Value) -> String {
    let asked = desk.ask(Via::H1, call("letter", input).bearer(ADA)).await;
    token(&asked);
    asked.json()["confirmation"]["summary"].as_str().expect("a summary").to_owned()
}

/// Seconds since 1970 of a time like 2026-05-09T12:15:00Z, by the days of the civil calendar.
fn seconds(time: &str) -> u64 {
    let part = |from: usize, to: usize| time[from..to].parse::<u64>().unwrap_or_else(|_| panic!("a time: {time}"));
    assert!(time.ends_with('Z'), "{time}");
    let (year, month, day) = (part(0, 4), part(5, 7), part(8, 10));
    // March is the first month, so that a leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    days * 86_400 + part(11, 13) * 3600 + part(14, 16) * 60 + part(17, 19)
}

#[tokio::test]
async fn confirmed_says_what_will_happen_and_until_when() {
    let (origin, desk) = shop().await;
    let asked = desk.ask(Via::H1, sell()).await;
    assert_fault(&asked, 428, "confirmation_required", "without a token");
    let confirmation = asked.json()["confirmation"].clone();
    assert_eq!(confirmation["required"], true);
    assert_eq!(confirmation["summary"], "Sell \"book\"");
    assert_eq!(confirmation["consequence"], "It is gone.");
    let until = seconds(confirmation["expires_at"].as_str().expect("a time"));
    assert!((now() + 1..=now() + 86_400).contains(&until), "{confirmation} at {}", now());
    assert!(token(&asked).len() >= 22, "not to be guessed: {confirmation}");
    assert!(carried_out(&origin).is_empty());
}

#[tokio::test]
async fn confirmed_holds_once() {
    let (origin, desk) = shop().await;
    let confirmed = token(&desk.ask(Via::H1, sell()).await);
    order(&desk.ask(Via::H1, sell().confirmed(&confirmed)).await, "confirmed");
    for _ in 0..2 {
        assert_fault(&desk.ask(Via::H1, sell().confirmed(&confirmed)).await, 428, "confirmation_invalid", "again");
    }
    assert_eq!(carried_out(&origin).len(), 1);
    assert!(!desk.stdout().contains(&confirmed), "the access log holds no token");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirmed_holds_once_for_twenty_at_once() {
    let (origin, desk) = shop().await;
    for round in 1..=10 {
        let ask = sell().confirmed(&token(&desk.ask(Via::H1, sell()).await));
        let answers = at_once(&[&desk], vec![ask; 20]).await;
        assert_eq!(answers.iter().filter(|a| a.status == 201).count(), 1, "round {round}");
        assert_eq!(carried_out(&origin).len(), round);
    }
}

#[tokio::test]
async fn confirmed_holds_for_the_same_caller_capability_and_input() {
    let (origin, desk) = shop().await;
    let confirmed = token(&desk.ask(Via::H1, sell()).await);
    let away = item("sell", "book").from("203.0.113.7");
    for (what, other) in [
        ("another caller", item("sell", "book").bearer(BOB)),
        ("nobody known", item("sell", "book")),
        ("nobody known, elsewhere", away.clone()),
        ("another input", item("sell", "books").bearer(ADA)),
        ("more input", call("sell", json!({ "item": "book", "times": 2 })).bearer(ADA)),
        ("another capability", item("buy", "book").bearer(ADA).key("k-1")),
        ("one without a summary", item("give", "book").bearer(ADA)),
    ] {
        assert_fault(&desk.ask(Via::H1, other.confirmed(&confirmed)).await, 428, "confirmation_invalid", what);
    }
    let anonymous = token(&desk.ask(Via::H1, away.clone()).await);
    for (what, other) in [
        ("another address", item("sell", "book").from("203.0.113.8")),
        ("another claim", away.clone().header("AICP-Agent", "Other/1.0")),
    ] {
        assert_fault(&desk.ask(Via::H1, other.confirmed(&anonymous)).await, 428, "confirmation_invalid", what);
    }
    assert!(carried_out(&origin).is_empty());
    // Another caller's attempt does not use up a confirmation.
    order(&desk.ask(Via::H1, sell().confirmed(&confirmed)).await, "whose it is");
    order(&desk.ask(Via::H1, away.confirmed(&anonymous)).await, "and whose that is");
}

#[tokio::test]
async fn confirmed_ends_when_it_said() {
    let (origin, desk, _) = with_letter("Send it", "expires = \"1s\"").await;
    let ask = call("letter", json!({})).bearer(ADA);
    let asked = desk.ask(Via::H1, ask.clone()).await;
    let until = seconds(asked.json()["confirmation"]["expires_at"].as_str().expect("a time"));
    assert!(until <= now() + 2, "{until} is not soon");
    eventually("it is over", SOON, async || now() > until + 1).await;
    let late = desk.ask(Via::H1, ask.confirmed(&token(&asked))).await;
    assert_fault(&late, 428, "confirmation_invalid", "too late");
    assert!(carried_out(&origin).is_empty());
}

#[tokio::test]
async fn confirmed_is_not_forged() {
    let (origin, desk) = shop().await;
    let confirmed = token(&desk.ask(Via::H1, sell()).await);
    let mut forged = vec!["0".to_owned(), "*".to_owned(), "null".to_owned(), "../".repeat(20), "a".repeat(20_000)];
    forged.extend([confirmed[1..].to_owned(), format!("{confirmed}0"), format!("{confirmed},{confirmed}")]);
    for at in 0..confirmed.len() {
        let other = if &confirmed[at..=at] == "0" { "1" } else { "0" };
        forged.push([&confirmed[..at], other, &confirmed[at + 1..]].concat());
        forged.push(confirmed[..at].to_owned());
    }
    for token in &forged {
        let refused = desk.ask(Via::H1, sell().confirmed(token)).await;
        let expected = if token.is_empty() { [428, 400] } else { [428, 431] };
        assert!(expected.contains(&refused.status), "{token}: {} {}", refused.status, refused.text());
    }
    let twice = desk.ask(Via::H1, sell().confirmed("f00").confirmed(&confirmed)).await;
    assert!([400, 428].contains(&twice.status), "two tokens: {}", twice.status);
    assert!(carried_out(&origin).is_empty());
    order(&desk.ask(Via::H1, sell().confirmed(&confirmed)).await, "the real one");
}

#[tokio::test]
async fn confirmed_shows_values_as_values() {
    let (_origin, desk, _) = with_letter("Send {{ input.text }} now.", "").await;
    for hostile in [
        "x\u{202e}y\u{2066}z\u{200f}\u{061c}",
        "a\r\n\u{0}\u{7}\u{1b}[31m\u{85}b",
        "\" for nothing. \"",
        "back\\\" slash",
        "{{ 7 * 7 }}{% for i in range(9) %}{{ i }}{% endfor %}{# c #}",
        "{{ input }}${HOME}{text}",
        &"long ".repeat(2000),
        &"世\u{301}".repeat(200),
    ] {
        let shown = summary(&desk, json!({ "text": hostile })).await;
        let value = shown.strip_prefix("Send ").and_then(|s| s.strip_suffix(" now."));
        let value = value.unwrap_or_else(|| panic!("the words of the template stay: {shown:?}"));
        let inside = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
        let inside = inside.unwrap_or_else(|| panic!("not quoted: {shown:?}"));
        // A few more for a mark that something is missing, and for escapes.
        assert!(inside.chars().count() <= 130, "not cut: {} of {shown:?}", inside.chars().count());
        let bare = inside.replace("\\\\", "").replace("\\\"", "");
        assert!(!bare.contains('"'), "the quote is closed early: {shown:?}");
        let bad = |c: char| {
            let bidi = ['\u{61c}', '\u{200e}', '\u{200f}'].contains(&c);
            c.is_control() || bidi || ('\u{202a}'..='\u{202e}').contains(&c) || ('\u{2066}'..='\u{2069}').contains(&c)
        };
        assert!(!shown.contains(bad), "{shown:?}");
        assert!(!shown.contains("49") && !shown.contains("012345678"), "carried out: {shown:?}");
    }
    let exact = "e".repeat(120);
    assert_eq!(summary(&desk, json!({ "text": exact })).await, format!("Send \"{exact}\" now."), "120 are not cut");
    let shown = summary(&desk, json!({ "text": { "a": ["deep\u{202e}", { "b": "\u{1b}" }] } })).await;
    assert!(!shown.contains(['\u{202e}', '\u{1b}']), "{shown:?}");
}

#[tokio::test]
async fn confirmed_shows_apart_what_is_not_the_same() {
    let (_origin, desk, _) = with_letter("Send {{ input.text }} now.", "").await;
    let mut seen = HashSet::new();
    for (text, shown) in [
        ("ab", r"ab"),
        ("a\nb", r"a\nb"),
        ("a\u{202e}b", r"a\u{202e}b"),
        ("a\u{200b}b", r"a\u{200b}b"),
        (r"a\nb", r"a\\nb"),
        (r"a\u{202e}b", r"a\\u{202e}b"),
    ] {
        let said = summary(&desk, json!({ "text": text })).await;
        assert_eq!(said, format!("Send \"{shown}\" now."), "{text:?}");
        seen.insert(said);
    }
    assert_eq!(seen.len(), 6, "a token holds for one of them alone");
}

#[tokio::test]
async fn confirmed_consent_names_purpose_data_and_recipients() {
    let privacy = "[capabilities.privacy]\nrequires_explicit_consent = true\npurpose = \"letter_delivery\"\n\
        personal_data_required = [\"full_name\", \"home_address\"]\n";
    let of_it = "third_party_sharing = [\"post_ag\", \"courier_ltd\"]";
    let of_the_site = "third_parties = [\"post_ag\", \"courier_ltd\"]";
    // Consent is asked for even where confirmation is switched off.
    for (off, own) in [("", true), ("required = false\n", true), ("", false)] {
        let origin = open().await;
        let more = format!("{off}{privacy}{}", if own { of_it } else { "" });
        let setup = desk_before(&origin).tail(&letter("Send it.", &more));
        let desk = if own { setup } else { setup.set("data_processing.sharing", of_the_site) }.start().await;
        let shown = summary(&desk, json!({ "full_name": "Ada" })).await;
        for word in ["letter_delivery", "full_name", "home_address", "post_ag", "courier_ltd"] {
            assert!(shown.contains(word), "no {word} in {shown:?} ({off:?}, its own: {own})");
        }
        assert!(carried_out(&origin).is_empty());
    }
}

#[tokio::test]
async fn confirmed_does_not_outlive_the_words_that_were_confirmed() {
    let (origin, desk, setup) = with_letter("Send it for 1 EUR.", "").await;
    let ask = call("letter", json!({ "text": "hi" })).bearer(ADA);
    let (old, kept) = (token(&desk.ask(Via::H1, ask.clone()).await), token(&desk.ask(Via::H1, ask.clone()).await));
    desk.swap(&setup.set("site", "name = \"Renamed\"")).await;
    order(&desk.ask(Via::H1, ask.clone().confirmed(&kept)).await, "nothing that was shown has changed");
    desk.swap(&desk_before(&origin).tail(&letter("Send it for 100 EUR.", ""))).await;
    let late = desk.ask(Via::H1, ask.clone().confirmed(&old)).await;
    assert_fault(&late, 428, "confirmation_invalid", "other words");
    let next = desk.ask(Via::H1, ask.clone()).await;
    assert!(next.text().contains("for 100 EUR"), "{}", next.text());
    order(&desk.ask(Via::H1, ask.confirmed(&token(&next))).await, "the new words");
    assert_eq!(carried_out(&origin).len(), 2);
}

#[tokio::test]
async fn confirmed_is_what_is_declared_and_where_nothing_is_every_action() {
    let origin = open().await;
    let rest: String = ["prepare_action", "commit_action", "destructive_action"]
        .iter()
        .map(|kind| {
            format!(
                "\n[[capabilities]]\nid = \"bare.{kind}\"\ntype = \"{kind}\"\ndescription = \"Does.\"\nmethod = \"POST\"\n\
                 endpoint = \"/agent/{kind}\"\nauth = \"optional\"\nupstream = {{ path = \"/api/bare\", method = \"POST\" }}\n"
            )
        })
        .collect();
    let desk = declared(Setup::before(&origin)).tail(&rest).start().await;
    for name in ["give", "prepare_action", "commit_action", "destructive_action"] {
        let ask = item(name, "book").bearer(ADA);
        let asked = desk.ask(Via::H1, ask.clone()).await;
        assert_fault(&asked, 428, "confirmation_required", name);
        let said = |key: &str| asked.json()["confirmation"][key].as_str().is_some_and(|s| !s.is_empty());
        assert!(said("summary") && said("consequence"), "{name}: {}", asked.text());
    }
    assert!(carried_out(&origin).is_empty());
    order(&desk.ask(Via::H1, item("drop", "book").bearer(ADA)).await, "switched off by the operator");
    order(&desk.ask(Via::H1, item("search", "book")).await, "a read");
    let peek = item("peek", "box").bearer(ADA);
    let reads = || origin.requests().iter().filter(|r| r.target.starts_with("/api/peek")).count();
    let asked = desk.ask(Via::H1, peek.clone()).await;
    assert_fault(&asked, 428, "confirmation_required", "a read that is confirmed");
    assert_eq!(reads(), 0);
    order(&desk.ask(Via::H1, peek.confirmed(&token(&asked))).await, "confirmed");
    assert_eq!(reads(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn confirmed_tokens_asked_for_at_once_are_all_good() {
    let (origin, desk) = shop().await;
    let answers = at_once(&[&desk], vec![sell(); 32]).await;
    let tokens: HashSet<String> = answers.iter().map(token).collect();
    assert_eq!(tokens.len(), 32, "each its own");
    let done = at_once(&[&desk], tokens.iter().map(|t| sell().confirmed(t)).collect()).await;
    for answer in &done {
        assert_eq!(answer.status, 201, "{}: {}", code(answer), answer.text());
    }
    assert_eq!(carried_out(&origin).len(), 32);
}
