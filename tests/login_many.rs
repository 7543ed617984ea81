//! Promise: what many people have allowed their agents is never mixed up, with faults of the site, renewed cookies and a
//! restart; and a restart forgets none of it.

use std::sync::Arc;

use crate::support::calls::{assert_answer, call};
use crate::support::login::{self, Sessions, Stage, text};
use crate::support::{Desk, Dir};
use serde_json::json;
use tokio::task::JoinSet;

/// How many people, and how many calls of each before and after the restart: few in the suite; `LOGIN_PEOPLE=50
/// LOGIN_CALLS=100` makes 10,000 calls.
fn size(name: &str, usually: usize) -> usize {
    std::env::var(name).ok().and_then(|size| size.parse().ok()).unwrap_or(usually)
}

/// Calls of one person; gives how many were answered. Every answer is about them.
async fn calls(desk: Arc<Desk>, who: String, token: String, round: usize) -> usize {
    let mut answered = 0;
    for at in 0..size("LOGIN_CALLS", 12) {
        let (id, path) = match at % 4 {
            0 => ("orders", "/data/orders/0"),
            1 => ("flaky", "/data/orders/0"),
            2 => ("renewed", "/data/orders/0"),
            _ => ("book", "/data/booked_for"),
        };
        let key = format!("{round}-{at}");
        let ask = call(&format!("/agent/{id}"), &json!({})).bearer(&token).header("Idempotency-Key", &key);
        let response = desk.call(ask).await;
        let wanted = if id == "book" { who.clone() } else { format!("order-of-{who}") };
        match response.status {
            200 | 201 => {
                assert_eq!(response.json().pointer(path), Some(&json!(wanted)), "{who}: {}", response.text());
                answered += 1;
            }
            status => {
                assert!(id == "flaky" && [502, 503].contains(&status), "{who}: {id}: {status} {}", response.text())
            }
        }
        let told = response.text();
        assert!(told.matches("person").count() == told.matches(&who).count(), "{who}: {told}");
    }
    answered
}

async fn all(desk: &Arc<Desk>, tokens: &[(String, String)], round: usize) -> usize {
    let mut running = JoinSet::new();
    for (who, token) in tokens {
        running.spawn(calls(desk.clone(), who.clone(), token.clone(), round));
    }
    running.join_all().await.into_iter().sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn login_many_people_with_faults_and_a_restart_are_never_mixed_up() {
    let kept = Dir::new();
    let store = format!("url = \"file:{}\"", kept.path().display());
    let sessions = Sessions::default();
    let origin = login::site(sessions.clone()).await;
    let setup = login::setup(&origin, "").set("store", &store).set("protection", "client_share = 100");
    let stage = Stage { sessions, origin, desk: setup.clone().start().await };
    let (people, calls) = (size("LOGIN_PEOPLE", 30), size("LOGIN_CALLS", 12));
    let mut links = Vec::new();
    for n in 0..people {
        let who = format!("person{n}x");
        let (_, given) = stage.linked(&who).await;
        links.push((who, text(&given, "access_token").to_owned(), text(&given, "refresh_token").to_owned()));
    }
    let tokens: Vec<_> = links.iter().map(|(who, access, _)| (who.clone(), access.clone())).collect();
    let Stage { sessions, origin, desk } = stage;
    let desk = Arc::new(desk);
    let before = all(&desk, &tokens, 0).await;
    drop(desk);
    let desk = Arc::new(setup.start().await);
    let after = all(&desk, &tokens, 1).await;
    let least = people * calls * 3 / 4;
    assert!(before >= least && after >= least, "{before} and {after} of {}", people * calls);
    println!("{people} people, {} calls, {} answered, 0 mixed up", 2 * people * calls, before + after);
    let stage = Stage { sessions, origin, desk: Arc::into_inner(desk).expect("the only one") };
    for (who, _, refresh) in links.iter().take(5) {
        let given = stage.refresh(refresh).await;
        assert_eq!(given.status, 200, "{}", given.text());
        let orders = stage.called("orders", text(&given.json(), "access_token")).await;
        assert_eq!(assert_answer(&orders, 200, who)["data"]["orders"][0], format!("order-of-{who}"));
    }
}
